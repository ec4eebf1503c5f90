/** The pure parts of the conversation: blocks, links, paths, code targets, diffs, terminal colours, rows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../src/chat/state.ts";
import { highlightLines } from "../webview/highlight.ts";
import { parseAnsi } from "../webview/items/ansi.ts";
import { callLine, groupWords } from "../webview/items/calls.ts";
import { rangeOf, rowAt, topsOf } from "../webview/items/layout.ts";
import {
  codeTarget,
  filePlace,
  filesIn,
  isOpenable,
  linkTarget,
  pathOfUri,
  shownPath,
} from "../webview/items/places.ts";
import { rowsOf } from "../webview/items/rows.ts";
import { firstChange, parseUnified } from "../webview/items/unified.ts";
import { type Block, references, renderBlock, splitBlocks } from "../webview/markdown.ts";

const TEXT = `# Title

A paragraph
of two lines.

- one

- two
  \`\`\`sh
  ls
  \`\`\`

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`
| a | b |
|---|--:|
| 1 | 2 |

> quoted
`;

test("a text is split into its top-level blocks and none of it is lost", () => {
  const blocks = splitBlocks(TEXT);
  assert.deepEqual(
    blocks.map(({ source }) => source.split("\n", 1)[0]),
    ["# Title", "A paragraph", "- one", "```ts", "| a | b |", "> quoted"],
  );
  assert.equal(blocks.map(({ source }) => source).join(""), TEXT);
});

test("a text that comes letter by letter has the same blocks in the end, and finished ones stay the same objects", () => {
  let blocks: readonly Block[] = [];
  for (let end = 1; end <= TEXT.length; end += 1) {
    const next = splitBlocks(TEXT.slice(0, end), blocks);
    blocks.slice(0, -1).forEach((block, at) => {
      assert.equal(next[at], block);
    });
    blocks = next;
  }
  assert.deepEqual(blocks, splitBlocks(TEXT));
});

test("another text does not inherit the blocks of the one before", () => {
  const blocks = splitBlocks("first\n\nsecond");
  assert.deepEqual(splitBlocks("other\n\nsecond and more", blocks), splitBlocks("other\n\nsecond and more"));
});

test("a fence that is not closed yet is code already", () => {
  const html = renderBlock("```js\nconst a = 1;", true);
  assert.match(html, /<pre[^>]*><code>/);
  assert.match(html, /hljs-keyword/);
});

test("raw html stays text", () => {
  const html = renderBlock('<img src=x onerror="alert(1)"> <script>alert(1)</script>', false);
  assert.doesNotMatch(html, /<(?:img|script)/);
});

test("pictures are not loaded and links have no address that a browser follows", () => {
  const html = renderBlock("![cat](https://example.com/cat.png) [site](https://example.com)", false);
  assert.doesNotMatch(html, /<img|\ssrc=|\shref=/);
  assert.match(html, /data-url="https:\/\/example\.com\/cat\.png"/);
});

test("nothing of the text can break out of an attribute", () => {
  const html = renderBlock('[a](<src/a".rs>) `a.rs"onclick=x` \n\n```x" onload="y path=a".rs\n```', false);
  assert.doesNotMatch(html, /\son(?:click|load)=/);
});

test("a table aligns by class, never by inline style", () => {
  const html = renderBlock("| a |\n|--:|\n| 1 |", false);
  assert.match(html, /<td class="align-right">/);
  assert.doesNotMatch(html, /style=/);
});

test("task lists say what is done", () => {
  const html = renderBlock("- [x] a\n- [ ] b", false);
  assert.match(html, /aria-label="Done"/);
  assert.match(html, /aria-label="To do"/);
});

test("a link that is defined in another block is found", () => {
  const text = "See [it].\n\n[it]: https://example.com/it\n";
  assert.match(renderBlock("See [it].", false, references(text)), /data-url="https:\/\/example\.com\/it"/);
});

test("only web, mail and files may be followed", () => {
  assert.deepEqual(linkTarget("https://example.com/a"), { kind: "web", url: "https://example.com/a" });
  assert.deepEqual(linkTarget("mailto:ada@example.com"), { kind: "web", url: "mailto:ada@example.com" });
  assert.deepEqual(linkTarget("src/a.rs:12"), { kind: "file", path: "src/a.rs", line: 12 });
  assert.deepEqual(linkTarget("src/a.rs#L12"), { kind: "file", path: "src/a.rs", line: 12 });
  assert.deepEqual(linkTarget("a.rs:12:3"), { kind: "file", path: "a.rs", line: 12, column: 3 });
  assert.deepEqual(linkTarget("docs/my%20file.md"), { kind: "file", path: "docs/my file.md" });
  assert.deepEqual(linkTarget("docs/"), { kind: "file", path: "docs/" });
});

test("what could run something is inert", () => {
  const hostile = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "  javascript:alert(1)",
    "java%0Ascript:alert(1)",
    "javascript%3Aalert(1)",
    "data:text/html,x",
    "vbscript:x",
    "vscode://file/x",
    "vscode:extension/x",
    "command:workbench.action.terminal.new",
    "file:///etc/passwd",
    "//example.com/x",
    "\\\\server\\share",
    "ftp://example.com",
    "blob:https://example.com/x",
    "https:",
    "#top",
    "",
    "%E0%A4%A",
    "a%00b",
  ];
  for (const href of hostile) assert.equal(linkTarget(href), undefined, href);
});

test("a path on another computer stays text, however it is written", () => {
  const hidden = [
    "//host/share/a.rs",
    "\\\\host\\share\\a.rs",
    "/\\host/share/a.rs",
    "\\/host/share/a.rs",
    "%5C%5Chost%5Cshare%5Ca.rs",
    "%5c%5chost/share",
    "/%2Fhost/share/a.rs",
    "%2F%2Fhost/share",
    "%20//host/share",
    "/%5Chost/share",
    "\\\\?\\UNC\\host\\share",
  ];
  for (const href of hidden) assert.equal(linkTarget(href), undefined, href);
  for (const words of ["//host/share/a.rs", "\\\\host\\share\\a.rs:12"])
    assert.equal(filePlace(words), undefined, words);
  assert.doesNotMatch(renderBlock("[a](/%2Fhost/a.rs) `\\\\\\\\host\\\\a.rs`", false), /data-path/);
  assert.equal(callLine("Read", { file_path: "\\\\host\\share\\a.rs" }, "/p").place, undefined);
});

test("where the session itself works on another computer, its files can be opened", () => {
  const folder = "\\\\host\\share\\p";
  assert.ok(isOpenable(`${folder}\\a.rs`, folder));
  assert.ok(!isOpenable("\\\\other\\share\\a.rs", folder));
  assert.ok(isOpenable("/p/a.rs", undefined));
});

test("a URI is a path only where it names a file of this computer", () => {
  assert.equal(pathOfUri("file:///p/my%20file.rs"), "/p/my file.rs");
  assert.equal(pathOfUri("file:///c%3A/p/a.rs"), "c:/p/a.rs");
  for (const uri of [
    "file:///p/100%.rs",
    "file://host/a.rs",
    "file:////host/a.rs",
    "https://example.com/a.rs",
    "a.rs",
    "",
  ]) {
    assert.equal(pathOfUri(uri), undefined, uri);
  }
});

test("paths are told from other words", () => {
  const files = ["src/a.rs", "./target", "../x", "main.rs", "Cargo.toml", "/usr/bin/env", "C:\\work\\a.ts", "Makefile"];
  for (const words of files) assert.equal(filePlace(words)?.path, words, words);
  const others = [
    "console.log",
    "and/or",
    "origin/main",
    "/compact",
    "application/json",
    "https://example.com/a.rs",
    "cargo test",
    "self.items",
    "1.5",
    "v1.2.3",
    "10/12",
    "*.rs",
    "",
  ];
  for (const words of others) assert.equal(filePlace(words), undefined, words);
});

test("a place in a file is understood in the ways people write it", () => {
  const place = { path: "src/a.rs", line: 12 };
  for (const words of ["src/a.rs:12", "src/a.rs:12-20", "src/a.rs#L12", "src/a.rs#L12-L20", "src/a.rs(12)"]) {
    assert.deepEqual(filePlace(words), place, words);
  }
  assert.deepEqual(filePlace("src/a.rs:12:5"), { ...place, column: 5 });
  assert.deepEqual(filePlace("src/a.rs(12,5)"), { ...place, column: 5 });
});

test("a path is shown without the folder, and one elsewhere by its last names", () => {
  assert.equal(shownPath("/p/src/a.rs", "/p"), "src/a.rs");
  assert.equal(shownPath("/pq/a.rs", "/p"), "/pq/a.rs");
  assert.equal(shownPath("/home/ada/.claude/memory/a.md", "/p"), "…/memory/a.md");
  assert.equal(shownPath("C:\\work\\engine\\src\\a.rs", "C:\\work\\engine"), "src\\a.rs");
  assert.equal(shownPath("src/a/b/c/d.rs", undefined), "src/a/b/c/d.rs");
});

test("a code block names the file that it is meant for", () => {
  assert.deepEqual(codeTarget("ts path=src/a.ts", ""), { language: "ts", path: "src/a.ts" });
  assert.deepEqual(codeTarget('ts title="src/a.ts"', ""), { language: "ts", path: "src/a.ts" });
  assert.deepEqual(codeTarget("rust:src/a.rs", ""), { language: "rust", path: "src/a.rs" });
  assert.deepEqual(codeTarget("src/a.py", ""), { language: "py", path: "src/a.py" });
  assert.deepEqual(codeTarget("ts", "// src/a.ts\nx"), { language: "ts", path: "src/a.ts" });
  assert.deepEqual(codeTarget("html", "<!-- web/index.html -->"), { language: "html", path: "web/index.html" });
  assert.deepEqual(codeTarget("ts", "// see a.ts for why\n"), { language: "ts" });
  assert.deepEqual(codeTarget("Rust", "fn main() {}"), { language: "rust" });
  assert.deepEqual(codeTarget("", ""), { language: "" });
});

test("code is coloured line by line without losing a character", () => {
  const code = 'const a = "<b>&amp;";\n/* one\n   two */\n';
  const lines = highlightLines(code, "ts");
  assert.equal(lines.map((line) => line.map(({ text }) => text).join("")).join("\n"), code);
  assert.equal(lines[2]?.[0]?.scope, "hljs-comment");
});

