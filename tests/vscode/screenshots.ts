/**
 * The pictures of the documentation, from a real run: `docs/images/vscode-*.png`. And pictures for looking at, which
 * nobody ships: the chat in each theme, narrow and wide, in `target/screenshots`.
 */

import { mkdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { type Editor, openEditor } from "./harness.ts";
import { ROOT } from "./places.ts";

const DOCS = join(ROOT, "docs/images");
const LOOK = join(ROOT, "target/screenshots");

/** The theme of the documentation. */
const SHIPPED = "dark";

const THEMES = {
  light: "Default Light Modern",
  dark: "Default Dark Modern",
  "high-contrast": "Default High Contrast",
  "high-contrast-light": "Default High Contrast Light",
};

const SOURCE = `use std::time::Duration;

/// How long to wait before the next attempt.
pub fn delay(attempt: u32) -> Duration {
    Duration::from_secs(1)
}

pub fn attempts() -> u32 {
    10
}

#[test]
fn the_first_delay_is_short() {
    assert_eq!(delay(0), Duration::from_secs(1));
}
`;

const ANSWER = `The delay now doubles with each attempt, up to a minute, and there are five attempts (\`src/retry.rs:4\`).

\`\`\`rust
pub fn delay(attempt: u32) -> Duration {
    Duration::from_secs(1 << attempt.min(6)).min(MOST)
}
\`\`\`

| attempt | waits |
|---|---|
| 0 | 1 s |
| 3 | 8 s |
| 9 | 60 s |

You release on Fridays only, so this can go out tomorrow.`;

const memory = (name: string, type: string, words: string): string =>
  `---\nname: ${name}\ndescription: ${words}\ntype: ${type}\n---\n\n${words}.\n`;

const LEARNT = memory("Five attempts", "project", "Five attempts are enough for a retry");

const MEMORIES = {
  "release-days.md": memory("Release days", "project", "We release on Fridays only"),
  "no-mocks.md": memory("No mocks", "feedback", "Tests run against the real store, never a mock"),
  "plain-words.md": memory("Plain words", "user", "Prefers short answers in plain words"),
  "backoff.md": memory("Retry policy", "reference", "How often to try again is said in `src/policy.rs`"),
  "MEMORY.md": [
    "- [Release days](release-days.md) — Fridays only",
    "- [No mocks](no-mocks.md) — the real store",
    "- [Plain words](plain-words.md) — short answers",
    "- [Retry policy](backoff.md) — how often",
    "",
  ].join("\n"),
};

/** How old they are, in days. */
const AGES: Readonly<Record<string, number>> = {
  "release-days.md": 2,
  "no-mocks.md": 9,
  "plain-words.md": 30,
  "backoff.md": 80,
};

for (const [name, theme] of Object.entries(THEMES)) {
  test(`pictures in ${name}`, async (context) => {
    const editor = await openEditor(context, {
      files: { "src/retry.rs": SOURCE, "Cargo.toml": '[package]\nname = "engine"\n' },
      memories: MEMORIES,
      settings: { "workbench.colorTheme": theme, "window.commandCenter": false, "breadcrumbs.enabled": false },
      size: { width: 1040, height: 680 },
      scale: name === SHIPPED ? 2 : 1,
      prepare: async ({ project }) => {
        for (const [file, days] of Object.entries(AGES)) {
          const then = Date.now() / 1000 - days * 86_400;
          await utimes(join(project, "memory", file), then, then);
        }
      },
    });
    await mkdir(LOOK, { recursive: true });
    await converse(editor, name);
  });
}

async function converse(editor: Editor, theme: string): Promise<void> {
  const { model, chat, rows, page, workspace, project } = editor;
  const shoot = async (picture: string, part?: { of: Locator; height: number }): Promise<void> => {
    const shipped = join(DOCS, `vscode-${picture}.png`);
    const path = theme === SHIPPED ? shipped : join(LOOK, `${theme}-${picture}.png`);
    // What is under the pointer looks otherwise.
    await page.mouse.move(0, 0);
    const box = await part?.of.boundingBox();
    await page.screenshot({ path, ...(part && box && { clip: { ...box, height: part.height } }) });
  };
  const look = (picture: string) => narrowAndWide(editor, `${theme}-${picture}`);
  await model.always("extraction", "Nothing.");
  await editor.openChat();
  await chat.getByRole("button", { name: "Not now" }).waitFor();
  await look("trust");
  await chat.getByRole("button", { name: "Not now" }).click();
  await look("welcome");
  for (const [picture, sign] of Object.entries({ mentions: "@", commands: "/" })) {
    await editor.composer.pressSequentially(sign);
    await chat.getByRole("option").first().waitFor();
    await editor.page.locator(".part.auxiliarybar").screenshot({ path: join(LOOK, `${theme}-${picture}.png`) });
    await editor.composer.fill("");
  }

  await editor.openFile("src/retry.rs");
  await page.keyboard.press("Control+b");
  const path = `${workspace}/src/retry.rs`;
  const edit = (old: string, fresh: string) =>
    `tool Edit ${JSON.stringify({ file_path: path, old_string: old, new_string: fresh })}`;
  await model.reply(
    `thinking The delay is constant. It should grow.\ntool Read {"file_path": "${path}"}\ntool Grep {"pattern": "delay"}`,
  );
  const grown = "    Duration::from_secs(1 << attempt.min(6)).min(MOST)\n}";
  await model.reply(`${edit("    Duration::from_secs(1)\n}", grown)}\n${edit("    10\n", "    5\n")}`);
  await model.reply('tool Bash {"command": "mkdir -p target/release"}');
  await model.replyText(ANSWER);
  const learnt = { file_path: join(project, "memory", "attempts.md"), content: LEARNT };
  await model.reply(`tool Write ${JSON.stringify(learnt)}`, { for: "extraction" });
  await model.reply("Done.", { for: "extraction" });
  await editor.prompt("Make the retries back off; five of them are enough. On which days do we release?");
  const card = chat.getByRole("group", { name: /^Permission: / });
  // A card that has just come takes no answer yet.
  const allow = chat.locator(".ask button:enabled", { hasText: "Allow once" });
  await card.getByText("MOST").first().waitFor();
  await allow.waitFor();
  await shoot("permission");
  await look("permission");
  await click(editor, allow);
  await card.getByText("attempts() -> u32").first().waitFor();
  await click(editor, allow);
  await card.getByText("mkdir").first().waitFor();
  await look("command");
  await click(editor, allow);
  await rows("end").waitFor();
  await editor.toast("Remembered: Five attempts").waitFor();
  await page.screenshot({ path: join(LOOK, `${theme}-remembered.png`) });
  await editor.command("Notifications: Clear All Notifications");
  await editor.composer.focus();
  await shoot("chat");
  await look("answer");

  await editor.command("Reverie: Review changes");
  await page.locator(".tab.active", { hasText: "changed by Reverie" }).waitFor();
  await page.locator(".monaco-diff-editor .modified .line-insert").first().waitFor();
  await shoot("review");

  await model.reply("summary The retries back off now, five at most.", { for: "compact" });
  await editor.command("Reverie: Compact the conversation");
  await rows("context").getByRole("button", { expanded: false }).click();
  await rows("context").locator("pre").waitFor();
  await look("compacted");
  await editor.command("Reverie: Context and cost");
  await chat.getByText("System prompt").waitFor();
  await look("context");
  await shoot("context", { of: page.locator(".part.auxiliarybar"), height: 500 });
  await editor.command("Reverie: Background tasks");
  await chat.getByText("Start dream").waitFor();
  await look("background");
  await editor.command("Reverie: Sessions");
  await chat.getByText("open now").waitFor();
  await look("sessions");
  await page.keyboard.press("Escape");
  await editor.command("Reverie: Focus on Memory View");
  await page.locator(".part.sidebar .monaco-list-row", { hasText: "Release days" }).first().waitFor();
  await sideBarWidth(editor, 360);
  await shoot("memory", { of: page.locator(".part.sidebar"), height: 500 });
}

/** As a hand does it: a click of the driver first scrolls the whole workbench by some pixels. */
async function click({ page }: Editor, target: Locator): Promise<void> {
  await target.waitFor();
  const box = await target.boundingBox();
  if (box === null) throw new Error("there is nothing to click");
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
}

/** The chat alone, at the widths that a side bar has. */
async function narrowAndWide(editor: Editor, picture: string): Promise<void> {
  for (const width of [300, 600]) {
    await chatWidth(editor, width);
    await editor.page.locator(".part.auxiliarybar").screenshot({ path: join(LOOK, `${picture}-${width}.png`) });
  }
  await chatWidth(editor, 420);
}

/** Makes the chat this wide, by the edge of the side bar that it is in. */
async function chatWidth({ page }: Editor, width: number): Promise<void> {
  const { x, width: present } = await boxOf(page, ".part.auxiliarybar");
  await drag(page, x - 1, x + present - width - 1);
}

async function sideBarWidth({ page }: Editor, width: number): Promise<void> {
  const { x, width: present } = await boxOf(page, ".part.sidebar");
  await drag(page, x + present + 1, x + width + 1);
}

async function boxOf(page: Page, part: string): Promise<{ x: number; width: number }> {
  const box = await page.locator(part).boundingBox();
  if (box === null) throw new Error(`${part} is not shown`);
  return box;
}

async function drag(page: Page, from: number, to: number): Promise<void> {
  const y = (page.viewportSize()?.height ?? 0) / 2;
  await page.mouse.move(from, y);
  await page.mouse.down();
  await page.mouse.move(to, y, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(0, 0);
}
