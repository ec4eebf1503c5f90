/**
 * Whatever is said, read, remembered, asked or printed is text: nothing of it is loaded, nothing of it runs, and the view
 * goes on working. Each payload of `hostile.json` goes the ways that text of others takes into the editor.
 */

import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { startGuard } from "./guard.ts";
import { type Editor, openEditor } from "./harness.ts";
import { ANIMALS, batches, batchFile, fileName, joined, LONG_SESSION, memory, scene } from "./hostile-scene.ts";
import { type Inspection, inspectChat } from "./inspection.ts";
import { oneLine, type Payload, payloads, SMALL, STREAMED, startSink } from "./payloads.ts";
import { fromRig, ROOT } from "./places.ts";
import { succeeds, until } from "./waiting.ts";

const { chromium } = fromRig("playwright-core") as typeof import("playwright-core");
const fromExtension = createRequire(join(ROOT, "vscode-extension/package.json"));

/** As far as it is used here; it is the extension's and not the tests'. */
interface Renderer {
  render(text: string): string;
  validateLink: (url: string) => boolean;
  utils: { escapeHtml(text: string): string };
}

test("the detectors see what the payloads do where nothing stops them", async (context) => {
  const [guard, sink] = [await startGuard(), await startSink()];
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", ...guard.chromiumFlags],
  });
  context.after(async () => {
    await browser.close();
    await Promise.all([guard.close(), sink.close()]);
  });
  const page = await browser.newPage();
  await guard.watch(page.context());
  const MarkdownIt: new (options: object) => Renderer = fromExtension("markdown-it");
  const markdown = new MarkdownIt({ html: true, linkify: true });
  markdown.validateLink = () => true;
  const small = payloads(sink).filter(({ text }) => text.length <= SMALL);
  const html = small.map(({ text }) => markdown.utils.escapeHtml(markdown.render(text)));
  await page.goto(sink.url);
  await page.setContent(html.map((inner) => `<iframe srcdoc="${inner}"></iframe>`).join("\n"), { waitUntil: "commit" });
  const senders = (words: readonly string[]) => new Set(words.flatMap((word) => /payload-(\d+)/.exec(word)?.[1] ?? []));
  await until("payloads run", () => new Set(guard.ran).size >= 50);
  await until("payloads reach the sink", () => senders(sink.hits).size >= 50);
  await until("payloads leave", () => senders(guard.left).size >= 5);
  await until("frames navigate", () => guard.navigations.length > 0);
  await page.evaluate(() => {
    window.open("about:blank");
    window.alert("control");
  });
  await until("a page opens", () => guard.pages.length > 0);
  assert.deepEqual(guard.dialogs, ["control"]);
});

test("hostile text stays text wherever it is shown", async (context) => {
  const sink = await startSink();
  context.after(() => sink.close());
  const all = payloads(sink);
  assert.ok(all.length >= 150);
  const small = all.filter(({ text }) => text.length <= SMALL);
  const large = all.filter(({ text }) => text.length > SMALL);
  const editor = await openEditor(context, { ...scene(small, large), netLog: true });
  await editor.model.always("extraction", "Nothing.");
  await editor.openChat();
  let inspection = await inspectChat(editor, sink);
  const steps: [string, () => Promise<void>][] = [
    ["what a folder would run", () => trusts(editor)],
    ["what the model says and thinks", () => answers(editor, inspection, small)],
    ["what it says at length", () => streams(editor, inspection, large)],
    ["what tools look for and find", () => looks(editor, inspection, small)],
    ["what commands are, and print", () => runs(editor, inspection, small)],
    ["what is written, and where", () => writes(editor, inspection, small)],
    ["what is planned and asked", () => asks(editor, inspection, small)],
    ["why something failed", () => fails(editor, small)],
    ["what is suggested", () => suggests(editor)],
    ["what is remembered", () => remembers(editor, inspection, small)],
    ["what is recalled", () => recalls(editor, inspection)],
    ["what the memory view shows", () => views(editor, inspection)],
    ["what notifications say", () => notifies(editor, inspection, small)],
    ["what old conversations were about", () => opensLong(editor, inspection)],
  ];
  for (const [name, work] of steps) {
    await work().catch((error: unknown) => {
      throw new Error(name, { cause: error });
    });
    assert.deepEqual(await inspection.problems(), [], name);
    await editor.chat.getByRole("button", { name: "New session" }).first().click();
    await editor.chat.locator(".welcome").waitFor();
  }

  await opens(editor, "Until it is said: Written.");
  await editor.rows("text").getByText("Written.", { exact: true }).waitFor();
  await editor.reload();
  await editor.composer.waitFor();
  inspection = await inspectChat(editor, sink);
  await editor.rows("text").getByText("Written.", { exact: true }).waitFor();
  await inspection.walk();
  await editor.model.reply("All is **well**.");
  await editor.prompt("Does it still work?");
  await editor.rows("text").locator("strong", { hasText: "well" }).waitFor();
  assert.deepEqual(await inspection.problems(), [], "after a reload");

  await inspection.provoke();
  const page = await editor.context.newPage();
  await page.goto(sink.url);
  await page.evaluate(() => fetch("http://control.invalid/").catch(() => undefined));
  await until("the guard of this editor sees it too", () => editor.guard.left.length > 0);
  editor.guard.forget();
  const hosts = hostsOf(await editor.finishNetLog());
  assert.ok(hosts.has("control.invalid"), "the log has all hosts");
  assert.deepEqual(
    [...hosts].filter((host) => host.includes("hostile")),
    [],
    "names that were looked up or asked",
  );
});

