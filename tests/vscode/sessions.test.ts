/** The list of sessions: found, opened, renamed, forked, exported, deleted. */

import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Editor, openEditor } from "./harness.ts";
import { writeTranscript } from "./transcript.ts";

const OLD = [
  ["Where do the whales sleep?", "In the deep sea, standing upright."],
  ["How high is the tower?", "Three hundred metres."],
] as const;

test("old sessions are found, opened, renamed, forked, exported and deleted", async (context) => {
  const ids: string[] = [];
  const editor = await openEditor(context, {
    prepare: async ({ project, workspace }) => {
      for (const [question, answer] of OLD) {
        const said = [
          { role: "user", text: question },
          { role: "assistant", text: answer },
        ] as const;
        ids.push(await writeTranscript(project, workspace, said));
      }
    },
  });
  const { chat, rows, page, project } = editor;
  await editor.openChat();
  const sessions = await openPage(editor);
  assert.equal(await sessions.getByRole("list", { name: "Sessions" }).getByRole("listitem").count(), 2);

  // By what was said in it, not only by its title.
  await sessions.getByRole("searchbox", { name: "Search sessions" }).fill("upright");
  await sessions.getByText("In what was said").waitFor();
  await sessions.getByRole("button", { name: /upright/ }).click();
  await rows("text").getByText("standing upright").waitFor();

  await openPage(editor);
  const whales = sessions.getByRole("listitem").filter({ hasText: "whales" });
  await whales.hover();
  await whales.getByRole("button", { name: /^Rename/ }).click();
  const title = page.locator(".quick-input-widget input");
  await title.fill("About whales");
  await title.press("Enter");
  const renamed = sessions.getByRole("listitem").filter({ hasText: "About whales" });
  await renamed.waitFor();

  await renamed.hover();
  await renamed.getByRole("button", { name: /^Export/ }).click();
  const target = join(editor.workspace, "whales.md");
  await editor.saveAs(/reverie-[0-9a-f]+\.md$/, target);
  await page.locator(".tab.active", { hasText: "whales.md" }).waitFor();
  assert.match(await readFile(target, "utf8"), /standing upright/);

  await renamed.hover();
  await renamed.getByRole("button", { name: /^Fork/ }).click();
  await chat.getByRole("heading", { name: "(fork) About whales" }).waitFor();
  await openPage(editor);
  assert.equal(await sessions.getByRole("list", { name: "Sessions" }).getByRole("listitem").count(), 3);

  const tower = sessions.getByRole("listitem").filter({ hasText: "tower" });
  await tower
    .getByRole("button", { name: /How high/ })
    .first()
    .focus();
  await page.keyboard.press("Delete");
  await editor.dialogButton("Delete").click();
  await tower.waitFor({ state: "detached" });
  await assert.rejects(access(join(project, `${ids[1]}.jsonl`)), "the transcript is gone");
  await sessions.getByRole("searchbox", { name: "Search sessions" }).press("Escape");
  await chat.getByRole("textbox", { name: "Message to Reverie" }).waitFor();
});

async function openPage({ chat }: Editor) {
  await chat.getByRole("button", { name: "Sessions" }).click();
  const page = chat.getByRole("region", { name: "Sessions" });
  await page.getByRole("listitem").first().waitFor();
  return page;
}
