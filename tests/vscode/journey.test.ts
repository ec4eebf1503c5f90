/** A day with Reverie, from the first prompt to the window that is opened again, as one user goes through it. */

import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Editor, openEditor } from "./harness.ts";

const SOURCE = `${Array.from({ length: 20 }, (_, at) => `export const part${at + 1} = ${at + 1};`).join("\n")}\n`;

const memory = (name: string, words: string): string =>
  `---\nname: ${name}\ndescription: ${words}\ntype: project\n---\n\n${words}.\n`;

test("a day with Reverie", async (context) => {
  const editor = await openEditor(context, {
    files: { "src/parts.ts": SOURCE },
    memories: {
      "deploy-days.md": memory("Deploy days", "We deploy on Fridays only"),
      "MEMORY.md": "- [Deploy days](deploy-days.md) — Fridays only\n",
    },
  });
  await editor.model.always("extraction", "Nothing.");
  await editor.openChat();
  await step("an answer is streamed as Markdown with code", answers(editor));
  await step("tool calls are cards, and a command waits for a key", runsTools(editor));
  await step("an edit of a file that is not saved is reviewed in parts", edits(editor));
  await step("what was remembered is told, and taken back", remembers(editor));
  await step("recalled memories are shown with their reasons", recalls(editor));
  await step("a dream is seen, stopped, run again and reported", dreams(editor));
  await step("a compaction is in the ledger", compacts(editor));
  await step("a reload brings the conversation and the draft back", reloads(editor));
});

/** Names what failed: the steps stand on each other, so the first that fails ends the day. */
async function step(name: string, work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    throw new Error(name, { cause: error });
  });
}

async function answers({ model, prompt, rows, chat }: Editor): Promise<void> {
  const answer =
    "# Greeting\n\nSay it in *one* line:\n\n```ts\nconst greeting: string = `hello`;\n```\n\n- short\n- kind";
  await model.replyText(answer, { pauses: [[8, "half"]] });
  await prompt("How do I greet?");
  await model.reached("half");
  await rows("text").locator("h1, h2, h3", { hasText: "Greeting" }).waitFor();
  assert.equal(await rows("text").locator("li").count(), 0, "the end has not come yet");
  await chat.getByRole("button", { name: "Stop (Escape)" }).waitFor();
  await model.open("half");
  await rows("end").waitFor();
  assert.deepEqual(await rows("text").locator("li").allInnerTexts(), ["short", "kind"]);
  const code = rows("text").locator("pre code");
  assert.equal((await code.innerText()).trim(), "const greeting: string = `hello`;");
  assert.ok((await code.locator("span").count()) > 0, "the code has colours");
}

async function runsTools(editor: Editor): Promise<void> {
  const { model, prompt, rows, chat, workspace } = editor;
  await model.reply(
    `tool Read {"file_path": "${workspace}/src/parts.ts"}\ntool Bash {"command": "touch made && echo it is made"}`,
  );
  await model.reply("It is made.", { behind: "later" });
  await prompt("Make it");
  const card = chat.getByRole("group", { name: /^Permission: / });
  await card.getByText("touch made && echo it is made", { exact: true }).waitFor();
  await answerByKey(editor, "1");
  await model.reached("later");
  const command = rows("tool").filter({ hasText: "touch made" });
  await command.locator(".tool-done").getByRole("button", { expanded: false }).click();
  await command.getByText("it is made", { exact: true }).waitFor();
  await rows("tool").filter({ hasText: "parts.ts" }).waitFor();
  await model.open("later");
  await rows("text").getByText("It is made.").waitFor();
  await access(join(workspace, "made"));
  const changes = chat.getByRole("region", { name: "Changes to review" });
  await changes.getByRole("button", { name: "Keep all" }).click();
  await changes.waitFor({ state: "detached" });
}

/** As a user does who never leaves the keyboard: back from where one types, to the buttons of the card. */
async function answerByKey({ composer, chat, page }: Editor, key: string): Promise<void> {
  await composer.focus();
  const reached = chat.locator(".ask button:focus");
  for (let steps = 0; (await reached.count()) === 0; steps += 1) {
    assert.ok(steps < 6, "the card is not far from where one types");
    await page.keyboard.press("Shift+Tab");
  }
  // A card that has just come takes no answer yet.
  await chat.locator(`.ask button:enabled:not([aria-disabled="true"]) .ask-key:text-is("${key}")`).waitFor();
  await page.keyboard.press(key);
}

