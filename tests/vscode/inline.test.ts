/** Memory in the text: what the agent knows is seen in the files themselves, and checked against them. */

import assert from "node:assert/strict";
import { access, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { type Editor, openEditor } from "./harness.ts";
import { succeeds, until } from "./waiting.ts";

const memory = (name: string, words: string): string =>
  `---\nname: ${name}\ndescription: ${name}, in short\ntype: project\n---\n\n${words}.\n`;

const FILES = {
  "src/auth.ts": "export const rounds = 3;\n\nexport function login(): void {}\n",
  "src/other.ts": "export const one = 1;\n",
};

const TRAPS =
  "[press here](command:workbench.action.newWindow) ![x](https://images.example/x.png) <img src=x> <b>bold</b>";

const MEMORIES = {
  "login.md": memory("Login", `Nobody logs in twice, see \`src/auth.ts\`.\n${TRAPS}`),
  "MEMORY.md": "- [Login](login.md) — once\n- [Gone](gone.md) — is not there\n",
};

test("a file that a memory names says so, and shows the memory on hover as text", async (context) => {
  const editor = await openEditor(context, { files: FILES, memories: MEMORIES });
  const { page } = editor;
  await editor.openChat();
  await editor.openFile("src/auth.ts");
  await line(editor, "◆ 1 memory").filter({ hasText: "rounds" }).waitFor();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Control+i");
  const hover = page.locator(".monaco-hover:visible", { hasText: "Nobody logs in twice" });
  await hover.getByText("Login", { exact: true }).waitFor();
  assert.equal(await hover.locator("img").count(), 0, "no image is drawn");
  assert.equal(await hover.locator("b").count(), 0, "no HTML is drawn");
  assert.equal(await hover.locator('[data-href^="command:"], [href^="command:"]').count(), 0, "no command is a link");
  await page.keyboard.press("Escape");

  await page.keyboard.down("Control");
  await line(editor, "◆ 1 memory").getByText("◆ 1 memory").click();
  await page.keyboard.up("Control");
  await page.locator(".tab.active", { hasText: "login.md" }).waitFor();
  await editor.openFile("src/other.ts");
  assert.equal(await line(editor, "◆").count(), 0);
});

test("a dead link of the index has a squiggle, and a quick fix takes it away", async (context) => {
  const editor = await openEditor(context, { files: FILES, memories: MEMORIES });
  const { page } = editor;
  await editor.openChat();
  await openMemory(editor, "MEMORY.md");
  await squiggle(editor).waitFor();
  await page.keyboard.press("Control+End");
  await page.keyboard.press("ArrowUp");
  await choose(editor, /^Remove/);
  await squiggle(editor).waitFor({ state: "detached" });
  assert.equal((await editor.editorText()).trim(), "- [Login](login.md) — once");
});

test("a memory says how it is used, and is stale when its file has gone", async (context) => {
  const editor = await openEditor(context, { files: FILES, memories: MEMORIES });
  const { page, workspace } = editor;
  await editor.openChat();
  await openMemory(editor, "login.md");
  await lens(editor, "never recalled").waitFor();
  assert.equal(await squiggle(editor).count(), 0);
  await rm(join(workspace, "src/auth.ts"));
  await lens(editor, "stale: src/auth.ts is gone").waitFor();
  await squiggle(editor).waitFor();
  assert.equal(await lens(editor, "stale:").locator("a").count(), 0, "words that lead nowhere are not to be pressed");
  await lens(editor, "stale:").click();
  await editor.command("Go to Next Problem (Error, Warning, Info)");
  await page.keyboard.press("Escape");
  await choose(editor, "Remove the reference");
  await lens(editor, "stale:").waitFor({ state: "detached" });
  assert.match(await editor.editorText(), /Nobody logs in twice, see\./);
  await page.keyboard.press("Control+s");
  await lens(editor, "undo last change").waitFor();
  await lens(editor, "never recalled").getByRole("button", { name: "never recalled" }).click();
  await editor.choice("login.md").first().click();
  await page.locator(".tab.active", { hasText: "login.md (You" }).waitFor();
  assert.equal(await page.locator(".notification-toast .codicon-error").count(), 0);
});

test("of two memories that say the same one is merged, of one that nobody wants the file goes, and both come back", async (context) => {
  const words =
    "Releases are cut on Thursdays by whoever is on duty, never on Fridays and never before a holiday, because nobody " +
    "is there to take them back when something goes wrong, and they are tagged by hand after the long tests have passed";
  const editor = await openEditor(context, {
    memories: {
      "release.md": memory("Releases", words),
      "releases.md": memory("Releases again", `${words} twice`),
      "MEMORY.md": "- [Releases](release.md) — Thursdays\n- [Releases again](releases.md) — Thursdays, signed\n",
    },
  });
  const folder = join(editor.project, "memory");
  const names = async () => (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
  const all = await names();
  const areBack = async () => (await names()).length === all.length;
  await editor.openChat();
  await openMemory(editor, "releases.md");
  await squiggle(editor).waitFor();
  await editor.command("Go to Next Problem (Error, Warning, Info)");
  await editor.page.keyboard.press("Escape");
  await choose(editor, "Merge this into release.md");
  const merged = editor.toast("Merged releases.md into release.md");
  await merged.waitFor();
  assert.deepEqual(await names(), ["MEMORY.md", "release.md"]);
  assert.match(await readFile(join(folder, "release.md"), "utf8"), /have passed twice/);
  await merged.getByRole("button", { name: "Undo" }).press("Enter");
  await until("it is taken back", areBack);

  await openMemory(editor, "release.md");
  await choose(editor, "Delete this memory");
  const deleted = editor.toast("Deleted release.md");
  await deleted.waitFor();
  assert.deepEqual(await names(), ["MEMORY.md", "releases.md"]);
  await deleted.getByRole("button", { name: "Undo" }).press("Enter");
  await until("it is there again", areBack);
});

test("a memory that is renamed in the explorer takes its entry along", async (context) => {
  const editor = await openEditor(context, {
    prepare: async ({ home, workspace }) => {
      const folder = join(workspace, "notes");
      await mkdir(folder);
      for (const [name, text] of Object.entries(MEMORIES)) await writeFile(join(folder, name), text);
      const settings = { autoMemoryDirectory: folder };
      await writeFile(join(home, ".claude", "settings.json"), JSON.stringify(settings));
    },
  });
  const { page } = editor;
  await editor.openChat();
  await editor.openFile("notes/login.md");
  await lens(editor, "never recalled").waitFor();
  await editor.command("File: Reveal Active File in Explorer View");
  const explorer = page.getByRole("tree", { name: /Files Explorer/ });
  await explorer.getByRole("treeitem", { name: "login.md" }).click();
  await page.keyboard.press("F2");
  const box = explorer.locator("input");
  await box.fill("sign-in.md");
  await box.press("Enter");
  // VS Code's own question, since an extension wants to change another file.
  await editor.dialogButton("OK").click();
  await page.locator(".tab.active", { hasText: "sign-in.md" }).waitFor();
  // Not saved: that is the user's to do.
  await editor.tab("MEMORY.md").click();
  await line(editor, "[Login](sign-in.md)").waitFor();
});

test("something is remembered about a place in the code, and taken back", async (context) => {
  const editor = await openEditor(context, { files: FILES, memories: MEMORIES });
  const { page } = editor;
  await editor.openChat();
  await editor.openFile("src/auth.ts");
  await line(editor, "◆ 1 memory").waitFor();
  await editor.openFile("src/other.ts");
  await choose(editor, "Remember something about this");
  const box = page.locator(".quick-input-widget input");
  await page.locator(".quick-input-widget", { hasText: "In your words" }).waitFor();
  await box.fill("It is always one");
  await box.press("Enter");
  const told = editor.toast(/Remembered in .*\.md/);
  await told.waitFor();
  await line(editor, "◆ 1 memory").filter({ hasText: "one" }).waitFor();
  await told.getByRole("button", { name: "Undo" }).press("Enter");
  await line(editor, "◆ 1 memory").waitFor({ state: "detached" });
});

test("what is learnt about an open file is told at its place, and the hover there takes it back", async (context) => {
  const editor = await openEditor(context, { files: FILES, memories: MEMORIES });
  const { page } = editor;
  await editor.openChat();
  await editor.openFile("src/other.ts");
  const path = await learn(editor);
  await flash(editor, "◆ Remembered from the session: Always one — hover to undo");
  await line(editor, "◆ 1 memory").waitFor();
  await access(path);
  await line(editor, "◆ 1 memory").getByText("export").hover();
  await page.locator(".monaco-hover:visible").getByRole("link", { name: "Undo" }).click();
  await editor.toast(/Taken back: .*one\.md/).waitFor();
  await line(editor, "◆ 1 memory").waitFor({ state: "detached" });
  await flash(editor, "◆ Remembered", false);
  await assert.rejects(access(path), "the file is gone");
});

test("with the settings off a lens stands for the hint, and nothing is told at the place", async (context) => {
  const editor = await openEditor(context, {
    files: FILES,
    memories: MEMORIES,
    settings: { "reverie.inline.hints": false, "reverie.inline.notifications": false },
  });
  const { page } = editor;
  await editor.openChat();
  await editor.openFile("src/other.ts");
  await learn(editor);
  // What is told at the place comes before.
  await lens(editor, "◆ 1 memory").locator("a").waitFor();
  await flash(editor, "◆ Remembered", false);
  assert.equal(await line(editor, "◆").count(), 0);
  await lens(editor, "◆ 1 memory").locator("a").click();
  await page.locator(".tab.active", { hasText: "one.md" }).waitFor();
  assert.match(await readFile(join(editor.project, "memory", "one.md"), "utf8"), /Always one/);
});

/** A turn, from which the agent learns something about `src/other.ts`. */
async function learn({ model, project, prompt }: Editor): Promise<string> {
  const path = join(project, "memory", "one.md");
  const input = { file_path: path, content: memory("Always one", "It is always one in `src/other.ts`") };
  await model.reply(`tool Write ${JSON.stringify(input)}`, { for: "extraction" });
  await model.reply("Done.", { for: "extraction" });
  await model.reply("Good to know.");
  await prompt("It is always one there");
  return path;
}

async function openMemory(editor: Editor, name: string): Promise<void> {
  await editor.command("Reverie: Open memory folder");
  await editor.choice(name).click();
  await editor.page.locator(".tab.active", { hasText: name }).waitFor();
  await editor.page.locator(".editor-group-container.active .monaco-editor.focused .view-line").first().waitFor();
}

/** A line of the text, hints included. */
function line({ page }: Editor, text: string): Locator {
  return page.locator(".editor-group-container.active .view-lines .view-line", { hasText: text });
}

function lens({ page }: Editor, text: string): Locator {
  return page.locator(".contentWidgets .codelens-decoration", { hasText: text });
}

function squiggle({ page }: Editor): Locator {
  return page.locator(".view-overlays").locator(".squiggly-error, .squiggly-warning, .squiggly-info").first();
}

/** By the key, as the light bulb would. */
async function choose({ page }: Editor, title: string | RegExp): Promise<void> {
  const row = page.locator(".action-widget .monaco-list-row").getByText(title);
  // VS Code looks by itself 250 ms after the cursor was moved, a problem came or a provider was registered. With the light
  // bulb off that look ends with nothing, and what the key has asked for is cancelled if it is not answered yet: then
  // nothing opens, and nothing tells so. The key again.
  for (let tries = 0; tries < 5; tries += 1) {
    await page.keyboard.press("Control+.");
    if (await succeeds(row.waitFor({ timeout: 5_000 }))) break;
    await page.keyboard.press("Escape");
  }
  await row.click();
}

/** What stands behind a line is drawn, and no text of the page. */
async function flash({ page }: Editor, words: string, isThere = true): Promise<void> {
  await page.waitForFunction(
    ({ words, isThere }) => {
      const drawn = [...document.querySelectorAll(".view-line span")].map(
        (span) => getComputedStyle(span, "::after").content,
      );
      return drawn.some((content) => content.includes(words)) === isThere;
    },
    { words, isThere },
  );
}
