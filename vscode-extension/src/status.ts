/** The item in the status bar: what Reverie is at, and the way to it. */

import * as vscode from "vscode";
import type { Chat } from "./chat/session.ts";
import type { ChatState } from "./chat/state.ts";
import { isQuiet } from "./configuration.ts";
import type { MemoryView } from "./memory/tree.ts";
import { plainly } from "./words.ts";

interface Look {
  text: string;
  tooltip: string;
  command: string;
  background?: "error" | "warning";
}

export function createStatus(chat: Chat, memory: MemoryView): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("reverie.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "Reverie";
  let shown = "";

  function draw(): void {
    const look = lookOf(chat.state, isQuiet() ? memory.unseen : 0);
    const key = JSON.stringify(look);
    // A streamed answer is hundreds of events that change nothing here.
    if (key === shown) return;
    shown = key;
    item.text = look.text;
    // Plain, not Markdown: the reason and the words of a dream are not ours.
    item.tooltip = plainly(look.tooltip);
    item.command = look.command;
    item.accessibilityInformation = { label: plainly(look.tooltip), role: "button" };
    item.backgroundColor =
      look.background === undefined ? undefined : new vscode.ThemeColor(`statusBarItem.${look.background}Background`);
    item.show();
  }

  draw();
  return vscode.Disposable.from(item, chat.onEvent(draw), memory.onChanged(draw));
}

function lookOf(state: ChatState, unseen: number): Look {
  const { server, asks, dream, turn, jobs } = state;
  if (server.state === "failed") {
    return { text: "$(error) Reverie", tooltip: server.reason, command: "reverie.focusChat", background: "error" };
  }
  if (server.state === "restarting") {
    return { text: "$(sync~spin) Reverie", tooltip: server.reason, command: "reverie.showLog" };
  }
  if (asks.length > 0) {
    const tooltip = "Reverie asks you something. Click to answer.";
    return { text: "$(question) Reverie asks", tooltip, command: "reverie.answer", background: "warning" };
  }
  if (dream?.status === "running") {
    const rounds = dream.rounds === 1 ? "1 round" : `${dream.rounds} rounds`;
    const tooltip = `Reverie puts its memories in order: ${dream.text ?? dream.phase}. Click to stop it or to see more.`;
    return { text: `$(loading~spin) Dreaming… ${rounds}`, tooltip, command: "reverie.dreamActions" };
  }
  if (turn !== undefined) {
    return { text: "$(loading~spin) Reverie", tooltip: "Reverie is working", command: "reverie.focusChat" };
  }
  if (jobs > 0) {
    const tooltip = jobs === 1 ? "Reverie: 1 background task" : `Reverie: ${jobs} background tasks`;
    return { text: "$(loading~spin) Reverie", tooltip, command: "reverie.backgroundTasks" };
  }
  if (unseen > 0) {
    const tooltip = unseen === 1 ? "Reverie: 1 new memory" : `Reverie: ${unseen} new memories`;
    return { text: `$(sparkle) Reverie: ${unseen} new`, tooltip, command: "reverie.memory.focus" };
  }
  return { text: "$(comment-discussion) Reverie", tooltip: "Open the Reverie chat", command: "reverie.focusChat" };
}
