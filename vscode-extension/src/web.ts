/** VS Code in a browser without a machine behind it: there the server cannot run, and this says so. */

import * as vscode from "vscode";
import { inform } from "./telling.ts";

const WORDS =
  "Reverie needs a program beside the editor, and a browser alone cannot run one. Open this folder in VS Code on a " +
  "desktop, or in a remote window.";

export function activate(context: vscode.ExtensionContext): void {
  const commands: { command: string }[] = context.extension.packageJSON.contributes.commands;
  context.subscriptions.push(
    vscode.window.registerWebviewViewProvider("reverie.chat", {
      resolveWebviewView: ({ webview }) => {
        webview.html = `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><p>${WORDS}</p>`;
      },
    }),
    vscode.window.registerTreeDataProvider("reverie.memory", {
      getChildren: () => [WORDS],
      getTreeItem: (words: string) => new vscode.TreeItem(words),
    }),
    ...commands.map(({ command }) => vscode.commands.registerCommand(command, () => inform(WORDS))),
  );
}
