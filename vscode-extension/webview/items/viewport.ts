/**
 * What the list knows of its viewport: which rows there are and how high, where it is scrolled to, what it holds on to.
 * The component owns one and changes it in place, since it changes between renders.
 */

import { type Anchor, remember, remembered } from "../view.ts";
import { type Range, rangeOf, rowAt, topsOf, totalHeight } from "./layout.ts";
import { lastingKey, type Row } from "./rows.ts";

/** So near to the end is at the end. */
const NEAR_END = 8;
const REMEMBER_AFTER_MS = 300;

export interface Viewport {
  rows: readonly Row[];
  places: ReadonlyMap<string, number>;
  heights: Map<string, number>;
  tops: Float64Array;
  width: number;
  height: number;
  /** Where it is scrolled to, as far as we know. */
  top: number;
  isFollowing: boolean;
  anchor?: Anchor;
  /** Where to go if the anchor is not there when the first rows come. */
  lasting?: Anchor;
  range?: Range;
  /** The row to focus once it is drawn. */
  toFocus?: string;
  saving?: ReturnType<typeof setTimeout>;
}

/** Where the user was, if it was in this conversation; else at the end. */
export function begin(sessionId: string | undefined): Viewport {
  const saved = remembered();
  const { scroll: anchor, lasting } = saved.sessionId === sessionId ? saved : {};
  return {
    rows: [],
    places: new Map(),
    heights: new Map(),
    tops: new Float64Array(1),
    width: 400,
    height: Math.max(200, window.innerHeight),
    top: 0,
    isFollowing: anchor === undefined,
    ...(anchor && { anchor }),
    ...(lasting && { lasting }),
  };
}

/** Takes the rows as they are now. Who has just said something wants to see it. */
export function adopt(view: Viewport, rows: readonly Row[]): void {
  if (rows.length === view.rows.length && rows.every((row, at) => row === view.rows[at])) return;
  const asked = rows.findLast((row) => row.items[0].kind === "user");
  if (view.rows.length > 0 && asked !== undefined && !view.places.has(asked.key)) view.isFollowing = true;
  const isFirst = view.rows.length === 0;
  view.rows = rows;
  view.places = new Map(rows.map((row, at) => [row.key, at]));
  // A conversation that was opened anew may have other rows than the one that was left.
  if (isFirst && view.anchor !== undefined) {
    view.anchor = [view.anchor, view.lasting].find((anchor) => anchor && view.places.has(anchor.key));
    view.isFollowing = view.anchor === undefined;
  }
  view.tops = topsOf(rows, view.heights, view.width);
}

/** Where the viewport has to be for what the user looks at to stay where it is. */
export function wantedTop(view: Viewport): number {
  const last = Math.max(0, totalHeight(view.tops) - view.height);
  if (view.isFollowing) return last;
  const place = view.anchor && view.places.get(view.anchor.key);
  if (view.anchor === undefined || place === undefined) return Math.min(view.top, last);
  return Math.min(last, Math.max(0, (view.tops[place] ?? 0) + view.anchor.offset));
}

export function measure(view: Viewport, scroller: HTMLElement, feed: HTMLElement): void {
  view.height = scroller.clientHeight;
  const width = feed.clientWidth;
  let isChanged = width !== view.width;
  // Another width makes other heights; what is not on the page is estimated again.
  if (isChanged) view.heights.clear();
  view.width = width;
  for (const row of feed.children as HTMLCollectionOf<HTMLElement>) {
    const key = row.dataset.key ?? "";
    const { height } = row.getBoundingClientRect();
    if (view.heights.get(key) === height) continue;
    view.heights.set(key, height);
    isChanged = true;
  }
  if (isChanged) view.tops = topsOf(view.rows, view.heights, view.width);
}

