/** A server that ends, hangs on to nothing and comes back; and one that is not there, or not to be had. */

import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Locator } from "playwright-core";
import { running } from "./descendants.ts";
import { type Editor, openEditor } from "./harness.ts";
import { NODE, SERVER } from "./places.ts";
import { until } from "./waiting.ts";

const NO_SERVER = "/nowhere/reverie";

test("a server that is killed in a turn comes back with the session, and the draft is kept", async (context) => {
  const editor = await openEditor(context);
  const { model, chat, rows, composer, project } = editor;
  await editor.openChat();
  await model.reply("The first answer.");
  await editor.prompt("First");
  await rows("end").waitFor();
  const sessions = await transcripts(project);

  await model.reply(`tool Bash {"command": "sleep 40"}`);
  await editor.prompt("Second");
  await allow(editor);
  await rows("tool").locator(".tool-running").waitFor();
  await composer.fill("half a thought");
  const first = await serverOf(editor);
  // Looked for before it happens: it may be over in a moment.
  const told = chat.getByText("The server ended and is being started again: it was ended by SIGKILL");
  const seen = told.waitFor();
  process.kill(first, "SIGKILL");
  await seen;
  assert.equal(await rows("tool").locator(".tool-running").count(), 0, "nothing runs without a server");
  await told.waitFor({ state: "detached" });
  assert.notEqual(await serverOf(editor), first);

  await chat.locator(".note-text").getByText("The server ended in the middle of a turn.").waitFor();
  await rows("tool").locator(".tool-stopped, .tool-failed").waitFor();
  await rows("text").getByText("The first answer.").waitFor();
  await rows("user").getByText("Second").waitFor();
  await idle(editor);
  assert.equal(await composer.inputValue(), "half a thought");

  await model.reply("The third answer.");
  await composer.press("Enter");
  await rows("text").getByText("The third answer.").waitFor();
  assert.match((await model.requests("main")).at(-1)?.last ?? "", /half a thought/);
  assert.deepEqual(await transcripts(project), sessions, "it is the same session");
});

test("an answer that was cut off by the end of the server does not go on", async (context) => {
  const editor = await openEditor(context);
  const { model, chat, rows } = editor;
  await editor.openChat();
  await model.replyText("never said in full, as it is cut in the middle of it", { pauses: [[5, "middle"]] });
  await editor.prompt("Tell me");
  await model.reached("middle");
  await rows("text").getByText("never said").waitFor();
  const told = chat.getByText("The server ended and is being started again");
  const seen = told.waitFor();
  process.kill(await serverOf(editor), "SIGKILL");
  await seen;
  await told.waitFor({ state: "detached" });
  await model.open("middle");
  await rows("user").getByText("Tell me").waitFor();
  await idle(editor);
  await model.reply("Now in full.");
  await editor.prompt("Again");
  await rows("text").getByText("Now in full.").waitFor();
});

test("a question whose server is gone waits for nobody", async (context) => {
  const editor = await openEditor(context);
  const { model, chat, rows } = editor;
  await editor.openChat();
  await model.reply(`tool Bash {"command": "touch asked"}`);
  await editor.prompt("Make it");
  const card = chat.getByRole("group", { name: /^Permission: / });
  await card.waitFor();
  process.kill(await serverOf(editor), "SIGKILL");
  await card.waitFor({ state: "detached" });
  await chat.getByText("The server ended and is being started again").waitFor({ state: "detached" });
  await idle(editor);
  assert.equal(await card.count(), 0);
  assert.equal(await rows("tool").locator(".tool-running").count(), 0);
  await model.reply("We go on.");
  await editor.prompt("Go on");
  await rows("text").getByText("We go on.").waitFor();
  assert.ok(!(await readdir(editor.workspace)).includes("asked"), "what nobody allowed has not run");
});

test("a path that leads nowhere is told, and Restart works when it is corrected", async (context) => {
  const editor = await openEditor(context, { server: NO_SERVER, offline: true });
  const { page, rows } = editor;
  await editor.openChat();
  const alert = banner(editor);
  await alert.getByText(`names ${NO_SERVER}, and no program is there`).waitFor();
  await alert.getByRole("button", { name: "Show log" }).waitFor();
  await alert.getByRole("button", { name: "Open settings" }).click();
  // What belongs to the machine is on the page of the machine that the workspace is on.
  await page
    .locator(".settings-editor .settings-tabs-widget")
    .getByText(/^Remote/)
    .click();
  const input = page.locator(".settings-editor .setting-item-contents", { hasText: "Server: Path" }).locator("input");
  await input.waitFor();
  assert.equal(await input.inputValue(), NO_SERVER);
  await input.fill(SERVER);
  const file = join(editor.user, "Machine", "settings.json");
  await until("the setting is saved", async () => (await readFile(file, "utf8")).includes(SERVER));
  // The settings lie over the chat.
  await page.keyboard.press("Escape");
  await input.waitFor({ state: "detached" });
  await alert.getByRole("button", { name: "Restart" }).click();
  await alert.waitFor({ state: "detached" });
  await editor.prompt("Are you there?");
  await rows("end").waitFor();
});

test("a server that is nowhere is told with what to do", async (context) => {
  const editor = await openEditor(context, { server: "", environment: { PATH: `${dirname(NODE)}:/usr/bin:/bin` } });
  await editor.openChat();
  const alert = banner(editor);
  await alert.getByText("The program `reverie` was not found. Install it").waitFor();
  for (const name of ["Open settings", "Restart", "Show log"]) {
    await alert.getByRole("button", { name }).waitFor();
  }
});

