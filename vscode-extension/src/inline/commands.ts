/** What lenses, hints and actions lead to. They are not in the palette: each is about one place or one memory. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { Server } from "../client.ts";
import { openFile } from "../files.ts";
import type { MemoryHistory } from "../memory/history.ts";
import type { Range } from "../protocol.ts";
import { inform } from "../telling.ts";
import type { InlineCommand } from "./names.ts";

type Argument = Readonly<Record<string, unknown>> | undefined;

export function inlineCommands(
  server: Server,
  history: MemoryHistory,
): Record<InlineCommand, (argument: Argument) => Promise<void>> {
  /** Says what was done; what can be looked at, and taken back, is. */
  async function tell(words: string, changeId: string | undefined, path?: string): Promise<void> {
    const actions = [...(path === undefined ? [] : ["View"]), ...(changeId === undefined ? [] : ["Undo"])];
    const chosen = await inform(words, ...actions);
    if (chosen === "Undo" && changeId !== undefined) await history.undo([changeId], true);
    if (chosen === "View" && path !== undefined) await openFile(path);
  }

  return {
    "reverie.inline.open": async (argument) => {
      const paths = listOf(argument, "paths");
      const picks = paths.map((path) => ({ label: basename(path), path }));
      const chosen = picks.length > 1 ? await vscode.window.showQuickPick(picks, { title: "Memories" }) : picks[0];
      if (chosen !== undefined) await openFile(chosen.path);
    },
    "reverie.inline.remember": async (argument) => {
      const [uri, range] = [textOf(argument, "uri"), argument?.range as Range | undefined];
      const given = argument?.text;
      const title = "Remember something about this";
      const asked =
        typeof given === "string" ? given : await vscode.window.showInputBox({ title, prompt: "In your words" });
      const text = asked?.trim() ?? "";
      if (text === "") return;
      const { path, changeId } = await server.request("reverie/memory/remember", { uri, range, text });
      await tell(`Remembered in ${basename(path)}`, changeId, path);
    },
    "reverie.inline.delete": async (argument) => {
      const path = textOf(argument, "path");
      const { changeId } = await server.request("reverie/memory/delete", { path });
      await tell(`Deleted ${basename(path)}`, changeId);
    },
    "reverie.inline.merge": async (argument) => {
      const [path, into] = [textOf(argument, "path"), textOf(argument, "into")];
      const merged = await server.request("reverie/memory/merge", { path, into });
      await tell(`Merged ${basename(path)} into ${basename(into)}`, merged.changeId, merged.path);
    },
    "reverie.inline.undo": async (argument) => {
      const undone = await history.undo([textOf(argument, "changeId")]);
      if (undone.length > 0) void inform(`Taken back: ${undone.map((path) => basename(path)).join(", ")}`);
    },
    "reverie.inline.history": (argument) => history.list(textOf(argument, "path")),
  };
}

function textOf(argument: Argument, key: string): string {
  const value = argument?.[key];
  if (typeof value !== "string") throw new Error(`This is done from the text: there is no ${key} here.`);
  return value;
}

function listOf(argument: Argument, key: string): readonly string[] {
  const value = argument?.[key];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
