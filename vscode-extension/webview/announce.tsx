/** What a screen reader says by itself, and when: see `announcements.ts` for what. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ChatState } from "../src/chat/state.ts";
import { type Announcement, announcements } from "./announcements.ts";

export function Announcer({ state }: { state: ChatState }) {
  const before = useRef(state);
  const [polite, setPolite] = useState(SILENCE);
  const [urgent, setUrgent] = useState(SILENCE);
  useLayoutEffect(() => {
    const said = announcements(before.current, state);
    before.current = state;
    const calm = said.filter(({ isUrgent }) => !isUrgent);
    const loud = said.filter(({ isUrgent }) => isUrgent);
    if (calm.length > 0) setPolite((said) => next(said, calm));
    if (loud.length > 0) setUrgent((said) => next(said, loud));
  }, [state]);
  return (
    <>
      <div class="sr-only" role="status" aria-live="polite">
        <p key={polite.count}>{polite.text}</p>
      </div>
      <div class="sr-only" role="alert" aria-live="assertive">
        <p key={urgent.count}>{urgent.text}</p>
      </div>
    </>
  );
}

/** Counted, so that the same words once more are another element: a live region that does not change says nothing. */
interface Said {
  text: string;
  count: number;
}

const SILENCE: Said = { text: "", count: 0 };

function next(before: Said, said: readonly Announcement[]): Said {
  return { text: said.map(({ text }) => text).join(" "), count: before.count + 1 };
}
