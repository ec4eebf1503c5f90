/** Whether a folder's own files may run programs: shows what would run, and asks. */

import * as vscode from "vscode";
import type { Chat } from "./chat/session.ts";
import type { Server } from "./client.ts";
import { localFolders } from "./folders.ts";
import type { TrustResult } from "./protocol.ts";
import { confirm, inform, warn } from "./telling.ts";

/** What fits into a dialog; a folder with more is looked at in an editor. */
const MOST_ITEMS = 15;

/** About the folder that is named, or else the one that the user chooses. */
export async function askForTrust(server: Server, chat: Chat, named?: string): Promise<void> {
  // The editor's own question comes first: what it does not trust, we do not offer to.
  if (!vscode.workspace.isTrusted) {
    await vscode.commands.executeCommand("workbench.trust.manage");
    return;
  }
  const folder = named ?? (await choose());
  // The view may name only what it was shown.
  const isShown = named === undefined || chat.state.trust.some((one) => one.folder === named);
  if (folder === undefined || !isShown) return;
  const trust = await server.request("reverie/trust/get", { folder });
  if (trust.cannot !== undefined) {
    void warn(`This folder cannot be trusted: ${trust.cannot}`);
    return;
  }
  if (trust.status === "trusted") {
    const words = `${trust.folder} is trusted.`;
    const chosen = await inform(words, "Take the trust back");
    if (chosen !== undefined) await set(server, chat, trust, false);
    return;
  }
  const question = trust.status === "changed" ? "Trust this folder again?" : "Trust this folder?";
  // Where nothing would run there is nothing to look at first; what comes later is asked about when it is there.
  const isPlain = trust.items.length === 0 && trust.status === "untrusted";
  const chosen = isPlain ? "Trust" : await confirm(question, detailOf(trust), "Trust");
  if (chosen === "Trust") await set(server, chat, trust, true);
}

async function choose(): Promise<string | undefined> {
  const folders = localFolders();
  if (folders.length === 0) throw new Error("No folder is open.");
  return folders.length === 1 ? folders[0] : vscode.window.showQuickPick(folders, { title: "Trust which folder?" });
}

async function set(server: Server, chat: Chat, { folder, digest }: TrustResult, trusted: boolean): Promise<void> {
  const result = await server.request("reverie/trust/set", { folder, trusted, digest });
  await chat.refreshTrust();
  if (trusted && result.status !== "trusted") {
    void warn("The folder changed while you were asked, so it is not trusted. Look again.");
  }
}

function detailOf({ folder, items, changes }: TrustResult): string[] {
  const lines = items.slice(0, MOST_ITEMS).map(({ kind, path, detail }) => {
    return `• ${kind}: ${detail} (${vscode.workspace.asRelativePath(path)})`;
  });
  const rest = items.length > MOST_ITEMS ? [`… and ${items.length - MOST_ITEMS} more`] : [];
  const changed = changes === undefined || changes.length === 0 ? [] : ["", "Changed since:", ...changes];
  const head =
    items.length === 0 ? "Nothing in it would run programs now." : "These would run programs or loosen settings:";
  return [folder, "", head, ...lines, ...rest, ...changed];
}
