/**
 * Which messages are our host's, in outline: that what the view reads of them is there and of its kind. Only
 * this view's own origin gets so far, but a message that is not what it seems would break the state for good.
 * More fields than we know are fine: the server may be newer. Pure.
 */

import type { Page, ToView } from "../src/chat/messages.ts";
import type { Ask, ChatEvent, Item, ServerState } from "../src/chat/state.ts";
import type { ToolDisplay, Update } from "../src/protocol.ts";

type Check = (value: unknown) => boolean;
/** A line for each name: one that is missing does not compile. */
type Table<Name extends string> = Readonly<Record<Name, Check>>;

const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number";
const flag: Check = (value) => typeof value === "boolean";
const anything: Check = () => true;

const position = record({ line: number, character: number });
const range = record({ start: position, end: position });
const usage = record({ inputTokens: number, outputTokens: number, cacheReadTokens: number, cacheWriteTokens: number });
const todo = record({
  content: text,
  status: oneOf("pending", "in_progress", "completed"),
  activeForm: optional(text),
});
const memoryFile = record({ path: text, name: text, reason: text, changeId: optional(text) });
const changedFile = record({ path: text, state: text, added: number, removed: number });
const branch = record({ messageUuid: text, firstPrompt: text, messages: number, updatedAt: text });
const contextChange = record({
  layer: text,
  detail: text,
  tokensFreed: number,
  cache: text,
  original: optional(text),
});
const answerToPlan = record({ approved: flag, message: optional(text) });
const turnError = record({ code: text, message: text });
const model = record({ id: text, name: text, available: flag });
const command = record({ name: text, description: text, argumentHint: optional(text) });
const level = oneOf("info", "warning", "error");
const dream = record({ dreamId: text, status: text, phase: text, rounds: number, filesTouched: list(text) });
const trust = record({
  folder: text,
  status: text,
  digest: text,
  items: list(record({ kind: text, path: text, detail: text })),
  changes: optional(list(text)),
  cannot: optional(text),
});
const meter = record({
  used: number,
  window: number,
  level: text,
  percentLeft: number,
  nextStep: text,
  cacheHitRate: number,
  costUsd: number,
});
const label = record({ kind: text, label: text, uri: optional(text), range: optional(range) });
const attachment = tagged("kind", {
  mention: record({ label: text, uri: text, range: optional(range) }),
  text: record({ label: text, text }),
  image: record({ label: text, mediaType: text, data: text }),
});
const draft = record({ text, attachments: list(attachment) });

const display = tagged("kind", {
  text: record({ text }),
  diff: record({ path: text, diff: text }),
  files: record({ paths: list(text) }),
  terminal: record({ command: text, output: text, exitCode: optional(number) }),
} satisfies Table<ToolDisplay["kind"]>);

const server = tagged("state", {
  starting: anything,
  running: anything,
  restarting: record({ reason: text }),
  failed: record({ reason: text, help: list(record({ label: text, command: text })) }),
} satisfies Table<ServerState["state"]>);

const ask = tagged("kind", {
  permission: record({
    id: text,
    sessionId: text,
    tool: text,
    reason: text,
    preview: optional(record({ kind: text, text })),
    options: list(record({ id: text, label: text, rule: optional(text) })),
  }),
  user: record({ id: text, sessionId: text, question: text, options: list(text) }),
  plan: record({ id: text, sessionId: text, plan: text }),
} satisfies Table<Ask["kind"]>);

const items: Table<Item["kind"]> = {
  user: record({
    text,
    at: text,
    queued: flag,
    uuid: optional(text),
    attachments: list(label),
    recalled: list(memoryFile),
  }),
  text: record({ text, streaming: flag, uuid: optional(text) }),
  thinking: record({ text, streaming: flag }),
  tool: record({
    toolUseId: text,
    tool: text,
    state: text,
    progress: text,
    uuid: optional(text),
    display: optional(display),
  }),
  notice: record({ level, text }),
  context: contextChange,
  plan: record({ text, answer: optional(answerToPlan) }),
  question: record({ question: text, answer: optional(nullable(text)) }),
  memory: record({ event: text, by: text, files: list(memoryFile), undone: flag }),
  end: record({ stopReason: text, usage, error: optional(turnError), uuid: optional(text) }),
};
const item = both(record({ key: text, turnId: optional(text) }), tagged("kind", items));

const state = record({
  server,
  sessionId: optional(text),
  title: text,
  items: list(item),
  turn: optional(record({ id: text, startedAt: number, phase: text, detail: optional(text) })),
  asks: list(ask),
  todos: list(todo),
  meter: optional(meter),
  model: optional(text),
  mode: text,
  models: list(model),
  commands: list(command),
  trust: list(trust),
  restricted: flag,
  changes: list(changedFile),
  dream: optional(dream),
  jobs: number,
  branches: list(branch),
  nextSeq: number,
});