test("terminal colours are spans and all other sequences are gone", () => {
  const spans = parseAnsi(
    "\u001b[1;31merror\u001b[0m: \u001b[38;5;208mx\u001b[39m\u001b[2K\u001b]0;title\u0007 done\u001b[?25h",
  );
  assert.deepEqual(spans, [
    { text: "error", bold: true, color: "Red" },
    { text: ": " },
    { text: "x", color: "#ff8700" },
    { text: " done", color: undefined },
  ]);
});

test("a carriage return leaves what was written last", () => {
  const text = (output: string) =>
    parseAnsi(output)
      .map((span) => span.text)
      .join("");
  assert.equal(text("10%\r50%\r100%\ndone\r\n"), "100%\ndone\n");
  assert.equal(text("ab\bc"), "ac");
});

test("inverse video swaps the colours", () => {
  assert.deepEqual(parseAnsi("\u001b[7;32mx\u001b[27my"), [
    { text: "x", color: "inverse", background: "Green" },
    { text: "y", color: "Green" },
  ]);
});

test("a unified diff has line numbers and counts, and a removed line that looks like a header is none", () => {
  const { lines, added, removed } = parseUnified("--- a\n+++ a\n@@ -1,3 +1,2 @@\n one\n--- two\n-three\n+four\n");
  assert.deepEqual([added, removed], [1, 2]);
  assert.deepEqual(lines, [
    { kind: "same", text: "one", before: 1, after: 1 },
    { kind: "removed", text: "-- two", before: 2 },
    { kind: "removed", text: "three", before: 3 },
    { kind: "added", text: "four", after: 2 },
  ]);
});

