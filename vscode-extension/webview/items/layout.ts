/** Where the rows of a long list are: tops from heights, the row at a height, the rows near the viewport. Pure. */

import { estimateHeight, type Row } from "./rows.ts";

/** Under the last row. */
const BOTTOM_SPACE = 12;

/** Of rows that were never drawn. Counting the lines of all of them for each word that is streamed would be felt. */
const estimates = new WeakMap<Row, { width: number; height: number }>();

function estimated(row: Row, width: number): number {
  const known = estimates.get(row);
  if (known?.width === width) return known.height;
  const height = estimateHeight(row, width);
  estimates.set(row, { width, height });
  return height;
}

/** The top of each row, and behind them the height of all. */
export function topsOf(rows: readonly Row[], heights: ReadonlyMap<string, number>, width: number): Float64Array {
  const tops = new Float64Array(rows.length + 1);
  let top = 0;
  rows.forEach((row, at) => {
    tops[at] = top;
    top += heights.get(row.key) ?? estimated(row, width);
  });
  tops[rows.length] = top;
  return tops;
}

export function totalHeight(tops: Float64Array): number {
  return (tops.at(-1) ?? 0) + BOTTOM_SPACE;
}

/** The row that this height belongs to; the nearest one outside of the list. */
export function rowAt(tops: Float64Array, height: number): number {
  let low = 0;
  let high = Math.max(0, tops.length - 2);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface Range {
  first: number;
  /** Behind the last. */
  end: number;
}

/** The rows to draw: a viewport and a half to both sides, and the same ones until one viewport is no longer covered. */
export function rangeOf(tops: Float64Array, top: number, height: number, before: Range | undefined): Range {
  const count = tops.length - 1;
  if (count <= 0) return { first: 0, end: 0 };
  const within = (margin: number): Range => ({
    first: rowAt(tops, top - margin * height),
    end: Math.min(count, rowAt(tops, top + (1 + margin) * height) + 1),
  });
  const needed = within(1);
  if (before !== undefined && before.first <= needed.first && before.end >= needed.end && before.end <= count) {
    const most = within(3);
    return { first: Math.max(before.first, most.first), end: Math.min(before.end, most.end) };
  }
  return within(1.5);
}
