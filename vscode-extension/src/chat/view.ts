/** The chat view: its page with the strict policy, and the messages both ways. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { wordsOf } from "../words.ts";
import type { FromView, Page, ToView } from "./messages.ts";
import { parseFromView } from "./parse.ts";
import type { Chat } from "./session.ts";
import type { Attachment } from "./state.ts";

export const CHAT_VIEW = "reverie.chat";

/** What waits for a page to come; nobody wants to see more of it at once. */
const MOST_UNSAID = 20;

export type Call = Extract<FromView, { type: "call" }>;

export interface ChatView extends vscode.Disposable {
  readonly isVisible: boolean;
  readonly onHidden: vscode.Event<void>;
  /** Brings the view to the front, with the focus where one types, or in the question that waits. */
  focus(on?: "ask"): Promise<void>;
  show(page: Page): Promise<void>;
  attach(attachments: readonly Attachment[], text?: string): Promise<void>;
}

export function createChatView(
  extensionUri: vscode.Uri,
  chat: Chat,
  call: (call: Call) => Promise<unknown>,
  log: vscode.LogOutputChannel,
): ChatView {
  const root = vscode.Uri.joinPath(extensionUri, "dist", "webview");
  const hidden = new vscode.EventEmitter<void>();
  let view: vscode.WebviewView | undefined;
  let isReady = false;
  /** Counts the pages. Each numbers its calls from 1, so that an answer to one must not reach the next. */
  let pages = 0;
  /** What was said before the page could hear it. */
  const unsaid: ToView[] = [];

  function post(message: ToView): void {
    if (view !== undefined && isReady) void view.webview.postMessage(message);
    else if (message.type !== "event") {
      unsaid.push(message);
      unsaid.splice(0, unsaid.length - MOST_UNSAID);
    }
  }

  async function hear(raw: unknown): Promise<void> {
    const message = parseFromView(raw);
    switch (message?.type) {
      case undefined:
        refuse(raw);
        break;
      case "ready":
        isReady = true;
        pages += 1;
        post({ type: "state", state: chat.state, draft: chat.draft });
        for (const waiting of unsaid.splice(0)) post(waiting);
        break;
      case "draft":
        chat.setDraft(message.draft);
        break;
      case "call":
        await answer(message);
        break;
    }
  }

  async function answer(message: Call): Promise<void> {
    const { id } = message;
    const mine = pages;
    const reply = await call(message).then(
      (result): ToView => ({ type: "result", id, result }),
      (error: unknown): ToView => {
        log.warn(`${message.method}: ${wordsOf(error)}`);
        return { type: "error", id, message: wordsOf(error) };
      },
    );
    if (mine === pages && isReady) post(reply);
  }

  /** Says so to a call, so that nobody waits for ever; never what was in it. */
  function refuse(raw: unknown): void {
    log.warn("The chat view said something that it may not say; it was dropped.");
    const id = typeof raw === "object" && raw !== null && "id" in raw ? raw.id : undefined;
    if (typeof id === "number") {
      post({ type: "error", id, message: "That cannot be done from here: it is too long, or not what was expected." });
    }
  }

  const provider: vscode.WebviewViewProvider = {
    resolveWebviewView(resolved) {
      view = resolved;
      isReady = false;
      pages += 1;
      resolved.webview.options = { enableScripts: true, localResourceRoots: [root] };
      resolved.webview.onDidReceiveMessage((raw: unknown) => {
        if (view === resolved) void hear(raw);
      });
      resolved.onDidChangeVisibility(() => {
        if (!resolved.visible) hidden.fire();
      });
      resolved.onDidDispose(() => {
        // When it is moved, the next one may be there before this one has gone.
        if (view !== resolved) return;
        view = undefined;
        isReady = false;
        hidden.fire();
      });
      resolved.webview.html = page(resolved.webview, root);
      badge();
      void chat.start();
    },
  };

  /** How many questions wait, on the view's icon. */
  function badge(): void {
    const count = chat.state.asks.length;
    if (view === undefined || (view.badge?.value ?? 0) === count) return;
    view.badge = count === 0 ? undefined : { value: count, tooltip: count === 1 ? "1 question" : `${count} questions` };
  }

  const subscriptions = [
    hidden,
    vscode.window.registerWebviewViewProvider(CHAT_VIEW, provider, {
      webviewOptions: { retainContextWhenHidden: true },
    }),
    chat.onEvent((event) => {
      post({ type: "event", event });
      badge();
    }),
  ];

  async function focus(on?: "ask"): Promise<void> {
    await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
    post({ type: "focus", on });
  }

  return {
    get isVisible() {
      return view?.visible === true;
    },
    onHidden: hidden.event,
    focus,
    async show(page) {
      await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
      post({ type: "show", page });
    },
    async attach(attachments, text) {
      await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
      post({ type: "attach", attachments, text });
      post({ type: "focus" });
    },
    dispose() {
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

/** Nothing is loaded but our own script, style and font; images only if they are in the page already. */
function page(webview: vscode.Webview, root: vscode.Uri): string {
  const nonce = randomBytes(18).toString("base64");
  const uri = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(root, name));
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${uri("style.css")}">
<title>Reverie</title>
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" src="${uri("webview.js")}"></script>
</body>
</html>`;
}