const tool = (key: string, name: string, state: "running" | "done" | "failed" = "done"): Item => ({
  kind: "tool",
  key,
  toolUseId: key,
  tool: name,
  input: { file_path: `/p/${key}.rs` },
  state,
  progress: "",
});

test("calls in a row that only look are one row, and rows that did not change stay the same objects", () => {
  const items = [
    tool("1", "Read"),
    tool("2", "Grep"),
    tool("3", "Bash"),
    tool("4", "Read"),
    tool("5", "Read", "failed"),
  ];
  const rows = rowsOf(items, []);
  assert.deepEqual(
    rows.map((row) => row.items.map(({ key }) => key)),
    [["1", "2"], ["3"], ["4"], ["5"]],
  );
  const more = rowsOf([...items, tool("6", "Bash")], rows);
  assert.deepEqual(
    more.slice(0, 4).map((row, at) => row === rows[at]),
    [true, true, true, true],
  );
  assert.equal(groupWords(rows[0]?.items as never), "Read 1 file, searched once");
});

test("the line of a call says what it is about", () => {
  const read = callLine("Read", { file_path: "/p/src/a.rs", offset: 10, limit: 31 }, "/p");
  assert.equal(`${read.verb} ${read.subject}`, "Read src/a.rs:10–40");
  assert.deepEqual(read.place, { path: "/p/src/a.rs", line: 10 });
  const elsewhere = callLine("Write", { file_path: "/home/ada/.claude/projects/p/memory/a.md" }, "/p");
  assert.deepEqual([elsewhere.subject, elsewhere.whole], ["…/memory/a.md", "/home/ada/.claude/projects/p/memory/a.md"]);
  assert.equal(callLine("mcp__git__log", { path: "x" }, undefined).verb, "log (git)");
  assert.equal(callLine("Bash", null, undefined).subject, "");
});

