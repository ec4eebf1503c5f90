/** What the server asks of the editor itself: to save a document, what is wrong in it, and which symbols there are. */

import * as vscode from "vscode";
import type { Answers } from "./link.ts";
import type { EditorDiagnostic, EditorSymbol, Range } from "./protocol.ts";

const MOST_DIAGNOSTICS = 1_000;
const MOST_SYMBOLS = 1_000;

export const EDITOR_ANSWERS: Pick<
  Answers,
  "reverie/document/save" | "reverie/editor/diagnostics" | "reverie/editor/symbols"
> = {
  async "reverie/document/save"({ uri }) {
    const wanted = vscode.Uri.parse(uri, true).toString();
    const document = vscode.workspace.textDocuments.find((document) => document.uri.toString() === wanted);
    return { saved: document !== undefined && (await document.save()) };
  },

  async "reverie/editor/diagnostics"({ uri }) {
    const found: [vscode.Uri, readonly vscode.Diagnostic[]][] =
      uri === undefined
        ? vscode.languages.getDiagnostics()
        : [[vscode.Uri.parse(uri, true), vscode.languages.getDiagnostics(vscode.Uri.parse(uri, true))]];
    const diagnostics = found.flatMap(([uri, diagnostics]) => diagnostics.map((one) => diagnosticOf(uri, one)));
    return { diagnostics: diagnostics.slice(0, MOST_DIAGNOSTICS) };
  },

  async "reverie/editor/symbols"({ uri, query }) {
    const symbols =
      uri === undefined ? await workspaceSymbols(query ?? "") : await outline(vscode.Uri.parse(uri, true));
    return { symbols: symbols.slice(0, MOST_SYMBOLS) };
  },
};

function diagnosticOf(
  uri: vscode.Uri,
  { range, severity, message, source, code }: vscode.Diagnostic,
): EditorDiagnostic {
  const value = typeof code === "object" ? code.value : code;
  return {
    uri: uri.toString(),
    range: plainRange(range),
    // VS Code counts from 0, LSP from 1.
    severity: severity + 1,
    message,
    source,
    code: value === undefined ? undefined : String(value),
  };
}

export async function workspaceSymbols(query: string): Promise<EditorSymbol[]> {
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    "vscode.executeWorkspaceSymbolProvider",
    query,
  );
  return (found ?? []).map(informationOf);
}

async function outline(uri: vscode.Uri): Promise<EditorSymbol[]> {
  const found = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    uri,
  );
  return (found ?? []).flatMap((symbol) =>
    "children" in symbol ? flatten(uri, symbol as vscode.DocumentSymbol, undefined) : [informationOf(symbol)],
  );
}

function flatten(uri: vscode.Uri, symbol: vscode.DocumentSymbol, container: string | undefined): EditorSymbol[] {
  const { name, kind, range, selectionRange, children } = symbol;
  const own = {
    name,
    kind: kind + 1,
    uri: uri.toString(),
    range: plainRange(range),
    selectionRange: plainRange(selectionRange),
    container,
  };
  return [own, ...children.flatMap((child) => flatten(uri, child, name))];
}

function informationOf({ name, kind, location, containerName }: vscode.SymbolInformation): EditorSymbol {
  const container = containerName === "" ? undefined : containerName;
  return { name, kind: kind + 1, uri: location.uri.toString(), range: plainRange(location.range), container };
}

/** As the protocol has it; VS Code and the server both count in UTF-16. */
export function plainRange({ start, end }: vscode.Range): Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
