/** The first minute: the view opens, the server runs, a prompt is answered. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { running } from "./descendants.ts";
import { openEditor } from "./harness.ts";

test("the chat opens and the model that needs no key answers", async (context) => {
  const editor = await openEditor(context, { offline: true });
  assert.deepEqual(await running(editor.pid, "reverie lsp"), [], "nobody has used it yet");
  await editor.openChat();
  await editor.prompt("Are you there?");
  await editor.rows("user").getByText("Are you there?").waitFor();
  await editor.rows("end").waitFor();
  assert.notEqual((await editor.rows("text").innerText()).trim(), "");
  assert.deepEqual(await editor.model.requests(), []);
});

test("an answer of the scripted model is shown as it comes", async (context) => {
  const editor = await openEditor(context);
  await editor.openChat();
  await editor.model.reply("Here is **the answer**, in two parts.", { pauses: [[4, "middle"]] });
  await editor.prompt("Tell me");
  await editor.model.reached("middle");
  const text = editor.rows("text");
  await text.getByText("Here is").waitFor();
  assert.doesNotMatch(await text.innerText(), /two parts/);
  await editor.model.open("middle");
  await editor.rows("end").waitFor();
  assert.equal(await text.locator("strong").innerText(), "the answer");
});
