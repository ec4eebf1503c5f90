/** How each event changes what the chat view shows. Pure: the extension host and the web view both run it. */

import type {
  MemoryEventParams,
  MentionedFile,
  ResumeSessionResult,
  SessionMessage,
  SessionUpdateParams,
} from "../protocol.ts";
import {
  type Ask,
  type ChatEvent,
  type ChatState,
  EMPTY,
  type EndItem,
  type Item,
  type Meter,
  type ToolItem,
  type TurnPhase,
  type UserItem,
} from "./state.ts";

/** A tool's own words while it runs: the tail is what people look at. */
const PROGRESS_CHARS = 20_000;

export function reduce(state: ChatState, event: ChatEvent): ChatState {
  switch (event.type) {
    case "server":
      return server(state, event.server);
    case "update":
      return event.params.sessionId === state.sessionId ? update(state, event.params) : state;
    case "memory":
      return memory(state, event.params);
    case "dream":
      return { ...state, dream: event.params };
    case "jobs":
      return { ...state, jobs: event.running };
    case "prompted":
      return prompted(state, event);
    case "stopping":
      return state.turn === undefined ? state : { ...state, turn: { ...state.turn, phase: "stopping" } };
    case "resumed":
      return resumed(state, event.result, event.meter);
    case "earlier":
      return event.sessionId === state.sessionId ? earlier(state, event.messages) : state;
    case "cleared":
      return { ...fresh(state), model: state.model, mode: state.mode };
    case "ask":
      return { ...(isShown(state, event.ask) ? withPhase(state, "asking") : state), asks: [...state.asks, event.ask] };
    case "answered":
      return answered(state, event);
    case "configured":
      return { ...state, model: event.model ?? state.model, mode: event.mode ?? state.mode };
    case "models":
      return {
        ...state,
        models: event.models,
        model: state.model ?? event.models.find((model) => model.default)?.id,
      };
    case "commands":
      return { ...state, commands: event.commands };
    case "trust":
      return { ...state, trust: event.trust, restricted: event.restricted };
    case "changes":
      return { ...state, changes: event.files };
    case "undone":
      return undone(state, event.changeIds);
    case "notice":
      return push(state, { kind: "notice", key: freeKey(state, "notice"), level: event.level, text: event.text });
  }
}

/** Whether an update comes too late or too early: the session has to be opened anew. */
export function isOutOfStep(state: ChatState, params: SessionUpdateParams): boolean {
  return params.sessionId === state.sessionId && state.nextSeq >= 0 && params.seq !== state.nextSeq;
}

/** What does not belong to a session stays. */
function fresh(state: ChatState): ChatState {
  const { server, models, commands, trust, restricted, dream, jobs } = state;
  return { ...EMPTY, server, models, commands, trust, restricted, dream, jobs };
}

/** Whatever ran when the server went away does not run any more, and nobody waits for an answer. */
function server(state: ChatState, next: ChatState["server"]): ChatState {
  if (next.state === "running" || next.state === "starting") {
    return { ...state, server: next };
  }
  const items = state.items.map(stopped).map((item) => (isQueued(item) ? { ...item, queued: false } : item));
  return { ...state, server: next, items, turn: undefined, asks: [], dream: undefined, jobs: 0, nextSeq: -1 };
}

