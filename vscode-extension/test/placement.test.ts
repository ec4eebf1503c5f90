/** Where a piece of code belongs in a text: clearly, or not at all. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOf } from "../src/placement.ts";

const TEXT = "use a;\n\nfn one() {\n    1\n}\n\nfn two() {\n    2\n}\n";

test("a function takes the place of the one that begins and ends as it does", () => {
  assert.deepEqual(placeOf(TEXT, "fn two() {\n    22\n}\n"), { start: 6, end: 9 });
});

test("blanks at the ends of lines and lines around it do not matter", () => {
  assert.deepEqual(placeOf(TEXT, "\nfn one() {  \n    11\n}\n\n"), { start: 2, end: 5 });
  assert.deepEqual(placeOf(TEXT.replaceAll("\n", "\r\n"), "fn one() {\n    11\n}"), { start: 2, end: 5 });
});

test("several functions take the place of as many", () => {
  const both = "use a;\n\nfn one() {\n    11\n}\n\nfn two() {\n    22\n}\n";
  assert.deepEqual(placeOf(TEXT, both), { start: 0, end: 9 });
});

test("a block with blocks in it ends where it is closed", () => {
  const text = "if (a) {\n  b();\n} else {\n  if (c) {\n    d();\n  }\n}\n\nif (z) {\n}\n";
  assert.deepEqual(placeOf(text, "if (a) {\n  x();\n} else {\n  y();\n}\n"), { start: 0, end: 7 });
  assert.equal(placeOf(text, "if (a) {\n  x();\n}\n"), undefined, "the other branch would be lost");
});

test("a block that has its brackets on lines of their own is found as well", () => {
  const text = "void one()\n{\n  1;\n}\n\nvoid two()\n{\n  2;\n}\n";
  assert.deepEqual(placeOf(text, "void two()\n{\n  22;\n}\n"), { start: 5, end: 9 });
});

test("blocks without brackets end at their level", () => {
  const text = "def one\n  if a\n    b\n  end\nend\n\ndef two\n  c\nend\n";
  assert.deepEqual(placeOf(text, "def one\n  x\nend\n"), { start: 0, end: 5 });
});

test("two lines that say something and are there once are ends", () => {
  const text = "def total(a):\n    b = 0\n    for c in a:\n        b += c\n    return amount\n\nprint(total([1]))\n";
  assert.deepEqual(placeOf(text, "def total(a):\n    b = sum(a)\n    return amount\n"), { start: 0, end: 5 });
});

test("a line that is in many places is no beginning", () => {
  assert.equal(placeOf(TEXT, "}\n\nfn two() {\n    22\n}\n"), undefined);
  assert.equal(placeOf("a {\n  x1();\n}\nb {\n  x1();\n}\n", "  x1();\n}\n"), undefined);
  assert.equal(placeOf("else {\n  1;\n}\n", "else {\n  2;\n}\n"), undefined);
});

test("a first line that is there twice has no place", () => {
  assert.equal(placeOf(`${TEXT}${TEXT}`, "fn two() {\n    22\n}\n"), undefined);
});

test("what lies between and is not in the code keeps it out", () => {
  assert.equal(placeOf(TEXT, "use a;\nfn two() {\n}\n"), undefined);
  assert.equal(
    placeOf("start();\nlet a = 1;\nlet b = 2;\nlet c = 3;\nfinish();\n", "start();\nfinish();\n"),
    undefined,
  );
});

test("a block that is left open on one side has no place", () => {
  assert.equal(placeOf("open(a, {\n  b,\n});\nafter();\n", "open(a, {\n  b,\nafter();\n"), undefined);
  assert.equal(placeOf("fn one() {\n    1\n", "fn one() {\n    11\n}\n"), undefined);
});

test("a block of a class does not reach beyond it", () => {
  const text = "class A {\n  one() {\n    if (a) {\n      b();\n  }\n}\nclass B {\n  two() {\n  }\n}\n";
  assert.equal(placeOf(text, "  one() {\n    c();\n  }\n"), undefined);
});

for (const line of [
  "    // ...",
  "    # … the rest",
  "    /* existing code */",
  "    ...",
  "    // rest of the function unchanged",
]) {
  test(`code that leaves something out is a sketch: ${line.trim()}`, () => {
    assert.equal(placeOf(TEXT, `fn two() {\n${line}\n}\n`), undefined);
  });
}

test("what is spread is not left out", () => {
  assert.deepEqual(placeOf("const a = {\n  b,\n};\n", "const a = {\n  ...b,\n};\n"), { start: 0, end: 3 });
});

test("code whose ends are not there has no place", () => {
  assert.equal(placeOf(TEXT, "fn three() {\n    3\n}\n"), undefined);
  assert.equal(placeOf(TEXT, "fn two() {\n    2\n} // end of two\n"), undefined);
});

test("a single line has no ends to be found by", () => {
  assert.equal(placeOf(TEXT, "use a;\n"), undefined);
  assert.equal(placeOf("", ""), undefined);
});