test("only what is near the viewport is drawn, and the same rows until one viewport is not covered", () => {
  const rows = rowsOf(
    Array.from({ length: 1000 }, (_, at) => tool(`${at}`, "Bash")),
    [],
  );
  const tops = topsOf(rows, new Map(rows.map(({ key }) => [key, 50])), 400);
  assert.equal(rowAt(tops, 120), 2);
  const range = rangeOf(tops, 10_000, 500, undefined);
  assert.deepEqual(range, { first: 185, end: 226 });
  assert.deepEqual(rangeOf(tops, 10_200, 500, range), range);
  assert.notDeepEqual(rangeOf(tops, 11_000, 500, range), range);
  assert.deepEqual(rangeOf(new Float64Array(1), 0, 500, undefined), { first: 0, end: 0 });
});

test("files in what a program prints lead to their lines", () => {
  const links = (output: string) =>
    filesIn(output).flatMap(({ place }) => (place ? [[place.path, place.line, place.column].join(" ").trim()] : []));
  assert.deepEqual(links("error[E0308]\n  --> src/main.rs:12:5\n"), ["src/main.rs 12 5"]);
  assert.deepEqual(links("src/a.ts(3,7): error TS1: see b.ts."), ["src/a.ts 3 7", "b.ts"]);
  assert.deepEqual(links("src/a.rs:12:let x\nC:\\w\\a.rs:4"), ["src/a.rs 12", "C:\\w\\a.rs 4"]);
  assert.deepEqual(links('File "/w/a.py", (b.py:2)'), ["/w/a.py", "b.py 2"]);
  for (const output of [
    "https://example.org/a.html",
    "//host/share/a.rs",
    "\\\\host\\a.rs",
    "12:30:45 and/or v1.2.3",
    "std::vec",
  ]) {
    assert.deepEqual(links(output), [], output);
  }
});

test("nothing of what a program prints is lost between its files", () => {
  for (const output of ["", "a.rs", "in a.rs:1: b.rs... <b>c.rs</b>\n", "nothing"]) {
    assert.equal(
      filesIn(output)
        .map(({ text }) => text)
        .join(""),
      output,
    );
  }
});

test("a changed file opens where it was changed first", () => {
  const line = (diff: string) => firstChange(parseUnified(diff));
  assert.equal(line("@@ -9,3 +9,3 @@\n a\n-b\n+c\n d\n"), 10);
  assert.equal(line("@@ -9,3 +9,2 @@\n a\n-b\n d\n"), 10);
  assert.equal(line("@@ -9,2 +9,1 @@\n a\n-b\n"), 9);
  assert.equal(line("@@ -1,1 +0,0 @@\n-b\n"), undefined);
});
