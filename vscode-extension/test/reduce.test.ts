/** What each event does to what is shown. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutOfStep, reduce } from "../src/chat/reduce.ts";
import { type ChatEvent, type ChatState, EMPTY, type Item } from "../src/chat/state.ts";
import type { AskPermissionParams, SessionMessage, Update } from "../src/protocol.ts";

const USAGE = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 };

const said = (text: string, turnId = "t", queued = false): ChatEvent => ({
  type: "prompted",
  sessionId: "s",
  turnId,
  queued,
  text,
  attachments: [],
  at: "2026-03-01T09:30:00Z",
});

const end: Update = { kind: "turnEnd", stopReason: "endTurn", usage: USAGE, promptUuid: "p", messageUuid: "m" };

/** Updates of one turn, numbered as the server numbers them. */
function updates(turnId: string, first: number, ...list: Update[]): ChatEvent[] {
  return list.map((update, at) => ({ type: "update", params: { sessionId: "s", turnId, seq: first + at, update } }));
}

function after(...events: ChatEvent[]): ChatState {
  return events.reduce(reduce, EMPTY);
}

/** One line per item. */
function shown(state: ChatState): string[] {
  return state.items.map(line);
}

function line(item: Item): string {
  switch (item.kind) {
    case "user":
      return `user ${item.text}${item.queued ? " (queued)" : ""}`;
    case "text":
    case "thinking":
      return `${item.kind} ${item.text}${item.streaming ? "…" : ""}`;
    case "tool":
      return `tool ${item.tool} ${item.state}`;
    case "notice":
      return `notice ${item.text}`;
    case "context":
      return `context ${item.layer}`;
    case "plan":
      return `plan ${item.answer === undefined ? "open" : item.answer.approved}`;
    case "question":
      return `question ${item.answer}`;
    case "memory":
      return `memory ${item.event}${item.undone ? " undone" : ""}`;
    case "end":
      return `end ${item.stopReason}`;
  }
}

test("a turn streams, calls tools and ends", () => {
  const state = after(
    said("hello"),
    ...updates(
      "t",
      0,
      { kind: "thinkingDelta", text: "hm" },
      { kind: "textDelta", text: "one " },
      { kind: "textDelta", text: "two" },
      { kind: "toolStart", toolUseId: "a", tool: "Read", input: {} },
      { kind: "toolProgress", toolUseId: "a", text: "half" },
      { kind: "toolEnd", toolUseId: "a", ok: true, display: { kind: "text", text: "whole" } },
      { kind: "textDelta", text: "three" },
      end,
    ),
  );
  const lines = ["user hello", "thinking hm", "text one two", "tool Read done", "text three", "end endTurn"];
  assert.deepEqual(shown(state), lines);
  assert.equal(state.turn, undefined);
  assert.equal(state.nextSeq, 8);
});

test("the prompt learns its message from the end of its turn", () => {
  const state = after(said("hello"), ...updates("t", 0, end));
  const [prompt, last] = state.items;
  assert.equal(prompt?.kind === "user" && prompt.uuid, "p");
  assert.equal(last?.kind === "end" && last.uuid, "m");
});

test("words that come before their prompt is known to be accepted stand behind it", () => {
  const first = { ...EMPTY, sessionId: "s" };
  const early = updates("t", 0, { kind: "textDelta", text: "quick" }, end);
  const state = [...early, said("hello")].reduce(reduce, first);
  assert.deepEqual(shown(state), ["user hello", "text quick", "end endTurn"]);
  assert.equal(state.turn, undefined, "its turn is over");
});

test("a queued prompt waits until the model answers it", () => {
  const running = after(said("first"), ...updates("t", 0, { kind: "textDelta", text: "a" }), said("second", "u", true));
  assert.deepEqual(shown(running), ["user first", "text a…", "user second (queued)"]);
  assert.equal(running.turn?.id, "t");
  const ended = updates("u", 1, end).reduce(reduce, running);
  assert.ok(!shown(ended).includes("user second (queued)"));
  assert.equal(ended.turn?.id, "t", "the other turn still runs");
});

test("a prompt that joins stands where the answer goes on, and its end is not said twice", () => {
  const state = after(
    said("first"),
    ...updates("t", 0, { kind: "textDelta", text: "a" }),
    said("second", "u", true),
    said("third", "v", true),
    ...updates("t", 1, { kind: "textDelta", text: "b" }, { kind: "notice", level: "info", text: "n" }),
    ...updates("u", 3, { kind: "joined" }),
    ...updates("t", 4, { kind: "textDelta", text: "c" }),
  );
  assert.deepEqual(shown(state), ["user first", "text abc…", "notice n", "user second", "user third (queued)"]);
  const ended = [...updates("t", 5, end), ...updates("u", 6, end)].reduce(reduce, state);
  assert.deepEqual(shown(ended).slice(3), ["user second", "end endTurn", "user third"]);
  assert.deepEqual(ended.turn, { id: "v", startedAt: 0, phase: "waiting" }, "what waited comes next");
});

