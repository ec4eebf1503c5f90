/** The Memory view and its history, a folder that nobody trusts, and what a screen reader and a keyboard find. */

import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Editor, openEditor } from "./harness.ts";
import { fromRig } from "./places.ts";
import { succeeds, until } from "./waiting.ts";

const memory = (name: string, type: string, words: string): string =>
  `---\nname: ${name}\ndescription: ${words}\ntype: ${type}\n---\n\n${words}.\n`;

test("memories are listed by kind, opened, compared, taken back and deleted", async (context) => {
  const editor = await openEditor(context, {
    memories: {
      "deploy-days.md": memory("Deploy days", "project", "We deploy on Fridays only"),
      "short.md": memory("Short answers", "user", "I prefer short answers"),
      "MEMORY.md": "- [Deploy days](deploy-days.md) — Fridays\n- [Short answers](short.md) — short\n",
    },
  });
  const { page, model, project } = editor;
  const tree = page.getByRole("tree", { name: /Memory/ });
  await editor.openChat();
  await editor.command("Reverie: Focus on Memory View");
  await tree.getByRole("treeitem", { name: /^You, 1 memory/ }).waitFor();
  await tree.getByRole("treeitem", { name: /^Deploy days/ }).click();
  await page.locator(".tab.active", { hasText: "deploy-days.md" }).waitFor();

  const path = join(project, "memory", "deploy-days.md");
  await model.reply(`tool Read ${JSON.stringify({ file_path: path })}`);
  const input = { file_path: path, content: memory("Deploy days", "project", "We deploy on Mondays now") };
  await model.reply(`tool Write ${JSON.stringify(input)}`);
  await model.reply("I will remember that.");
  await editor.prompt("From now on we deploy on Mondays");
  await editor.rows("text").getByText("I will remember that.").waitFor();

  const item = tree.getByRole("treeitem", { name: /^Deploy days/ });
  await item.hover();
  await item.getByRole("button", { name: /History of memories/ }).click();
  await editor.choice("deploy-days.md").first().click();
  await page.locator(".tab.active", { hasText: "deploy-days.md (" }).waitFor();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "Mondays" }).first().waitFor();
  await page.locator('.editor-actions [aria-label^="Undo this change of a memory"]').click();
  await page.locator(".monaco-diff-editor").waitFor({ state: "detached" });
  assert.match(await readFile(path, "utf8"), /Fridays only/);

  await tree.getByRole("treeitem", { name: /^Short answers/ }).click({ button: "right" });
  const menu = page.locator(".monaco-menu");
  await menu.getByText("Delete memory…").hover();
  await menu.locator(".action-item.focused", { hasText: "Delete memory…" }).waitFor();
  await page.keyboard.press("Enter");
  await editor.dialogButton("Delete").click();
  await tree.getByRole("treeitem", { name: /^Short answers/ }).waitFor({ state: "detached" });
  await assert.rejects(access(join(project, "memory", "short.md")));
});

test("a folder that nobody trusts says so, shows what would run, and is trusted with two clicks", async (context) => {
  const hooks = { PreToolUse: [{ matcher: "*", hooks: [{ type: "command", command: "touch ran" }] }] };
  const editor = await openEditor(context, {
    files: { ".claude/settings.json": JSON.stringify({ hooks }) },
  });
  const { chat, page } = editor;
  await editor.openChat();
  const banner = chat.getByText(/Not trusted/);
  await banner.waitFor();
  await chat.getByRole("button", { name: "Trust…" }).click();
  await page.locator(".monaco-dialog-box", { hasText: "hooks: runs programs at PreToolUse" }).waitFor();
  await editor.dialogButton("Trust").first().click();
  await banner.waitFor({ state: "detached" });
});

test("in VS Code's restricted mode it answers, and trust is VS Code's to give", async (context) => {
  const editor = await openEditor(context, { untrusted: true });
  const { chat } = editor;
  await editor.openChat();
  await editor.model.reply("I am here.");
  await editor.prompt("Are you?");
  await editor.rows("text").getByText("I am here.").waitFor();
  await chat.getByText("the editor is in its restricted mode").waitFor();
  await chat.getByRole("button", { name: "Manage workspace trust" }).click();
  await editor.page.locator(".workspace-trust-buttons .monaco-button", { hasText: /^Trust$/ }).click();
  // By key: VS Code's page still lies over the view.
  await chat.getByRole("button", { name: "Trust", exact: true }).press("Enter");
  await chat.getByText(/Not trusted/).waitFor({ state: "detached" });
});

test("who wants no notifications is told by badges", async (context) => {
  const editor = await openEditor(context, { settings: { "reverie.notifications.quiet": true } });
  const { model, rows, project, statusItem } = editor;
  await editor.openChat();
  const input = { file_path: join(project, "memory", "lunch.md"), content: memory("Lunch", "project", "At noon") };
  await model.reply(`tool Write ${JSON.stringify(input)}`, { for: "extraction" });
  await model.reply("Done.", { for: "extraction" });
  await model.reply("Good to know.");
  await editor.prompt("By the way, lunch is at noon");
  await statusItem("Reverie: 1 new").waitFor();
  await rows("memory").filter({ hasText: "Remembered: Lunch" }).waitFor();
  await statusItem("Reverie: 1 new").click();
  await editor.page.getByRole("treeitem", { name: /^Lunch, .*new/ }).click();
  await statusItem("Reverie: 1 new").waitFor({ state: "detached" });
  assert.equal(await editor.toast(/./).count(), 0);
});