async function edits(editor: Editor): Promise<void> {
  const { model, prompt, rows, chat, page, workspace } = editor;
  await editor.openFile("src/parts.ts");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("// mine, not saved");
  const path = `${workspace}/src/parts.ts`;
  await model.reply(`tool Read ${JSON.stringify({ file_path: path })}`);
  await model.reply(
    [2, 18]
      .map((part) => {
        const old = `export const part${part} = ${part};`;
        const input = { file_path: path, old_string: old, new_string: `export const part${part} = "changed";` };
        return `tool Edit ${JSON.stringify(input)}`;
      })
      .join("\n"),
  );
  await model.reply("Two parts are changed.");
  await prompt("Change two parts");
  const card = chat.getByRole("group", { name: /^Permission: / });
  for (const part of [2, 18]) {
    await card.getByText(`part${part} = "changed"`).waitFor();
    await answerByKey(editor, "1");
  }
  await rows("text").getByText("Two parts are changed.").waitFor();

  const changes = chat.getByRole("region", { name: "Changes to review" });
  await changes.getByText("1 file changed").waitFor();
  assert.match(await editor.editorText(), /part2 = "changed".*part18 = "changed".*mine, not saved/s);
  await page.locator(".tab.active.dirty", { hasText: "parts.ts" }).waitFor();
  assert.equal(await editor.onDisk("src/parts.ts"), SOURCE);

  await page.locator(".tab.active").click();
  await page.locator(".editor-group-container.active .monaco-editor.focused").waitFor();
  await page.keyboard.press("Control+Home");
  await editor.statusItem("Ln 1, Col 1").waitFor();
  await page.locator(".contentWidgets .codelens-decoration", { hasText: "Keep" }).first().waitFor();
  await editor.command("Reverie: Keep this change");
  await changes.locator("summary").getByText("+1 −1").waitFor();
  // The other one in the diff editor, where the cursor goes to it by itself.
  const edit = rows("tool").filter({ hasText: "part18" });
  await edit.hover();
  await edit.getByRole("button", { name: "Open the diff" }).click();
  await page.locator(".tab.active", { hasText: "changed by Reverie" }).waitFor();
  // Before the differences are drawn the lines move.
  await page.locator(".monaco-diff-editor .modified .line-insert").first().waitFor();
  await page.locator(".monaco-diff-editor .modified .view-lines .view-line", { hasText: "part18" }).last().click();
  await page.keyboard.press("Control+Alt+r");
  await page.keyboard.press("n");
  await changes.waitFor({ state: "detached" });
  const text = await editor.editorText();
  assert.match(text, /part2 = "changed"/);
  assert.match(text, /part18 = 18;/);
  assert.match(text, /mine, not saved/);
  await page.locator(".tab.active.dirty", { hasText: "parts.ts" }).waitFor();
  assert.equal(await editor.onDisk("src/parts.ts"), SOURCE, "nobody saved it");
}

async function remembers({ model, prompt, rows, project, toast }: Editor): Promise<void> {
  const path = join(project, "memory", "lunch.md");
  const input = { file_path: path, content: memory("Lunch", "Lunch is at noon") };
  await model.reply(`tool Write ${JSON.stringify(input)}`, { for: "extraction" });
  await model.reply("Done.", { for: "extraction" });
  await model.reply("Good to know.");
  await prompt("By the way, lunch is at noon");
  const told = toast(/Remembered: .*Lunch/);
  // A message goes away by itself: what else is to be seen comes at the same time.
  await Promise.all([told.waitFor(), rows("memory").filter({ hasText: "Remembered: Lunch" }).waitFor()]);
  await access(path);
  await told.getByRole("button", { name: "Undo" }).press("Enter");
  await rows("memory").filter({ hasText: "taken back" }).waitFor();
  await assert.rejects(access(path), "the file is gone");
}

async function recalls({ model, prompt, rows, workspace }: Editor): Promise<void> {
  // What is recalled too late for the first request is there for the second.
  await model.reply(`tool Read ${JSON.stringify({ file_path: `${workspace}/src/parts.ts` })}`);
  await model.reply("On Fridays.");
  await prompt("On which days do we deploy?");
  await rows("text").getByText("On Fridays.").waitFor();
  const asked = rows("user").filter({ hasText: "On which days" });
  await asked.getByText("1 memory used").click();
  await asked.getByRole("button", { name: "Deploy days" }).waitFor();
  await asked.getByText(/fits the message by/).waitFor();
}

async function dreams(editor: Editor): Promise<void> {
  const { model, page, project, statusItem, toast } = editor;
  await model.reply("never", { for: "dream", behind: "dream" });
  await editor.command("Reverie: Start a dream");
  await model.reached("dream");
  await statusItem("Dreaming").click();
  await page.locator(".quick-input-widget .monaco-list-row", { hasText: "Stop" }).click();
  await statusItem("Dreaming").waitFor({ state: "detached" });
  await model.open("dream");

  const path = join(project, "memory", "deploy-days.md");
  await model.reply(`tool Read ${JSON.stringify({ file_path: path })}`, { for: "dream" });
  const better = { file_path: path, content: memory("Deploy days", "We deploy on Fridays before noon") };
  await model.reply(`tool Write ${JSON.stringify(better)}`, { for: "dream" });
  await model.reply("- deploy-days.md: says when on a Friday", { for: "dream" });
  await editor.command("Reverie: Start a dream");
  const told = toast("Dream improved 1 memory");
  await told.getByRole("button", { name: "Report" }).press("Enter");
  await page.locator(".tab.active", { hasText: /^Dream / }).waitFor();
  await page
    .locator(".editor-group-container.active .view-line", { hasText: "says when on a Friday" })
    .first()
    .waitFor();
}

async function compacts(editor: Editor): Promise<void> {
  const { model, chat } = editor;
  await model.reply("summary We greeted, made a file and changed two parts.", { for: "compact" });
  await editor.command("Reverie: Compact the conversation");
  const span = editor.rows("context");
  await span.getByRole("button", { expanded: false }).click();
  await span.locator("pre", { hasText: "How do I greet?" }).waitFor();
  await editor.command("Reverie: Context and cost");
  const page = chat.getByRole("region", { name: "Context and cost" });
  await page.getByText("What changed").waitFor();
  await page.getByText("1 change").first().waitFor();
  await page.getByText(/a summary stands in for \d+ messages/).waitFor();
  await chat.getByRole("button", { name: "Back to the conversation (Escape)" }).press("Escape");
  await editor.composer.waitFor();
}

async function reloads(editor: Editor): Promise<void> {
  const { composer, rows } = editor;
  await composer.fill("half a thought");
  await editor.reload();
  await composer.waitFor();
  await editor.chat.getByRole("heading", { name: "How do I greet?" }).waitFor();
  await rows("user").filter({ hasText: "On which days" }).getByText("1 memory used").waitFor();
  assert.equal(await composer.inputValue(), "half a thought");
  await editor.model.reply("We go on.");
  await composer.press("Enter");
  await rows("text").getByText("We go on.").waitFor();
}
