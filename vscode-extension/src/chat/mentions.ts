/** What `@` may stand for: files, folders, symbols, problems, the selection and open editors. */

import * as vscode from "vscode";
import { plainRange, workspaceSymbols } from "../editor.ts";
import { nameOf } from "../files.ts";
import { type Excludes, excludeGlob } from "./excludes.ts";
import type { Mention } from "./messages.ts";
import type { Attachment } from "./state.ts";

const MOST_FILES = 20;
const MOST_SYMBOLS = 8;
const MOST_FOLDERS = 5;
const MOST_PROBLEMS = 100;
/** What is ranked: the best of a few that happened to be found first need not be the best. */
const MOST_FOUND = 2_000;
/** Symbols are asked of all languages, and one that hangs is not waited for. */
const SYMBOLS_LIMIT_MS = 5_000;

/** The search that runs. Who types on does not want its answer any more. */
let searching = new vscode.CancellationTokenSource();

/** All but symbols, which take longer. */
export async function mentionsOf(query: string): Promise<Mention[]> {
  searching.cancel();
  searching.dispose();
  searching = new vscode.CancellationTokenSource();
  const { token } = searching;
  const exclude = await excluded();
  const [uris, inside] = await Promise.all([findFiles(query, exclude, token), findInside(query, exclude, token)]);
  const files = uris.map((uri) => fileMention("file", uri));
  const here = [selectionMention(), problemsMention(), ...openEditors()].filter((one) => one !== undefined);
  const near = here.filter((mention) => fits(mention, query));
  const known = new Set(near.map((mention) => mention.detail));
  const others = files.filter((mention) => !known.has(mention.detail));
  return [...near, ...foldersOf([...uris, ...inside], query), ...others];
}

/** Nothing where it takes too long or fails. */
export async function symbolsOf(query: string): Promise<Mention[]> {
  let timer: NodeJS.Timeout | undefined;
  const nothing = new Promise<Mention[]>((resolve) => {
    timer = setTimeout(() => resolve([]), SYMBOLS_LIMIT_MS);
  });
  const found = await Promise.race([findSymbols(query).catch(() => []), nothing]);
  clearTimeout(timer);
  return found;
}

/** What "ask about the selection" takes along. */
export function selectionMention(): Mention | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty || editor.document.uri.scheme !== "file") return undefined;
  const { start, end } = editor.selection;
  // Whole lines end at the beginning of the next, which is not selected.
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  const lines = last === start.line + 1 ? `${last}` : `${start.line + 1}-${last}`;
  const place = `${nameOf(editor.document.uri)}:${lines}`;
  return {
    kind: "selection",
    label: "selection",
    detail: place,
    attachment: {
      kind: "mention",
      label: place,
      uri: editor.document.uri.toString(),
      range: plainRange(editor.selection),
    },
  };
}

export function fileAttachment(uri: vscode.Uri): Attachment {
  return { kind: "mention", label: relative(uri), uri: uri.toString() };
}

function problemsMention(): Mention | undefined {
  const lines = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === "file")
    .flatMap(([uri, diagnostics]) =>
      diagnostics.map(({ range, severity, message }) => {
        const place = `${relative(uri)}:${range.start.line + 1}:${range.start.character + 1}`;
        return `${place}: ${vscode.DiagnosticSeverity[severity].toLowerCase()}: ${message}`;
      }),
    );
  if (lines.length === 0) return undefined;
  const left = lines.length - MOST_PROBLEMS;
  const text = [...lines.slice(0, MOST_PROBLEMS), ...(left > 0 ? [`… and ${left} more`] : [])].join("\n");
  const detail = lines.length === 1 ? "1 problem" : `${lines.length} problems`;
  return { kind: "problems", label: "problems", detail, attachment: { kind: "text", label: "Problems", text } };
}

function openEditors(): Mention[] {
  const uris = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri] : []));
  const unique = new Map(uris.map((uri) => [uri.toString(), uri]));
  return [...unique.values()].map((uri) => fileMention("editor", uri));
}

