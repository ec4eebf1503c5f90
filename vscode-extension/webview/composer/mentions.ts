/** What is typed in the composer, as text: where a completion begins, what a choice writes, which mentions still stand. */

import type { Attachment } from "../../src/chat/state.ts";
import type { SlashCommand } from "../../src/protocol.ts";

/** The word before the caret that can be completed. */
export interface Trigger {
  kind: "mention" | "command";
  /** Where the `@` or `/` is. */
  start: number;
  /** What is typed behind it. */
  query: string;
}

/** An attachment of the draft. One that was chosen behind an `@` stands in the text, any other is a chip. */
export interface Held {
  attachment: Attachment;
  /** What stands behind the `@`. */
  word?: string;
}

/** What is written and goes along with it. */
export interface Content {
  text: string;
  held: readonly Held[];
}

/** Longer words are not completed; so the cost of a key does not grow with the text. */
const LONGEST_WORD = 260;

export function triggerAt(text: string, caret: number): Trigger | undefined {
  const from = Math.max(0, caret - LONGEST_WORD);
  const before = text.slice(from, caret);
  const command = from === 0 ? /^\/(\S*)$/.exec(before) : null;
  if (command) {
    return { kind: "command", start: 0, query: command[1] ?? "" };
  }
  // Only behind a space or a bracket: an address of mail has its @ inside of a word.
  const query = /(?:^|[\s([{"'])@(\S*)$/.exec(before)?.[1];
  return query === undefined ? undefined : { kind: "mention", start: caret - query.length - 1, query };
}

/** Commands that begin so, then those that have it inside of their names; each in the given order. */
export function commandsFor(commands: readonly SlashCommand[], query: string): readonly SlashCommand[] {
  const wanted = query.toLowerCase();
  const rank = (command: SlashCommand) => command.name.toLowerCase().indexOf(wanted);
  const found = commands.filter((command) => rank(command) >= 0);
  return [...found.filter((command) => rank(command) === 0), ...found.filter((command) => rank(command) > 0)];
}

/** Whether `@word` stands in the text as a whole: not as the beginning of another path. */
export function isMentioned(text: string, word: string): boolean {
  const mention = `@${word}`;
  for (let at = text.indexOf(mention); at >= 0; at = text.indexOf(mention, at + 1)) {
    const after = text.slice(at + mention.length, at + mention.length + LONGEST_WORD);
    if (/^(?:[.,;:!?]*(?:\s|$)|[^\w./\\-])/.test(after)) {
      return true;
    }
  }
  return false;
}

/** A draft that comes from elsewhere: what its text names is in the text. */
export function hold(text: string, attachments: readonly Attachment[]): readonly Held[] {
  return attachments.map((attachment) => {
    const { label } = attachment;
    return isMentioned(text, label) ? { attachment, word: label } : { attachment };
  });
}

/** What goes with the text when it is sent: a mention that was deleted from the text does not. */
export function standing(text: string, held: readonly Held[]): readonly Attachment[] {
  return held.filter(({ word }) => word === undefined || isMentioned(text, word)).map(({ attachment }) => attachment);
}

/** What could not be sent stands before what was written meanwhile, and nothing of either is lost. */
export function rejoin(unsent: Content, typed: Content): Content {
  const texts = [unsent.text, typed.text].filter((text) => text.trim() !== "");
  const held = typed.held.reduce((all, { attachment, word }) => add(all, [attachment], word), unsent.held);
  return { text: texts.join("\n\n"), held };
}

/** Adds what is not there yet in this way; the same file mentioned twice is attached once. */
export function add(held: readonly Held[], attachments: readonly Attachment[], word?: string): readonly Held[] {
  const isHeld = (attachment: Attachment) =>
    held.some((one) => one.word === word && JSON.stringify(one.attachment) === JSON.stringify(attachment));
  const fresh = attachments.filter((attachment) => !isHeld(attachment));
  return [...held, ...fresh.map((attachment) => ({ attachment, word }))];
}
