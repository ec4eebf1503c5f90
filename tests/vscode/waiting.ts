/** How tests wait: for something, and never for ever. */

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

/** No wait is without a limit; this is far beyond what anything takes on a busy machine. */
export const PATIENCE = 60_000;

/** For what happens outside of the page. */
export async function until(what: string, happened: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await happened())) {
    assert.ok(Date.now() < end, `never: ${what}`);
    await pause(50);
  }
}

export async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return await attempt.then(
    () => true,
    () => false,
  );
}
