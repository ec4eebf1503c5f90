/**
 * The web view's side of the wire and its copy of the state: typed calls to the extension host, the check of what comes
 * from it, and the store that the components read. Whatever the host says is applied at once and drawn with the next
 * frame, so that a hundred deltas cost one render.
 */

import { useLayoutEffect, useState } from "preact/hooks";
import { kept, lossOf } from "../src/chat/attachments.ts";
import type { Calls, Draft, FromView, Method, Page, ToView } from "../src/chat/messages.ts";
import { reduce } from "../src/chat/reduce.ts";
import { type Attachment, type AttachmentLabel, type ChatState, EMPTY, type UserItem } from "../src/chat/state.ts";
import { isToView, nameOf } from "./check.ts";
import { createMailbox } from "./mailbox.ts";

/** What the store holds. Replaced as a whole, never changed. */
export interface Chat {
  state: ChatState;
  /** What the host kept of the last draft; the composer owns it from then on. */
  draft: Draft;
  /** Counts the drafts that came from the host, so that the composer can tell a new one from its own echo. */
  drafts: number;
  /** Whether the host has said anything yet. */
  ready: boolean;
  /** What the user asked for last and could not be done, in words. */
  problem?: string;
  /** A message to scroll to, once it is there. */
  target?: Target;
  /** Prompts that the host has and has not answered for yet, oldest first. */
  sending: readonly SendingItem[];
}

export interface Target {
  sessionId: string;
  messageUuid: string;
}

/** A prompt on its way. Looks like any other, and says that nobody has it yet. */
export interface SendingItem extends UserItem {
  sending: true;
}

/** What the host, or another part of the view, wants of the view; it is no part of the state. */
export type Command = Extract<ToView, { type: "show" | "focus" | "attach" }>;

/** What survives the view being thrown away; all else comes from the host. */
export interface Remembered {
  page?: Page;
  sessionId?: string;
  /** The item at the top of the viewport; and one above it that is there again after a reload. */
  scroll?: Anchor;
  lasting?: Anchor;
  /** What the user does not want to be asked about again, as it is now. */
  dismissed?: readonly string[];
}

/** An item, and how far it is scrolled past. */
export interface Anchor {
  key: string;
  offset: number;
}

interface VsCodeApi {
  postMessage(message: FromView): void;
  getState(): unknown;
  setState(state: Remembered): void;
}

declare function acquireVsCodeApi(): VsCodeApi;

/** Anything can post to the window: what is said about it is bounded. */
const MOST_REPORTED = 20;

const api = acquireVsCodeApi();

export function send(message: FromView): void {
  api.postMessage(message);
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const waiting = new Map<number, Waiting>();
let lastId = 0;

/** Asks the host. Rejects with the host's words, which are for people. */
export function call<M extends Method>(method: M, params: Calls[M]["params"]): Promise<Calls[M]["result"]> {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve: (result) => resolve(result as Calls[M]["result"]), reject });
    send({ type: "call", id, method, params } as FromView);
  });
}

/** Asks the host where nobody handles a failure: it is said above the composer until the next one or until dismissed. */
export function tell<M extends Method>(
  method: M,
  params: Calls[M]["params"],
  onResult?: (result: Calls[M]["result"]) => void,
): void {
  call(method, params).then(onResult, (error: Error) => apply({ ...chat, problem: error.message }));
}

/** Sends a prompt, which is shown among the others until the host says that it has been taken or why not. */
export async function prompt(text: string, attachments: readonly Attachment[]): Promise<void> {
  const item: SendingItem = {
    kind: "user",
    key: `sending-${++lastId}`,
    text,
    attachments: attachments.map(({ kind, label }) => ({ kind, label })),
    at: new Date().toISOString(),
    queued: false,
    recalled: [],
    sending: true,
  };
  apply({ ...chat, sending: [...chat.sending, item] });
  try {
    await call("host/prompt", { text, attachments });
  } finally {
    apply({ ...chat, sending: chat.sending.filter((one) => one !== item) });
  }
}

/** The host keeps it through a reload, and the store for a composer that has to be drawn anew. */
export function saveDraft(draft: Draft): void {
  chat = { ...chat, draft };
  send({ type: "draft", draft });
}

export function dismissProblem(): void {
  apply({ ...chat, problem: undefined });
}

let chat: Chat = {
  state: EMPTY,
  draft: { text: "", attachments: [] },
  drafts: 0,
  ready: false,
  sending: [],
};
const subscribers = new Set<() => void>();
/** The host says the first ones right behind the state, before there is anything on the page that could hear them. */
const commands = createMailbox<Command>();
let isScheduled = false;

function apply(next: Chat): void {
  chat = next;
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    for (const subscriber of [...subscribers]) subscriber();
  });
}

/** What there is now, for code outside of rendering. */
export function current(): Chat {
  return chat;
}

/** The whole state; the component renders again whenever it changes, at most once a frame. */
export function useChat(): Chat {
  const [shown, show] = useState(chat);
  useLayoutEffect(() => {
    const update = () => show(chat);
    subscribers.add(update);
    // What came between the first render and this effect.
    update();
    return () => {
      subscribers.delete(update);
    };
  }, []);
  return shown;
}

/** Hears what the host or another part of the view wants. Returns how to stop. */
export const onCommand = commands.listen;

/** The parts of the view are drawn and listen. */
export const beginCommands = commands.open;

export function remembered(): Remembered {
  const state = api.getState();
  return isRecord(state) ? (state as Remembered) : {};
}

export function remember(change: Remembered): void {
  api.setState({ ...remembered(), ...change });
}

/** Puts words into the composer, to be edited, with what went along: files do again, the rest is not kept. */
export function edit(text: string, attached: readonly AttachmentLabel[] = []): void {
  commands.post({ type: "attach", attachments: kept(attached), text });
  const problem = lossOf(attached);
  if (problem !== undefined) apply({ ...chat, problem });
}

export function aimAt(target: Target | undefined): void {
  apply({ ...chat, target });
}

/** The composer takes the focus, as a command of the palette does. */
export function focusComposer(): void {
  commands.post({ type: "focus" });
}

/** Opens a page of the view, as a command of the palette does. */
export function showPage(page: Page): void {
  commands.post({ type: "show", page });
}

/** Begins to listen, and asks the host for the state. */
export function connect(): void {
  const reported = new Set<string>();
  window.addEventListener("message", (event: MessageEvent<unknown>) => {
    // VS Code passes on what the host says from a frame of this view's own origin. Others have another.
    if (event.origin !== window.origin) return;
    if (isToView(event.data)) {
      receive(event.data);
      return;
    }
    const name = nameOf(event.data);
    if (name === "" || reported.has(name) || reported.size > MOST_REPORTED) return;
    reported.add(name);
    console.warn(`Reverie's chat view cannot read this message and leaves it out: ${name}`);
  });
  send({ type: "ready" });
}

function receive(message: ToView): void {
  switch (message.type) {
    case "state": {
      const { state, draft } = message;
      apply({ ...chat, state, draft, drafts: chat.drafts + 1, ready: true, problem: undefined });
      break;
    }
    case "event":
      apply({ ...chat, state: reduce(chat.state, message.event) });
      break;
    case "result":
      waiting.get(message.id)?.resolve(message.result);
      waiting.delete(message.id);
      break;
    case "error":
      waiting.get(message.id)?.reject(new Error(message.message));
      waiting.delete(message.id);
      break;
    case "show":
    case "focus":
    case "attach":
      commands.post(message);
      break;
    default:
      message satisfies never;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