/** What stands in front of the question whether the folder is trusted, and in the question. */
async function trusts({ chat, page, dialogButton }: Editor): Promise<void> {
  await chat.locator("summary", { hasText: "Trust would let" }).click();
  await chat.locator(".chrome-trust-items").getByText("onerror").first().waitFor();
  await chat.getByRole("button", { name: "Trust…" }).click();
  await page.locator(".monaco-dialog-box", { hasText: "onerror" }).waitFor();
  await dialogButton("Cancel").click();
  await chat.locator("summary", { hasText: "Trust would let" }).click();
}

/** Streamed, each payload on its own between the others. */
async function answers(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const { model, prompt, rows } = editor;
  for (const [at, batch] of batches(all).entries()) {
    const blocks = batch.flatMap(({ text }) => [
      { type: "text", text },
      { type: "thinking", thinking: text, signature: "signed" },
    ]);
    await model.reply(JSON.stringify([...blocks, { type: "text", text: `Said ${at}.` }]));
    await prompt(`Say: ${batch.map(({ text }) => text).join("\n")}`);
    await rows("text").getByText(`Said ${at}.`).waitFor();
  }
  await inspection.walk();
}

async function streams(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const { model, prompt, rows } = editor;
  for (const { name, text } of all.filter(({ text }) => text.length <= STREAMED)) {
    const between = { type: "thinking", thinking: name, signature: "signed" };
    const end = `Said: ${name}.`;
    await model.reply(JSON.stringify([{ type: "text", text }, between, { type: "text", text: end }]));
    await prompt("Say it");
    await rows("text").getByText(end).waitFor();
  }
  await inspection.walk();
}

type Call = [tool: string, input: object];

/** The model calls tools, the user allows each, and the model says the last word. */
async function calls(editor: Editor, all: readonly Call[], last: string): Promise<void> {
  const { model, prompt, rows, chat } = editor;
  await model.reply(JSON.stringify(all.map(([name, input]) => ({ type: "tool_use", name, input }))));
  await model.reply(last);
  await prompt(`Until it is said: ${last}`);
  const end = rows("text").getByText(last, { exact: true });
  const allow = chat.locator(".ask").getByRole("button", { name: "Allow once", exact: true, disabled: false });
  for (;;) {
    await end.or(allow).first().waitFor();
    if (await end.isVisible()) return;
    const card = await chat.locator(".ask").elementHandle();
    for (const more of await chat.locator(".ask .more-button").all()) await more.click();
    await allow.click();
    await card?.waitForElementState("hidden");
  }
}

async function looks(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const inside = (path: string) => join(editor.workspace, path);
  const reads = batches(all).map((_, at): Call => ["Read", { file_path: inside(batchFile(at)) }]);
  const searches = all.map(({ text }): Call => ["Grep", { pattern: text, path: editor.workspace }]);
  const missing = all.slice(0, 40).map(({ text }): Call => ["Read", { file_path: inside(oneLine(text)) }]);
  const found: Call[] = [
    ["Glob", { pattern: "names/*" }],
    ["Grep", { pattern: ".", path: inside("names"), output_mode: "content" }],
  ];
  await calls(editor, [...reads, ...found], "Looked.");
  await calls(editor, [...searches, ...missing], "Searched.");
  await inspection.walk();
}