const updates: Table<Update["kind"]> = {
  textDelta: record({ text }),
  thinkingDelta: record({ text }),
  toolStart: record({ toolUseId: text, tool: text }),
  toolProgress: record({ toolUseId: text, text }),
  toolEnd: record({ toolUseId: text, ok: flag, display }),
  usage: record({
    contextUsed: number,
    contextWindow: number,
    level: text,
    percentLeft: number,
    nextStep: text,
    cacheHitRate: number,
    costUsd: number,
  }),
  context: contextChange,
  retry: record({ reason: text, discard: optional(flag) }),
  notice: record({ level, text }),
  todo: record({ items: list(todo) }),
  plan: record({ text }),
  title: record({ title: text }),
  joined: anything,
  configured: record({ model: optional(text), mode: optional(text) }),
  turnEnd: record({
    stopReason: text,
    usage,
    error: optional(turnError),
    promptUuid: optional(text),
    messageUuid: optional(text),
  }),
};

const message = record({ uuid: text, role: text, kind: text, text, timestamp: text, display: optional(display) });

const events: Table<ChatEvent["type"]> = {
  server: record({ server }),
  update: record({
    params: record({ sessionId: text, turnId: optional(text), seq: number, update: tagged("kind", updates) }),
  }),
  memory: record({
    params: record({
      kind: text,
      by: text,
      sessionId: optional(text),
      turnId: optional(text),
      files: list(memoryFile),
    }),
  }),
  dream: record({ params: dream }),
  jobs: record({ running: number }),
  prompted: record({
    sessionId: text,
    turnId: text,
    queued: flag,
    text,
    attachments: list(label),
    at: text,
  }),
  stopping: anything,
  resumed: record({
    result: record({
      sessionId: text,
      messages: list(message),
      repairs: list(text),
      branches: optional(list(branch)),
      title: optional(text),
      model: optional(text),
      mode: optional(text),
      todos: optional(list(todo)),
    }),
    meter: optional(meter),
  }),
  earlier: record({ sessionId: text, messages: list(message) }),
  cleared: anything,
  ask: record({ ask }),
  answered: record({ id: text, plan: optional(answerToPlan), answer: optional(nullable(text)) }),
  configured: record({ model: optional(text), mode: optional(text) }),
  models: record({ models: list(model) }),
  commands: record({ commands: list(command) }),
  trust: record({ trust: list(trust), restricted: flag }),
  changes: record({ files: list(changedFile) }),
  undone: record({ changeIds: list(text) }),
  notice: record({ level, text }),
};

const pages = ["chat", "sessions", "context", "tasks"] as const satisfies readonly Page[];

const messages = tagged("type", {
  state: record({ state, draft }),
  event: record({ event: tagged("type", events) }),
  result: record({ id: number }),
  error: record({ id: number, message: text }),
  show: record({ page: oneOf(...pages) }),
  focus: record({ on: optional(text) }),
  attach: record({ attachments: list(attachment), text: optional(text) }),
} satisfies Table<ToView["type"]>);

export function isToView(value: unknown): value is ToView {
  return messages(value);
}

/** What a message that was dropped calls itself, never what is in it: "event update toolEnd". */
export function nameOf(value: unknown): string {
  const names: string[] = [];
  let part = value;
  // A message, its event, the params of that, their update: it goes no deeper.
  for (let depth = 0; depth < 4 && isRecord(part); depth += 1) {
    const name = part.type ?? part.kind;
    if (typeof name === "string") names.push(name.slice(0, 40));
    part = part.event ?? part.params ?? part.update;
  }
  return names.join(" ");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function record(shape: Readonly<Record<string, Check>>): Check {
  const fields = Object.entries(shape);
  return (value) => isRecord(value) && fields.every(([key, check]) => check(value[key]));
}

/** The field of that name says which line of the table it has to hold to. */
function tagged(name: string, table: Readonly<Record<string, Check>>): Check {
  return (value) => {
    const tag = isRecord(value) ? value[name] : undefined;
    return typeof tag === "string" && Object.hasOwn(table, tag) && table[tag]?.(value) === true;
  };
}

function list(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

/** A server may say of what it does not have that it is null. */
function optional(check: Check): Check {
  return (value) => value === undefined || value === null || check(value);
}

function nullable(check: Check): Check {
  return (value) => value === null || check(value);
}

function both(one: Check, other: Check): Check {
  return (value) => one(value) && other(value);
}

function oneOf(...values: readonly string[]): Check {
  return (value) => typeof value === "string" && values.includes(value);
}
