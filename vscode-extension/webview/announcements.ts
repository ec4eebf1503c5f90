/** What a screen reader says by itself: what one would otherwise have to look for, once, and never each delta. Pure. */

import type { ChatState, Item } from "../src/chat/state.ts";
import { isForeign } from "./asks/origin.ts";
import { callLine } from "./items/calls.ts";
import { stopWords } from "./panels/words.ts";

export interface Announcement {
  text: string;
  /** Somebody waits for the user: it is said at once. */
  isUrgent: boolean;
}

/** What is worth saying of a change. */
export function announcements(before: ChatState, after: ChatState): Announcement[] {
  const said: Announcement[] = [];
  const say = (text: string, isUrgent = false) => said.push({ text, isUrgent });
  if (before.server.state !== after.server.state) {
    if (after.server.state === "failed") say(`Reverie's server stopped. ${after.server.reason}`, true);
    if (after.server.state === "restarting") say("Reverie's server ended and is being started again.");
    if (after.server.state === "running" && before.server.state === "restarting") say("Reverie's server runs again.");
  }
  for (const ask of after.asks) {
    if (before.asks.some(({ id }) => id === ask.id)) continue;
    const from = isForeign(ask, after) ? "From another conversation. " : "";
    if (ask.kind === "permission") say(`${from}Permission needed: ${called(ask.tool, ask.input)}. ${ask.reason}`, true);
    else if (ask.kind === "user") say(`${from}Reverie asks: ${ask.question}`, true);
    else say(`${from}Reverie has made a plan and waits for your answer.`, true);
  }
  // Another conversation is not news, item by item; one that begins with a prompt is, even where its answer came at once.
  const isBegun = before.sessionId === undefined && after.items[0]?.turnId !== undefined;
  if (before.sessionId !== after.sessionId && !isBegun) return said;
  if (before.turn === undefined && after.turn !== undefined) say("Reverie is working.");
  for (const item of changed(before.items, after.items)) {
    if (item.kind === "tool" && item.state === "failed" && item.turnId !== undefined)
      say(`${called(item.tool, item.input)} failed.`);
    if (item.kind === "notice" && item.level !== "info") say(item.text);
    if (item.kind === "end") say(ended(item, after.items));
  }
  return said;
}

/**
 * Items that are new, and calls that went on. They change near the end: looking stops where all is as it was. What is read
 * from a transcript once more is another object, and no news.
 */
function changed(before: readonly Item[], after: readonly Item[]): Item[] {
  if (before === after) return [];
  let from = 0;
  while (from < before.length && before[from] === after[from]) from += 1;
  const known = new Map(before.slice(from).map((item) => [item.key, item]));
  return after.slice(from).filter((item) => {
    const old = known.get(item.key);
    return old === undefined || (old.kind === "tool" && item.kind === "tool" && old.state !== item.state);
  });
}

function ended(end: Extract<Item, { kind: "end" }>, items: readonly Item[]): string {
  if (end.error !== undefined) return `The turn failed: ${end.error.message}`;
  const stopped = stopWords(end.stopReason);
  if (stopped !== undefined) return stopped;
  const answer = items.findLast((item) => item.kind === "text");
  return answer?.kind === "text" ? `Reverie answered: ${firstSentence(answer.text)}` : "Reverie is done.";
}

function firstSentence(markdown: string): string {
  const plain = markdown
    .replace(/```[\s\S]*?(?:```|$)/g, " ")
    .replace(/[#*_`>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return (/^.{1,200}?[.!?:](?=\s|$)/.exec(plain)?.[0] ?? plain.slice(0, 200)) || "code.";
}

function called(tool: string, input: unknown): string {
  const { verb, subject } = callLine(tool, input, undefined);
  return `${verb} ${subject}`.trim();
}
