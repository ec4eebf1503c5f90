/**
 * The conversation that the chat view shows: the host's copy of its state, and what can be done with it. Everything that
 * happens is an event; who shows something of it listens.
 */

import * as vscode from "vscode";
import type { Server } from "../client.ts";
import { activeFolder, localFolders } from "../folders.ts";
import type {
  ContextReportResult,
  EarlierMessagesResult,
  EditorState,
  PromptPart,
  ResumeSessionResult,
  SessionUpdateParams,
} from "../protocol.ts";
import { wordsOf } from "../words.ts";
import type { Draft } from "./messages.ts";
import { isOutOfStep, reduce } from "./reduce.ts";
import { type Attachment, type AttachmentLabel, type ChatEvent, type ChatState, EMPTY, type Meter } from "./state.ts";

const SESSION_KEY = "reverie.session";
const DRAFT_KEY = "reverie.draft";

/** Compactions behind which one looks. */
const MOST_PARTS = 20;

/** The server's code for a session that is not there. */
const UNKNOWN_SESSION = -32001;

export interface Chat extends vscode.Disposable {
  readonly state: ChatState;
  readonly draft: Draft;
  /** Each event, after the state has it. */
  readonly onEvent: vscode.Event<ChatEvent>;
  apply(event: ChatEvent): void;
  /** Starts the server and brings back the session that was open. */
  start(): Promise<void>;
  setDraft(draft: Draft): void;
  prompt(text: string, attachments: readonly Attachment[]): Promise<{ turnId: string }>;
  stop(): Promise<void>;
  begin(): void;
  open(sessionId: string, messageUuid?: string): Promise<void>;
  configure(change: { model?: string; mode?: string }): Promise<void>;
  compact(instructions?: string): Promise<void>;
  uncompact(): Promise<void>;
  /** Asks the server anew which files wait for a review. */
  refreshChanges(): Promise<void>;
  refreshTrust(): Promise<void>;
  /** Of the session that is shown; fails in words where there is none. */
  requireSession(): string;
}

interface Opening {
  sessionId: string;
  /** A turn of it has ended before the server said what there is. */
  hasEnded: boolean;
  answered: boolean;
  /** What came after that, for when it is shown. */
  late: ChatEvent[];
}

