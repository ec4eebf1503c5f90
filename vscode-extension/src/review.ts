/**
 * The review of what the agent changed, hunk by hunk: in the native diff editor with the real file on its right, and in
 * any editor of the file. The server knows what is not reviewed yet; this shows it and says "keep" or "undo".
 */

import * as vscode from "vscode";
import type { Chat } from "./chat/session.ts";
import type { Server } from "./client.ts";
import { beside, type Documents, fileBeside } from "./documents.ts";
import { nameOf, uriOf } from "./files.ts";
import { createMarks } from "./marks.ts";
import type { ChangedFile, ChangedHunk, LineSpan, ReadChangeResult } from "./protocol.ts";
import { confirm, inform } from "./telling.ts";
import { wordsOf } from "./words.ts";

/** Typing in a file under review asks the server anew, but not at every letter. */
const SETTLE_MS = 250;

export interface Review extends vscode.Disposable {
  /** A file in the diff editor; asks which where none is named. */
  open(path?: string): Promise<void>;
  resolveFile(keep: boolean, path?: string): Promise<void>;
  resolveAll(keep: boolean): Promise<void>;
  /** The hunk that is named, or else at the cursor. */
  resolveHunk(keep: boolean, place?: HunkPlace): Promise<void>;
  /** Moves the cursor to the next change, or the one before. */
  go(step: 1 | -1): void;
}

/** As a code lens or a link names a hunk. */
export interface HunkPlace {
  path: string;
  hunkId: string;
}

