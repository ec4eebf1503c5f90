/** What the host lets through of what the web view says. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { FORWARDED } from "../src/chat/messages.ts";
import { isForwarded, parseFromView } from "../src/chat/parse.ts";
import { HELP } from "../src/help.ts";

function call(method: string, params: unknown): unknown {
  return { type: "call", id: 1, method, params };
}

const GOOD: readonly unknown[] = [
  { type: "ready" },
  { type: "draft", draft: { text: "", attachments: [] } },
  { type: "draft", draft: { text: "x", attachments: [{ kind: "text", label: "Problems", text: "none" }] } },
  call("host/prompt", { text: "hello", attachments: [{ kind: "mention", label: "a.rs", uri: "file:///a.rs" }] }),
  call("host/prompt", {
    text: "",
    attachments: [{ kind: "image", label: "shot", mediaType: "image/png", data: "aGVsbG8=" }],
  }),
  call("host/stop", {}),
  call("host/answer", { id: "ask-1", kind: "permission", option: "deny", message: "no" }),
  call("host/answer", { id: "ask-1", kind: "user" }),
  call("host/answer", { id: "ask-1", kind: "plan", approved: true, acceptEdits: false }),
  call("host/session/open", { sessionId: "s", messageUuid: undefined }),
  call("host/open", { path: "src/a.rs", line: 3 }),
  call("host/openLink", { url: "https://example.org/a?b#c" }),
  ...Object.values(HELP).map(({ command }) => call("host/command", { command })),
  call("host/command", { command: "reverie.memory.focus" }),
  call("reverie/session/list", { query: "", limit: 30 }),
];

for (const message of GOOD) {
  test(`lets through ${JSON.stringify(message).slice(0, 90)}`, () => {
    assert.deepEqual(parseFromView(message), message);
  });
}

const HOSTILE: readonly [string, unknown][] = [
  ["nothing", undefined],
  ["null", null],
  ["a string", "ready"],
  ["a list", [{ type: "ready" }]],
  ["an unknown type", { type: "eval", code: "1" }],
  ["a method of no one", call("host/exec", {})],
  ["a method of the server that is not for the view", call("reverie/trust/set", { trusted: true })],
  ["another method of the server", call("reverie/memory/delete", { path: "a.md" })],
  ["a name of the prototype", call("constructor", {})],
  ["another name of the prototype", call("__proto__", {})],
  ["a method that is no string", { type: "call", id: 1, method: ["host/stop"], params: {} }],
  ["an id that is no number", { type: "call", id: "1", method: "host/stop", params: {} }],
  ["an id that is no whole number", { type: "call", id: 1.5, method: "host/stop", params: {} }],
  ["a negative id", { type: "call", id: -1, method: "host/stop", params: {} }],
  ["no params", { type: "call", id: 1, method: "host/stop" }],
  ["params that are a list", call("host/stop", [])],
  ["a field too much", call("host/stop", { force: true })],
  ["a field too much in a list", call("reverie/session/list", { limit: 3, cwd: "/" })],
  ["a text that is no text", call("host/copy", { text: { toString: "x" } })],
  ["a text that is too long", call("host/copy", { text: "x".repeat(2_000_001) })],
  ["a path that is too long", call("host/open", { path: "x".repeat(5_000) })],
  ["an empty path", call("host/open", { path: "" })],
  ["a line below zero", call("host/open", { path: "a", line: -1 })],
  ["a line that is no number", call("host/open", { path: "a", line: "1" })],
  ["a line that is infinite", call("host/open", { path: "a", line: Number.POSITIVE_INFINITY })],
  ["an unknown answer", call("host/answer", { id: "1", kind: "permission", option: "allowEverything" })],
  ["an answer without a kind", call("host/answer", { id: "1", option: "allowOnce" })],
  ["a plan with the answer of a permission", call("host/answer", { id: "1", kind: "plan", option: "allowOnce" })],
  ["an attachment of an unknown kind", call("host/prompt", { text: "", attachments: [{ kind: "file", label: "a" }] })],
  [
    "an image that is a page",
    call("host/prompt", {
      text: "",
      attachments: [{ kind: "image", label: "a", mediaType: "image/svg+xml", data: "aGVsbG8=" }],
    }),
  ],
  [
    "an image that is not in base64",
    call("host/prompt", {
      text: "",
      attachments: [{ kind: "image", label: "a", mediaType: "image/png", data: '"><script>' }],
    }),
  ],
  ["too many attachments", call("host/attach", { uris: Array.from({ length: 201 }, () => "file:///a") })],
  [
    "a range with a hole",
    call("host/prompt", {
      text: "",
      attachments: [{ kind: "mention", label: "a", uri: "b", range: { start: { line: 1 } } }],
    }),
  ],
  ["a draft that is none", { type: "draft", draft: { text: "x" } }],
  ["a draft that is null", { type: "draft", draft: null }],
  ["a link to a script", call("host/openLink", { url: "javascript:alert(1)" })],
  ["a link to a command", call("host/openLink", { url: "command:workbench.action.quit" })],
  ["a link to the editor", call("host/openLink", { url: "vscode://x" })],
  ["a link to a file", call("host/openLink", { url: "file:///etc/passwd" })],
  ["a link with a blank before it", call("host/openLink", { url: " javascript:alert(1)//https://a" })],
  ["a command of the editor", call("host/command", { command: "workbench.action.terminal.new" })],
  ["a command of the server", call("host/command", { command: "reverie.trust.set" })],
  ["a command of the extension that the view does not offer", call("host/command", { command: "reverie.undoAll" })],
  ["another command of the extension", call("host/command", { command: "reverie.trustFolder" })],
  ["a prompt that says nothing", call("host/prompt", { text: " \n", attachments: [] })],
  ["a command with something behind it", call("host/command", { command: "reverie.doctor\nworkbench" })],
  ["a command with arguments", call("host/command", { command: "reverie.doctor", arguments: [1] })],
];

for (const [what, message] of HOSTILE) {
  test(`drops ${what}`, () => {
    assert.equal(parseFromView(message), undefined);
  });
}

test("attachments may weigh so much together, and no more", () => {
  const image = { kind: "image", label: "a", mediaType: "image/png", data: "A".repeat(8_000_000) };
  const draft = (count: number) => ({ type: "draft", draft: { text: "", attachments: Array(count).fill(image) } });
  assert.notEqual(parseFromView(draft(5)), undefined);
  assert.equal(parseFromView(draft(6)), undefined);
});

test("fields of a prototype are no fields", () => {
  const params = Object.create({ text: "inherited" });
  assert.equal(parseFromView(call("host/copy", params)), undefined);
});

test("only what is listed is passed on to the server", () => {
  assert.ok(FORWARDED.every(isForwarded));
  assert.equal(isForwarded("host/stop"), false);
});
