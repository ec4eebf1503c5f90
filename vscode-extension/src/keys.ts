/** The keys by which menus and commands know what there is. */

import * as vscode from "vscode";
import type { Chat } from "./chat/session.ts";

export function createKeys(chat: Chat): vscode.Disposable {
  const known = new Map<string, boolean>();

  function set(key: string, value: boolean): void {
    if (known.get(key) === value) return;
    known.set(key, value);
    void vscode.commands.executeCommand("setContext", key, value);
  }

  return chat.onEvent(() => {
    const { sessionId, turn, asks, changes } = chat.state;
    set("reverie.hasSession", sessionId !== undefined);
    set("reverie.working", turn !== undefined);
    set("reverie.asks", asks.length > 0);
    set("reverie.hasChanges", changes.length > 0);
  });
}