function update(state: ChatState, { update, turnId, seq }: SessionUpdateParams): ChatState {
  const next = { ...state, nextSeq: seq + 1 };
  switch (update.kind) {
    case "textDelta":
      return stream(unqueued(withPhase(next, "answering", turnId), turnId, false), "text", update.text, turnId);
    case "thinkingDelta":
      return stream(unqueued(withPhase(next, "thinking", turnId), turnId, false), "thinking", update.text, turnId);
    case "toolStart": {
      const { toolUseId, tool, input } = update;
      const settled = unqueued(settle(withPhase(next, "tools", turnId)), turnId, false);
      return push(settled, {
        kind: "tool",
        key: toolKey(settled, toolUseId),
        turnId,
        toolUseId,
        tool,
        input,
        state: "running",
        progress: "",
      });
    }
    case "toolProgress":
      return tool(next, update.toolUseId, (item) => ({
        ...item,
        progress: (item.progress + update.text).slice(-PROGRESS_CHARS),
      }));
    case "toolEnd":
      return tool(withPhase(next, "waiting", turnId), update.toolUseId, (item) => ({
        ...item,
        state: update.ok ? "done" : "failed",
        display: update.display,
      }));
    case "usage": {
      const { contextUsed: used, contextWindow: window, level, percentLeft, nextStep, cacheHitRate, costUsd } = update;
      return { ...next, meter: { used, window, level, percentLeft, nextStep, cacheHitRate, costUsd } };
    }
    case "context":
      return push(next, { ...update, key: freeKey(next, "context"), turnId });
    case "retry": {
      const retrying = withPhase(next, "retrying", turnId, update.reason);
      return update.discard === true ? { ...retrying, items: withoutStreaming(retrying.items, turnId) } : retrying;
    }
    case "notice":
      return push(next, {
        kind: "notice",
        key: freeKey(next, "notice"),
        turnId,
        level: update.level,
        text: update.text,
      });
    case "todo":
      return { ...next, todos: update.items };
    case "plan":
      return push(settle(next), { kind: "plan", key: freeKey(next, "plan"), turnId, text: update.text });
    case "title":
      return { ...next, title: update.title };
    case "turnEnd": {
      const { stopReason, usage, error, promptUuid, messageUuid } = update;
      const ended = unqueued(settle(next), turnId, false);
      const isRunning = ended.turn?.id === turnId;
      const named = ended.items.map((item) =>
        isPrompt(item, turnId) && promptUuid ? { ...item, uuid: promptUuid } : item,
      );
      const items = isRunning ? named.map(stopped) : named;
      const turn = isRunning ? undefined : ended.turn;
      const end: EndItem = {
        kind: "end",
        key: freeKey(ended, "end"),
        turnId,
        stopReason,
        usage,
        ...(error && { error }),
        ...(messageUuid && { uuid: messageUuid }),
      };
      // A turn that joined another ends with it; once is enough to say so.
      const isSaid = items.some((item) => isPrompt(item, turnId) && item.joined);
      return begun(isSaid ? { ...ended, items, turn } : push({ ...ended, items, turn }, end));
    }
    case "joined":
      return unqueued(next, turnId, true);
    case "configured":
      return { ...next, model: update.model ?? next.model, mode: update.mode ?? next.mode };
  }
}

/** The prompt that has waited longest comes next; its first word may take a while. */
function begun(state: ChatState): ChatState {
  const next = state.turn === undefined ? state.items.find(isQueued) : undefined;
  if (next?.turnId === undefined) {
    return state;
  }
  return { ...unqueued(state, next.turnId, false), turn: { id: next.turnId, startedAt: 0, phase: "waiting" } };
}

function prompted(state: ChatState, event: Extract<ChatEvent, { type: "prompted" }>): ChatState {
  const { sessionId, turnId, queued, text, attachments, at } = event;
  if (state.sessionId !== undefined && state.sessionId !== sessionId) {
    return state;
  }
  const known = state.sessionId === sessionId ? state : { ...state, sessionId, nextSeq: -1 };
  // A turn may have answered, and even ended, before its prompt is known to be accepted.
  const begun = known.items.findIndex((item) => item.turnId === turnId);
  const hasEnded = known.items.some((item) => item.kind === "end" && item.turnId === turnId);
  const isWaiting = queued && begun < 0;
  const item: Item = {
    kind: "user",
    key: `user-${turnId}`,
    turnId,
    text,
    attachments,
    at,
    queued: isWaiting,
    recalled: known.items.flatMap((item) => (item.kind === "user" && item.turnId === turnId ? item.recalled : [])),
  };
  const others = known.items.filter((item) => !(item.kind === "user" && item.turnId === turnId));
  const place = others.findIndex((item) => item.turnId === turnId);
  const { items } = place < 0 ? push({ ...known, items: others }, item) : { items: others.toSpliced(place, 0, item) };
  const running = known.turn?.id === turnId ? known.turn.phase : "waiting";
  const turn = queued || hasEnded ? known.turn : { id: turnId, startedAt: Date.parse(at), phase: running };
  return { ...known, items, turn };
}

