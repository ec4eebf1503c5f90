/** A session of 2,000 messages: it opens at once, is read without a gap, and costs nothing while nobody does anything. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { processorTicks, running } from "./descendants.ts";
import { type Editor, type EditorOptions, openEditor } from "./harness.ts";
import { stillness, type Watched, watchKeys, watchList, watchOpening } from "./in-page.ts";
import { FIRST_PROMPT, LAST_WORDS, writeLongSession } from "./long-session.ts";
import { writeTranscript } from "./transcript.ts";

const MESSAGES = 2_000;
/** How much longer than a session of two messages it takes at most. */
const SLOWER = 12;
const SHORT = [
  { role: "user", text: "How short can it be?" },
  { role: "assistant", text: "As short as this." },
] as const;
const LONG: EditorOptions = { prepare: ({ project, workspace }) => writeLongSession(project, workspace, MESSAGES) };

test("a session of 2,000 messages is painted within a second of the click", async (context) => {
  const editor = await openEditor(context, {
    prepare: async ({ project, workspace }) => {
      await writeLongSession(project, workspace, MESSAGES);
      await writeTranscript(project, workspace, SHORT);
    },
  });
  await editor.openChat();
  const [long, short]: [number[], number[]] = [[], []];
  // The machine may do something else in between: what counts is what it can do.
  for (let time = 0; time < 3; time += 1) {
    short.push(await afresh(editor, () => open(editor, SHORT[0].text, SHORT[1].text)));
    long.push(await afresh(editor, () => openLong(editor)));
  }
  context.diagnostic(`from the click to the last message: ${shown(long)} ms; of two messages ${shown(short)} ms`);
  // A machine that is slow at everything is slow at this too.
  const limit = Math.max(1_000, SLOWER * Math.min(...short));
  assert.ok(Math.min(...long) < limit, `${shown(long)} ms, of two messages ${shown(short)} ms`);
});

test("typing beside 2,000 messages is as quick as beside none", async (context) => {
  const editor = await openEditor(context, LONG);
  await editor.openChat();
  // Chromium would fetch a dictionary from its makers.
  await editor.composer.evaluate((box: HTMLElement) => {
    box.spellcheck = false;
  });
  await body(editor).evaluate(watchKeys);
  const empty = await typed(editor);
  await openLong(editor);
  const full = await typed(editor);
  context.diagnostic(`from a key to its frame: ${shown([empty])} ms alone, ${shown([full])} ms with 2,000`);
  // A frame more or less is no difference.
  assert.ok(full <= Math.max(2 * empty, 34), `${full} ms with 2,000 messages, ${empty} ms with none`);
});

test("2,000 messages are read from the end to the beginning without a gap or a jump", async (context) => {
  const editor = await openEditor(context, LONG);
  const { page, chat } = editor;
  await editor.openChat();
  await openLong(editor);
  assert.equal(await chat.locator(".row").first().getAttribute("aria-setsize"), String(MESSAGES));
  await chat.locator(".list-scroller").hover();
  await body(editor).evaluate(watchList);
  // As one reads: a bit, and a look.
  for (let step = 0; step < 60; step += 1) {
    const before = await body(editor).evaluate(stillness, 2);
    await page.mouse.wheel(0, -240);
    const after = await body(editor).evaluate(stillness, 6);
    const moved = after.moved - before.moved;
    assert.ok(Math.abs(moved - 240) <= 2, `step ${step} moved what is read by ${moved}, not by 240`);
  }
  // As one hurries.
  await toBeginning(editor, () => page.mouse.wheel(0, -1_600));
  const watched = await body(editor).evaluate(stillness, 6);
  context.diagnostic(`by wheel: ${figures(watched)}`);
  check(watched);

  // The watch would have seen them.
  await chat.locator('.row[aria-posinset="1"]').evaluate((row: HTMLElement) => {
    row.style.translate = "0 -40px";
  });
  const jumped = await body(editor).evaluate(stillness, 6);
  assert.notEqual(jumped.jumps.length, 0, "a jump is seen");
  await chat.locator('.row[aria-posinset="1"]').evaluate((row: HTMLElement) => {
    row.style.visibility = "hidden";
  });
  const blanked = await body(editor).evaluate(stillness, 6);
  assert.notEqual(blanked.blanks.length, 0, "a gap is seen");
});

test("2,000 messages are paged through by keyboard without a gap", async (context) => {
  const editor = await openEditor(context, LONG);
  const { page, chat } = editor;
  await editor.openChat();
  await openLong(editor);
  await chat.getByText(LAST_WORDS).click();
  await body(editor).evaluate(watchList);
  await toBeginning(editor, () => page.keyboard.press("PageUp"));
  const watched = await body(editor).evaluate(stillness, 6);
  context.diagnostic(`by PageUp: ${figures(watched)}`);
  check(watched);
});

