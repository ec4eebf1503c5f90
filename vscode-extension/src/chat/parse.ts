/**
 * Lets through what the web view may say, and nothing else. The web view shows what models and files say, so that the
 * host takes it for hostile: shapes, sizes and numbers are checked here, once.
 */

import { HELP } from "../help.ts";
import { type Answer, type Calls, type Draft, FORWARDED, type FromView, type Method } from "./messages.ts";
import type { Attachment } from "./state.ts";

const MOST_CHARS = 2_000_000;
/** An image of 5 MB in base64, and some. */
const MOST_DATA = 8_000_000;
/** All that goes with one prompt. */
const MOST_ATTACHED = 40_000_000;
const MOST_ITEMS = 200;
const MOST_SHORT = 4_096;

type Check<T> = (value: unknown) => value is T;
type Shape<T> = { [K in keyof T]-?: Check<T[K]> };

export function parseFromView(message: unknown): FromView | undefined {
  if (!isRecord(message)) return undefined;
  switch (message.type) {
    case "ready":
      return { type: "ready" };
    case "draft":
      return isDraft(message.draft) ? { type: "draft", draft: message.draft } : undefined;
    case "call": {
      const { id, method, params } = message;
      if (!isCount(id) || typeof method !== "string" || !Object.hasOwn(PARAMS, method)) return undefined;
      const check: Check<unknown> = PARAMS[method as Method];
      return check(params) ? ({ type: "call", id, method, params } as FromView) : undefined;
    }
    default:
      return undefined;
  }
}

/** A string that says at least something and not too much: ids, paths, names. */
const isShort: Check<string> = (value): value is string =>
  typeof value === "string" && value !== "" && value.length <= MOST_SHORT;

const isText: Check<string> = (value): value is string => typeof value === "string" && value.length <= MOST_CHARS;

const isData: Check<string> = (value): value is string =>
  typeof value === "string" && value.length <= MOST_DATA && /^[A-Za-z0-9+/]*={0,2}$/.test(value);

const isFlag: Check<boolean> = (value): value is boolean => typeof value === "boolean";