function resumed(state: ChatState, result: ResumeSessionResult, meter: Meter | undefined): ChatState {
  const { sessionId, messages, repairs, branches, title, model, mode, todos, runningTurnId } = result;
  const repaired = repairs.map((text, at): Item => ({ kind: "notice", key: `repair-${at}`, level: "warning", text }));
  const written = fromTranscript(messages, state.sessionId === sessionId ? state.items : []);
  return {
    ...fresh(state),
    sessionId,
    title: title ?? "",
    items: [...written, ...repaired, ...unwritten(state, result, written)],
    model: model ?? state.model,
    mode: mode ?? "default",
    todos: todos ?? [],
    branches: branches ?? [],
    ...(meter && { meter }),
    ...(runningTurnId && { turn: { id: runningTurnId, startedAt: 0, phase: "waiting" as const } }),
  };
}

/** Prompts of a session that is opened anew while it answers: the transcript may not have the last of them yet. */
function unwritten(state: ChatState, { sessionId, runningTurnId }: ResumeSessionResult, written: Item[]): Item[] {
  if (state.sessionId !== sessionId || runningTurnId === undefined) {
    return [];
  }
  const known = new Set(state.items.map((item) => (item.kind === "user" ? item.uuid : undefined)));
  const fresh = written.filter((item) => item.kind === "user" && !known.has(item.uuid));
  const said = state.items.filter((item) => isQueued(item) || isPrompt(item, runningTurnId));
  // They are written in the order in which they were said.
  return said.slice(fresh.length);
}

/** What was said first stands for the title of a conversation that was given none. */
function earlier(state: ChatState, messages: readonly SessionMessage[]): ChatState {
  const taken = new Set(state.items.map(({ key }) => key));
  const before = fromTranscript(messages, [], taken);
  const first = before.find((item) => item.kind === "user");
  const title = state.title === "" && first?.kind === "user" ? (first.text.split("\n", 1)[0] ?? "") : state.title;
  return { ...state, title, items: [...before, ...state.items] };
}

/**
 * The messages of a transcript as the items they were when they came. What is shown already keeps its key, so that who
 * reads it stays there; the other keys are the same whenever and how far the transcript is read, unless `taken`.
 */
function fromTranscript(
  messages: readonly SessionMessage[],
  shown: readonly Item[],
  taken: ReadonlySet<string> = new Set(),
): Item[] {
  const items: Item[] = [];
  const calls = new Map<string, number>();
  const keys = keysLike(shown, taken);
  messages.forEach((message) => {
    const { uuid, text } = message;
    switch (message.kind) {
      case "text": {
        const last = items.at(-1);
        if (message.role !== "user") {
          items.push({ kind: "text", key: keys("text", text, uuid), uuid, text, streaming: false });
        }
        // A second text of one prompt is one that went along with its words.
        else if (last?.kind === "user" && last.uuid === uuid) items[items.length - 1] = withText(last, text);
        else {
          const said = { text, attachments: [], at: message.timestamp, queued: false, recalled: [] };
          items.push({ kind: "user", key: keys("user", text, uuid), uuid, ...said });
        }
        break;
      }
      case "thinking":
        items.push({ kind: "thinking", key: keys("thinking", text, uuid), text, streaming: false });
        break;
      case "toolUse": {
        const toolUseId = message.toolUseId ?? uuid;
        const key = keys("tool", toolUseId, toolUseId);
        calls.set(toolUseId, items.length);
        const tool = message.tool ?? text.split(" ", 1)[0] ?? "";
        items.push({ kind: "tool", key, toolUseId, tool, input: message.input, state: "stopped", progress: "" });
        break;
      }
      case "toolResult": {
        const place = calls.get(message.toolUseId ?? "");
        const call = place === undefined ? undefined : items[place];
        if (place !== undefined && call?.kind === "tool") {
          const display = message.display ?? { kind: "text", text };
          items[place] = { ...call, uuid, state: message.ok === false ? "failed" : "done", display };
        }
        break;
      }
      case "attachment": {
        const place = items.findLastIndex((item) => item.kind === "user");
        const asked = items[place];
        if (asked?.kind === "user") items[place] = withAttachment(asked, message);
        break;
      }
      case "notice":
        items.push({ kind: "notice", key: keys("notice", text, uuid), level: "info", text });
        break;
    }
  });
  return items;
}