test("with 2,000 messages open and nobody there, nothing works", async (context) => {
  // VS Code itself looks all the time for ports that it could forward.
  const editor = await openEditor(context, { ...LONG, settings: { "remote.autoForwardPortsSource": "output" } });
  await editor.openChat();
  await openLong(editor);
  const host = await only(editor, "--type=extensionHost");
  const server = await only(editor, "reverie lsp");
  // This is a measurement of time, so time has to pass. What the opening has left to do is done first.
  await wait(5_000);
  const spans = [await ticksIn10s(host, server), await ticksIn10s(host, server), await ticksIn10s(host, server)];
  const words = spans.map(({ host, server }) => `${host} and ${server}`).join(", ");
  context.diagnostic(`ticks of 1,000 in ten seconds of nothing, extension host and server: ${words}`);
  // Memory may be tidied up in one of them; what works all the time does so in most.
  const quiet = spans.filter((span) => span.host <= 5 && span.server <= 5);
  assert.ok(quiet.length >= 2, words);
});

async function ticksIn10s(host: number, server: number): Promise<{ host: number; server: number }> {
  const before = [await processorTicks(host), await processorTicks(server)] as const;
  await wait(10_000);
  return { host: (await processorTicks(host)) - before[0], server: (await processorTicks(server)) - before[1] };
}

function body(editor: Editor): Locator {
  return editor.chat.locator("body");
}

async function afresh(editor: Editor, work: () => Promise<number>): Promise<number> {
  await editor.chat.getByRole("button", { name: "New session" }).click();
  await editor.chat.locator(".list-scroller").waitFor({ state: "detached" });
  return await work();
}

function openLong(editor: Editor): Promise<number> {
  return open(editor, FIRST_PROMPT, LAST_WORDS);
}

/** Opens a session from their page; milliseconds until its last words are there. */
async function open(editor: Editor, prompt: string, lastWords: string): Promise<number> {
  await editor.chat.getByRole("button", { name: "Sessions" }).click();
  const row = editor.chat.locator(".page-open", { hasText: prompt });
  await row.waitFor();
  await body(editor).evaluate(watchOpening, lastWords);
  await row.click();
  return await body(editor).evaluate(() => Reflect.get(window, "opening") as Promise<number>);
}

/** What the quicker of many keys take, in milliseconds: the machine may do something else besides. */
async function typed(editor: Editor): Promise<number> {
  const count = 60;
  await editor.composer.fill("");
  await editor.composer.focus();
  await body(editor).evaluate(() => (Reflect.get(window, "keys") as number[]).splice(0));
  for (let key = 0; key < count; key += 1) {
    await editor.page.keyboard.press("abcdefghij "[key % 11] ?? "a");
  }
  const keys = await body(editor).evaluate(
    (_, count) =>
      new Promise<number[]>((resolve) => {
        const keys = Reflect.get(window, "keys") as number[];
        const look = () => (keys.length < count ? requestAnimationFrame(look) : resolve(keys));
        look();
      }),
    count,
  );
  await editor.composer.fill("");
  return keys.toSorted((one, other) => one - other)[count / 5] ?? Number.NaN;
}

/** Acts until the list has come to its beginning. */
async function toBeginning({ chat }: Editor, act: () => Promise<void>): Promise<void> {
  const scroller = chat.locator(".list-scroller");
  for (let step = 0; (await scroller.evaluate((list) => list.scrollTop)) > 0; step += 1) {
    assert.ok(step < 3_000, "it has a beginning");
    await act();
  }
  await chat.locator('.row[aria-posinset="1"]').getByText(FIRST_PROMPT).waitFor();
}

function check({ frames, blanks, jumps, mostElements }: Watched): void {
  assert.ok(frames > 100, `only ${frames} frames were seen`);
  assert.deepEqual(blanks, []);
  assert.deepEqual(jumps, []);
  assert.ok(mostElements < 3_000, `${mostElements} elements`);
}

function figures({ frames, blanks, jumps, moved, mostElements, mostRows }: Watched): string {
  const counts = `${frames} frames, ${blanks.length} with a gap, ${jumps.length} with a jump`;
  return `${counts}, ${Math.round(moved)} pixels, at most ${mostRows} rows and ${mostElements} elements`;
}

/** The process of the editor whose command line has this in it. */
async function only({ pid }: Editor, words: string): Promise<number> {
  const [process, ...others] = await running(pid, words);
  assert.ok(process && others.length === 0, `one process is ${words}`);
  return process.pid;
}

function shown(times: readonly number[]): string {
  return times.map((time) => time.toFixed(1)).join(", ");
}
