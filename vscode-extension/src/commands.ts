/** The commands of the extension, one line each. `package.json` has their titles and where they are shown. */

import * as vscode from "vscode";
import { fileAttachment, selectionMention } from "./chat/mentions.ts";
import type { Ctx } from "./ctx.ts";
import { doctor } from "./doctor.ts";
import { inlineCommands } from "./inline/commands.ts";
import { deleteMemory, lintMemories, openMemoryFolder, searchMemories } from "./memory/actions.ts";
import type { Node } from "./memory/tree.ts";
import { chooseMode, chooseModel, chooseRewind } from "./pickers.ts";
import type { HunkPlace } from "./review.ts";
import { complain, inform } from "./telling.ts";
import { askForTrust } from "./trust.ts";
import { wordsOf } from "./words.ts";

type Command = (...args: never[]) => unknown;

export function commandsOf(ctx: Ctx): Record<string, Command> {
  const { server, chat, view, sessions, review, memory, history, dreams, documents, log } = ctx;
  return {
    "reverie.focusChat": () => view.focus(),
    "reverie.newSession": () => {
      chat.begin();
      return view.focus();
    },
    "reverie.sessions": () => view.show("sessions"),
    "reverie.contextAndCost": () => view.show("context"),
    "reverie.backgroundTasks": () => view.show("tasks"),
    "reverie.answer": () => view.focus("ask"),
    "reverie.stop": () => chat.stop(),
    "reverie.askSelection": () => askSelection(ctx),
    "reverie.askFile": (uri?: vscode.Uri) => attachFiles(ctx, uri === undefined ? [] : [uri]),
    "reverie.addToChat": (uri?: vscode.Uri, chosen?: vscode.Uri[]) =>
      attachFiles(ctx, chosen ?? (uri === undefined ? [] : [uri])),
    "reverie.model": () => chooseModel(ctx),
    "reverie.mode": () => chooseMode(ctx),
    "reverie.rewind": () => chooseRewind(ctx),
    "reverie.compact": () => chat.compact(),
    "reverie.undoCompaction": () => chat.uncompact(),
    "reverie.exportSession": () => sessions.export(chat.requireSession()),
    "reverie.renameSession": () => sessions.rename(chat.requireSession()),
    "reverie.forkSession": () => sessions.fork(chat.requireSession()),
    "reverie.reloadInstructions": async () => {
      const { files } = await server.request("reverie/instructions/reload", { sessionId: chat.requireSession() });
      const words =
        files.length === 1 ? "1 file of instructions was read." : `${files.length} files of instructions were read.`;
      void inform(words);
    },

    "reverie.reviewChanges": (path?: unknown) => review.open(typeof path === "string" ? path : undefined),
    "reverie.keepChange": (place?: HunkPlace) => review.resolveHunk(true, hunkOf(place)),
    "reverie.undoChange": (place?: HunkPlace) => review.resolveHunk(false, hunkOf(place)),
    "reverie.keepFile": () => review.resolveFile(true),
    "reverie.undoFile": () => review.resolveFile(false),
    "reverie.keepAll": () => review.resolveAll(true),
    "reverie.undoAll": () => review.resolveAll(false),
    "reverie.nextChange": () => review.go(1),
    "reverie.previousChange": () => review.go(-1),

    "reverie.searchMemories": () => searchMemories(server, memory, log),
    "reverie.lintMemories": () => lintMemories(server),
    "reverie.refreshMemories": () => memory.refresh(),
    "reverie.openMemoryFolder": () => openMemoryFolder(server, memory),
    "reverie.memoryHistory": (node?: Node) => history.list(pathOf(node)),
    "reverie.undoMemory": (node?: Node) => history.undoLast(pathOf(node)),
    "reverie.undoShownChange": () => history.undoShown(vscode.window.activeTextEditor?.document.uri),
    "reverie.deleteMemory": async (node?: Node) => {
      if (node?.kind === "memory") await deleteMemory(server, node.memory.path, node.memory.name);
    },

    ...inlineCommands(server, history),

    "reverie.startDream": () => dreams.start(false),
    "reverie.dryRunDream": () => dreams.start(true),
    "reverie.stopDream": () => dreams.stop(),
    "reverie.dreamReport": () => dreams.report(),
    "reverie.undoDream": () => dreams.undo(),
    "reverie.dreamActions": () => dreams.choose(),

    "reverie.trustFolder": () => askForTrust(server, chat),
    "reverie.doctor": () => doctor(server, documents, false),
    "reverie.restartServer": () => server.restart("you asked for it"),
    "reverie.showLog": () => log.show(),
    "reverie.openSettings": () =>
      vscode.commands.executeCommand("workbench.action.openSettings", "@ext:reverie.reverie"),
  };
}

/** Registers them; a failure is told in its own words. */
export function registerCommands(commands: Record<string, Command>, log: vscode.LogOutputChannel): vscode.Disposable {
  const registrations = Object.entries(commands).map(([id, command]) =>
    vscode.commands.registerCommand(id, async (...args: never[]) => {
      try {
        await command(...args);
      } catch (error) {
        log.warn(`${id}: ${wordsOf(error)}`);
        void complain(wordsOf(error));
      }
    }),
  );
  return vscode.Disposable.from(...registrations);
}

async function askSelection({ view }: Ctx): Promise<void> {
  const mention = selectionMention();
  const active = vscode.window.activeTextEditor?.document.uri;
  if (mention !== undefined) await view.attach([mention.attachment]);
  else await view.attach(active?.scheme === "file" ? [fileAttachment(active)] : []);
}

async function attachFiles({ view }: Ctx, uris: readonly vscode.Uri[]): Promise<void> {
  const active = vscode.window.activeTextEditor?.document.uri;
  const chosen = uris.length === 0 && active !== undefined ? [active] : uris;
  await view.attach(chosen.filter((uri) => uri.scheme === "file").map(fileAttachment));
}

/** Menus pass the resource of the editor, which is no hunk. */
function hunkOf(place: HunkPlace | undefined): HunkPlace | undefined {
  return typeof place?.hunkId === "string" ? place : undefined;
}

function pathOf(node: Node | undefined): string | undefined {
  return node?.kind === "memory" ? node.memory.path : undefined;
}