/** Names one item after the other: as the shown one of this kind and content is called, else by its id. */
function keysLike(shown: readonly Item[], taken: ReadonlySet<string>) {
  const used = new Set(taken);
  const known = new Map<string, string[]>();
  for (const item of shown) {
    const content = item.kind === "tool" ? item.toolUseId : "text" in item ? item.text : undefined;
    if (content === undefined) continue;
    const name = `${item.kind} ${content}`;
    const keys = known.get(name);
    if (keys === undefined) known.set(name, [item.key]);
    else keys.push(item.key);
  }
  return (kind: Item["kind"], content: string, id: string): string => {
    const wanted = known.get(`${kind} ${content}`)?.shift() ?? id;
    let key = wanted;
    // A message has several parts, and some models use the id of a call twice.
    for (let count = 2; used.has(key); count += 1) key = `${wanted}-${count}`;
    used.add(key);
    return key;
  };
}

/** What was put beside a prompt: a memory, a file, a picture in the same message. */
function withAttachment(item: UserItem, { uuid, text, recalled, mentioned }: SessionMessage): UserItem {
  if (recalled !== undefined) return { ...item, recalled: [...item.recalled, recalled] };
  if (mentioned !== undefined) {
    const label = mentionLabel(mentioned, item.text);
    return { ...item, attachments: [...item.attachments, { kind: "mention", label, ...mentioned }] };
  }
  if (uuid !== item.uuid) return item;
  return { ...item, attachments: [...item.attachments, { kind: "image", label: text.replace(/^\[|\]$/g, "") }] };
}

/** Its first line is its name. */
function withText(item: UserItem, text: string): UserItem {
  const label = (text.split("\n", 1)[0] ?? "").replace(/:$/, "");
  return { ...item, attachments: [...item.attachments, { kind: "text", label }] };
}

