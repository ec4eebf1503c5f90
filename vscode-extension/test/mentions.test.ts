/** What the composer makes of its text: where a completion begins, and which mentions still stand. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attachment } from "../src/chat/state.ts";
import { isComposing } from "../webview/chrome/keys.ts";
import { add, commandsFor, hold, isMentioned, rejoin, standing, triggerAt } from "../webview/composer/mentions.ts";

/** `|` is the caret. */
function trigger(typed: string): string {
  const caret = typed.indexOf("|");
  const found = triggerAt(typed.replace("|", ""), caret);
  return found ? `${found.kind} ${found.start} ${found.query}` : "none";
}

const file = (label: string): Attachment => ({ kind: "mention", label, uri: `file:///${label}` });

test("a slash begins a command only at the start, until its first space", () => {
  assert.equal(trigger("/|"), "command 0 ");
  assert.equal(trigger("/com|pact"), "command 0 com");
  assert.equal(trigger("/compact |"), "none");
  assert.equal(trigger("see a/b|"), "none");
  assert.equal(trigger(" /com|"), "none");
});

test("an at sign begins a mention at the start of a word", () => {
  assert.equal(trigger("@|"), "mention 0 ");
  assert.equal(trigger("look at @src/lo| please"), "mention 8 src/lo");
  assert.equal(trigger("(@a|"), "mention 1 a");
  assert.equal(trigger("line\n@a|"), "mention 5 a");
  assert.equal(trigger("@node_modules/@ty|"), "mention 0 node_modules/@ty");
  assert.equal(trigger("ada@example.org|"), "none");
  assert.equal(trigger("@a b|"), "none");
});

test("a word that is too long is not completed, wherever it begins", () => {
  assert.equal(triggerAt(`@${"a".repeat(1000)}`, 1001), undefined);
  assert.equal(triggerAt(`/${"a".repeat(1000)}`, 1001), undefined);
  assert.deepEqual(triggerAt(`${"a ".repeat(1000)}@b`, 2002), { kind: "mention", start: 2000, query: "b" });
});

test("commands that begin with what is typed come before those that contain it", () => {
  const commands = ["dream", "compact", "uncompact", "context"].map((name) => ({
    name,
    description: "",
    source: "builtIn" as const,
  }));
  const names = (query: string) => commandsFor(commands, query).map((command) => command.name);
  assert.deepEqual(names("Com"), ["compact", "uncompact"]);
  assert.deepEqual(names(""), ["dream", "compact", "uncompact", "context"]);
  assert.deepEqual(names("x!"), []);
});

test("a mention stands as a whole word, with punctuation behind it, and not as the beginning of a longer path", () => {
  for (const text of [
    "@src/a",
    "see @src/a.",
    "@src/a, and",
    "@src/a?!",
    "(@src/a)",
    "@src/a\nmore",
    "@src/a.ts and @src/a",
  ]) {
    assert.ok(isMentioned(text, "src/a"), text);
  }
  for (const text of ["", "src/a", "@src/a.ts", "@src/a/b", "@src/abc", "@src/a-b"]) {
    assert.ok(!isMentioned(text, "src/a"), text);
  }
});

test("what was deleted from the text is not sent, and chips are", () => {
  const held = add(add([], [file("a.ts")], "a.ts"), [file("b.ts")]);
  assert.deepEqual(standing("look at @a.ts", held), [file("a.ts"), file("b.ts")]);
  assert.deepEqual(standing("look at", held), [file("b.ts")]);
});

test("a mention may have another word in the text than its label", () => {
  const held = add([], [file("a.ts:3-9")], "selection");
  assert.deepEqual(standing("explain @selection", held), [file("a.ts:3-9")]);
  assert.deepEqual(standing("explain", held), []);
});

test("the same thing is attached once", () => {
  const once = add([], [file("a.ts")]);
  assert.deepEqual(add(once, [file("a.ts")]), once);
  assert.equal(add(once, [file("a.ts")], "a.ts").length, 2);
});

test("a draft that is brought back keeps what its text names in the text", () => {
  assert.deepEqual(hold("see @a.ts", [file("a.ts"), file("b.ts")]), [
    { attachment: file("a.ts"), word: "a.ts" },
    { attachment: file("b.ts") },
  ]);
});

test("what could not be sent stands before what was written meanwhile, and nothing of either is lost", () => {
  const unsent = { text: "see @a.ts", held: add([], [file("a.ts")], "a.ts") };
  const typed = { text: "and this", held: add(add([], [file("a.ts")], "a.ts"), [file("b.ts")]) };
  assert.deepEqual(rejoin(unsent, typed), {
    text: "see @a.ts\n\nand this",
    held: add(unsent.held, [file("b.ts")]),
  });
  assert.deepEqual(rejoin(unsent, { text: " ", held: [] }), unsent);
  assert.equal(rejoin({ text: "", held: [] }, typed).text, "and this");
});

test("keys belong to the input method while it composes", () => {
  assert.ok(isComposing({ isComposing: true, keyCode: 27 }));
  assert.ok(isComposing({ isComposing: false, keyCode: 229 }));
  assert.ok(!isComposing({ isComposing: false, keyCode: 27 }));
});
