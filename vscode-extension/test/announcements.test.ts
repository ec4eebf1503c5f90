import assert from "node:assert/strict";
import { test } from "node:test";
import { reduce } from "../src/chat/reduce.ts";
import { type ChatEvent, type ChatState, EMPTY } from "../src/chat/state.ts";
import type { Update } from "../src/protocol.ts";
import { announcements } from "../webview/announcements.ts";

const at = "2026-03-01T09:30:00Z";
const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const prompted: ChatEvent = {
  type: "prompted",
  sessionId: "s",
  turnId: "t",
  queued: false,
  text: "hello",
  attachments: [],
  at,
};
const answered: ChatEvent[] = (
  [
    { kind: "textDelta", text: "An answer. And more." },
    { kind: "turnEnd", stopReason: "endTurn", usage },
  ] satisfies Update[]
).map((update, seq) => ({ type: "update", params: { sessionId: "s", turnId: "t", seq, update } }));

function after(state: ChatState, ...events: readonly ChatEvent[]): ChatState {
  return events.reduce(reduce, state);
}

function said(before: ChatState, now: ChatState): string[] {
  return announcements(before, now).map(({ text }) => text);
}

test("a prompt and its answer are said, each once", () => {
  const asked = after(EMPTY, prompted);
  assert.deepEqual(said(EMPTY, asked), ["Reverie is working."]);
  assert.deepEqual(said(asked, after(asked, ...answered)), ["Reverie answered: An answer."]);
});

test("an answer that is there before anything was drawn is said all the same", () => {
  assert.deepEqual(said(EMPTY, after(EMPTY, prompted, ...answered)), ["Reverie answered: An answer."]);
});

test("a conversation that is opened is not read out", () => {
  const messages = [{ uuid: "u", role: "user" as const, kind: "text" as const, text: "hello", timestamp: at }];
  const result = { sessionId: "old", strategy: "full" as const, repairs: [], messages };
  assert.deepEqual(said(EMPTY, after(EMPTY, { type: "resumed", result })), []);
});

test("a conversation that is opened anew is not read out again", () => {
  const failed = (
    [
      { kind: "toolStart", toolUseId: "a", tool: "Bash", input: { command: "make" } },
      { kind: "toolEnd", toolUseId: "a", ok: false, display: { kind: "text", text: "no" } },
    ] satisfies Update[]
  ).map((update, seq): ChatEvent => ({ type: "update", params: { sessionId: "s", turnId: "t", seq, update } }));
  const asked = after(EMPTY, prompted);
  const live = after(asked, ...failed);
  assert.deepEqual(said(asked, live), ["Run make failed."]);
  const call = { uuid: "b", role: "assistant" as const, kind: "toolUse" as const, text: "", timestamp: at };
  const messages = [
    { ...call, toolUseId: "old", tool: "Bash", input: {} },
    { ...call, kind: "toolResult" as const, toolUseId: "old", ok: false },
    { ...call, toolUseId: "a", tool: "Bash", input: {} },
    { ...call, kind: "toolResult" as const, toolUseId: "a", ok: false },
  ];
  const result = { sessionId: "s", strategy: "full" as const, repairs: ["A torn line was cut off."], messages };
  const opened = after(live, { type: "resumed", result });
  assert.deepEqual(said(live, opened), ["A torn line was cut off."], "only what was not said before");
  assert.deepEqual(said(opened, after(opened, { type: "resumed", result })), []);
});