test("a notice or a memory does not cut an answer in two", () => {
  const files = [{ path: "/m/a.md", name: "A", reason: "r" }];
  const state = after(
    said("hello"),
    ...updates("t", 0, { kind: "textDelta", text: "```" }, { kind: "notice", level: "info", text: "n" }),
    { type: "memory", params: { kind: "saved", sessionId: "s", by: "extraction", files } },
    ...updates("t", 2, { kind: "textDelta", text: "js" }),
  );
  assert.deepEqual(shown(state), ["user hello", "text ```js…", "notice n", "memory saved"]);
});

test("a prompt of another conversation does not become a part of this one", () => {
  const state = after(said("hello"));
  assert.equal(reduce(state, { ...said("elsewhere", "x"), sessionId: "other" } as ChatEvent), state);
});

test("a question of another conversation stands, but is not this one's", () => {
  const ask = { kind: "user" as const, id: "1", sessionId: "other", question: "Which?", options: [] };
  const asked = after(said("hello"), { type: "ask", ask });
  assert.deepEqual([asked.turn?.phase, asked.asks.length], ["waiting", 1]);
  const answered = reduce(asked, { type: "answered", id: "1", answer: "A" });
  assert.deepEqual([shown(answered), answered.asks], [["user hello"], []]);
});

test("a session that is opened while its turn runs can be stopped", () => {
  const result = { sessionId: "s", strategy: "full" as const, messages: [], repairs: [], runningTurnId: "t" };
  const opened = after({ type: "resumed", result });
  assert.deepEqual(opened.turn, { id: "t", startedAt: 0, phase: "waiting" });
  assert.equal(reduce(opened, { type: "stopping" }).turn?.phase, "stopping");
});

test("a model and a mode that the conversation led to are shown", () => {
  const state = after(said("/mode plan"), ...updates("t", 0, { kind: "configured", model: "x/y", mode: "plan" }));
  assert.deepEqual([state.model, state.mode], ["x/y", "plan"]);
});

test("what was shown of an answer that comes again goes", () => {
  const state = after(
    said("hello"),
    ...updates(
      "t",
      0,
      { kind: "toolStart", toolUseId: "a", tool: "Read", input: {} },
      { kind: "toolEnd", toolUseId: "a", ok: true, display: { kind: "text", text: "" } },
      { kind: "textDelta", text: "half an ans" },
      { kind: "retry", attempt: 1, delayMs: 5, reason: "overloaded", discard: true },
    ),
  );
  assert.deepEqual(shown(state), ["user hello", "tool Read done"]);
  assert.deepEqual([state.turn?.phase, state.turn?.detail], ["retrying", "overloaded"]);
});

test("a server that goes takes its turn, its questions and its jobs along", () => {
  const ask = { kind: "permission" as const, id: "1", ...({ sessionId: "s" } as AskPermissionParams) };
  const state = after(
    said("hello"),
    ...updates("t", 0, { kind: "toolStart", toolUseId: "a", tool: "Bash", input: {} }),
    { type: "ask", ask },
    { type: "jobs", running: 2 },
    { type: "server", server: { state: "restarting", reason: "it was killed" } },
  );
  assert.deepEqual(shown(state), ["user hello", "tool Bash stopped"]);
  assert.deepEqual([state.turn, state.asks, state.jobs, state.nextSeq], [undefined, [], 0, -1]);
});

test("a question stands until it is answered", () => {
  const ask = { kind: "user" as const, id: "1", sessionId: "s", question: "Which?", options: ["A"] };
  const asked = after(said("hello"), { type: "ask", ask });
  assert.equal(asked.turn?.phase, "asking");
  const answered = reduce(asked, { type: "answered", id: "1", answer: "A" });
  assert.deepEqual(shown(answered), ["user hello", "question A"]);
  assert.deepEqual(answered.asks, []);
});

test("a plan shows how it was answered", () => {
  const plan = { kind: "plan" as const, id: "1", sessionId: "s", toolUseId: "a", plan: "1." };
  const asked = after(said("hello"), ...updates("t", 0, { kind: "plan", text: "1." }), { type: "ask", ask: plan });
  assert.deepEqual(shown(asked), ["user hello", "plan open"]);
  const answered = reduce(asked, { type: "answered", id: "1", plan: { approved: false, message: "smaller" } });
  assert.deepEqual(shown(answered), ["user hello", "plan false"]);
});

