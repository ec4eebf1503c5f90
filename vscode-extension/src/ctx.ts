/** The pieces of the extension and how they know each other. Owns all that has to be disposed. */

import * as vscode from "vscode";
import { type Asks, createAsks } from "./asks.ts";
import { createCalls } from "./chat/calls.ts";
import { type Chat, createChat } from "./chat/session.ts";
import { createSessions, type Sessions } from "./chat/sessions.ts";
import { type ChatView, createChatView } from "./chat/view.ts";
import { createServer, type Server } from "./client.ts";
import { createDocuments, type Documents } from "./documents.ts";
import { createDreams, type Dreams } from "./dream.ts";
import { EDITOR_ANSWERS } from "./editor.ts";
import { createFlashes } from "./inline/flashes.ts";
import { createKeys } from "./keys.ts";
import { createMemoryHistory, type MemoryHistory } from "./memory/history.ts";
import { createMemoryView, type MemoryView } from "./memory/tree.ts";
import { createNotifications } from "./notifications.ts";
import { createReview, type Review } from "./review.ts";
import { createStatus } from "./status.ts";
import { reporting } from "./telling.ts";

export interface Ctx {
  log: vscode.LogOutputChannel;
  server: Server;
  chat: Chat;
  view: ChatView;
  asks: Asks;
  sessions: Sessions;
  documents: Documents;
  review: Review;
  memory: MemoryView;
  history: MemoryHistory;
  dreams: Dreams;
}

export function createCtx(context: vscode.ExtensionContext): Ctx {
  const { workspaceState, extensionUri } = context;
  const log = vscode.window.createOutputChannel("Reverie", { log: true });
  const server = createServer(extensionUri.fsPath, log);
  const chat = createChat(server, workspaceState, log);
  const documents = createDocuments();
  const review = createReview(server, chat, documents, log);
  const memory = createMemoryView(server, workspaceState, log);
  const history = createMemoryHistory(server, documents, (changeIds) => chat.apply({ type: "undone", changeIds }));
  const dreams = createDreams(server, chat, documents);
  const sessions = createSessions(server, chat);
  const notifications = createNotifications(server, history, dreams);
  const flashes = createFlashes();
  const view = createChatView(
    extensionUri,
    chat,
    createCalls(() => ctx),
    log,
  );
  const asks = createAsks(chat, view);
  const ctx: Ctx = { log, server, chat, view, asks, sessions, documents, review, memory, history, dreams };

  server.connect(
    { ...asks.answers, ...EDITOR_ANSWERS },
    {
      "reverie/session/update": (params) => chat.apply({ type: "update", params }),
      "reverie/memory/event": (params) => {
        chat.apply({ type: "memory", params });
        memory.hear(params);
        notifications.memory(params);
        flashes.hear(params);
      },
      "reverie/memory/inline": (params) => flashes.show(params),
      "reverie/dream/progress": (params) => {
        chat.apply({ type: "dream", params });
        if (params.status !== "running") void memory.refresh();
        notifications.dream(params);
      },
    },
  );

  context.subscriptions.push(
    log,
    server,
    chat,
    documents,
    review,
    memory,
    notifications,
    flashes,
    view,
    asks,
    createStatus(chat, memory),
    createKeys(chat),
    server.onState(({ state }) => {
      if (state !== "running") asks.forget();
    }),
    // What the user trusts in VS Code, and which folders are open, changes what the server may do. It is told whether
    // the mode is restricted when it starts; the session is brought back, and what is trusted is asked for then.
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (server.isStarted) reporting(server.restart("the workspace is trusted now"));
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (server.state.state === "running") reporting(chat.refreshTrust());
    }),
  );
  return ctx;
}
