/** What the chat view takes from its host, and what it keeps: outlines of messages, commands that wait, bounds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY } from "../src/chat/state.ts";
import { isForeign } from "../webview/asks/origin.ts";
import { createBounded } from "../webview/bounded.ts";
import { isToView, nameOf } from "../webview/check.ts";
import { createMailbox } from "../webview/mailbox.ts";

const event = (event: unknown) => ({ type: "event", event });
const update = (update: unknown) => event({ type: "update", params: { sessionId: "s", seq: 0, update } });
const state = (change: object) => ({
  type: "state",
  state: { ...EMPTY, ...change },
  draft: { text: "", attachments: [] },
});
const user = { kind: "user", key: "u", text: "hi", attachments: [], at: "", queued: false, recalled: [] };

test("messages of the host are taken, with more in them than we know", () => {
  const good = [
    state({}),
    state({ items: [user, { kind: "text", key: "t", text: "", streaming: true }], later: 1 }),
    update({ kind: "textDelta", text: "a" }),
    update({ kind: "toolEnd", toolUseId: "1", ok: true, display: { kind: "files", paths: ["/a"] }, later: 1 }),
    event({ type: "stopping" }),
    event({ type: "answered", id: "a", answer: null }),
    { type: "result", id: 1, result: null },
    { type: "focus" },
    { type: "show", page: "tasks" },
    { type: "attach", attachments: [{ kind: "mention", label: "a", uri: "file:///a" }], text: "About" },
  ];
  for (const message of good) assert.ok(isToView(message), JSON.stringify(message));
});

test("a message that lacks what the view reads of it is none", () => {
  const bad = [
    undefined,
    "state",
    [],
    {},
    { type: "toString" },
    { type: "state", state: {}, draft: { text: "", attachments: [] } },
    state({ items: [{ ...user, text: 1 }] }),
    state({ items: [{ ...user, key: undefined }] }),
    state({ items: [{ kind: "constructor", key: "k" }] }),
    state({ asks: [{ kind: "permission", id: "1", sessionId: "s", tool: "Bash", reason: "" }] }),
    event({ type: "unheard of" }),
    event({ type: "jobs", running: "many" }),
    event({ type: "update", params: {} }),
    update({ kind: "textDelta" }),
    update({ kind: "toolEnd", toolUseId: "1", ok: true, display: { kind: "files", paths: [1] } }),
    event({ type: "prompted", sessionId: "s", turnId: "t", queued: false, text: "", at: "" }),
    { type: "error", id: 1 },
    { type: "show", page: "nowhere" },
    { type: "attach", attachments: [{ kind: "image", label: "a" }] },
  ];
  for (const message of bad) assert.ok(!isToView(message), JSON.stringify(message));
});

test("a message that is left out is named, and nothing of its content is", () => {
  assert.equal(nameOf(update({ kind: "toolEnd", text: "secret" })), "event update toolEnd");
  assert.equal(nameOf({ text: "secret" }), "");
  assert.equal(nameOf(undefined), "");
});

test("what is posted before anybody listens is heard by all of them, once and in its order", () => {
  const box = createMailbox<string>();
  const heard: string[] = [];
  box.post("attach");
  box.listen((message) => heard.push(`1 ${message}`));
  box.post("focus");
  const stop = box.listen((message) => heard.push(`2 ${message}`));
  assert.deepEqual(heard, []);
  box.open();
  box.open();
  stop();
  box.post("show");
  assert.deepEqual(heard, ["1 attach", "2 attach", "1 focus", "2 focus", "1 show"]);
});

test("of too much the oldest is forgotten, and what is put in again is new", () => {
  const kept = createBounded<number>(2);
  kept.set("a", 1);
  kept.set("b", 2);
  kept.set("a", 3);
  kept.set("c", 4);
  assert.deepEqual([kept.get("a"), kept.get("b"), kept.get("c"), kept.size], [3, undefined, 4, 2]);
});

test("a question of another conversation than the shown one is foreign", () => {
  assert.ok(!isForeign({ sessionId: "a" }, { sessionId: "a" }));
  assert.ok(isForeign({ sessionId: "a" }, { sessionId: "b" }));
  assert.ok(isForeign({ sessionId: "a" }, {}));
});
