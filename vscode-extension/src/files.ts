/** Opening files and putting code into them, for the chat view. */

import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Documents } from "./documents.ts";
import { localFolders } from "./folders.ts";
import { isNetworkPath } from "./network.ts";
import { absolute } from "./paths.ts";
import { placeOf } from "./placement.ts";
import { inform } from "./telling.ts";

/** A path of the server or of the model: absolute, of the home, or relative to a folder, the first one. Never in a network. */
export function uriOf(path: string, folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath): vscode.Uri {
  const uri = vscode.Uri.file(absolute(path, { home: homedir(), folder, platform: process.platform }));
  const isFar = uri.authority !== "" || isNetworkPath(path);
  if (isFar && !isOpened(uri)) {
    throw new Error(`${path} is on another machine, and is not opened from here.`);
  }
  return uri;
}

/** In a folder that the user has opened, wherever that is. */
function isOpened(uri: vscode.Uri): boolean {
  return vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

/** Opens a file, at a line from 1 where one is given. */
export async function openFile(path: string, line?: number, column?: number): Promise<void> {
  const { uri, type } = await find(path);
  const at =
    line === undefined ? undefined : new vscode.Position(Math.max(0, line - 1), Math.max(0, (column ?? 1) - 1));
  if (isFolder(type)) {
    await vscode.commands.executeCommand("revealInExplorer", uri);
    return;
  }
  await vscode.commands.executeCommand("vscode.open", uri, {
    preview: true,
    selection: at && new vscode.Range(at, at),
  } satisfies vscode.TextDocumentShowOptions);
}

/** Relative to whichever folder has it: which one a session works in is not known here. */
async function find(path: string): Promise<{ uri: vscode.Uri; type: vscode.FileType }> {
  for (const folder of [undefined, ...localFolders().slice(1)]) {
    const uri = uriOf(path, folder);
    const type = await typeOf(uri);
    if (type !== undefined) return { uri, type };
  }
  throw new Error(`There is no file ${path}.`);
}

/** Puts text in place of the selection, as typing would. */
export async function insertText(text: string): Promise<void> {
  const editor = editorInSight();
  const done = await editor.edit((edit) => {
    for (const selection of editor.selections) edit.replace(selection, text);
  });
  if (!done) throw new Error("The editor did not take the code. It may be read-only.");
  await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}

/**
 * Puts code into a file, unsaved and undone in one step, and shows the diff to what the file was: the arrows of the diff
 * editor take back the parts that the user does not like. It goes where it clearly belongs, or else to the cursor. A
 * file that is not in sight and has no clear place for it is only shown beside it.
 */
export async function applyText(documents: Documents, code: string, path: string | undefined): Promise<void> {
  const target = path === undefined ? editorInSight().document.uri : uriOf(path);
  const type = target.scheme === "file" ? await typeOf(target) : vscode.FileType.File;
  if (type === undefined) {
    await create(documents, target, code);
    return;
  }
  if (isFolder(type)) throw new Error(`${path} is a folder.`);
  const document = await vscode.workspace.openTextDocument(target);
  const before = document.getText();
  const range = rangeFor(document, code, path !== undefined);
  const name = nameOf(target);
  if (range === undefined) {
    await compare(documents, document, code);
    return;
  }
  const edit = new vscode.WorkspaceEdit();
  edit.replace(target, range, code);
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new Error("The file did not take the code. It may be read-only.");
  const title = `${name} (with the suggestion)`;
  await vscode.commands.executeCommand("vscode.diff", documents.add(name, before), target, title, { preview: true });
}

/** A file that is not there yet is there when the user saves it. */
async function create(documents: Documents, target: vscode.Uri, code: string): Promise<void> {
  const untitled = await vscode.workspace.openTextDocument(target.with({ scheme: "untitled" }));
  if (untitled.getText() !== "") {
    await compare(documents, untitled, code);
    return;
  }
  const editor = await vscode.window.showTextDocument(untitled);
  await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), code));
}

/** Changes nothing. Both sides are copies: the file itself would be taken for an editor with a cursor at its beginning. */
async function compare(documents: Documents, document: vscode.TextDocument, code: string): Promise<void> {
  const name = nameOf(document.uri);
  const [left, right] = [documents.add(name, document.getText()), documents.add(name, code)];
  const title = `${name} ↔ the suggestion (nothing is changed)`;
  await vscode.commands.executeCommand("vscode.diff", left, right, title, { preview: true });
  void inform(`Nothing was changed: it is not clear where the code belongs in ${name}.`);
}

/**
 * Where the code's own ends are, or else the cursor of an editor that shows the file. A selection is replaced only by code
 * that names no file: that it was meant for the selection is not said otherwise.
 */
function rangeFor(document: vscode.TextDocument, code: string, isNamed: boolean): vscode.Range | undefined {
  const place = placeOf(document.getText(), code);
  if (place !== undefined) {
    // Without the last line's end if the code has none either.
    const end = code.endsWith("\n") ? new vscode.Position(place.end, 0) : document.lineAt(place.end - 1).range.end;
    return document.validateRange(new vscode.Range(new vscode.Position(place.start, 0), end));
  }
  const selection = vscode.window.visibleTextEditors.find((editor) => editor.document === document)?.selection;
  return selection && isNamed ? new vscode.Range(selection.active, selection.active) : selection;
}

async function typeOf(uri: vscode.Uri): Promise<vscode.FileType | undefined> {
  return vscode.workspace.fs.stat(uri).then(
    ({ type }) => type,
    () => undefined,
  );
}

/** The type of a link has the bit of what it leads to. */
function isFolder(type: vscode.FileType): boolean {
  return (type & vscode.FileType.Directory) !== 0;
}

/** The last part of its path. */
export function nameOf(uri: vscode.Uri): string {
  return uri.path.split("/").at(-1) ?? uri.path;
}

/** The chat view has the focus when its buttons are used, so that there may be no active editor. */
function editorInSight(): vscode.TextEditor {
  const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
  const editor = editors.find((editor) => editor !== undefined && /^(file|untitled)$/.test(editor.document.uri.scheme));
  if (editor === undefined) throw new Error("No file is open to put the code into. Open one first.");
  return editor;
}