test("recalled memories stand at the prompt they were recalled for", () => {
  const file = { path: "/m/a.md", name: "A", reason: "it fits" };
  const state = after(said("one"), said("two", "u"), {
    type: "memory",
    params: { kind: "recalled", sessionId: "s", turnId: "t", by: "recall", files: [file] },
  });
  const [first, second] = state.items;
  assert.deepEqual(first?.kind === "user" && first.recalled, [file]);
  assert.deepEqual(second?.kind === "user" && second.recalled, []);
});

test("what was remembered can be seen to be undone", () => {
  const files = [{ path: "/m/a.md", name: "A", reason: "you said so", changeId: "7" }];
  const saved: ChatEvent = { type: "memory", params: { kind: "saved", sessionId: "s", by: "extraction", files } };
  assert.deepEqual(shown(after(said("one"), saved)), ["user one", "memory saved"]);
  assert.deepEqual(shown(after(said("one"), saved, { type: "undone", changeIds: ["7"] })), [
    "user one",
    "memory saved undone",
  ]);
});

test("events of another session change nothing", () => {
  const state = after(said("hello"));
  const other: ChatEvent = {
    type: "update",
    params: { sessionId: "other", turnId: "x", seq: 5, update: { kind: "textDelta", text: "no" } },
  };
  assert.equal(reduce(state, other), state);
});

test("a gap in the numbers is noticed", () => {
  const state = after(said("hello"), ...updates("t", 3, { kind: "textDelta", text: "a" }));
  const params = { sessionId: "s", turnId: "t", update: end };
  assert.equal(isOutOfStep(state, { ...params, seq: 4 }), false);
  assert.equal(isOutOfStep(state, { ...params, seq: 5 }), true);
  assert.equal(isOutOfStep(state, { ...params, sessionId: "other", seq: 9 }), false);
});

test("a transcript becomes what it was when it was said", () => {
  const at = "2026-03-01T09:30:00Z";
  const message = (kind: SessionMessage["kind"], role: SessionMessage["role"], text: string, more = {}) =>
    ({ uuid: text, role, kind, text, timestamp: at, ...more }) as SessionMessage;
  const memory = { path: "/m/a.md", name: "a", reason: "it was recalled" };
  const state = after({
    type: "resumed",
    result: {
      sessionId: "s",
      strategy: "full",
      repairs: ["a torn line was cut off"],
      title: "T",
      mode: "plan",
      messages: [
        message("text", "user", "hello"),
        message("attachment", "user", "…", { recalled: memory }),
        message("thinking", "assistant", "hm"),
        message("toolUse", "assistant", "Read {}", { toolUseId: "a", tool: "Read", input: {} }),
        message("toolUse", "assistant", "Bash {}", { toolUseId: "b", tool: "Bash", input: {} }),
        message("toolResult", "user", "text", { toolUseId: "a", ok: false, display: { kind: "text", text: "no" } }),
        message("text", "assistant", "done"),
      ],
    },
  });
  assert.deepEqual(shown(state), [
    "user hello",
    "thinking hm",
    "tool Read failed",
    "tool Bash stopped",
    "text done",
    "notice a torn line was cut off",
  ]);
  const [first] = state.items;
  assert.deepEqual(first?.kind === "user" && [first.recalled, first.uuid], [[memory], "hello"]);
  assert.deepEqual([state.title, state.mode, state.turn], ["T", "plan", undefined]);
});

test("what went along with an old prompt stands beside it", () => {
  const message = (kind: SessionMessage["kind"], uuid: string, text: string, more = {}): SessionMessage => ({
    uuid,
    role: "user",
    kind,
    text,
    timestamp: "2026-03-01T09:30:00Z",
    ...more,
  });
  const range = { start: { line: 2, character: 0 }, end: { line: 5, character: 0 } };
  const messages = [
    message("text", "a", "Compare @src/engine.ts with it"),
    message("text", "a", "Problems:\none\ntwo"),
    message("attachment", "a", "[image]"),
    message("attachment", "b", "…", { mentioned: { uri: "file:///w/src/engine.ts" } }),
    message("attachment", "c", "…", { mentioned: { uri: "file:///w/a%20b.ts", range } }),
    message("attachment", "d", "the day"),
    message("text", "e", "Next"),
  ];
  const state = after({ type: "resumed", result: { sessionId: "s", strategy: "full", repairs: [], messages } });
  assert.deepEqual(
    state.items.map((item) => item.kind === "user" && [item.text, item.attachments]),
    [
      [
        "Compare @src/engine.ts with it",
        [
          { kind: "text", label: "Problems" },
          { kind: "image", label: "image" },
          { kind: "mention", label: "src/engine.ts", uri: "file:///w/src/engine.ts" },
          { kind: "mention", label: "a b.ts:3-5", uri: "file:///w/a%20b.ts", range },
        ],
      ],
      ["Next", []],
    ],
  );
});

