/** The folders of the workspace that the server can work in. */

import * as vscode from "vscode";

export function localFolders(): string[] {
  return folders().map(({ uri }) => uri.fsPath);
}

/** The one that the user works in; nothing where there is no choice. */
export function activeFolder(): string | undefined {
  const [first, ...others] = folders();
  if (others.length === 0) return undefined;
  const active = vscode.window.activeTextEditor?.document.uri;
  const folder = active && vscode.workspace.getWorkspaceFolder(active);
  return (folder?.uri.scheme === "file" ? folder : first)?.uri.fsPath;
}

function folders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
}
