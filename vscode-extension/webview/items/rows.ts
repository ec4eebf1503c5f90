/** The rows of the list: an item each, but for calls in a row that only looked. Pure. */

import type { Item, ToolItem } from "../../src/chat/state.ts";
import { isReading } from "./calls.ts";

export type Row = { key: string; items: readonly [Item, ...Item[]] };

/** Fewer than this are shown one by one. */
const SMALLEST_GROUP = 2;

/** Rows of items that did not change are the same objects as before, so that they are not drawn again. */
export function rowsOf(items: readonly Item[], before: readonly Row[]): readonly Row[] {
  const known = new Map(before.map((row) => [row.key, row]));
  const rows: Row[] = [];
  const push = (key: string, members: readonly [Item, ...Item[]]) => {
    const old = known.get(key);
    const isSame = old?.items.length === members.length && old.items.every((item, at) => item === members[at]);
    rows.push(old !== undefined && isSame ? old : { key, items: members });
  };
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    if (item === undefined) continue;
    let end = at + 1;
    if (isReadingCall(item)) while (isReadingCall(items[end])) end += 1;
    if (end - at < SMALLEST_GROUP) {
      push(item.key, [item]);
      continue;
    }
    // Named by its first call, as the single card was: it stays where it is when the second one comes.
    push(item.key, [item, ...items.slice(at + 1, end)]);
    at = end - 1;
  }
  return rows;
}

/** A failure is not hidden in a group. */
function isReadingCall(item: Item | undefined): item is ToolItem {
  return item?.kind === "tool" && item.state !== "failed" && isReading(item.tool);
}

/** Whether the row shows this message of the transcript. */
export function holds({ items }: Row, messageUuid: string): boolean {
  return items.some((item) => "uuid" in item && item.uuid === messageUuid);
}

/** What the row is called after a reload too, when all is read from the transcript. Of a live answer nothing is known by then. */
export function lastingKey({ items: [item] }: Row): string | undefined {
  if (item.kind === "tool") return item.toolUseId;
  return item.kind === "user" ? item.uuid : undefined;
}

const LINE = 20;

/** How high a row will be, before it was ever drawn. `width` in pixels. */
export function estimateHeight(row: Row, width: number): number {
  const [item] = row.items;
  if (row.items.length > 1) return 30;
  const perLine = Math.max(20, (width - 40) / 6.8);
  const lines = (text: string) => text.length / perLine + count(text, "\n") * 0.6 + 1;
  switch (item.kind) {
    case "user":
      return 34 + Math.min(14, Math.ceil(lines(item.text))) * LINE + (item.recalled.length > 0 ? 24 : 0);
    case "text":
      return 24 + Math.ceil(lines(item.text)) * LINE;
    case "tool":
      return item.display?.kind === "diff" ? 60 + Math.min(30, count(item.display.diff, "\n")) * 18 : 30;
    case "notice":
      return 12 + Math.ceil(lines(item.text)) * LINE;
    case "end":
      return item.error === undefined ? 24 : 44;
    case "plan":
      return item.answer === undefined ? 30 : 40 + Math.ceil(lines(item.text)) * LINE;
    case "memory":
      return 26 * item.files.length;
    case "question":
      return 56;
    case "thinking":
    case "context":
      return 28;
  }
}

function count(text: string, what: string): number {
  let found = 0;
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + 1)) found += 1;
  return found;
}
