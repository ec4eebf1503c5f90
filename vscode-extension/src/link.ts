/** One link to one process of the server: what the editor says it can do, and how both sides' messages find their way. */

import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  ShowMessageNotification,
  ShowMessageRequest,
  State,
} from "vscode-languageclient/node";
import { editorSettings } from "./configuration.ts";
import { INLINE_MIDDLEWARE } from "./inline/middleware.ts";
import { hasEnded, kill, logLines, spawnServer } from "./process.ts";
import type { ClientCapabilities, ServerCapabilities, ServerNotifications, ServerRequests } from "./protocol.ts";
import { pass } from "./telling.ts";
import { wordsOf } from "./words.ts";

/** How long a server that was told to end may take: it learns from the last turns, and VS Code waits for five seconds. */
const STOP_LIMIT_MS = 4_000;

const JOB_TOKEN = "reverie/job/";

/** The version of the protocol that this extension speaks. */
const PROTOCOL = 1;

const CAPABILITIES: ClientCapabilities = {
  version: PROTOCOL,
  permissionAsk: true,
  userAsk: true,
  planAsk: true,
  documentSave: true,
  editorDiagnostics: true,
  editorSymbols: true,
  trustView: true,
  memoryView: true,
  inlineMemory: true,
};

export type Answers = {
  [M in keyof ServerRequests]: (
    params: ServerRequests[M]["params"],
    token: vscode.CancellationToken,
  ) => Promise<ServerRequests[M]["result"]>;
};

export type Listeners = {
  [M in keyof ServerNotifications]: (params: ServerNotifications[M]["params"]) => void;
};

export interface Link {
  client: LanguageClient;
  /** Absent until it is there. */
  process?: ChildProcessWithoutNullStreams;
}

export interface Hearing {
  answers: Partial<Answers>;
  listeners: Partial<Listeners>;
  /** A background job began or ended. */
  onJob(token: string | number, isRunning: boolean): void;
  /** A server that ran has ended. */
  onEnd(link: Link): void;
}

export function createLink(path: string, log: vscode.LogOutputChannel, hearing: Hearing): Link {
  const client: LanguageClient = new LanguageClient(
    "reverie",
    "Reverie",
    async () => {
      link.process = await spawnServer(path, log);
      return link.process;
    },
    {
      documentSelector: [{ scheme: "file" }],
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      stdioOptions: { stdout: () => {}, stderr: (input) => logLines(input, log) },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: "The server has ended." }),
      },
      // Memories are shown in hovers, and anybody may have written them.
      markdown: { isTrusted: false, supportHtml: false },
      middleware: {
        ...INLINE_MIDDLEWARE,
        workspace: { configuration: (params) => params.items.map((item) => editorSettings(item.section)) },
        // The chat view and the status bar show what runs. VS Code's own progress is let know of the end alone, so that
        // it forgets the token.
        handleWorkDoneProgress: (token, params, next) => {
          if (String(token).startsWith(JOB_TOKEN) && params.kind !== "report") {
            hearing.onJob(token, params.kind === "begin");
          }
          if (params.kind === "end") next(token, params);
        },
      },
    },
  );
  const link: Link = { client };
  client.registerFeature({
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = { ...capabilities.experimental, reverie: CAPABILITIES };
    },
    // These are for clients that have no requests of their own, and would be commands of VS Code. Those that lenses and
    // actions lead to are ours.
    preInitialize: (capabilities) => {
      capabilities.executeCommandProvider = undefined;
    },
    getState: () => ({ kind: "static" }),
    initialize: () => {},
    clear: () => {},
  });
  for (const [method, answer] of Object.entries(hearing.answers)) {
    client.onRequest(method, answer as (params: unknown, token: vscode.CancellationToken) => Promise<unknown>);
  }
  for (const [method, listener] of Object.entries(hearing.listeners)) {
    client.onNotification(method, listener as (params: unknown) => void);
  }
  showPlainly(client);
  client.onDidChangeState(({ oldState, newState }) => {
    if (newState === State.Stopped && oldState === State.Running) hearing.onEnd(link);
  });
  return link;
}

/** The library would show the server's messages as they are, and failures that the chat view tells of with what to do. */
function showPlainly(client: LanguageClient): void {
  client.error = (message, data) => LanguageClient.prototype.error.call(client, message, data, false);
  client.onNotification(ShowMessageNotification.type, ({ type, message }) => void pass(type, message, []));
  client.onRequest(ShowMessageRequest.type, async ({ type, message, actions = [] }) => {
    const titles = actions.map((action) => action.title);
    const chosen = await pass(type, message, titles);
    return actions.find((action) => action.title === chosen) ?? null;
  });
}

/** Why a server that has started cannot be talked with. */
export function misfit({ client }: Link): string | undefined {
  const { reverie } = (client.initializeResult?.capabilities.experimental ?? {}) as { reverie?: ServerCapabilities };
  if (reverie?.version === PROTOCOL) return undefined;
  const theirs = reverie === undefined ? "none" : `version ${reverie.version}`;
  return `The server speaks ${theirs} of Reverie's protocol, and this extension version ${PROTOCOL}. Update the older of the two.`;
}

/** Whatever comes of it, the process is gone after this. A client that still starts can be stopped only afterwards. */
export async function endLink(link: Link, log: vscode.LogOutputChannel): Promise<void> {
  const { client } = link;
  const ended = async () => {
    if (client.state === State.Starting) await client.start();
    await client.dispose(STOP_LIMIT_MS);
    if (link.process !== undefined && !hasEnded(link.process)) await once(link.process, "exit");
  };
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, STOP_LIMIT_MS);
  });
  await Promise.race([ended(), limit]).catch((error: unknown) => log.warn(`stopping: ${wordsOf(error)}`));
  clearTimeout(timer);
  kill(link.process);
}
