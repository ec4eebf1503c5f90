/** What a user sees and does in VS Code, in words of VS Code: palette, notifications, editors, the chat view. */

import type { FrameLocator, Locator, Page } from "playwright-core";
import { PATIENCE, succeeds, until } from "./waiting.ts";

export interface Workbench {
  page: Page;
  /** The inside of the chat view. */
  chat: FrameLocator;
  /** Shows the chat view, with the focus where one types. */
  openChat(): Promise<void>;
  /** Where one types. */
  composer: Locator;
  /** Types a prompt and sends it. */
  prompt(text: string): Promise<void>;
  /** What the view says of one thing in the conversation: `user`, `text`, `tool`, `memory`, `end`, … */
  rows(kind: string): Locator;
  /** Runs a command by its name in the palette. */
  command(name: string): Promise<void>;
  /** The messages that are shown now. */
  toast(text: string | RegExp): Locator;
  statusItem(text: string | RegExp): Locator;
  /** A button of VS Code's own dialog. */
  dialogButton(name: string): Locator;
  /** A line of the list that VS Code shows to choose from. */
  choice(text: string | RegExp): Locator;
  /** Answers VS Code's own question where to save, which proposes `proposed`. */
  saveAs(proposed: RegExp, path: string): Promise<void>;
  openFile(path: string): Promise<void>;
  /** The visible text of the active editor. */
  editorText(): Promise<string>;
  tab(name: string): Locator;
}

/** How often a key is pressed that nothing has answered. */
const TRIES = 5;

export function workbench(page: Page): Workbench {
  const palette = page.locator(".quick-input-widget");
  const quick = async (typed: string, shown: string): Promise<void> => {
    const input = palette.locator("input").first();
    const timeout = PATIENCE / TRIES;
    const run = async (): Promise<void> => {
      await page.keyboard.press("F1");
      await input.fill(typed, { timeout });
      await palette.locator(".monaco-list-row.focused", { hasText: shown }).waitFor({ timeout });
      await input.press("Enter", { timeout });
    };
    // A key that comes while the window is being set up is lost, and whatever takes the focus then closes the palette.
    for (let tries = 1; tries < TRIES; tries += 1) {
      if (await succeeds(run())) return;
    }
    await run();
  };
  const chat = page
    .frameLocator('iframe.webview.ready[src*="extensionId=reverie.reverie"]')
    .frameLocator("iframe#active-frame");
  const composer = chat.getByRole("textbox", { name: "Message to Reverie" });
  const command = (name: string): Promise<void> => quick(`>${name}`, name);
  return {
    page,
    chat,
    composer,
    openChat: async () => {
      await command("Reverie: Focus chat");
      await composer.waitFor();
    },
    prompt: async (text) => {
      await composer.fill(text);
      await composer.press("Enter");
    },
    rows: (kind) => chat.locator(`.row-${kind}`),
    command,
    toast: (text) => page.locator(".notifications-toasts .notification-list-item", { hasText: text }),
    dialogButton: (name) => page.locator(".monaco-dialog-box .monaco-button", { hasText: name }),
    choice: (text) => palette.locator(".monaco-list-row", { hasText: text }),
    statusItem: (text) => page.locator(".statusbar-item", { hasText: text }),
    saveAs: async (proposed, path) => {
      const input = palette.locator("input").first();
      // What is typed before the proposal is there, and the folder read, is written over by it.
      await until("a path is proposed", async () => proposed.test(await input.inputValue()));
      await palette.locator(".monaco-progress-container.active").waitFor({ state: "detached" });
      await input.fill(path);
      await input.press("Enter");
      await palette.waitFor({ state: "hidden" });
    },
    openFile: async (path) => {
      const name = path.split("/").at(-1) ?? path;
      await quick(path, name);
      await page.locator(".tab.active", { hasText: name }).waitFor();
      // What is typed before goes elsewhere.
      await page.locator(".editor-group-container.active .monaco-editor.focused .view-line").first().waitFor();
    },
    editorText: async () => {
      await page.locator(".editor-group-container.active .monaco-editor .view-line").first().waitFor();
      const lines = page.locator(".editor-group-container.active .monaco-editor .view-lines").last();
      // The lines are placed by their offset and stand in the document in any order.
      const texts = await lines.locator(".view-line").evaluateAll((elements) =>
        elements
          .map((element) => ({ top: Number.parseFloat((element as HTMLElement).style.top), text: element.textContent }))
          .sort((one, other) => one.top - other.top)
          .map(({ text }) => text ?? ""),
      );
      return texts.join("\n").replaceAll("\u00a0", " ");
    },
    tab: (name) => page.locator(".tabs-container .tab", { hasText: name }),
  };
}
