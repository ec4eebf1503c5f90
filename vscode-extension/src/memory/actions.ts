/** What can be done with memories from the palette and the Memory view. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { Server } from "../client.ts";
import { openFile } from "../files.ts";
import type { MemoryFinding } from "../protocol.ts";
import { confirm, inform, reporting } from "../telling.ts";
import { wordsOf } from "../words.ts";
import type { MemoryView } from "./tree.ts";

const MOST_HITS = 30;
/** Between letters of a search. */
const SETTLE_MS = 120;

/** Searches while the user types. */
export function searchMemories(server: Server, memory: MemoryView, log: vscode.LogOutputChannel): void {
  const picker = vscode.window.createQuickPick<vscode.QuickPickItem & { path: string }>();
  picker.title = "Search memories";
  picker.placeholder = "Words to look for";
  let timer: NodeJS.Timeout | undefined;

  async function search(query: string): Promise<void> {
    if (query.trim() === "") {
      picker.items = [];
      return;
    }
    picker.busy = true;
    try {
      const { hits } = await server.request("reverie/memory/search", { query, limit: MOST_HITS });
      // What was typed meanwhile has its own answer coming.
      if (picker.value !== query) return;
      picker.items = hits.map(({ path, snippet }) => ({
        label: memory.memories.find((known) => known.path === path)?.name ?? basename(path),
        detail: snippet,
        path,
        // The server ranks; the picker must not hide what does not hold the letters.
        alwaysShow: true,
      }));
    } catch (error) {
      log.warn(`search: ${wordsOf(error)}`);
    } finally {
      picker.busy = false;
    }
  }

  picker.onDidChangeValue((query) => {
    clearTimeout(timer);
    timer = setTimeout(() => void search(query), SETTLE_MS);
  });
  picker.onDidAccept(() => {
    const chosen = picker.selectedItems[0];
    picker.hide();
    if (chosen !== undefined) reporting(openFile(chosen.path));
  });
  picker.onDidHide(() => {
    clearTimeout(timer);
    picker.dispose();
  });
  picker.show();
}

/** Lists what is wrong with memories; the chosen one opens at its line. */
export async function lintMemories(server: Server): Promise<void> {
  const { findings } = await server.request("reverie/memory/lint", {});
  if (findings.length === 0) {
    void inform("Nothing is wrong with the memories.");
    return;
  }
  const picks = findings.map((finding: MemoryFinding) => ({
    label: finding.message,
    description: `${basename(finding.path)}:${finding.line}`,
    detail: finding.fix === undefined ? finding.code : `${finding.code}: ${finding.fix}`,
    finding,
  }));
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  const chosen = await vscode.window.showQuickPick(picks, {
    title: `Lint memories: ${count}`,
    matchOnDescription: true,
  });
  if (chosen !== undefined) await openFile(chosen.finding.path, chosen.finding.line);
}

export async function deleteMemory(server: Server, path: string, name: string): Promise<void> {
  const detail = "The file and its line in the index are removed. The history keeps both, so that it can be undone.";
  const chosen = await confirm(`Delete “${name}”?`, [detail], "Delete");
  if (chosen === "Delete") await server.request("reverie/memory/delete", { path });
}

export async function openMemoryFolder(server: Server, memory: MemoryView): Promise<void> {
  const folder = memory.folder ?? (await server.request("reverie/memory/list", {})).dir;
  const uri = vscode.Uri.file(folder);
  await vscode.workspace.fs.createDirectory(uri);
  const isLocal = vscode.env.remoteName === undefined && vscode.env.uiKind === vscode.UIKind.Desktop;
  if (isLocal) {
    await vscode.commands.executeCommand("revealFileInOS", uri);
    return;
  }
  const entries = await vscode.workspace.fs.readDirectory(uri);
  const names = entries.filter(([, type]) => type === vscode.FileType.File).map(([name]) => name);
  const chosen = await vscode.window.showQuickPick(names, { title: folder });
  if (chosen !== undefined) await openFile(vscode.Uri.joinPath(uri, chosen).fsPath);
}
