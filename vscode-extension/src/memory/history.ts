/** What was changed in memory, by whom and why; each change in the native diff editor, from where it can be taken back. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { Server } from "../client.ts";
import type { Documents } from "../documents.ts";
import type { MemoryActor, MemoryChange } from "../protocol.ts";
import { confirm, inform, reporting, warn } from "../telling.ts";
import { ago } from "../when.ts";

const MOST_CHANGES = 200;
/** More diffs than that are hardly open at once. */
const MOST_SHOWN = 50;

export interface MemoryHistory {
  /** The changes of one memory, or of all. */
  list(path?: string): Promise<void>;
  /** One change in the diff editor. */
  diff(changeId: string): Promise<void>;
  /** Returns what is again as it was. `together`: with all that was changed with each. */
  undo(changeIds: readonly string[], together?: boolean): Promise<readonly string[]>;
  /** The newest change of one memory, or of all. */
  undoLast(path?: string): Promise<void>;
  /** The change that the active diff editor shows. */
  undoShown(uri: vscode.Uri | undefined): Promise<void>;
}

const ACTORS: Record<MemoryActor, string> = {
  recall: "Recall",
  model: "The agent",
  extraction: "Learnt from a turn",
  dream: "A dream",
  user: "You",
  team: "The team",
};

const UNDO: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("discard"), tooltip: "Undo this change" };

export function createMemoryHistory(
  server: Server,
  documents: Documents,
  undone: (changeIds: readonly string[]) => void,
): MemoryHistory {
  /** Which change a diff editor shows, by the path of its right side. */
  const shown = new Map<string, string>();

  async function diff(changeId: string): Promise<void> {
    const { changes } = await server.request("reverie/memory/history", { changeId, contents: true });
    const change = changes.find((change) => change.id === changeId);
    if (change === undefined) throw new Error("This change is not in the history any more.");
    const name = nameOf(change);
    const after = documents.add(name, change.after ?? "");
    shown.set(after.path, changeId);
    for (const path of [...shown.keys()].slice(0, -MOST_SHOWN)) shown.delete(path);
    void vscode.commands.executeCommand("setContext", "reverie.historyPaths", [...shown.keys()]);
    const title = `${name} (${ACTORS[change.by]}, ${ago(change.at, Date.now())})`;
    await vscode.commands.executeCommand("vscode.diff", documents.add(name, change.before ?? ""), after, title, {
      preview: true,
    });
  }

  async function undo(changeIds: readonly string[], together = false): Promise<readonly string[]> {
    const paths: string[] = [];
    const kept: string[] = [];
    // The newest first: an older one of the same file would find it changed.
    for (const changeId of [...changeIds].reverse()) {
      const result = await server.request("reverie/memory/undo", { changeId, together });
      paths.push(...result.undone);
      kept.push(...(result.kept ?? []).map(({ path, reason }) => `${basename(path)}: ${reason}`));
    }
    undone(changeIds);
    if (kept.length > 0) void warn(`Left as it is: ${kept.join("; ")}`);
    return paths;
  }

  async function list(path?: string): Promise<void> {
    const { changes } = await server.request("reverie/memory/history", { path, limit: MOST_CHANGES });
    if (changes.length === 0) {
      void inform("Nothing was changed here yet.");
      return;
    }
    const picker = vscode.window.createQuickPick<vscode.QuickPickItem & { change: MemoryChange }>();
    picker.title = path === undefined ? "Changes of memories" : `Changes of ${basename(path)}`;
    picker.placeholder = "Choose a change to see its diff";
    picker.matchOnDescription = true;
    picker.matchOnDetail = true;
    picker.items = changes.map((change) => ({
      label: nameOf(change),
      description: `${ACTORS[change.by]}, ${ago(change.at, Date.now())}`,
      detail: change.why,
      buttons: [UNDO],
      change,
    }));
    picker.onDidAccept(() => {
      const chosen = picker.selectedItems[0];
      picker.hide();
      if (chosen !== undefined) reporting(diff(chosen.change.id));
    });
    picker.onDidTriggerItemButton(({ item }) => {
      picker.hide();
      reporting(undo([item.change.id]));
    });
    picker.onDidHide(() => picker.dispose());
    picker.show();
  }

  return {
    list,
    diff,
    undo,
    async undoLast(path) {
      const { changes } = await server.request("reverie/memory/history", { path, limit: 1 });
      const last = changes[0];
      if (last === undefined) {
        void inform("There is no change to undo.");
        return;
      }
      const detail = `${ACTORS[last.by]}, ${ago(last.at, Date.now())}: ${last.why}`;
      const question = `Undo the last change of ${nameOf(last)}?`;
      const chosen = await confirm(question, [detail], "Undo", "Show diff");
      if (chosen === "Undo") await undo([last.id]);
      if (chosen === "Show diff") await diff(last.id);
    },
    async undoShown(uri) {
      const changeId = shown.get(uri?.path ?? "");
      if (changeId === undefined) throw new Error("The active editor shows no change of a memory.");
      await undo([changeId]);
      await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    },
  };
}

function nameOf({ path }: MemoryChange): string {
  return basename(path);
}
