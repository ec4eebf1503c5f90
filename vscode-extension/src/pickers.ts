/** What is chosen from a list in the palette: the model, the mode, the message to go back to. */

import * as vscode from "vscode";
import { kept, lossOf } from "./chat/attachments.ts";
import type { Ctx } from "./ctx.ts";
import { warn } from "./telling.ts";

const MODES = [
  { label: "Ask before edits", description: "default", detail: "Asks before anything is changed." },
  { label: "Accept edits", description: "acceptEdits", detail: "Asks only for commands and protected files." },
  { label: "Plan", description: "plan", detail: "Changes nothing, and makes a plan for your approval." },
];

export async function chooseModel({ server, chat }: Ctx): Promise<void> {
  const { models } = await server.request("reverie/models/list", {});
  chat.apply({ type: "models", models });
  const picks = models
    .filter((model) => model.available)
    .map(({ id, name, contextWindow }) => ({
      label: name,
      description: id === chat.state.model ? `${id}, in use` : id,
      detail: `${Math.round(contextWindow / 1000)}k tokens of context`,
      id,
    }));
  const chosen = await vscode.window.showQuickPick(picks, { title: "Model", placeHolder: "From the next turn on" });
  if (chosen !== undefined) await chat.configure({ model: chosen.id });
}

export async function chooseMode({ chat }: Ctx): Promise<void> {
  const chosen = await vscode.window.showQuickPick(MODES, { title: "Mode", placeHolder: "At once" });
  if (chosen !== undefined) await chat.configure({ mode: chosen.description });
}

/** The words of the message come back into the composer. */
export async function chooseRewind({ chat, sessions, view }: Ctx): Promise<void> {
  const picks = chat.state.items
    .flatMap((item) => {
      if (item.kind !== "user" || item.uuid === undefined) return [];
      return [{ label: item.text.replaceAll(/\s+/g, " ").slice(0, 120), uuid: item.uuid, attached: item.attachments }];
    })
    .reverse();
  if (picks.length === 0) throw new Error("There is no message to go back to.");
  const chosen = await vscode.window.showQuickPick(picks, { title: "Go back to before which message?" });
  if (chosen === undefined) return;
  const words = await sessions.rewind(chosen.uuid);
  if (words === undefined) return;
  const loss = lossOf(chosen.attached);
  if (loss !== undefined) void warn(loss);
  await view.attach(kept(chosen.attached), words);
}