test("a server that cannot be started is told, and not started for ever", async (context) => {
  const { program, starts } = await brokenServer(context, "exit 3");
  const editor = await openEditor(context, { server: program });
  await editor.openChat();
  const alert = banner(editor);
  await alert.getByText("could not be started").waitFor();
  context.diagnostic((await alert.textContent()) ?? "");
  for (const name of ["Show log", "Doctor"]) {
    await alert.getByRole("button", { name }).waitFor();
  }
  const tried = await starts();
  assert.ok(tried >= 1 && tried <= 6, `it was started ${tried} times`);
  await alert.getByRole("button", { name: "Restart" }).click();
  await until("by hand it is tried anew", async () => (await starts()) > tried);
  await alert.getByText("could not be started").waitFor();
});

test("a server of another protocol is told, with which is which", async (context) => {
  const other = `process.stdin.on("data", (data) => process.stdout.write(
    data.toString("latin1").replace("{\\"version\\":1", "{\\"version\\":9"), "latin1"))`;
  const { program } = await brokenServer(context, `"${SERVER}" "$@" <&3 | "${NODE}" -e '${other}'`);
  const editor = await openEditor(context, { server: program });
  await editor.openChat();
  const alert = banner(editor);
  await alert.getByText("The server speaks version 9 of Reverie's protocol, and this extension version 1.").waitFor();
  await alert.getByRole("button", { name: "Open settings" }).waitFor();
  await until("it does not run on", async () => (await running(editor.pid, "reverie lsp")).length === 0);
});

test("a server that ends again and again stays down, with the reason", async (context) => {
  // It answers first, and is gone when the client says that it has heard.
  const mortal = `const server = require("node:child_process").spawn(process.argv[1], process.argv.slice(2),
    { stdio: ["pipe", "inherit", "inherit"] });
  server.once("exit", () => process.exit(3));
  let heard = "";
  process.stdin.on("data", (data) => {
    server.stdin.write(data);
    heard += data;
    if (heard.includes("initialized")) server.kill("SIGKILL");
  });`;
  const { program, starts } = await brokenServer(context, `"${NODE}" -e '${mortal}' "${SERVER}" "$@" <&3`);
  const editor = await openEditor(context, { server: program });
  await editor.openChat();
  const alert = banner(editor);
  await alert.getByText(/The server has ended 6 times in a few minutes: .*exit code 3/).waitFor({ timeout: 60_000 });
  for (const name of ["Restart", "Show log", "Doctor"]) {
    await alert.getByRole("button", { name }).waitFor();
  }
  assert.equal(await starts(), 6);
  await alert.getByRole("button", { name: "Show log" }).click();
  await editor.page.locator(".output-view .view-line", { hasText: "not started again by itself" }).last().waitFor();
  assert.equal(await starts(), 6, "it stays down");
  assert.deepEqual(await running(editor.pid, "reverie lsp"), []);
});

test("a server on the PATH is found", async (context) => {
  const folder = await scratch(context);
  await symlink(SERVER, join(folder, "reverie"));
  const editor = await openEditor(context, {
    server: "",
    offline: true,
    // VS Code asks the user's shell for the PATH.
    prepare: ({ home }) => writeFile(join(home, ".profile"), `PATH="${folder}:$PATH"\n`),
  });
  await answersFrom(editor, folder);
});

test("a server that comes with the extension is found", async (context) => {
  const PATH = `${dirname(NODE)}:/usr/bin:/bin`;
  const options = { server: "", bundled: SERVER, offline: true, environment: { PATH } };
  await answersFrom(await openEditor(context, options), "/bin/reverie");
});

async function answersFrom(editor: Editor, path: string): Promise<void> {
  await editor.openChat();
  await editor.prompt("Are you there?");
  await editor.rows("end").waitFor();
  const [server] = await running(editor.pid, "reverie lsp");
  assert.ok(server?.command.includes(path), `${server?.command} is the one at ${path}`);
}

/** A program that passes for the server until it is to serve; `work` is shell, with stdin as 3. */
async function brokenServer(
  context: TestContext,
  work: string,
): Promise<{ program: string; starts: () => Promise<number> }> {
  const folder = await scratch(context);
  const program = join(folder, "reverie");
  const log = join(folder, "starts");
  const version = `[ "$1" = --version ] && exec "${SERVER}" --version`;
  await writeFile(log, "");
  await writeFile(program, `#!/bin/sh\n${version}\necho start >> "${log}"\nexec 3<&0\n${work}\n`);
  await chmod(program, 0o755);
  return { program, starts: async () => (await readFile(log, "utf8")).split("\n").length - 1 };
}

async function scratch(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reverie-server-"));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function serverOf({ pid }: Editor): Promise<number> {
  const [server, ...others] = await running(pid, "reverie lsp");
  assert.ok(server && others.length === 0, "there is one server");
  return server.pid;
}

async function transcripts(project: string): Promise<string[]> {
  return (await readdir(project)).filter((name) => name.endsWith(".jsonl"));
}

/** Allows what is asked, this once. */
async function allow({ chat }: Editor): Promise<void> {
  const card = chat.getByRole("group", { name: /^Permission: / });
  // A card that has just come takes no answer yet.
  await card.locator('button:enabled:not([aria-disabled="true"])', { hasText: "Allow once" }).click();
}

/** What is said where the server is down. */
function banner({ chat }: Editor): Locator {
  return chat.locator(".chrome-banner-error");
}

/** No turn runs. */
async function idle({ chat }: Editor): Promise<void> {
  await chat.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
}
