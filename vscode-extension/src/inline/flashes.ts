/**
 * What has just happened to a memory, behind the line that it speaks of, for a while: remembered, recalled, changed by a
 * dream. The hover of the line takes it back.
 */

import * as vscode from "vscode";
import { showsInline } from "../configuration.ts";
import type { MemoryEventParams, MemoryInlineParams, MemoryPlace } from "../protocol.ts";
import { plainly } from "../words.ts";
import { lineAfter } from "./lines.ts";
import type { InlineCommand } from "./names.ts";

const SHOWN_MS = 10_000;
const LONGEST = 100;
const UNDO: InlineCommand = "reverie.inline.undo";

export interface Flashes extends vscode.Disposable {
  show(params: MemoryInlineParams): void;
  /** What was taken back is not offered any more. */
  hear(event: MemoryEventParams): void;
}

interface Flash {
  place: MemoryPlace;
  uri: string;
  line: number;
  timer: NodeJS.Timeout;
}

export function createFlashes(): Flashes {
  const flashes = new Set<Flash>();
  const behind = vscode.window.createTextEditorDecorationType({
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    after: { margin: "0 0 0 2em", color: new vscode.ThemeColor("editorCodeLens.foreground"), fontStyle: "italic" },
  });

  function draw({ document }: { document: vscode.TextDocument }): void {
    const uri = document.uri.toString();
    const here = [...flashes].filter((flash) => flash.uri === uri && flash.line < document.lineCount);
    const options = here.map(({ line, place }) => ({
      range: document.lineAt(line).range,
      hoverMessage: place.changeId === undefined ? undefined : undoLink(place.changeId),
      renderOptions: { after: { contentText: wordsOf(place) } },
    }));
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document === document) editor.setDecorations(behind, options);
    }
  }

  function remove(gone: readonly Flash[]): void {
    for (const flash of gone) {
      clearTimeout(flash.timer);
      flashes.delete(flash);
    }
    if (gone.length > 0) vscode.window.visibleTextEditors.forEach(draw);
  }

  const subscriptions = [
    behind,
    vscode.window.onDidChangeVisibleTextEditors((editors) => {
      if (flashes.size > 0) editors.forEach(draw);
    }),
    // VS Code moves what is drawn; what is drawn anew has to be there too.
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const gone: Flash[] = [];
      for (const flash of flashes) {
        if (flash.uri !== document.uri.toString()) continue;
        const line = lineAfter(flash.line, contentChanges);
        if (line === undefined) gone.push(flash);
        else flash.line = line;
      }
      remove(gone);
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("reverie") && !showsInline()) remove([...flashes]);
    }),
  ];

  return {
    show({ places }) {
      if (!showsInline()) return;
      for (const place of places) {
        const timer = setTimeout(() => remove([flash]), SHOWN_MS);
        const uri = vscode.Uri.parse(place.uri).toString();
        const flash: Flash = { place, uri, line: place.range.start.line, timer };
        flashes.add(flash);
      }
      vscode.window.visibleTextEditors.forEach(draw);
    },
    hear({ kind, files }) {
      if (kind !== "undone") return;
      const paths = new Set(files.map((file) => file.path));
      remove([...flashes].filter(({ place }) => paths.has(place.path)));
    },
    dispose() {
      for (const { timer } of flashes) clearTimeout(timer);
      flashes.clear();
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

function wordsOf({ text, changeId }: MemoryPlace): string {
  const words = plainly(text);
  const short = words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
  return changeId === undefined ? short : `${short} — hover to undo`;
}

/** Nothing of the memory is in it: this text is trusted, with this one command. */
function undoLink(changeId: string): vscode.MarkdownString {
  const argument = encodeURIComponent(JSON.stringify([{ changeId }]));
  const text = new vscode.MarkdownString(`Changed by Reverie — [Undo](command:${UNDO}?${argument} "Take it back")`);
  text.isTrusted = { enabledCommands: [UNDO] };
  return text;
}
