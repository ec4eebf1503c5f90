/** The Memory view: what is remembered, by kind, with age and marks, and what can be done with it. */

import * as vscode from "vscode";
import type { Server } from "../client.ts";
import type { Memory, MemoryEventParams } from "../protocol.ts";
import { ago } from "../when.ts";
import { plainly, wordsOf } from "../words.ts";

export const MEMORY_VIEW = "reverie.memory";
const UNSEEN_KEY = "reverie.unseenMemories";

export type Node = { kind: "group"; label: string; memories: readonly Memory[] } | { kind: "memory"; memory: Memory };

export interface MemoryView extends vscode.Disposable {
  /** The memory folder; absent until the list was read. */
  readonly folder: string | undefined;
  readonly memories: readonly Memory[];
  /** What the agent has changed and nobody has looked at. */
  readonly unseen: number;
  readonly onChanged: vscode.Event<void>;
  refresh(): Promise<void>;
  /** Something was remembered, changed or forgotten. */
  hear(event: MemoryEventParams): void;
}

const GROUPS: readonly { label: string; holds: (memory: Memory) => boolean }[] = [
  { label: "You", holds: ({ scope, type }) => scope === "private" && type === "user" },
  { label: "Feedback", holds: ({ scope, type }) => scope === "private" && type === "feedback" },
  { label: "Project", holds: ({ scope, type }) => scope === "private" && type === "project" },
  { label: "References", holds: ({ scope, type }) => scope === "private" && type === "reference" },
  { label: "Other", holds: ({ scope, type }) => scope === "private" && !isKnown(type) },
  { label: "Team", holds: ({ scope }) => scope === "team" },
  { label: "Agents", holds: ({ scope }) => scope === "agent" },
];

