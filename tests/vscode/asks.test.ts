/** What the agent waits for an answer to: permissions, questions, plans; and going back to before an answer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openEditor } from "./harness.ts";
import { until } from "./waiting.ts";

test("a permission is denied with words that the model hears", async (context) => {
  const editor = await openEditor(context);
  const { chat, model } = editor;
  await editor.openChat();
  await model.reply('tool Bash {"command": "touch made"}');
  await model.reply("As you say.");
  await editor.prompt("Make it");
  const field = chat.getByRole("textbox", { name: "Or deny, and say what to do instead" });
  await field.fill("not in this folder");
  await field.press("Enter");
  await editor.rows("text").getByText("As you say.").waitFor();
  assert.match((await model.requests("main")).at(-1)?.last ?? "", /not in this folder/);
  await editor.rows("tool").locator(".tool-failed").getByText("You said no: not in this folder").waitFor();
});

test("the palette brings the focus to what is asked", async (context) => {
  const editor = await openEditor(context);
  const { chat, model, page } = editor;
  await editor.openChat();
  await model.reply('tool AskUser {"question": "Which colour?", "options": ["red", "blue"]}');
  await model.reply("Blue it is.");
  await editor.prompt("Paint it");
  await chat.getByRole("group", { name: "Question: Which colour?" }).waitFor();
  await editor.statusItem("Reverie asks").waitFor();
  await editor.command("Reverie: Answer what it asks");
  await chat.locator(".ask:focus-within").waitFor();
  await chat.locator(".ask button:enabled", { hasText: "blue" }).waitFor();
  await page.keyboard.press("2");
  await editor.rows("text").getByText("Blue it is.").waitFor();
  assert.match((await model.requests("main")).at(-1)?.last ?? "", /^blue$/m);
  await editor.rows("question").filter({ hasText: "Which colour?" }).getByText("blue").waitFor();
});

test("a plan changes nothing until it is approved", async (context) => {
  const editor = await openEditor(context);
  const { chat, model, workspace } = editor;
  await editor.openChat();
  await chat.getByRole("combobox", { name: "Mode", exact: true }).selectOption("plan");
  await model.reply('tool ExitPlanMode {"plan": "# The plan\\n\\n1. Write **a file**"}');
  await model.reply(`tool Write {"file_path": "${workspace}/made.txt", "content": "made\\n"}`);
  await model.reply("It is written.");
  await editor.prompt("Plan it");
  const plan = chat.getByRole("group", { name: "Plan, waits for your answer" });
  await plan.locator("strong", { hasText: "a file" }).waitFor();
  await assert.rejects(editor.onDisk("made.txt"));
  await plan.getByRole("button", { name: "Approve and accept edits" }).click();
  await editor.rows("text").getByText("It is written.").waitFor();
  assert.equal(await editor.onDisk("made.txt"), "made\n");
  await editor.rows("plan").getByText("approved").waitFor();
});

test("going back brings the words and the files back", async (context) => {
  const editor = await openEditor(context, {
    files: { "a.txt": "one\n" },
    agentSettings: { permissions: { allow: ["Edit", "Write"] } },
  });
  const { chat, model, workspace, rows, composer } = editor;
  await editor.openChat();
  await model.reply("Hello.");
  await editor.prompt("Hello");
  await rows("text").getByText("Hello.").waitFor();
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  await model.reply(`tool Read {"file_path": "${workspace}/a.txt"}`);
  await model.reply(
    `tool Edit {"file_path": "${workspace}/a.txt", "old_string": "one", "new_string": "two"}\ntool Write {"file_path": "${workspace}/new.txt", "content": "new\\n"}`,
  );
  await model.reply("Changed.");
  await editor.prompt("Change it");
  const allow = chat.locator(".ask button:enabled", { hasText: "Allow for this session" });
  const end = rows("text").getByText("Changed.");
  await allow.or(end).first().waitFor();
  while ((await end.count()) === 0) {
    await allow.or(end).first().waitFor();
    if ((await allow.count()) > 0) await allow.click();
  }
  assert.equal(await editor.onDisk("a.txt"), "two\n");
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  const prompt = rows("user").filter({ hasText: "Change it" });
  await prompt.hover();
  await prompt.getByRole("button", { name: "Edit and run again" }).click();
  await editor.dialogButton("Restore files too").click();
  await prompt.waitFor({ state: "detached" });
  await until("the words are back", async () => (await composer.inputValue()) === "Change it");
  assert.equal(await editor.onDisk("a.txt"), "one\n");
  await assert.rejects(editor.onDisk("new.txt"));
  await rows("text").getByText("Hello.").waitFor();
});