/** As the prompt calls it, else the file's name. */
function mentionLabel({ uri, range }: MentionedFile, text: string): string {
  const parts = decoded(uri).split("/");
  const tails = parts.map((_, at) => parts.slice(at).join("/"));
  const called = tails.find((tail) => tail !== "" && text.includes(`@${tail}`));
  if (called !== undefined) return called;
  const name = parts.at(-1) ?? uri;
  return range === undefined ? name : `${name}:${range.start.line + 1}-${range.end.line}`;
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

function memory(state: ChatState, params: MemoryEventParams): ChatState {
  const { kind, by, files, sessionId, turnId } = params;
  if (kind === "undone") {
    return undone(
      state,
      files.flatMap((file) => file.changeId ?? []),
    );
  }
  if (sessionId === undefined || sessionId !== state.sessionId || files.length === 0) {
    return state;
  }
  if (kind !== "recalled") {
    return push(state, {
      kind: "memory",
      key: freeKey(state, "memory"),
      ...(turnId && { turnId }),
      event: kind,
      by,
      files,
      undone: false,
    });
  }
  const place = state.items.findLastIndex((item) => item.kind === "user" && (!turnId || item.turnId === turnId));
  const asked = state.items[place];
  if (asked?.kind !== "user") {
    return state;
  }
  return { ...state, items: state.items.with(place, { ...asked, recalled: [...asked.recalled, ...files] }) };
}

function undone(state: ChatState, changeIds: readonly string[]): ChatState {
  const isUndone = (item: Item) =>
    item.kind === "memory" &&
    item.files.some((file) => file.changeId !== undefined && changeIds.includes(file.changeId));
  return { ...state, items: state.items.map((item) => (isUndone(item) ? { ...item, undone: true } : item) as Item) };
}

function answered(state: ChatState, event: Extract<ChatEvent, { type: "answered" }>): ChatState {
  const ask = state.asks.find((ask) => ask.id === event.id);
  const asks = state.asks.filter((ask) => ask.id !== event.id);
  if (ask === undefined || !isShown(state, ask)) {
    return { ...state, asks };
  }
  const others = asks.filter((ask) => isShown(state, ask));
  const answered = { ...(others.length === 0 ? withPhase(state, "tools") : state), asks };
  switch (ask.kind) {
    case "plan": {
      const place = answered.items.findLastIndex((item) => item.kind === "plan");
      const plan = answered.items[place];
      if (plan?.kind !== "plan" || event.plan === undefined) {
        return answered;
      }
      return { ...answered, items: answered.items.with(place, { ...plan, answer: event.plan }) };
    }
    case "user":
      return push(answered, {
        kind: "question",
        key: freeKey(answered, "question"),
        question: ask.question,
        answer: event.answer ?? null,
      });
    case "permission":
      return answered;
  }
}

function isPrompt(item: Item, turnId: string | undefined): item is UserItem {
  return item.kind === "user" && item.turnId === turnId;
}

/** A prompt that waited is said now: behind all that has happened, before what waits still. */
function unqueued(state: ChatState, turnId: string | undefined, joined: boolean): ChatState {
  const waiting = state.items.find((item) => isQueued(item) && item.turnId === turnId);
  if (waiting?.kind !== "user") {
    return state;
  }
  const items = state.items.filter((item) => item !== waiting);
  return push({ ...state, items }, { ...waiting, queued: false, joined });
}

function withPhase(state: ChatState, phase: TurnPhase, turnId?: string, detail?: string): ChatState {
  // The first word of a turn may come before its prompt is known to be accepted.
  const turn = state.turn ?? (turnId === undefined ? undefined : { id: turnId, startedAt: 0, phase });
  if (turn === undefined || (turn.phase === "stopping" && state.turn !== undefined)) {
    return state;
  }
  if (state.turn?.phase === phase && state.turn.detail === detail) {
    return state;
  }
  const { detail: _, ...rest } = turn;
  return { ...state, turn: { ...rest, phase, ...(detail && { detail }) } };
}

/** Text goes on where it was, until something of the same turn comes in between. */
function stream(state: ChatState, kind: "text" | "thinking", text: string, turnId: string | undefined): ChatState {
  const place = state.items.findLastIndex((item) => item.kind === kind && item.streaming && item.turnId === turnId);
  const last = state.items[place];
  if (last?.kind === kind) {
    return { ...state, items: state.items.with(place, { ...last, text: last.text + text }) };
  }
  const settled = settle(state);
  return push(settled, { kind, key: freeKey(settled, kind), ...(turnId && { turnId }), text, streaming: true });
}

/** Nothing is added to the texts so far. */
function settle(state: ChatState): ChatState {
  const isStreaming = (item: Item) => (item.kind === "text" || item.kind === "thinking") && item.streaming;
  if (!state.items.some(isStreaming)) {
    return state;
  }
  return {
    ...state,
    items: state.items.map((item) => (isStreaming(item) ? { ...item, streaming: false } : item) as Item),
  };
}

function stopped(item: Item): Item {
  if (item.kind === "tool" && item.state === "running") {
    return { ...item, state: "stopped" };
  }
  return (item.kind === "text" || item.kind === "thinking") && item.streaming ? { ...item, streaming: false } : item;
}

/** What was shown of an answer that comes again. */
function withoutStreaming(items: readonly Item[], turnId: string | undefined): readonly Item[] {
  const end = items.findLastIndex((item) => item.kind === "tool" || item.kind === "user" || item.kind === "end");
  return items.filter(
    (item, at) => at <= end || item.turnId !== turnId || (item.kind !== "text" && item.kind !== "thinking"),
  );
}

function tool(state: ChatState, toolUseId: string, change: (item: ToolItem) => ToolItem): ChatState {
  const place = state.items.findLastIndex((item) => item.kind === "tool" && item.toolUseId === toolUseId);
  const item = state.items[place];
  return item?.kind === "tool" ? { ...state, items: state.items.with(place, change(item)) } : state;
}

/** What waits stays behind what happens. */
function push(state: ChatState, item: Item): ChatState {
  const { items } = state;
  const end = isQueued(item) ? items.length : items.findLastIndex((item) => !isQueued(item)) + 1;
  return { ...state, items: [...items.slice(0, end), item, ...items.slice(end)] };
}

function isQueued(item: Item): item is UserItem {
  return item.kind === "user" && item.queued;
}

/** Whether a question is about the conversation that is shown. */
function isShown(state: ChatState, ask: Ask): boolean {
  return ask.sessionId === state.sessionId;
}

/** Some models use the id of a call twice. */
function toolKey(state: ChatState, toolUseId: string): string {
  return isTaken(state, toolUseId) ? freeKey(state, toolUseId) : toolUseId;
}

/** Mostly new as it is. Keys of before a server was started anew may be alike. */
function freeKey(state: ChatState, kind: string): string {
  const key = `${kind}-${state.items.length}-${state.nextSeq}`;
  return isTaken(state, key) ? freeKey(state, key) : key;
}

function isTaken({ items }: ChatState, key: string): boolean {
  return items.some((item) => item.key === key);
}