/** Of itself VS Code would leave out `files.exclude` only. */
async function excluded(): Promise<string | undefined> {
  const settings = ["files", "search"].map((section) =>
    vscode.workspace.getConfiguration(section).get<Excludes>("exclude", {}),
  );
  const folders = vscode.workspace.workspaceFolders ?? [];
  const gitignores = await Promise.all(folders.map(({ uri }) => readText(vscode.Uri.joinPath(uri, ".gitignore"))));
  const glob = excludeGlob(settings, gitignores);
  return glob === "" ? undefined : glob;
}

async function readText(uri: vscode.Uri): Promise<string> {
  return vscode.workspace.fs.readFile(uri).then(
    (bytes) => new TextDecoder().decode(bytes),
    () => "",
  );
}

async function findFiles(
  query: string,
  exclude: string | undefined,
  token: vscode.CancellationToken,
): Promise<vscode.Uri[]> {
  const found = await vscode.workspace.findFiles(`**/*${globOf(query)}*`, exclude, MOST_FOUND, token);
  const wanted = query.toLowerCase();
  const rank = (uri: vscode.Uri) => {
    const name = nameOf(uri).toLowerCase();
    if (name.startsWith(wanted)) return 0;
    return name.includes(wanted) ? 1 : 2;
  };
  const sorted = found
    .map((uri) => ({ uri, rank: rank(uri), path: relative(uri) }))
    .sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || a.path.localeCompare(b.path));
  return sorted.slice(0, MOST_FILES).map(({ uri }) => uri);
}

/** Some of what is in folders of this name: VS Code finds files only. */
async function findInside(
  query: string,
  exclude: string | undefined,
  token: vscode.CancellationToken,
): Promise<vscode.Uri[]> {
  const glob = globOf(query.replace(/\/$/, ""));
  if (glob === "") return [];
  return await vscode.workspace.findFiles(`**/*${glob}*/**`, exclude, MOST_FOUND, token);
}

/** Letters may be left out between the query's own, as in the editor's quick open. */
function globOf(query: string): string {
  const letters = [...query.replaceAll(/[^\p{L}\p{N}._\-/]/gu, "")];
  return letters.map((letter) => (letter === "/" ? "*/**/*" : anyCase(letter))).join("*");
}

/** The folders that the found files are in, each in the workspace's folder that holds it. */
function foldersOf(files: readonly vscode.Uri[], query: string): Mention[] {
  const wanted = query.toLowerCase().replace(/\/$/, "");
  if (wanted === "") return [];
  const folders = new Map(files.flatMap(parents).map((uri) => [relative(uri), uri]));
  return [...folders]
    .filter(([path]) => path.toLowerCase().includes(wanted))
    .sort(([a], [b]) => a.length - b.length)
    .slice(0, MOST_FOLDERS)
    .map(([path, uri]) => {
      const attachment: Attachment = { kind: "mention", label: path, uri: uri.toString() };
      return { kind: "folder", label: `${path}/`, detail: path, attachment };
    });
}

async function findSymbols(query: string): Promise<Mention[]> {
  if (query.length < 2) return [];
  const symbols = await workspaceSymbols(query);
  return symbols.slice(0, MOST_SYMBOLS).map(({ name, uri, range }) => {
    const detail = `${relative(vscode.Uri.parse(uri))}:${range.start.line + 1}`;
    return { kind: "symbol", label: name, detail, attachment: { kind: "mention", label: name, uri, range } };
  });
}

function fileMention(kind: "file" | "editor", uri: vscode.Uri): Mention {
  return { kind, label: relative(uri), detail: relative(uri), attachment: fileAttachment(uri) };
}

function fits({ label, detail }: Mention, query: string): boolean {
  const wanted = query.toLowerCase();
  return label.toLowerCase().includes(wanted) || detail.toLowerCase().includes(wanted);
}

/** The folders between a file and the workspace's folder that it is in. */
function parents(file: vscode.Uri): vscode.Uri[] {
  const root = vscode.workspace.getWorkspaceFolder(file)?.uri;
  if (root === undefined) return [];
  const found: vscode.Uri[] = [];
  for (
    let at = vscode.Uri.joinPath(file, "..");
    at.path.length > root.path.length;
    at = vscode.Uri.joinPath(at, "..")
  ) {
    found.push(at);
  }
  return found;
}

function anyCase(letter: string): string {
  const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
  return lower === upper ? letter : `[${lower}${upper}]`;
}

function relative(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, (vscode.workspace.workspaceFolders?.length ?? 0) > 1);
}
