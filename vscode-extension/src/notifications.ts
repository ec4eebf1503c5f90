/**
 * What is told with a notification: that something was remembered, and how a dream ended. With the quiet setting only
 * badges tell; VS Code's own "do not disturb" holds for these as for any notification.
 */

import * as vscode from "vscode";
import type { Server } from "./client.ts";
import { isQuiet } from "./configuration.ts";
import type { Dreams } from "./dream.ts";
import { openFile } from "./files.ts";
import type { MemoryHistory } from "./memory/history.ts";
import type { DreamProgressParams, MemoryEventFile, MemoryEventKind, MemoryEventParams } from "./protocol.ts";
import { inform, reporting, warn } from "./telling.ts";

/** Events that come together are told together. */
const TOGETHER_MS = 300;
const MOST_NAMES = 4;

type Told = Extract<MemoryEventKind, "saved" | "updated" | "deleted">;

const WORDS: Record<Told, string> = { saved: "Remembered", updated: "Updated what it remembers", deleted: "Forgot" };

export interface Notifications extends vscode.Disposable {
  memory(event: MemoryEventParams): void;
  dream(progress: DreamProgressParams): void;
}

export function createNotifications(server: Server, history: MemoryHistory, dreams: Dreams): Notifications {
  const waiting = new Map<Told, MemoryEventFile[]>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    for (const [kind, files] of waiting) reporting(tell(kind, files));
    waiting.clear();
  }

  async function tell(kind: Told, files: readonly MemoryEventFile[]): Promise<void> {
    const names = files.slice(0, MOST_NAMES).map((file) => file.name);
    const rest = files.length > MOST_NAMES ? ` and ${files.length - MOST_NAMES} more` : "";
    const actions = kind === "deleted" ? ["Undo"] : ["View", "Undo"];
    const chosen = await inform(`${WORDS[kind]}: ${names.join(", ")}${rest}`, ...actions);
    if (chosen === "Undo") await history.undo(files.flatMap((file) => file.changeId ?? []));
    if (chosen === "View") await view(files);
  }

  async function view(files: readonly MemoryEventFile[]): Promise<void> {
    if (files.length === 1 && files[0] !== undefined) {
      await openFile(files[0].path);
      return;
    }
    const picks = files.map(({ name, reason, path }) => ({ label: name, detail: reason, path }));
    const chosen = await vscode.window.showQuickPick(picks, { title: "Remembered" });
    if (chosen !== undefined) await openFile(chosen.path);
  }

  async function ended({ dreamId, status, text }: DreamProgressParams): Promise<void> {
    if (status === "failed") {
      const words = `The dream failed: ${text ?? "no reason was given"}`;
      if ((await warn(words, "Report")) === "Report") await dreams.report(dreamId);
      return;
    }
    const { changes, dryRun } = await server.request("reverie/dream/report", { dreamId });
    const count = new Set(changes.map((change) => change.path)).size;
    const memories = count === 1 ? "1 memory" : `${count} memories`;
    if (dryRun || count === 0) {
      const words = dryRun ? `A dream would improve ${memories}` : "The dream found nothing to improve";
      if ((await inform(words, "Report")) === "Report") await dreams.report(dreamId);
      return;
    }
    const chosen = await inform(`Dream improved ${memories}`, "Report", "Undo");
    if (chosen === "Report") await dreams.report(dreamId);
    if (chosen === "Undo") await dreams.undo(dreamId);
  }

  return {
    memory({ kind, by, files }) {
      const isTold = kind === "saved" || kind === "updated" || kind === "deleted";
      // What the user does is known to the user, and a dream tells all it did at its end.
      if (!isTold || files.length === 0 || by === "user" || by === "dream" || by === "recall" || isQuiet()) return;
      waiting.set(kind, [...(waiting.get(kind) ?? []), ...files]);
      timer ??= setTimeout(() => {
        timer = undefined;
        flush();
      }, TOGETHER_MS);
    },
    dream(progress) {
      if (progress.status === "completed" || progress.status === "failed") {
        if (!isQuiet()) reporting(ended(progress));
      }
    },
    dispose: () => clearTimeout(timer),
  };
}