test("a new conversation keeps what is not the session's", () => {
  const models = [{ id: "x/y", name: "Y", contextWindow: 1, maxOutputTokens: 1, available: true, default: true }];
  const state = after(
    { type: "models", models },
    said("hello"),
    { type: "configured", mode: "plan" },
    { type: "cleared" },
  );
  assert.deepEqual([state.items, state.sessionId, state.model, state.mode], [[], undefined, "x/y", "plan"]);
});

test("every key is used once, whatever ids a model gives to its calls", () => {
  const calls = [1, 2, 3].flatMap((): Update[] => [
    { kind: "toolStart", toolUseId: "same", tool: "Read", input: {} },
    { kind: "toolEnd", toolUseId: "same", ok: true, display: { kind: "text", text: "" } },
    { kind: "textDelta", text: "x" },
    { kind: "retry", attempt: 1, delayMs: 1, reason: "r", discard: true },
    { kind: "notice", level: "info", text: "n" },
  ]);
  const keys = after(said("hello"), ...updates("t", 0, ...calls)).items.map((item) => item.key);
  assert.equal(new Set(keys).size, keys.length, keys.join(" "));
});

test("a session that is opened anew while it answers keeps the prompts that are not written yet", () => {
  const message = (uuid: string): SessionMessage => ({
    uuid,
    role: "user",
    kind: "text",
    text: uuid,
    timestamp: "2026-03-01T09:30:00Z",
  });
  const resumed = (running: string | undefined, ...uuids: string[]): ChatEvent => {
    const result = { sessionId: "s", strategy: "full" as const, repairs: [], messages: uuids.map(message) };
    return { type: "resumed", result: { ...result, ...(running && { runningTurnId: running }) } };
  };
  const running = after(resumed(undefined, "a"), said("b"), said("c", "u", true));
  assert.deepEqual(shown(reduce(running, resumed("t", "a"))), ["user a", "user b", "user c (queued)"]);
  assert.deepEqual(shown(reduce(running, resumed("t", "a", "b"))), ["user a", "user b", "user c (queued)"]);
  assert.deepEqual(shown(reduce(running, resumed("t", "a", "b", "c"))), ["user a", "user b", "user c"]);
  assert.deepEqual(shown(reduce(running, resumed(undefined, "a", "b"))), ["user a", "user b"]);
});

test("a session that is opened anew keeps the keys of what was shown", () => {
  const message = (kind: SessionMessage["kind"], role: SessionMessage["role"], uuid: string, text: string, more = {}) =>
    ({ uuid, role, kind, text, timestamp: "2026-03-01T09:30:00Z", ...more }) as SessionMessage;
  const live = after(
    said("hello"),
    ...updates(
      "t",
      0,
      { kind: "thinkingDelta", text: "hm" },
      { kind: "textDelta", text: "looking" },
      { kind: "toolStart", toolUseId: "a", tool: "Read", input: {} },
      { kind: "toolEnd", toolUseId: "a", ok: true, display: { kind: "text", text: "whole" } },
      { kind: "textDelta", text: "done" },
      end,
    ),
  );
  const messages = [
    message("text", "user", "1", "hello"),
    message("thinking", "assistant", "2", "hm"),
    message("text", "assistant", "2", "looking"),
    message("toolUse", "assistant", "2", "Read {}", { toolUseId: "a", tool: "Read", input: {} }),
    message("toolResult", "user", "3", "whole", { toolUseId: "a", ok: true }),
    message("text", "assistant", "4", "done"),
  ];
  const resumed: ChatEvent = {
    type: "resumed",
    result: { sessionId: "s", strategy: "full", repairs: [], messages },
  };
  const keys = (state: ChatState) => state.items.map(({ key }) => key);
  assert.deepEqual(keys(reduce(live, resumed)), keys(live).slice(0, -1), "all but the end of the turn");
  assert.deepEqual(keys(after(resumed)), ["1", "2", "2-2", "a", "4"], "by ids where nothing was shown");
  const early: ChatEvent = { type: "earlier", sessionId: "s", messages: messages.slice(3, 5) };
  assert.deepEqual(keys(after(resumed, early))[0], "a-2", "a call of before with the same id");
});
