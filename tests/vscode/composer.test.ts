/** Where one types: what `@` and `/` complete, what is pasted and dropped, what waits while a turn runs, how it stops. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openEditor } from "./harness.ts";

test("mentions are completed by keyboard and go along with the prompt", async (context) => {
  const editor = await openEditor(context, {
    files: { "src/engine.ts": "export const power = 42;\n", "docs/engine.md": "# Engine\n" },
  });
  const { composer, chat, model } = editor;
  await editor.openChat();
  await composer.pressSequentially("What is in @engine.t");
  const list = chat.getByRole("listbox", { name: "Mentions" });
  await list.getByRole("option", { name: /engine\.ts/ }).waitFor();
  await composer.press("Tab");
  assert.match(await composer.inputValue(), /^What is in @\S*engine\.ts $/);
  await model.reply("A number.");
  await composer.press("Enter");
  await editor.rows("text").getByText("A number.").waitFor();
  const [asked] = await model.requests("main");
  assert.match(asked?.last ?? "", /power = 42/);

  // Once more, with what it names.
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  await composer.press("ArrowUp");
  assert.match(await composer.inputValue(), /^What is in @\S*engine\.ts$/);
  await model.reply("Still a number.");
  await composer.press("Enter");
  await editor.rows("text").getByText("Still a number.").waitFor();
  assert.equal(await editor.rows("user").last().getByRole("list", { name: "Attached" }).count(), 1);
});

test("the selection of the editor is asked about with one key", async (context) => {
  const editor = await openEditor(context, { files: { "a.txt": "first line\nsecond line\nthird line\n" } });
  const { chat, model, page, composer } = editor;
  await editor.openChat();
  await editor.openFile("a.txt");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Control+Alt+u");
  await chat.locator(".composer").getByText("a.txt:2").waitFor();
  await composer.and(chat.locator(":focus")).waitFor();
  await model.reply("The second.");
  await page.keyboard.type("Which line is it?");
  await page.keyboard.press("Enter");
  await editor.rows("text").getByText("The second.").waitFor();
  const [asked] = await model.requests("main");
  assert.match(asked?.last ?? "", /second line/);
  assert.doesNotMatch(asked?.last ?? "", /third line/);
});

test("commands are completed, and the view shows what they say", async (context) => {
  const editor = await openEditor(context);
  const { composer, chat } = editor;
  await editor.openChat();
  await composer.pressSequentially("/cont");
  const option = chat.getByRole("option", { name: /context/ });
  await option.first().waitFor();
  await composer.press("Tab");
  assert.match(await composer.inputValue(), /^\/context /);
  await composer.press("Enter");
  await editor.rows("text").first().waitFor();
});

test("a prompt waits for the turn that runs, and Escape stops it", async (context) => {
  const editor = await openEditor(context);
  const { composer, chat, model, rows } = editor;
  await editor.openChat();
  await model.reply("Beginning, and never an end of it", { pauses: [[4, "middle"]] });
  await editor.prompt("First");
  await model.reached("middle");
  await editor.prompt("Second");
  await rows("user").filter({ hasText: "Second" }).getByText("Queued").waitFor();
  await composer.press("Escape");
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  await model.open("middle");
  await rows("end").first().waitFor();
  assert.match((await rows("text").first().innerText()).trim(), /^Beginning/);
});

test("Escape right behind Enter stops the turn that is about to begin", async (context) => {
  const editor = await openEditor(context);
  const { composer, chat, model, rows } = editor;
  await editor.openChat();
  // Whether it is asked at all before it is stopped, nobody knows.
  await model.always("main", "Never to be read", { behind: "end" });
  await composer.fill("Wait, no");
  await composer.evaluate((area) => {
    for (const key of ["Enter", "Escape"]) {
      area.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }
  });
  await rows("end").getByText("Stopped.").waitFor();
  await chat.getByRole("button", { name: "Send (Enter)" }).waitFor();
  await model.open("end");
});

test("what is selected, wrong, open, a folder or a symbol is mentioned too", async (context) => {
  const editor = await openEditor(context, {
    files: {
      "src/engine.ts": "export const power = 42;\n",
      "docs/engine.md": "# Boiler\n",
      "broken.json": '{ "a": }\n',
    },
  });
  const { composer, chat, model, page } = editor;
  const option = (name: RegExp) => chat.getByRole("listbox", { name: "Mentions" }).getByRole("option", { name });
  await editor.openFile("docs/engine.md");
  await editor.openFile("broken.json");
  await page.locator('.statusbar-item [aria-label^="Errors: 1"]').waitFor();
  await page.keyboard.press("Shift+End");
  await editor.openChat();
  await composer.pressSequentially("@");
  await option(/^selection broken\.json:1/).waitFor();
  await option(/^engine\.md docs/).waitFor();
  await option(/^problems 1 problem/).click();
  assert.equal(await composer.inputValue(), "@problems ");
  await composer.pressSequentially("@src");
  await option(/^src/).first().click();
  await composer.pressSequentially("@Boil");
  await option(/Boiler/).click();
  await model.reply("I see.");
  await composer.press("Enter");
  await editor.rows("text").getByText("I see.").waitFor();
  const asked = (await model.requests("main"))[0]?.last ?? "";
  for (const words of [/broken\.json:1:\d+: error/, /engine\.ts/, /# Boiler/]) assert.match(asked, words);
});

test("a picture is pasted, a file of the workspace dropped, and both go along and come back", async (context) => {
  const editor = await openEditor(context, { files: { "src/engine.ts": "export const power = 42;\n" } });
  const { composer, chat, model, workspace } = editor;
  await editor.openChat();
  await composer.evaluate((area) => {
    const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const clipboardData = new DataTransfer();
    const bytes = Uint8Array.from(atob(dot), (letter) => letter.charCodeAt(0));
    clipboardData.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  const attached = chat.locator(".composer").getByRole("list", { name: "Attached" });
  await attached.getByText("dot.png").waitFor();
  await composer.evaluate((area, uri) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData("application/vnd.code.uri-list", uri);
    for (const kind of ["dragenter", "dragover", "drop"]) {
      area.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
    }
  }, `file://${workspace}/src/engine.ts`);
  await attached.getByText("src/engine.ts").waitFor();
  await model.reply("A dot, and an engine.");
  await editor.prompt("What are these?");
  await editor.rows("text").getByText("A dot, and an engine.").waitFor();
  await editor.rows("user").getByRole("list", { name: "Attached" }).getByText("dot.png").waitFor();
  assert.match((await model.requests("main"))[0]?.last ?? "", /power = 42/);
  assert.equal(await attached.count(), 0);

  await editor.rows("end").waitFor();
  await editor.reload();
  await editor.rows("text").getByText("A dot, and an engine.").waitFor();
  assert.equal(await editor.rows("user").count(), 1);
  const again = editor.rows("user").getByRole("list", { name: "Attached" });
  assert.deepEqual(
    await again.getByRole("listitem").allInnerTexts(),
    ["image", "engine.ts"].map((label) => ` ${label}`),
  );
});

test("Enter belongs to the input method while it composes a word", async (context) => {
  const editor = await openEditor(context);
  const { composer, model, page, rows } = editor;
  await editor.openChat();
  await composer.focus();
  const devtools = await editor.context.newCDPSession(page);
  await devtools.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await composer.evaluate((area) => {
    const key = { key: "Enter", code: "Enter", isComposing: true, bubbles: true, cancelable: true };
    area.dispatchEvent(new KeyboardEvent("keydown", key));
  });
  await devtools.send("Input.insertText", { text: "日本" });
  assert.equal(await composer.inputValue(), "日本");
  assert.equal(await rows("user").count(), 0);
  await model.reply("はい。");
  await page.keyboard.press("Enter");
  await rows("user").getByText("日本", { exact: true }).waitFor();
  await rows("text").getByText("はい。").waitFor();
});
