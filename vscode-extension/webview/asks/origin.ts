/** Whose question it is. Pure. */

import type { Ask, ChatState } from "../../src/chat/state.ts";

/** Whether another conversation than the shown one waits for the answer: all of them ask in one place. */
export function isForeign(ask: Pick<Ask, "sessionId">, { sessionId }: Pick<ChatState, "sessionId">): boolean {
  return ask.sessionId !== sessionId;
}
