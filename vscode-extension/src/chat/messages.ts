/**
 * What the extension host and the web view say to each other: one tagged union per direction. The host trusts nothing
 * of the web view: `parseFromView` lets only these shapes through, and of the server's methods only those in `FORWARDED`.
 */

import type { ClientRequests, PermissionChoice } from "../protocol.ts";
import type { Attachment, ChatEvent, ChatState } from "./state.ts";

export type ToView =
  /** All there is; comes after `ready`. */
  | { type: "state"; state: ChatState; draft: Draft }
  | { type: "event"; event: ChatEvent }
  | { type: "result"; id: number; result: unknown }
  | { type: "error"; id: number; message: string }
  /** A command of the palette that concerns the view. */
  | { type: "show"; page: Page }
  /** The composer takes the focus, or the question that waits. */
  | { type: "focus"; on?: "ask" }
  /** Adds to the draft: "ask about the selection". `text` goes before what is there. */
  | { type: "attach"; attachments: readonly Attachment[]; text?: string };

export type FromView =
  | { type: "ready" }
  /** What is typed and not sent, so that a reload brings it back. */
  | { type: "draft"; draft: Draft }
  | { [M in Method]: { type: "call"; id: number; method: M; params: Calls[M]["params"] } }[Method];

export interface Draft {
  text: string;
  attachments: readonly Attachment[];
}

/** Pages of the view over the conversation. */
export type Page = "chat" | "sessions" | "context" | "tasks";

/** Methods of the server that the web view may call as they are. */
export const FORWARDED = [
  "reverie/session/list",
  "reverie/session/search",
  "reverie/context/report",
  "reverie/context/original",
  "reverie/tasks/list",
  "reverie/tasks/stop",
  "reverie/dream/status",
] as const;

type Forwarded = { [M in (typeof FORWARDED)[number]]: ClientRequests[M] };

/** What the host does for the web view. */
export interface HostCalls {
  /** Sends a prompt; begins a session where there is none. */
  "host/prompt": { params: { text: string; attachments: readonly Attachment[] }; result: { turnId: string } };
  "host/stop": { params: Record<string, never>; result: Record<string, never> };
  /** Answers an `Ask`. */
  "host/answer": { params: Answer; result: Record<string, never> };
  "host/session/new": { params: Record<string, never>; result: Record<string, never> };
  /** `messageUuid` names a branch. */
  "host/session/open": { params: { sessionId: string; messageUuid?: string }; result: Record<string, never> };
  /** Forks at a message, or at the end, and opens the fork. */
  "host/session/fork": { params: { sessionId: string; messageUuid?: string }; result: Record<string, never> };
  /** The host asks for the new title. */
  "host/session/rename": { params: { sessionId: string }; result: Record<string, never> };
  /** The host asks whether it should. */
  "host/session/delete": { params: { sessionId: string }; result: { deleted: boolean } };
  /** The host asks where to. */
  "host/session/export": { params: { sessionId: string }; result: Record<string, never> };
  /** Goes back to before a prompt; the host asks about files. The words of the prompt come back, to be edited. */
  "host/rewind": { params: { messageUuid: string }; result: { prompt?: string } };
  "host/configure": { params: { model?: string; mode?: string }; result: Record<string, never> };
  "host/compact": { params: { instructions?: string }; result: Record<string, never> };
  "host/uncompact": { params: Record<string, never>; result: Record<string, never> };
  /** What `@query` may stand for, but for symbols. */
  "host/mentions": { params: { query: string }; result: { mentions: readonly Mention[] } };
  /** Symbols may take seconds, and nobody waits for them to see files. */
  "host/symbols": { params: { query: string }; result: { mentions: readonly Mention[] } };
  /** Makes attachments of what was dropped or chosen: URIs of files and folders. */
  "host/attach": { params: { uris: readonly string[] }; result: { attachments: readonly Attachment[] } };
  /** A native file dialog. */
  "host/pick": { params: Record<string, never>; result: { attachments: readonly Attachment[] } };
  /** Opens a file in an editor; `path` absolute or relative to the session's folder, lines from 1. */
  "host/open": { params: { path: string; line?: number; column?: number }; result: Record<string, never> };
  /** Opens text that is no file in a read-only editor: a tool's output, a summary. */
  "host/openText": { params: { title: string; text: string; language?: string }; result: Record<string, never> };
  /** Opens a link of http(s) or mailto outside; VS Code asks the user first. */
  "host/openLink": { params: { url: string }; result: Record<string, never> };
  "host/copy": { params: { text: string }; result: Record<string, never> };
  /** Puts code into the active editor, in place of the selection. */
  "host/insert": { params: { text: string }; result: Record<string, never> };
  /** Shows a diff between a file (the active editor's where none is named) and the code, to be accepted in parts. */
  "host/apply": { params: { text: string; path?: string }; result: Record<string, never> };
  /** The diff of what the agent did to a file, hunk by hunk, in the native diff editor. */
  "host/review": { params: { path: string }; result: Record<string, never> };
  /** Keeps or takes back all that is not reviewed, in one file or in all. */
  "host/resolve": { params: { path?: string; keep: boolean }; result: Record<string, never> };
  /** A memory in an editor. */
  "host/memory/open": { params: { path: string }; result: Record<string, never> };
  /** One change in the native diff editor. */
  "host/memory/diff": { params: { changeId: string }; result: Record<string, never> };
  "host/memory/undo": { params: { changeIds: readonly string[] }; result: Record<string, never> };
  "host/dream/start": { params: Record<string, never>; result: Record<string, never> };
  "host/dream/stop": { params: { dreamId: string }; result: Record<string, never> };
  "host/dream/report": { params: { dreamId?: string }; result: Record<string, never> };
  /** Shows what would run, and asks. */
  "host/trust": { params: { folder: string }; result: Record<string, never> };
  /** One of the extension's own commands, `reverie.…`, as a `ServerHelp` offers. */
  "host/command": { params: { command: string }; result: Record<string, never> };
}

export type Calls = Forwarded & HostCalls;
export type Method = keyof Calls;

export type Answer =
  | { id: string; kind: "permission"; option: PermissionChoice; message?: string }
  /** Without `answer` it is dismissed. */
  | { id: string; kind: "user"; answer?: string }
  | { id: string; kind: "plan"; approved: boolean; acceptEdits?: boolean; message?: string };

/** One line of the completion of `@`. */
export interface Mention {
  kind: "file" | "folder" | "symbol" | "problems" | "selection" | "editor";
  /** What is put into the text behind the `@`. */
  label: string;
  /** Where it is. */
  detail: string;
  attachment: Attachment;
}