test("everything has a name, and axe finds nothing", async (context) => {
  const editor = await openEditor(context, { files: { "src/a.ts": "export const a = 1;\n" } });
  const { model, chat, workspace } = editor;
  await editor.openChat();
  await assertAccessible(editor, "the welcome");
  await model.reply(
    `thinking about it\nSome **words**, a [link](https://example.com) and code:\n\n\`\`\`ts\nconst a = 1;\n\`\`\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\ntool Read {"file_path": "${workspace}/src/a.ts"}\ntool Bash {"command": "touch made"}`,
  );
  await model.reply(
    'tool TodoWrite {"todos": [{"content": "read", "status": "pending"}]}\ntool AskUser {"question": "Which?", "options": ["one", "two"]}',
  );
  await model.reply("Done.");
  await editor.prompt("Do it");
  await chat.getByRole("group", { name: /^Permission/ }).waitFor();
  await assertAccessible(editor, "a permission card");
  await chat.locator(".ask button:enabled", { hasText: "Allow once" }).click();
  await chat.getByRole("group", { name: /^Question/ }).waitFor();
  await assertAccessible(editor, "a question");
  await chat.locator(".ask button:enabled", { hasText: "two" }).click();
  await editor.rows("text").getByText("Done.").waitFor();
  await assertAccessible(editor, "a conversation");
  const pages = [
    ["Sessions…", chat.locator(".page [data-row]").first()],
    ["Context and cost", chat.locator(".page").getByText("System prompt")],
    ["Background tasks", chat.locator(".page").getByText("By itself")],
  ] as const;
  for (const [name, content] of pages) {
    await editor.command(`Reverie: ${name}`);
    await content.waitFor();
    await assertAccessible(editor, name);
    await chat.getByRole("button", { name: "Back to the conversation (Escape)" }).click();
  }
});

test("all of it is reached by keyboard", async (context) => {
  const editor = await openEditor(context);
  const { page, chat, model } = editor;
  await openByKey(editor);
  await model.reply("An answer.");
  await page.keyboard.type("A question");
  await page.keyboard.press("Enter");
  await editor.rows("text").getByText("An answer.").waitFor();
  await chat.getByRole("status").getByText("Reverie answered: An answer.").waitFor({ state: "attached" });
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  const focused = chat.locator(":focus");
  const go = async (key: string, name: string): Promise<void> => {
    for (let steps = 0; ; steps += 1) {
      const label = await focused.evaluate((element) => element.getAttribute("aria-label") ?? element.textContent);
      if (label === name) return;
      assert.ok(steps < 12, `${name} is reached with ${key}; this is ${label}`);
      await page.keyboard.press(key);
    }
  };
  await go("Shift+Tab", "End of the turn");
  await go("ArrowUp", "Reverie");
  await go("Tab", "Copy the answer");
  await go("Shift+Tab", "New session");
  await go("Tab", "Sessions");
  await page.keyboard.press("Enter");
  await go("Tab", "Search sessions");
  await chat.locator(".page [data-row]").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await chat.locator(".page [data-row]:focus, .page [data-row] :focus").waitFor();
  await page.keyboard.press("Enter");
  await editor.rows("text").getByText("An answer.").waitFor();
  await page.keyboard.press("Control+Alt+m");
  await editor.composer.and(focused).waitFor();
  await go("Tab", "Attach files");
  await go("Tab", "Mode");
  await go("Tab", "Model");
});

/** A key that comes while the window is being set up is lost: then it is pressed again. */
async function openByKey({ page, chat, composer }: Editor): Promise<void> {
  const focused = composer.and(chat.locator(":focus"));
  await until("the chat is opened by its key", async () => {
    await page.keyboard.press("Control+Alt+m");
    return await succeeds(focused.waitFor({ timeout: 5_000 }));
  });
}

/** What axe has to say about the inside of the view, and whether every control has a name. */
async function assertAccessible({ chat }: Editor, where: string): Promise<void> {
  const frame = await (await chat.locator("#root").elementHandle())?.ownerFrame();
  assert.ok(frame, "the view has a frame");
  const { source } = fromRig("axe-core") as { source: string };
  await frame.evaluate(source);
  const found = await frame.evaluate(async () => {
    const axe = Reflect.get(window, "axe");
    const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
    const { violations } = await axe.run(document, { iframes: false, resultTypes: ["violations"], runOnly });
    return violations.map((violation: { id: string; help: string; nodes: { html: string }[] }) => {
      return `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.html.slice(0, 150)).join(" | ")}`;
    });
  });
  assert.deepEqual(found, [], where);
}