const isCount: Check<number> = (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const isPosition = object<{ line: number; character: number }>({ line: isCount, character: isCount });

const isRange = object({ start: isPosition, end: isPosition });

const isMediaType = oneOf("image/png", "image/jpeg", "image/gif", "image/webp");

const isAttachment: Check<Attachment> = anyOf<Attachment>(
  object({ kind: oneOf("mention"), label: isShort, uri: isShort, range: optional(isRange) }),
  object({ kind: oneOf("text"), label: isShort, text: isText }),
  object({ kind: oneOf("image"), label: isShort, mediaType: isMediaType, data: isData }),
);

const isAnyDraft: Check<Draft> = object({ text: isText, attachments: list(isAttachment) });

const isDraft: Check<Draft> = (value): value is Draft =>
  isAnyDraft(value) && value.attachments.reduce((sum, one) => sum + sizeOf(one), 0) <= MOST_ATTACHED;

/** One that says something. */
const isPrompt: Check<Draft> = (value): value is Draft =>
  isDraft(value) && (value.text.trim() !== "" || value.attachments.length > 0);

const isAnswer: Check<Answer> = anyOf<Answer>(
  object({
    id: isShort,
    kind: oneOf("permission"),
    option: oneOf("allowOnce", "allowSession", "allowAlways", "deny"),
    message: optional(isText),
  }),
  object({ id: isShort, kind: oneOf("user"), answer: optional(isText) }),
  object({
    id: isShort,
    kind: oneOf("plan"),
    approved: isFlag,
    acceptEdits: optional(isFlag),
    message: optional(isText),
  }),
);

const nothing = object<Record<string, never>>({});
const session = object({ sessionId: isShort });
const branch = object({ sessionId: isShort, messageUuid: optional(isShort) });

/** What the view offers, and nothing else of this extension, of the server or of the editor. */
const isCommand = oneOf("reverie.memory.focus", ...Object.values(HELP).map(({ command }) => command));

/** Nothing but the web and mail is opened outside. */
const isLink: Check<string> = (value): value is string => isShort(value) && /^(https?|mailto):/i.test(value);

/** One line for each method: a method without a check does not compile. */
const PARAMS: { [M in Method]: Check<Calls[M]["params"]> } = {
  "reverie/session/list": object({
    cursor: optional(isShort),
    limit: optional(isCount),
    query: optional(isText),
    all: optional(isFlag),
  }),
  "reverie/session/search": object({
    query: isText,
    since: optional(isShort),
    until: optional(isShort),
    role: optional(oneOf("user", "assistant", "tool")),
    sessionId: optional(isShort),
    messageUuid: optional(isShort),
    parentUuid: optional(isShort),
    all: optional(isFlag),
    limit: optional(isCount),
  }),
  "reverie/context/report": session,
  "reverie/context/original": object({ sessionId: isShort, id: isShort }),
  "reverie/tasks/list": object({ sessionId: optional(isShort) }),
  "reverie/tasks/stop": object({ taskId: isShort }),
  "reverie/dream/status": nothing,
  "host/prompt": isPrompt,
  "host/stop": nothing,
  "host/answer": isAnswer,
  "host/session/new": nothing,
  "host/session/open": branch,
  "host/session/fork": branch,
  "host/session/rename": session,
  "host/session/delete": session,
  "host/session/export": session,
  "host/rewind": object({ messageUuid: isShort }),
  "host/configure": object({ model: optional(isShort), mode: optional(isShort) }),
  "host/compact": object({ instructions: optional(isText) }),
  "host/uncompact": nothing,
  "host/mentions": object({ query: isText }),
  "host/symbols": object({ query: isText }),
  "host/attach": object({ uris: list(isShort) }),
  "host/pick": nothing,
  "host/open": object({ path: isShort, line: optional(isCount), column: optional(isCount) }),
  "host/openText": object({ title: isShort, text: isText, language: optional(isShort) }),
  "host/openLink": object({ url: isLink }),
  "host/copy": object({ text: isText }),
  "host/insert": object({ text: isText }),
  "host/apply": object({ text: isText, path: optional(isShort) }),
  "host/review": object({ path: isShort }),
  "host/resolve": object({ path: optional(isShort), keep: isFlag }),
  "host/memory/open": object({ path: isShort }),
  "host/memory/diff": object({ changeId: isShort }),
  "host/memory/undo": object({ changeIds: list(isShort) }),
  "host/dream/start": nothing,
  "host/dream/stop": object({ dreamId: isShort }),
  "host/dream/report": object({ dreamId: optional(isShort) }),
  "host/trust": object({ folder: isShort }),
  "host/command": object({ command: isCommand }),
};

export function isForwarded(method: Method): method is (typeof FORWARDED)[number] {
  return (FORWARDED as readonly string[]).includes(method);
}

function sizeOf(attachment: Attachment): number {
  switch (attachment.kind) {
    case "mention":
      return attachment.uri.length;
    case "text":
      return attachment.text.length;
    case "image":
      return attachment.data.length;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object with these fields, and no others. */
function object<T>(shape: Shape<T>): Check<T> {
  const fields = Object.entries<Check<unknown>>(shape);
  return (value): value is T =>
    isRecord(value) &&
    Object.keys(value).every((key) => Object.hasOwn(shape, key)) &&
    fields.every(([key, check]) => check(Object.hasOwn(value, key) ? value[key] : undefined));
}

function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value);
}

function list<T>(check: Check<T>): Check<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.length <= MOST_ITEMS && value.every(check);
}

function oneOf<T extends string>(...values: readonly T[]): Check<T> {
  return (value): value is T => (values as readonly unknown[]).includes(value);
}

function anyOf<T>(...checks: readonly Check<T & unknown>[]): Check<T> {
  return (value): value is T => checks.some((check) => check(value));
}