export function createReview(server: Server, chat: Chat, documents: Documents, log: vscode.LogOutputChannel): Review {
  const hunks = new Map<string, readonly ChangedHunk[]>();
  const marks = createMarks((uri) => hunks.get(uri.toString()) ?? []);
  /** How often each file was asked about: only the last answer is shown. */
  const asked = new Map<string, number>();
  const timers = new Map<string, NodeJS.Timeout>();
  let refreshed: Promise<void> = Promise.resolve();
  /** One after the other: each changes which hunks there are, and so what the next one means. */
  let resolving: Promise<void> = Promise.resolve();

  /** Compared as URIs: of a path there may be several spellings. */
  function fileOf(uri: vscode.Uri): ChangedFile | undefined {
    return chat.state.changes.find((file) => vscode.Uri.file(file.path).toString() === uri.toString());
  }

  /** Nothing where another session is shown by the time the answer comes. */
  async function read(path: string): Promise<ReadChangeResult | undefined> {
    const sessionId = chat.requireSession();
    const uri = vscode.Uri.file(path);
    const key = uri.toString();
    const mine = (asked.get(key) ?? 0) + 1;
    asked.set(key, mine);
    const result = await server.request("reverie/changes/read", { sessionId, path });
    if (chat.state.sessionId !== sessionId) return undefined;
    if (asked.get(key) === mine) {
      hunks.set(key, result.hunks);
      documents.set(beside(uri, "before"), result.before ?? "");
      marks.refresh();
    }
    return result;
  }

  /** What is shown of a file follows what the server says; a file that is gone from the list has no marks. */
  async function refresh(): Promise<void> {
    const uris = chat.state.changes.map((file) => vscode.Uri.file(file.path));
    const wanted = new Set(uris.map(String));
    for (const uri of [...hunks.keys()]) {
      if (!wanted.has(uri)) hunks.delete(uri);
    }
    // As `resourcePath` names them: a file by its place on the disk, what stands beside it by the path of its URI.
    const paths = [...new Set(uris.flatMap((uri) => [uri.fsPath, uri.path]))];
    void vscode.commands.executeCommand("setContext", "reverie.changedPaths", paths);
    marks.setFiles(uris);
    const shown = new Set(vscode.workspace.textDocuments.map(({ uri }) => fileBeside(uri).file.toString()));
    for (const uri of uris.filter((uri) => shown.has(uri.toString()))) await update(uri.fsPath);
  }

  /** Reads a file anew; whether there is anything in it. */
  async function update(path: string): Promise<boolean> {
    try {
      return (await read(path))?.hunks.length !== 0;
    } catch (error) {
      log.warn(`changes of ${path}: ${wordsOf(error)}`);
      return false;
    }
  }

  /** Somebody typed. What was edited back by hand is not for review any more. */
  async function follow(path: string): Promise<void> {
    if (fileOf(vscode.Uri.file(path)) === undefined) return;
    if (!(await update(path))) await chat.refreshChanges();
  }

  function resolve(place: () => { path?: string; hunkId?: string }, keep: boolean): Promise<void> {
    const sessionId = chat.requireSession();
    const mine = resolving.then(async () => {
      if (chat.state.sessionId !== sessionId) throw new Error("Another conversation is shown now.");
      const { path, hunkId } = place();
      try {
        const { files } = await server.request("reverie/changes/resolve", { sessionId, path, hunkId, keep });
        if (chat.state.sessionId === sessionId) chat.apply({ type: "changes", files });
      } catch (error) {
        if (path !== undefined) await update(path);
        throw error;
      }
      await refreshed;
    });
    resolving = mine.catch(() => undefined);
    return mine;
  }

  async function open(path?: string): Promise<void> {
    const chosen = path ?? (await choose());
    if (chosen === undefined) return;
    const uri = uriOf(chosen);
    const result = await read(fileOf(uri)?.path ?? uri.fsPath);
    if (result === undefined) return;
    const name = nameOf(uri);
    const isGone = result.after === undefined;
    // Of a file that is gone the right side is empty, and the commands know it by its place.
    if (isGone) documents.set(beside(uri, "after"), "");
    const title = `${name} (${isGone ? "deleted" : "changed"} by Reverie)`;
    const now = isGone ? beside(uri, "after") : uri;
    await vscode.commands.executeCommand("vscode.diff", beside(uri, "before"), now, title, { preview: true });
  }

  async function choose(): Promise<string | undefined> {
    const files = chat.state.changes;
    if (files.length <= 1) {
      if (files[0] === undefined) void inform("There is nothing to review.");
      return files[0]?.path;
    }
    const picks = files.map(({ path, state, added, removed }) => ({
      label: vscode.workspace.asRelativePath(path),
      description: `${state}, +${added} −${removed}`,
      path,
    }));
    return (await vscode.window.showQuickPick(picks, { title: "Review what Reverie changed" }))?.path;
  }

  /** The file under review that the active editor shows, on either side of a diff. */
  function current(): { editor: vscode.TextEditor; path: string; spans: readonly (LineSpan & { id: string })[] } {
    const editor = vscode.window.activeTextEditor;
    const shown = editor && fileBeside(editor.document.uri);
    const file = shown && fileOf(shown.file);
    if (editor === undefined || shown === undefined || file === undefined) {
      throw new Error("Reverie has changed nothing in this file that is not reviewed.");
    }
    const known = hunks.get(shown.file.toString()) ?? [];
    return { editor, path: file.path, spans: known.map((hunk) => ({ id: hunk.id, ...hunk[shown.side] })) };
  }

  function go(step: 1 | -1): void {
    const { editor, spans } = current();
    const line = editor.selection.active.line;
    const starts = spans.map((span) => span.start);
    const next = step > 0 ? starts.find((start) => start > line) : starts.findLast((start) => start < line);
    const target = next ?? (step > 0 ? starts[0] : starts.at(-1));
    if (target === undefined) return;
    const at = new vscode.Position(target, 0);
    editor.selection = new vscode.Selection(at, at);
    editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** The hunk with the cursor in it, or else the nearest. */
  function hunkAtCursor(path: string): string {
    const { editor, spans, ...here } = current();
    if (here.path !== path) throw new Error("Another file is active now.");
    const line = editor.selection.active.line;
    const distance = ({ start, lines }: LineSpan) =>
      line < start ? start - line : Math.max(0, line - (start + Math.max(lines, 1) - 1));
    const nearest = [...spans].sort((a, b) => distance(a) - distance(b))[0];
    if (nearest === undefined) throw new Error("There is no change left in this file.");
    return nearest.id;
  }

  const subscriptions = [
    marks,
    chat.onEvent((event) => {
      if (event.type === "changes" || event.type === "resumed" || event.type === "cleared") refreshed = refresh();
    }),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      const path = fileOf(document.uri)?.path;
      if (path === undefined) return;
      clearTimeout(timers.get(path));
      timers.set(
        path,
        setTimeout(() => {
          timers.delete(path);
          follow(path).catch((error: unknown) => log.warn(`changes: ${wordsOf(error)}`));
        }, SETTLE_MS),
      );
    }),
    vscode.workspace.onDidOpenTextDocument((document) => {
      const path = fileOf(document.uri)?.path;
      if (path !== undefined) void update(path);
    }),
  ];

  return {
    open,
    async resolveFile(keep, path) {
      const chosen = path ?? current().path;
      await resolve(() => ({ path: chosen }), keep);
    },
    async resolveAll(keep) {
      const count = chat.state.changes.length;
      if (count === 0) return;
      const what = count === 1 ? "1 file" : `${count} files`;
      const question = `Take back what Reverie changed in ${what}?`;
      if (!keep && (await confirm(question, [], "Undo all")) === undefined) return;
      await resolve(() => ({}), keep);
    },
    async resolveHunk(keep, place) {
      const path = place === undefined ? current().path : (fileOf(vscode.Uri.file(place.path))?.path ?? place.path);
      // Who presses the key twice means the next one, which is known when the first is done.
      await resolve(() => ({ path, hunkId: place?.hunkId ?? hunkAtCursor(path) }), keep);
    },
    go,
    dispose() {
      for (const timer of timers.values()) clearTimeout(timer);
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}
