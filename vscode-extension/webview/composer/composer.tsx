/** The foot of the conversation: what goes on, and the box to write in. */

import { useCallback, useMemo, useRef } from "preact/hooks";
import type { Draft } from "../../src/chat/messages.ts";
import type { ChatState } from "../../src/chat/state.ts";
import { Working } from "../chrome/working.tsx";
import { Box } from "./box.tsx";

interface ComposerProps {
  state: ChatState;
  draft: Draft;
  onDraft: (draft: Draft) => void;
}

export function Composer({ state, draft, onDraft }: ComposerProps) {
  const latest = useRef(onDraft);
  latest.current = onDraft;
  const keep = useCallback((draft: Draft) => latest.current(draft), []);
  const { commands } = state;
  const phase = state.turn?.phase;
  const turn = phase === undefined ? "none" : phase === "stopping" ? "stopping" : "running";
  // The same element again: what the box shows has not changed, and nothing of it is compared. The length of the
  // conversation is not felt in typing.
  const box = useMemo(
    () => <Box commands={commands} turn={turn} draft={draft} onDraft={keep} />,
    [commands, turn, draft, keep],
  );
  return (
    <section class="composer" aria-label="Prompt">
      <Working state={state} />
      {box}
    </section>
  );
}
