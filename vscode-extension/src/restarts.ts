/** How often a server that ends by itself is started again. */

/** More ends than this within the span, and it stays down. */
const MOST = 5;
const SPAN_MS = 3 * 60_000;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;

/** The ends that still count; they are times, oldest first. */
export function recent(ends: readonly number[], now: number): number[] {
  return ends.filter((end) => now - end < SPAN_MS);
}

/** Whether a server that has ended so often of late stays down. */
export function isExhausted(ends: number): boolean {
  return ends > MOST;
}

/** How long to wait after so many recent ends. */
export function backoff(ends: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, ends - 1), LONGEST_DELAY_MS);
}
