/** What the server says about places in the text, before VS Code has it. */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { nameOfOurs } from "./names.ts";

function ours(command: vscode.Command): vscode.Command {
  return { ...command, command: nameOfOurs(command.command) };
}

export const INLINE_MIDDLEWARE: Middleware = {
  async provideCodeLenses(document, token, next) {
    const lenses = (await next(document, token)) ?? [];
    for (const lens of lenses) if (lens.command !== undefined) lens.command = ours(lens.command);
    return lenses;
  },
  async provideInlayHints(document, range, token, next) {
    const hints = (await next(document, range, token)) ?? [];
    for (const { label } of hints) {
      if (typeof label === "string") continue;
      for (const part of label) if (part.command !== undefined) part.command = ours(part.command);
    }
    return hints;
  },
  async provideCodeActions(document, range, context, token, next) {
    const actions = (await next(document, range, context, token)) ?? [];
    for (const action of actions) {
      if (action instanceof vscode.CodeAction && action.command !== undefined) action.command = ours(action.command);
    }
    // A bare command is nothing that the server answers with.
    return actions.filter((action) => action instanceof vscode.CodeAction);
  },
};