async function runs(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const commands = batches(all).map((batch, at): Call => {
    const words = batch.map(({ text }) => text.replaceAll("\0", "")).join("\n");
    const command = `cat ${batchFile(at)}; : <<'END'\n${words}\nEND`;
    return ["Bash", { command, description: oneLine(batch[0]?.text ?? "") }];
  });
  await calls(editor, commands, "Run.");
  await inspection.walk();
}

async function writes(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const { workspace, chat, page, tab } = editor;
  const files = batches(all).map((batch): Call => {
    const name = batch.map(fileName).find((name) => name !== undefined);
    const content = batch.map(({ text }) => text.replaceAll("\0", "")).join("\n");
    return ["Write", { file_path: join(workspace, `made ${name}`), content }];
  });
  await calls(editor, files, "Written.");
  await inspection.walk();
  const changes = chat.getByRole("region", { name: "Changes to review" });
  await changes.locator("summary").click();
  await changes.getByRole("button", { name: /^Review made <img/ }).click();
  await tab("made <img").first().waitFor();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "onerror" }).first().waitFor();
}

async function asks(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const { model, prompt, chat, rows } = editor;
  const todos = all.map(({ text }, at) => ({
    content: text,
    status: at === 0 ? "in_progress" : "pending",
    activeForm: text,
  }));
  const use = [
    ["TodoWrite", { todos }],
    ["AskUser", { question: joined(all), options: all.slice(0, 40).map(({ text }) => text) }],
    ["ExitPlanMode", { plan: joined(all) }],
  ].map(([name, input]) => ({ type: "tool_use", name, input }));
  await model.reply(JSON.stringify(use));
  await model.reply("Asked.");
  await prompt("Ask and plan");
  await chat.locator(".chrome-working summary, .chrome-working details").first().click();
  await chat.getByRole("group", { name: /^Question: / }).waitFor();
  await chat.locator(".ask-choices button").first().click();
  await chat.getByRole("button", { name: "Approve", exact: true }).click();
  await rows("text").getByText("Asked.", { exact: true }).waitFor();
  await inspection.walk();
}

/** What a provider says is shown in part. */
async function fails({ model, prompt, rows, chat }: Editor, all: readonly Payload[]): Promise<void> {
  for (const [at, batch] of batches(all).entries()) {
    await model.reply(`fault=400:Failure ${at}: ${batch.map(({ text }) => oneLine(text)).join(" ")}`);
    await prompt("Fail");
    await rows("end").getByText(`Failure ${at}: `).waitFor();
    await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  }
}

async function suggests({ composer, chat }: Editor): Promise<void> {
  await composer.pressSequentially("/payload");
  await chat.getByRole("listbox", { name: "Commands" }).getByText("onerror").first().waitFor();
  await composer.fill("");
  await composer.pressSequentially("@img");
  await chat.getByRole("listbox", { name: "Mentions" }).getByText("onerror").first().waitFor();
  await composer.fill("");
}

async function remembers(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const { model, prompt, rows, project, toast, page, choice } = editor;
  for (const [at, batch] of batches(all).entries()) {
    const use = batch.map((payload) => {
      const file_path = join(project, "memory", `learnt-${payload.id}.md`);
      return { type: "tool_use", name: "Write", input: { file_path, content: memory(payload) } };
    });
    await model.reply(JSON.stringify(use), { for: "extraction" });
    await model.reply("Done.", { for: "extraction" });
    await model.reply(`Good to know: ${at}.`);
    await prompt("By the way, this is so");
    await rows("text").getByText(`Good to know: ${at}.`).waitFor();
    await toast("Remembered").first().waitFor();
    assert.equal(await page.locator(".notification-list-item-message a").count(), 0, "names are no links");
    // Told in parts, so that there may be several; the next batch begins when this one is learnt.
    const last = join(project, "memory", `learnt-${batch.at(-1)?.id}.md`);
    await until("all of it is learnt", () => succeeds(access(last)));
    await editor.command("Notifications: Clear All Notifications");
  }
  await inspection.walk();
  await editor.command("Reverie: History of memories…");
  await choice("learnt-").first().click();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "description" }).first().waitFor();
}

