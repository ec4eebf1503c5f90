/** Dreams: started, stopped, reported and undone. Their progress is shown by the chat view and the status bar. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { Chat } from "./chat/session.ts";
import type { Server } from "./client.ts";
import type { Documents } from "./documents.ts";
import { confirm, inform } from "./telling.ts";
import { moment } from "./when.ts";

export interface Dreams {
  start(dryRun: boolean): Promise<void>;
  /** The one that runs, if none is named. */
  stop(dreamId?: string): Promise<void>;
  /** The last one, if none is named. */
  report(dreamId?: string): Promise<void>;
  undo(dreamId?: string): Promise<void>;
  /** What to do about the one that runs. */
  choose(): Promise<void>;
}

export function createDreams(server: Server, chat: Chat, documents: Documents): Dreams {
  async function report(dreamId?: string): Promise<void> {
    const { text, startedAt } = await server.request("reverie/dream/report", { dreamId });
    // As text: a preview would load images from addresses that somebody wrote into a memory.
    await documents.open(`Dream ${moment(startedAt)}.md`, text);
  }

  async function stop(dreamId?: string): Promise<void> {
    const id = dreamId ?? (await server.request("reverie/dream/status", {})).running?.dreamId;
    if (id === undefined) void inform("No dream is running.");
    else await server.request("reverie/dream/stop", { dreamId: id });
  }

  return {
    async start(dryRun) {
      const result = await server.request("reverie/dream/start", { sessionId: chat.state.sessionId, dryRun });
      if ("skipped" in result) void inform(`No dream was started: ${result.skipped}`);
    },
    stop,
    report,
    async undo(dreamId) {
      const id = dreamId ?? (await server.request("reverie/dream/report", {})).dreamId;
      const question = "Take back all that the last dream changed?";
      if (dreamId === undefined) {
        const chosen = await confirm(question, [], "Undo");
        if (chosen === undefined) return;
      }
      const { undone, kept } = await server.request("reverie/memory/undo", { dreamId: id });
      const left = (kept ?? []).map(({ path, reason }) => `${basename(path)}: ${reason}`);
      const words = undone.length === 1 ? "1 memory is as it was." : `${undone.length} memories are as they were.`;
      const rest = left.length === 0 ? "" : ` Left alone: ${left.join("; ")}`;
      void inform(words + rest);
    },
    async choose() {
      const { dream } = chat.state;
      const title = dream?.text === undefined ? "A dream is running" : `A dream is running: ${dream.text}`;
      const chosen = await vscode.window.showQuickPick(["Show", "Stop"], { title });
      if (chosen === "Stop") await stop(dream?.dreamId);
      if (chosen === "Show") await vscode.commands.executeCommand("reverie.backgroundTasks");
    },
  };
}
