/** Texts that are no files, in read-only editors: outputs, reports, and what a file was before. Only the latest are kept. */

import * as vscode from "vscode";

const SCHEME = "reverie-text";
const MOST_KEPT = 60;

export interface Documents extends vscode.Disposable {
  /** A document with this text. `name` is its title and, by its ending, its language. */
  add(name: string, text: string): vscode.Uri;
  /** The document under a fixed place, whose text may change later. */
  set(uri: vscode.Uri, text: string): void;
  open(name: string, text: string, language?: string): Promise<void>;
}

export function createDocuments(): Documents {
  const texts = new Map<string, string>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  let last = 0;

  function set(uri: vscode.Uri, text: string): void {
    const key = uri.toString();
    if (texts.get(key) === text) return;
    texts.delete(key);
    texts.set(key, text);
    const shown = new Set(vscode.workspace.textDocuments.map((document) => document.uri.toString()));
    for (const old of texts.keys()) {
      if (texts.size <= MOST_KEPT) break;
      if (!shown.has(old) && old !== key) texts.delete(old);
    }
    changed.fire(uri);
  }

  function add(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${++last}/${name.replaceAll(/[/\\]/g, "∕")}` });
    set(uri, text);
    return uri;
  }

  const registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? "This text is not kept any more. Open it anew.",
  });

  return {
    add,
    set,
    async open(name, text, language) {
      const document = await vscode.workspace.openTextDocument(add(name, text));
      const known = language !== undefined && (await vscode.languages.getLanguages()).includes(language);
      if (known) await vscode.languages.setTextDocumentLanguage(document, language);
      await vscode.window.showTextDocument(document, { preview: true });
    },
    dispose() {
      registration.dispose();
      changed.dispose();
    },
  };
}

/** Which text of a file: what it was, or, of one that is gone, nothing. */
export type Side = "before" | "after";

/** A place for a text that belongs to a file. It ends as the file does, so that it has its colours. */
export function beside({ authority, path }: vscode.Uri, side: Side): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, authority, path, query: side });
}

/** The file that such a place belongs to, or that an editor shows itself. */
export function fileBeside(uri: vscode.Uri): { file: vscode.Uri; side: Side } {
  const isBeside = uri.scheme === SCHEME && (uri.query === "before" || uri.query === "after");
  if (!isBeside) return { file: uri, side: "after" };
  return { file: uri.with({ scheme: "file", query: "" }), side: uri.query === "before" ? "before" : "after" };
}