async function recalls({ model, prompt, rows }: Editor, inspection: Inspection): Promise<void> {
  // Its notices would push the prompt out of sight.
  await model.reply("Hello.");
  await prompt("Hello");
  await rows("text").getByText("Hello.").waitFor();
  const selected = ANIMALS.map((animal) => `${animal}.md`);
  await model.reply(JSON.stringify({ selected }), { for: "recall" });
  // What a model selects joins the turn when it is there, between two rounds.
  for (let round = 0; round < 5; round += 1) await model.reply('tool Glob {"pattern": "*.none"}');
  await model.reply("I know them.");
  await prompt(`What do ${ANIMALS.join(", ")} eat in Zanzibar?`);
  await rows("text").getByText("I know them.").waitFor();
  await rows("user").filter({ hasText: "Zanzibar" }).getByText("memories used").waitFor();
  await inspection.walk();
}

async function views({ page, chat, choice }: Editor, inspection: Inspection): Promise<void> {
  await chat.getByRole("button", { name: "Memory", exact: true }).click();
  const view = page.locator(".part.sidebar", { hasText: "Reverie: Memory" });
  const line = view.locator(".monaco-list-row", { hasText: "onerror" }).first();
  await line.waitFor();
  await view.locator(".monaco-list").first().focus();
  await until("it is reached by key", async () => {
    await page.keyboard.press("ArrowDown");
    return (await line.and(page.locator(".focused")).count()) > 0;
  });
  await page.keyboard.press("Control+K");
  await page.keyboard.press("Control+I");
  await page.locator(".monaco-hover", { hasText: "onerror" }).waitFor();
  for (let screen = 0; screen < 10; screen += 1) {
    assert.deepEqual(await inspection.problems(), []);
    await page.keyboard.press("PageDown");
  }
  await view.getByRole("button", { name: "Search memories…" }).click();
  await page.locator(".quick-input-widget", { hasText: "Search memories" }).locator("input").last().fill("onerror");
  await choice("onerror").first().waitFor();
  assert.deepEqual(await inspection.problems(), []);
  await page.keyboard.press("Escape");
}

/** Where the chat is out of sight, what is asked is told. */
async function notifies(editor: Editor, inspection: Inspection, all: readonly Payload[]): Promise<void> {
  const { model, prompt, rows, page, toast } = editor;
  const link = all.find(({ name }) => name === "notification link");
  await model.reply(JSON.stringify([{ type: "tool_use", name: "Bash", input: { command: `touch '${link?.text}'` } }]), {
    behind: "hidden",
  });
  await model.reply("Denied.");
  await prompt("Tell me");
  await model.reached("hidden");
  await editor.command("View: Toggle Secondary Side Bar Visibility");
  await model.open("hidden");
  const told = toast("Reverie asks").first();
  await told.waitFor();
  assert.equal(await page.locator(".notification-list-item-message a").count(), 0, "commands are no links");
  assert.deepEqual(await inspection.problems(), []);
  await told.getByRole("button", { name: "Deny" }).click();
  await editor.openChat();
  await rows("text").getByText("Denied.").waitFor();
}

async function opens({ chat }: Editor, prompt: string): Promise<void> {
  await chat.getByRole("button", { name: "Sessions", exact: true }).click();
  await chat.getByRole("searchbox", { name: "Search sessions" }).fill("onerror");
  await chat.locator(".page-snippet", { hasText: "onerror" }).first().waitFor();
  await chat.getByRole("searchbox", { name: "Search sessions" }).fill("");
  await chat.locator(".page-snippet").first().waitFor({ state: "detached" });
  await chat.getByRole("list", { name: "Sessions" }).getByText(prompt).first().click();
}

async function opensLong(editor: Editor, inspection: Inspection): Promise<void> {
  await opens(editor, LONG_SESSION);
  await editor.rows("user").filter({ hasText: LONG_SESSION }).first().waitFor();
  await inspection.walk();
}

/** Every host that Chromium resolved, connected to or asked for something. */
function hostsOf(netLog: string): Set<string> {
  const hosts = netLog.matchAll(/"(?:host|hostname|url|original_url|group_id)":"(?:[a-z]+:\/\/)?([^"/:]+)/g);
  return new Set([...hosts].map(([, host]) => host ?? ""));
}
