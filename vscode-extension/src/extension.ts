/** Where VS Code begins and ends: wires the pieces together. */

import type * as vscode from "vscode";
import { commandsOf, registerCommands } from "./commands.ts";
import { type Ctx, createCtx } from "./ctx.ts";

let ctx: Ctx | undefined;

export function activate(context: vscode.ExtensionContext): void {
  ctx = createCtx(context);
  context.subscriptions.push(registerCommands(commandsOf(ctx), ctx.log));
}

export async function deactivate(): Promise<void> {
  await ctx?.server.stop();
}
