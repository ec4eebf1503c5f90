/** What is done with whole sessions, with the questions that go before: rename, delete, export, fork, rewind. */

import * as vscode from "vscode";
import type { Server } from "../client.ts";
import { confirm, warn } from "../telling.ts";
import type { Chat } from "./session.ts";

export interface Sessions {
  fork(sessionId: string, messageUuid?: string): Promise<void>;
  rename(sessionId: string): Promise<void>;
  /** Whether the user wanted it. */
  delete(sessionId: string): Promise<boolean>;
  export(sessionId: string): Promise<void>;
  /** Goes back to before a prompt, and returns its words; nothing where the user thought better of it. */
  rewind(messageUuid: string): Promise<string | undefined>;
}

export function createSessions(server: Server, chat: Chat): Sessions {
  async function restore(sessionId: string, messageUuid: string): Promise<string> {
    const { prompt, kept } = await server.request("reverie/session/rewind", { sessionId, messageUuid, force: false });
    if (kept.length > 0) {
      const names = kept.map(({ path, reason }) => `${vscode.workspace.asRelativePath(path)}: ${reason}`);
      void warn(`Left as they are: ${names.join("; ")}`);
    }
    return prompt;
  }

  return {
    async fork(sessionId, messageUuid) {
      const fork = await server.request("reverie/session/fork", { sessionId, messageUuid });
      await chat.open(fork.sessionId);
    },

    async rename(sessionId) {
      const old = chat.state.sessionId === sessionId ? chat.state.title : "";
      const asked = await vscode.window.showInputBox({ prompt: "Title of the session", value: old });
      const next = asked?.trim();
      if (next === undefined || next === "") return;
      await server.request("reverie/session/rename", { sessionId, title: next });
    },

    async delete(sessionId) {
      const detail = "Its transcript is deleted with it. What was remembered stays.";
      const chosen = await confirm("Delete this session?", [detail], "Delete");
      if (chosen !== "Delete") return false;
      await server.request("reverie/session/delete", { sessionId });
      if (chat.state.sessionId === sessionId) chat.begin();
      return true;
    },

    async export(sessionId) {
      const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
      const target = await vscode.window.showSaveDialog({
        title: "Export the session",
        filters: { Markdown: ["md"], JSON: ["json"] },
        defaultUri: folder && vscode.Uri.joinPath(folder, `reverie-${sessionId.slice(0, 8)}.md`),
      });
      if (target === undefined) return;
      const format = target.path.endsWith(".json") ? "json" : "markdown";
      const { text } = await server.request("reverie/session/export", { sessionId, format });
      await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text ?? ""));
      await vscode.window.showTextDocument(target);
    },

    async rewind(messageUuid) {
      const sessionId = chat.requireSession();
      const detail =
        "What came after it stays in the session as a branch. The files that the agent changed since can go back too; " +
        "what others changed meanwhile is left alone.";
      const question = "Go back to before this message?";
      const chosen = await confirm(question, [detail], "Restore files too", "Only the conversation");
      if (chosen === undefined) return undefined;
      await untilIdle(chat, sessionId);
      const words =
        chosen === "Restore files too"
          ? await restore(sessionId, messageUuid)
          : (await server.request("reverie/session/rewind", { sessionId, messageUuid, restoreFiles: false })).prompt;
      await chat.open(sessionId);
      return words;
    },
  };
}

/** Stops the turn of this session, if it is the one that runs, and waits for its end. */
async function untilIdle(chat: Chat, sessionId: string): Promise<void> {
  const isIdle = () => chat.state.turn === undefined || chat.state.sessionId !== sessionId;
  if (isIdle()) return;
  let listening: vscode.Disposable | undefined;
  const ended = new Promise<void>((resolve) => {
    listening = chat.onEvent(() => {
      if (isIdle()) resolve();
    });
  });
  try {
    await chat.stop();
    await ended;
  } finally {
    listening?.dispose();
  }
}
