/** How changes that wait for a review look in editors and lists: coloured lines, "Keep" and "Undo" above them, an "R". */

import * as vscode from "vscode";
import type { ChangedHunk } from "./protocol.ts";
import type { HunkPlace } from "./review.ts";

export interface Marks extends vscode.Disposable {
  /** The files that wait. */
  setFiles(uris: readonly vscode.Uri[]): void;
  /** Draws the hunks anew. */
  refresh(): void;
}

export function createMarks(hunksOf: (uri: vscode.Uri) => readonly ChangedHunk[]): Marks {
  const lensesChanged = new vscode.EventEmitter<void>();
  const filesChanged = new vscode.EventEmitter<undefined>();
  let files = new Set<string>();

  const written = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  const removed = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
    borderStyle: "solid",
    borderWidth: "1px 0 0 0",
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });

  /** Only the hover: a diff editor has colours of its own. */
  const plain = vscode.window.createTextEditorDecorationType({ isWholeLine: true });

  function draw(editor: vscode.TextEditor): void {
    const { document } = editor;
    if (document.uri.scheme !== "file") return;
    const hunks = hunksOf(document.uri);
    const isDiff = isInDiffEditor(editor);
    const option = (hunk: ChangedHunk) => ({
      range: document.validateRange(rangeOf(hunk)),
      hoverMessage: links(document.uri, hunk),
    });
    const [wrote, took] = [
      hunks.filter(({ after }) => after.lines > 0),
      hunks.filter(({ after }) => after.lines === 0),
    ];
    editor.setDecorations(written, isDiff ? [] : wrote.map(option));
    editor.setDecorations(removed, isDiff ? [] : took.map(option));
    editor.setDecorations(plain, isDiff ? hunks.map(option) : []);
  }

  function refresh(): void {
    vscode.window.visibleTextEditors.forEach(draw);
    lensesChanged.fire();
  }

  const subscriptions = [
    lensesChanged,
    filesChanged,
    written,
    removed,
    plain,
    vscode.window.onDidChangeVisibleTextEditors((editors) => editors.forEach(draw)),
    vscode.languages.registerCodeLensProvider(
      { scheme: "file" },
      {
        onDidChangeCodeLenses: lensesChanged.event,
        provideCodeLenses: (document) =>
          hunksOf(document.uri).flatMap((hunk) => {
            const range = document.validateRange(rangeOf(hunk));
            const place: HunkPlace = { path: document.uri.fsPath, hunkId: hunk.id };
            return [
              new vscode.CodeLens(range, { title: "$(check) Keep", command: "reverie.keepChange", arguments: [place] }),
              new vscode.CodeLens(range, {
                title: "$(discard) Undo",
                command: "reverie.undoChange",
                arguments: [place],
              }),
            ];
          }),
      },
    ),
    vscode.window.registerFileDecorationProvider({
      onDidChangeFileDecorations: filesChanged.event,
      provideFileDecoration: (uri) =>
        files.has(uri.toString())
          ? { badge: "R", tooltip: "Changed by Reverie, not reviewed", color: new vscode.ThemeColor("charts.purple") }
          : undefined,
    }),
  ];

  return {
    setFiles(uris) {
      files = new Set(uris.map((uri) => uri.toString()));
      filesChanged.fire(undefined);
      refresh();
    },
    refresh,
    dispose() {
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

function isInDiffEditor({ document, viewColumn }: vscode.TextEditor): boolean {
  const tab = vscode.window.tabGroups.all.find((group) => group.viewColumn === viewColumn)?.activeTab;
  return tab?.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === document.uri.toString();
}

function rangeOf({ after }: ChangedHunk): vscode.Range {
  return new vscode.Range(after.start, 0, after.start + Math.max(after.lines - 1, 0), 0);
}

/** In the diff editor code lenses are off unless the user wants them; the hover is always there. */
function links(uri: vscode.Uri, hunk: ChangedHunk): vscode.MarkdownString {
  const place: HunkPlace = { path: uri.fsPath, hunkId: hunk.id };
  const argument = encodeURIComponent(JSON.stringify([place]));
  const text = new vscode.MarkdownString(
    `Changed by Reverie — [Keep](command:reverie.keepChange?${argument} "Keep this change") · [Undo](command:reverie.undoChange?${argument} "Undo this change")`,
  );
  text.isTrusted = { enabledCommands: ["reverie.keepChange", "reverie.undoChange"] };
  return text;
}
