/** Memory in the text: which commands of the server are run, and where a line is after an edit. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { lineAfter } from "../src/inline/lines.ts";
import { nameOfOurs } from "../src/inline/names.ts";

const edit = (first: number, last: number, text: string) => ({
  range: { start: { line: first }, end: { line: last } },
  text,
});

test("commands of the server have names of ours, and no others are run", () => {
  assert.equal(nameOfOurs("reverie.memory.open"), "reverie.inline.open");
  assert.equal(nameOfOurs("reverie.memory.undo"), "reverie.inline.undo");
  for (const other of ["", "reverie.memory.", "reverie.memory.focus", "workbench.action.quit", "reverie.inline.open"]) {
    assert.equal(nameOfOurs(other), "");
  }
});

test("a line goes down with lines above it, and up without them", () => {
  assert.equal(lineAfter(5, [edit(1, 1, "a\nb\n")]), 7);
  assert.equal(lineAfter(5, [edit(1, 3, "")]), 3);
  assert.equal(lineAfter(5, [edit(3, 5, "")]), 3, "up to its beginning");
  assert.equal(lineAfter(5, [edit(9, 9, "a\n"), edit(1, 1, "a\n")]), 6, "as VS Code tells: the last first");
});

test("a line stays where only itself or others below are edited, and is gone with what is around it", () => {
  assert.equal(lineAfter(5, [edit(5, 5, "a")]), 5);
  assert.equal(lineAfter(5, [edit(5, 7, "a\nb")]), 5);
  assert.equal(lineAfter(5, [edit(4, 6, "")]), undefined);
});