export function createMemoryView(server: Server, memento: vscode.Memento, log: vscode.LogOutputChannel): MemoryView {
  const changed = new vscode.EventEmitter<undefined>();
  const noted = new vscode.EventEmitter<void>();
  const decorated = new vscode.EventEmitter<undefined>();
  /** By URI. */
  const unseen = new Set(memento.get<string[]>(UNSEEN_KEY, []));
  const isNew = ({ path }: Memory) => unseen.has(keyOf(path));
  let memories: readonly Memory[] = [];
  let folder: string | undefined;
  let reading: Promise<void> | undefined;

  const provider: vscode.TreeDataProvider<Node> = {
    onDidChangeTreeData: changed.event,
    async getChildren(node) {
      if (node?.kind === "group") return node.memories.map((memory) => ({ kind: "memory", memory }));
      if (node !== undefined) return [];
      reading ??= read();
      await reading;
      return GROUPS.map(
        ({ label, holds }): Node => ({ kind: "group", label, memories: memories.filter(holds) }),
      ).filter((group) => group.kind === "group" && group.memories.length > 0);
    },
    getTreeItem: (node) => (node.kind === "group" ? groupItem(node) : memoryItem(node.memory, isNew(node.memory))),
  };

  const tree = vscode.window.createTreeView(MEMORY_VIEW, { treeDataProvider: provider, showCollapseAll: true });

  async function read(): Promise<void> {
    try {
      const result = await server.request("reverie/memory/list", {});
      folder = result.dir;
      memories = result.memories;
      tree.message = undefined;
      const known = new Set(memories.map(({ path }) => keyOf(path)));
      for (const key of [...unseen]) if (!known.has(key)) unseen.delete(key);
      note();
      // Only now is it known whether there are any.
      await vscode.commands.executeCommand("setContext", "reverie.memoriesListed", true);
    } catch (error) {
      // What was listed before is still the best that is known.
      log.warn(`memories: ${wordsOf(error)}`);
      tree.message = plainly(wordsOf(error));
    }
  }

  function note(): void {
    void memento.update(UNSEEN_KEY, [...unseen]);
    badge();
    decorated.fire(undefined);
    noted.fire();
  }

  function badge(): void {
    const count = unseen.size;
    tree.badge =
      count === 0 ? undefined : { value: count, tooltip: count === 1 ? "1 new memory" : `${count} new memories` };
  }

  async function refresh(): Promise<void> {
    // A list that nobody has asked for yet is read when it is shown.
    if (reading === undefined && !tree.visible) return;
    reading = read();
    await reading;
    changed.fire(undefined);
  }

  function look(document: vscode.TextDocument | undefined): void {
    if (document !== undefined && unseen.delete(document.uri.toString())) {
      note();
      changed.fire(undefined);
    }
  }

  const subscriptions = [
    changed,
    noted,
    decorated,
    tree,
    vscode.window.onDidChangeActiveTextEditor((editor) => look(editor?.document)),
    vscode.window.registerFileDecorationProvider({
      onDidChangeFileDecorations: decorated.event,
      provideFileDecoration: (uri) => {
        const memory = memories.find(({ path }) => keyOf(path) === uri.toString());
        return memory && decoration(memory, isNew(memory));
      },
    }),
    server.onState(({ state }) => {
      if (state === "running") void refresh();
    }),
  ];
  // Of last time.
  badge();

  return {
    get folder() {
      return folder;
    },
    get memories() {
      return memories;
    },
    get unseen() {
      return unseen.size;
    },
    onChanged: noted.event,
    refresh,
    hear({ kind, by, files }) {
      if (kind === "recalled") return;
      const isNews = by !== "user" && (kind === "saved" || kind === "updated");
      const active = vscode.window.activeTextEditor?.document.uri.toString();
      for (const key of files.map(({ path }) => keyOf(path))) {
        if (isNews && key !== active) unseen.add(key);
        else unseen.delete(key);
      }
      note();
      void refresh();
    },
    dispose() {
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

function groupItem({ label, memories }: Extract<Node, { kind: "group" }>): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `group ${label}`;
  item.description = String(memories.length);
  item.contextValue = "group";
  const count = memories.length === 1 ? "1 memory" : `${memories.length} memories`;
  item.accessibilityInformation = { label: `${label}, ${count}` };
  return item;
}

function memoryItem(memory: Memory, isNew: boolean): vscode.TreeItem {
  const { path, modifiedAt, stale, recalled } = memory;
  const [name, description] = [plainly(memory.name), plainly(memory.description)];
  const item = new vscode.TreeItem(name);
  const marks = [isNew ? "new" : "", stale ? "stale" : ""].filter((mark) => mark !== "");
  item.id = path;
  item.resourceUri = vscode.Uri.file(path);
  item.description = [ago(modifiedAt, Date.now()), ...marks].join(", ");
  item.iconPath = new vscode.ThemeIcon(stale ? "warning" : isNew ? "sparkle" : "note");
  item.contextValue = "memory";
  item.command = { title: "Open", command: "vscode.open", arguments: [item.resourceUri] };
  item.tooltip = tooltip(description, stale, recalled ?? 0);
  item.accessibilityInformation = { label: `${name}, ${item.description}, ${description}` };
  return item;
}

/** Plain text: a memory may have been written by anybody. */
function tooltip(description: string, stale: boolean, recalled: number): string {
  const lines = [description, recalled === 0 ? "Never recalled yet" : `Recalled ${recalled}×`];
  return (stale ? [...lines, "Stale: it names files that are gone"] : lines).join("\n");
}

function decoration({ stale }: Memory, isNew: boolean): vscode.FileDecoration | undefined {
  if (stale) {
    return { badge: "!", tooltip: "Stale", color: new vscode.ThemeColor("list.warningForeground") };
  }
  return isNew
    ? { badge: "N", tooltip: "New", color: new vscode.ThemeColor("gitDecoration.addedResourceForeground") }
    : undefined;
}

/** Of a path there may be several spellings: `C:\\a` and `c:\\a`. */
function keyOf(path: string): string {
  return vscode.Uri.file(path).toString();
}

function isKnown(type: string | undefined): boolean {
  return type === "user" || type === "feedback" || type === "project" || type === "reference";
}
