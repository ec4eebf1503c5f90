/** What the web view may ask of the host, one line each. */

import * as vscode from "vscode";
import type { Ctx } from "../ctx.ts";
import { applyText, insertText, openFile, uriOf } from "../files.ts";
import { askForTrust } from "../trust.ts";
import { fileAttachment, mentionsOf, symbolsOf } from "./mentions.ts";
import type { HostCalls } from "./messages.ts";
import { isForwarded } from "./parse.ts";
import type { Attachment } from "./state.ts";
import type { Call } from "./view.ts";

type Handlers = { [M in keyof HostCalls]: (params: HostCalls[M]["params"]) => Promise<HostCalls[M]["result"]> };

export function createCalls(ctx: () => Ctx): (call: Call) => Promise<unknown> {
  const handlers = handlersOf(ctx);
  return async (call) => {
    if (isForwarded(call.method)) {
      return ctx().server.request(call.method, call.params as never);
    }
    const handler = handlers[call.method as keyof HostCalls] as (params: unknown) => Promise<unknown>;
    return handler(call.params);
  };
}

function handlersOf(ctx: () => Ctx): Handlers {
  return {
    "host/prompt": ({ text, attachments }) => ctx().chat.prompt(text, attachments),
    "host/stop": () => done(ctx().chat.stop()),
    "host/answer": (answer) => done(ctx().asks.answer(answer)),
    "host/session/new": () => done(ctx().chat.begin()),
    "host/session/open": ({ sessionId, messageUuid }) => done(ctx().chat.open(sessionId, messageUuid)),
    "host/session/fork": ({ sessionId, messageUuid }) => done(ctx().sessions.fork(sessionId, messageUuid)),
    "host/session/rename": ({ sessionId }) => done(ctx().sessions.rename(sessionId)),
    "host/session/delete": async ({ sessionId }) => ({ deleted: await ctx().sessions.delete(sessionId) }),
    "host/session/export": ({ sessionId }) => done(ctx().sessions.export(sessionId)),
    "host/rewind": async ({ messageUuid }) => ({ prompt: await ctx().sessions.rewind(messageUuid) }),
    "host/configure": (change) => done(ctx().chat.configure(change)),
    "host/compact": ({ instructions }) => done(ctx().chat.compact(instructions)),
    "host/uncompact": () => done(ctx().chat.uncompact()),
    "host/mentions": async ({ query }) => ({ mentions: await mentionsOf(query) }),
    "host/symbols": async ({ query }) => ({ mentions: await symbolsOf(query) }),
    "host/attach": async ({ uris }) => ({ attachments: attachmentsOf(uris) }),
    "host/pick": async () => ({ attachments: await pick() }),
    "host/open": ({ path, line, column }) => done(openFile(path, line, column)),
    "host/openText": ({ title, text, language }) => done(ctx().documents.open(title, text, language)),
    "host/openLink": ({ url }) => done(vscode.env.openExternal(vscode.Uri.parse(url, true))),
    "host/copy": ({ text }) => done(vscode.env.clipboard.writeText(text)),
    "host/insert": ({ text }) => done(insertText(text)),
    "host/apply": ({ text, path }) => done(applyText(ctx().documents, text, path)),
    "host/review": ({ path }) => done(ctx().review.open(path)),
    "host/resolve": ({ path, keep }) =>
      done(path === undefined ? ctx().review.resolveAll(keep) : ctx().review.resolveFile(keep, path)),
    "host/memory/open": ({ path }) => done(openFile(path)),
    "host/memory/diff": ({ changeId }) => done(ctx().history.diff(changeId)),
    "host/memory/undo": ({ changeIds }) => done(ctx().history.undo(changeIds)),
    "host/dream/start": () => done(ctx().dreams.start(false)),
    "host/dream/stop": ({ dreamId }) => done(ctx().dreams.stop(dreamId)),
    "host/dream/report": ({ dreamId }) => done(ctx().dreams.report(dreamId)),
    "host/trust": ({ folder }) => done(askForTrust(ctx().server, ctx().chat, folder)),
    "host/command": ({ command }) => done(vscode.commands.executeCommand(command)),
  };
}

async function done(work: unknown): Promise<Record<string, never>> {
  await work;
  return {};
}

/** Only files: a link that was dropped is words, not something to read. */
function attachmentsOf(uris: readonly string[]): Attachment[] {
  return uris
    .map((uri) => vscode.Uri.parse(uri))
    .filter((uri) => uri.scheme === "file" || uri.scheme === "vscode-remote")
    .map((uri) => fileAttachment(uriOf(uri.scheme === "file" ? uri.fsPath : uri.path)));
}

async function pick(): Promise<Attachment[]> {
  const chosen = await vscode.window.showOpenDialog({
    title: "Add files to the message",
    openLabel: "Add",
    canSelectMany: true,
  });
  return (chosen ?? []).map(fileAttachment);
}