export function place(view: Viewport, scroller: HTMLElement, feed: HTMLElement): void {
  feed.style.height = `${totalHeight(view.tops)}px`;
  for (const row of feed.children as HTMLCollectionOf<HTMLElement>) {
    const index = view.places.get(row.dataset.key ?? "");
    if (index !== undefined) row.style.top = `${view.tops[index]}px`;
  }
  const wanted = wantedTop(view);
  if (Math.abs(scroller.scrollTop - wanted) > 1) scroller.scrollTop = wanted;
  view.top = scroller.scrollTop;
  if (totalHeight(view.tops) - view.height - view.top < NEAR_END) view.isFollowing = true;
}

export function scrolled(view: Viewport, top: number): void {
  const left = totalHeight(view.tops) - view.height - top;
  if (left < NEAR_END) view.isFollowing = true;
  else if (top < view.top - 1 || !view.isFollowing) view.isFollowing = false;
  view.top = top;
  anchorAt(view, top);
}

/** What somebody opens grows under the pointer: the end is not followed away from it. */
export function hold(view: Viewport, target: EventTarget | null): void {
  if (!(target instanceof Element) || target.closest("[aria-expanded], .more-button") === null) return;
  anchorAt(view, view.top);
  view.isFollowing = false;
}

function anchorAt(view: Viewport, top: number): void {
  const index = rowAt(view.tops, top);
  const row = view.rows[index];
  if (row !== undefined) view.anchor = { key: row.key, offset: top - (view.tops[index] ?? 0) };
}

/** Whether something near the viewport is not drawn. */
export function isOutside({ tops, top, height, range }: Viewport): boolean {
  const needed = rangeOf(tops, top, height, range);
  return range === undefined || needed.first < range.first || needed.end > range.end;
}

/** Scrolls just so far that the row is seen; its beginning where it is higher than the viewport. */
export function reveal(view: Viewport, key: string): void {
  const index = view.places.get(key) ?? 0;
  const [top, end] = [view.tops[index] ?? 0, view.tops[index + 1] ?? 0];
  const isSeen = top >= view.top && end <= view.top + view.height;
  if (isSeen) return;
  const isAbove = top < view.top || end - top > view.height;
  const offset = isAbove ? 0 : end - view.height - top;
  view.isFollowing = index === view.rows.length - 1;
  view.anchor = { key, offset };
}

/** Goes to the row, wherever that is, and gives it the focus. */
export function bringToTop(view: Viewport, key: string): void {
  view.isFollowing = false;
  view.anchor = { key, offset: 0 };
  view.toFocus = key;
}

export function destination(key: string, at: number, view: Viewport): number | undefined {
  switch (key) {
    case "ArrowUp":
      return at - 1;
    case "ArrowDown":
      return at + 1;
    case "PageUp":
      return Math.min(at - 1, rowAt(view.tops, (view.tops[at] ?? 0) - view.height));
    case "PageDown":
      return Math.max(at + 1, rowAt(view.tops, (view.tops[at] ?? 0) + view.height));
    case "Home":
      return 0;
    case "End":
      return view.rows.length - 1;
    default:
      return undefined;
  }
}

export function save(view: Viewport, sessionId: string | undefined): void {
  clearTimeout(view.saving);
  view.saving = setTimeout(() => {
    const scroll = view.isFollowing ? undefined : view.anchor;
    remember({ sessionId, scroll, lasting: scroll && lastingAnchor(view) });
  }, REMEMBER_AFTER_MS);
}

/** The nearest row at the top of the viewport or above it that keeps its name. */
function lastingAnchor({ rows, tops, top }: Viewport): Anchor | undefined {
  for (let index = rowAt(tops, top); index >= 0; index -= 1) {
    const row = rows[index];
    const key = row && lastingKey(row);
    if (key !== undefined) return { key, offset: top - (tops[index] ?? 0) };
  }
  return undefined;
}

export function indexes({ first, end }: Range, others: readonly (number | undefined)[]): number[] {
  const near = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  const far = others.filter((at) => at !== undefined && (at < first || at >= end)) as number[];
  return far.length === 0 ? near : [...new Set([...near, ...far])].sort((a, b) => a - b);
}