export function createChat(server: Server, memento: vscode.Memento, log: vscode.LogOutputChannel): Chat {
  const happened = new vscode.EventEmitter<ChatEvent>();
  let state: ChatState = { ...EMPTY, server: server.state };
  let draft: Draft = memento.get<Draft>(DRAFT_KEY, { text: "", attachments: [] });
  let wanted = memento.get<string>(SESSION_KEY);
  /** What was chosen before there is a session. */
  let chosen: { model?: string; mode?: string } = {};
  let beginning: Promise<string> | undefined;
  /** The prompts that the server has not answered for yet. */
  let sending: Promise<unknown> = Promise.resolve();
  /** Those of them that the server has been told. */
  let telling: Promise<unknown> = Promise.resolve();
  /** The session that is being opened, and what happens to it meanwhile. */
  let opening: Opening | undefined;
  /** Until it is open, or could not be opened. */
  let resuming: Promise<unknown> = Promise.resolve();
  /** The turn that ran when its session was opened: what it had said by then is not shown until it ends. */
  let halfShown: string | undefined;
  /** Counts what was opened, so that only the last of them is shown. */
  let opened = 0;
  /** While the session of last time is brought back. */
  let restoring: Promise<void> | undefined;
  /** The server ended while it answered. */
  let wasInterrupted = false;
  /** Until the chat is looked at, the session of last time can wait. */
  let isShown = false;
  /** What a session tells whose first prompt is not known to be accepted yet. */
  let early: { sessionId: string; events: ChatEvent[] } | undefined;

  /** Counts what was asked and told about changes: an answer that something newer has overtaken is dropped. */
  let changes = 0;

  function apply(event: ChatEvent): void {
    state = reduce(state, event);
    if (event.type === "changes") changes += 1;
    happened.fire(event);
    // Before the session of last time is opened there is none, and that must not make us forget it.
    const concernsSession = event.type === "prompted" || event.type === "resumed" || event.type === "cleared";
    if (concernsSession && state.sessionId !== wanted) {
      wanted = state.sessionId;
      void memento.update(SESSION_KEY, wanted);
    }
  }

  function take(event: ChatEvent): void {
    const sessionId = event.type === "update" || event.type === "memory" ? event.params.sessionId : undefined;
    if (sessionId !== undefined && sessionId === early?.sessionId) early.events.push(event);
    else if (sessionId !== undefined && sessionId === opening?.sessionId) wait(opening, event);
    else if (event.type === "update") hear(event.params);
    else apply(event);
  }

  /** What the server says before it answers is in its answer; what comes behind that is not. */
  function wait(present: Opening, event: ChatEvent): void {
    if (present.answered) present.late.push(event);
    else if (event.type !== "update") apply(event);
    else present.hasEnded ||= event.params.update.kind === "turnEnd";
  }

  function requireSession(): string {
    if (state.sessionId === undefined) throw new Error("There is no conversation yet. Say something first.");
    return state.sessionId;
  }

  function hear(params: SessionUpdateParams): void {
    const { sessionId, turnId, update } = params;
    if (isOutOfStep(state, params)) {
      log.warn(`update ${params.seq} of session ${sessionId} came out of order; opening it anew`);
      openAnew(sessionId);
      return;
    }
    apply({ type: "update", params });
    if (update.kind === "turnEnd" && turnId === halfShown && sessionId === state.sessionId) openAnew(sessionId);
  }

  function openAnew(sessionId: string): void {
    resume(sessionId).catch((error: unknown) => apply({ type: "notice", level: "error", text: wordsOf(error) }));
  }

  function resume(sessionId: string, messageUuid?: string): Promise<void> {
    const work = reopen(sessionId, messageUuid);
    resuming = work.catch(() => undefined);
    return work;
  }

  async function reopen(sessionId: string, messageUuid?: string): Promise<void> {
    const mine = ++opened;
    // What is being said belongs to what is opened.
    await telling;
    if (mine !== opened) return;
    const present: Opening = { sessionId, hasEnded: false, answered: false, late: [] };
    opening = present;
    try {
      const result = await server.request("reverie/session/resume", { sessionId, messageUuid });
      present.answered = true;
      const report = await server.request("reverie/context/report", { sessionId }).catch(() => undefined);
      // Somebody may have gone on to another meanwhile.
      if (mine !== opened) return;
      apply({ type: "resumed", result, meter: report && meterOf(report) });
      halfShown = result.runningTurnId;
      loadEarlier(sessionId, result).catch((error: unknown) => log.warn(`earlier messages: ${wordsOf(error)}`));
    } finally {
      if (opening === present) opening = undefined;
    }
    for (const event of present.late) take(event);
    // Its end was not heard.
    if (present.hasEnded && halfShown !== undefined) await resume(sessionId);
    else changesMayDiffer();
  }

  /** What compactions left out of the conversation is shown all the same; it is read when the rest is shown. */
  async function loadEarlier(sessionId: string, { messages, earlierUuid }: ResumeSessionResult): Promise<void> {
    const mine = opened;
    const known = new Set(messages.map((message) => message.uuid));
    let messageUuid = earlierUuid;
    for (let parts = 0; messageUuid !== undefined && parts < MOST_PARTS; parts += 1) {
      const part: EarlierMessagesResult = await server.request("reverie/session/earlier", { sessionId, messageUuid });
      if (mine !== opened) return;
      const fresh = part.messages.filter((message) => !known.has(message.uuid));
      for (const message of fresh) known.add(message.uuid);
      apply({ type: "earlier", sessionId, messages: fresh });
      messageUuid = part.earlierUuid;
    }
  }

  async function refreshChanges(): Promise<void> {
    const { sessionId } = state;
    if (sessionId === undefined) return;
    const mine = ++changes;
    const { files } = await server.request("reverie/changes/list", { sessionId });
    if (state.sessionId === sessionId && mine === changes) apply({ type: "changes", files });
  }

  function changesMayDiffer(): void {
    refreshChanges().catch((error: unknown) => log.warn(`changes: ${wordsOf(error)}`));
  }

  async function refreshTrust(): Promise<void> {
    const asked = localFolders().map((folder) => server.request("reverie/trust/get", { folder }));
    const trust = (await Promise.allSettled(asked)).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    apply({ type: "trust", trust, restricted: !vscode.workspace.isTrusted });
  }

  async function loadLists(): Promise<void> {
    const [models, commands] = await Promise.all([
      server.request("reverie/models/list", {}),
      server.request("reverie/commands/list", {}),
      refreshTrust(),
    ]);
    apply({ type: "models", models: models.models });
    apply({ type: "commands", commands: commands.commands });
  }

  /** A server that runs anew knows nothing of what is shown. */
  async function restore(): Promise<void> {
    const before = opened;
    await loadLists().catch((error: unknown) => log.warn(`lists: ${wordsOf(error)}`));
    const isLost = wasInterrupted;
    wasInterrupted = false;
    const sessionId = state.sessionId ?? wanted;
    // The user may have gone to another meanwhile.
    if (sessionId === undefined || before !== opened) return;
    const mine = opened + 1;
    const text = "The server ended in the middle of a turn. What was said since is lost; send a message to go on.";
    await resume(sessionId).catch((error: unknown) => {
      if (mine !== opened) return;
      // What is not there any more is forgotten; what cannot be opened now may be opened later.
      if (isUnknownSession(error)) apply({ type: "cleared" });
      const why = `The last conversation could not be opened: ${wordsOf(error)}. It is among the sessions.`;
      apply({ type: "notice", level: "warning", text: why });
    });
    if (isLost && mine === opened) apply({ type: "notice", level: "warning", text });
  }

  async function start(): Promise<void> {
    const isFirst = !isShown;
    isShown = true;
    if (server.state.state !== "running") await server.start();
    else if (isFirst) restoring = restore();
  }

  async function beginSession(): Promise<string> {
    const { sessionId, model, mode } = await server.request("reverie/session/new", { cwd: activeFolder(), ...chosen });
    apply({ type: "configured", model, mode });
    chosen = {};
    return sessionId;
  }

  function prompt(text: string, attachments: readonly Attachment[]): Promise<{ turnId: string }> {
    const taken = send(text, attachments);
    const mine = taken.then(
      () => undefined,
      () => undefined,
    );
    sending = sending.then(() => mine);
    return taken;
  }

  async function send(text: string, attachments: readonly Attachment[]): Promise<{ turnId: string }> {
    // What is said while a session is brought back or opened belongs to that one.
    await start();
    await restoring;
    await resuming;
    if (state.sessionId === undefined) {
      beginning ??= beginSession().finally(() => {
        beginning = undefined;
      });
    }
    const sessionId = state.sessionId ?? (await beginning);
    if (sessionId === undefined) throw new Error("There is no session. Try again.");
    if (state.sessionId === undefined) early ??= { sessionId, events: [] };
    const mine = opened;
    try {
      const parts = [...(text === "" ? [] : [{ type: "text" as const, text }]), ...attachments.map(partOf)];
      const params = { sessionId, prompt: parts, editor: editorState() };
      const told = server.request("reverie/session/prompt", params);
      telling = Promise.allSettled([telling, told]);
      const { turnId, queued } = await told;
      const at = new Date().toISOString();
      const labels = attachments.map(labelOf);
      // Who went on to another conversation meanwhile finds this one among the sessions.
      const isHere = state.sessionId === sessionId || mine === opened;
      if (isHere) apply({ type: "prompted", sessionId, turnId, queued, text, attachments: labels, at });
      return { turnId };
    } finally {
      const events = early?.events ?? [];
      early = undefined;
      for (const event of events) take(event);
    }
  }

  const subscriptions = [
    happened,
    server.onState((next) => {
      wasInterrupted ||= next.state !== "running" && state.turn !== undefined;
      // What a server was told that is gone may never be answered.
      if (next.state !== "running") telling = resuming = Promise.resolve();
      apply({ type: "server", server: next });
      if (next.state === "running" && isShown) restoring = restore();
    }),
    server.onJobs((running) => apply({ type: "jobs", running })),
    happened.event((event) => {
      if (event.type !== "update") return;
      const { update } = event.params;
      const mayHaveWritten = update.kind === "toolEnd" && update.display.kind === "diff";
      if (mayHaveWritten || update.kind === "turnEnd") {
        changesMayDiffer();
      }
    }),
  ];

  return {
    get state() {
      return state;
    },
    get draft() {
      return draft;
    },
    onEvent: happened.event,
    apply: take,
    start,
    setDraft(next) {
      draft = next;
      void memento.update(DRAFT_KEY, next);
    },
    prompt,
    async stop() {
      // Who is that quick means the turn that is about to begin.
      await sending;
      const { sessionId } = state;
      if (sessionId === undefined || state.turn === undefined) return;
      apply({ type: "stopping" });
      await server.request("reverie/session/cancel", { sessionId });
    },
    begin() {
      opened += 1;
      // What is shown is what the next session gets.
      if (state.sessionId !== undefined) chosen = { model: state.model, mode: state.mode };
      apply({ type: "cleared" });
    },
    open: resume,
    async configure(change) {
      const { sessionId } = state;
      if (sessionId === undefined) chosen = { ...chosen, ...change };
      else await server.request("reverie/session/configure", { sessionId, ...change });
      apply({ type: "configured", ...change });
    },
    async compact(instructions) {
      await server.request("reverie/session/compact", { sessionId: requireSession(), instructions });
    },
    async uncompact() {
      await server.request("reverie/session/uncompact", { sessionId: requireSession() });
    },
    refreshChanges,
    refreshTrust,
    requireSession,
    dispose() {
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

function isUnknownSession(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === UNKNOWN_SESSION;
}

function partOf(attachment: Attachment): PromptPart {
  switch (attachment.kind) {
    case "mention":
      return { type: "mention", uri: attachment.uri, range: attachment.range };
    case "text":
      return { type: "text", text: `${attachment.label}:\n${attachment.text}` };
    case "image":
      return { type: "image", mediaType: attachment.mediaType, data: attachment.data };
  }
}

function labelOf(attachment: Attachment): AttachmentLabel {
  const { kind, label } = attachment;
  return attachment.kind === "mention"
    ? { kind, label, uri: attachment.uri, range: attachment.range }
    : { kind, label };
}

function editorState(): EditorState | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") return undefined;
  const { start, end } = editor.selection;
  const selection = editor.selection.isEmpty ? undefined : { start: plain(start), end: plain(end) };
  return { activeUri: editor.document.uri.toString(), selection };
}

function plain({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}

function meterOf(report: ContextReportResult): Meter {
  const { used, window, level, percentLeft, nextStep, sources } = report;
  const costUsd = sources.reduce((sum, source) => sum + source.costUsd, 0);
  const cacheHitRate = sources.find((source) => source.source === "main")?.cacheHitRate ?? 0;
  return { used, window, level, percentLeft, nextStep, cacheHitRate, costUsd };
}
