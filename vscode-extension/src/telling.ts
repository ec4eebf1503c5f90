/**
 * The only way to VS Code's messages: all that is said in one is made plain first, since much of it was written by a
 * model, a memory or a file. Dialogs that wait for an answer are asked here too.
 */

import * as vscode from "vscode";
import { plainly, wordsOf } from "./words.ts";

export type Chosen = Thenable<string | undefined>;

export function inform(words: string, ...actions: string[]): Chosen {
  return vscode.window.showInformationMessage(plainly(words), ...actions);
}

export function warn(words: string, ...actions: string[]): Chosen {
  return vscode.window.showWarningMessage(plainly(words), ...actions);
}

export function complain(words: string, ...actions: string[]): Chosen {
  return vscode.window.showErrorMessage(plainly(words), ...actions);
}

/** A dialog that is answered before anything else is done. Each line of the detail is a line. */
export function confirm(question: string, detail: readonly string[], ...actions: string[]): Chosen {
  const options = { modal: true, detail: detail.map(plainly).join("\n") };
  return vscode.window.showWarningMessage(plainly(question), options, ...actions);
}

/** Work that nobody waits for: its failure is told. */
export function reporting(work: Promise<unknown>): void {
  work.catch((error: unknown) => complain(wordsOf(error)));
}

/** A message of the server, which the client library would show as it is. Types are those of LSP. */
export function pass(type: number, message: string, actions: readonly string[]): Chosen {
  switch (type) {
    case 1:
      return complain(message, ...actions);
    case 2:
      return warn(message, ...actions);
    default:
      return inform(message, ...actions);
  }
}
