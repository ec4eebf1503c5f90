/** What others wrote is only text wherever VS Code would make more of it, and times are the user's. */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ago, moment } from "../src/when.ts";
import { plainly } from "../src/words.ts";

/** As VS Code finds links in the text of a notification. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/gi;

const LINKS: readonly string[] = [
  "[Allow](command:workbench.action.terminal.sendSequence?%7B%22text%22%3A%22id%22%7D)",
  "[x](COMMAND:workbench.action.quit)",
  '[x](command:a "a title")',
  "[x](https://example.org/?q=secret)",
  "[x](file:///etc/passwd)",
  "a [b [c](command:d) e](command:f)",
  "[x]\u200b(command:a) [x](command:a)",
  "[x]\n(command:a)",
  "[\u202ex](command:a)",
  "][](command:a)](command:b)",
];

for (const text of LINKS) {
  test(`makes no link of ${JSON.stringify(text)}`, () => {
    assert.doesNotMatch(plainly(text), LINK);
    assert.doesNotMatch(plainly(plainly(text)), LINK);
  });
}

test("characters that hide or turn round others are shown by their number", () => {
  assert.equal(plainly("rm\u202e -rf"), "rm‹U+202E› -rf");
  assert.equal(plainly("a\u0000b\u001b[31m\u007f"), "a‹U+0000›b‹U+001B›[31m‹U+007F›");
  assert.equal(plainly("\u2066a\u2069\u200b\ufeff\u00ad\u061c"), "‹U+2066›a‹U+2069›‹U+200B›‹U+FEFF›‹U+00AD›‹U+061C›");
  assert.equal(plainly("\u{e0041}\ud800"), "‹U+E0041›‹U+D800›");
});

test("lines and tabs become blanks", () => {
  assert.equal(plainly("a\r\nb\tc\u2028d"), "a b c d");
});

test("words stay as they are, of any script", () => {
  const words = "Grüße, 日本語, مرحبا, می‌خواهم, 👩‍💻: [a] (b) f(x)[0] `c`";
  assert.equal(plainly(words), words);
});

test("nothing but the one place shows messages of VS Code", async () => {
  const folder = join(import.meta.dirname, "../src");
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const guilty: string[] = [];
  for (const name of names) {
    const text = await readFile(join(folder, name), "utf8");
    if (/show(Information|Warning|Error)Message/.test(text)) guilty.push(name);
  }
  assert.deepEqual(guilty, ["telling.ts"]);
});

test("a moment is told in the user's language and time zone", () => {
  const at = "2026-11-17T23:30:00Z";
  assert.equal(moment(at, "de-DE", "Europe/Berlin"), "18.11.2026, 00:30");
  assert.match(moment(at, "en-US", "America/New_York"), /^Nov 17, 2026, 6:30\sPM$/);
  assert.equal(moment("once", "en-US", "UTC"), "once");
});

/** As the user's own language writes it. */
const date = (day: string, parts: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(undefined, parts).format(new Date(`${day}T12:00:00`));

test("times are relative for a week and then a date", () => {
  const now = Date.parse("2026-03-10T12:00:00");
  const before = (minutes: number) => ago(new Date(now - minutes * 60_000).toISOString(), now);
  const said = [-3, 0.5, 3, 119, 25 * 60, 3 * 1440, 9 * 1440, 90 * 1440].map(before);
  assert.deepEqual(said, [
    "just now",
    "just now",
    "3 min ago",
    "1 h ago",
    "yesterday",
    "3 days ago",
    date("2026-03-01", { day: "numeric", month: "short" }),
    date("2025-12-10", { day: "numeric", month: "short", year: "numeric" }),
  ]);
  assert.equal(ago("no time", now), "");
});
