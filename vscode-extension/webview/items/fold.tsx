/** What can be opened and closed, and stays so when its row has scrolled out of the page and comes back. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { createBounded } from "../bounded.ts";
import { Icon } from "../chrome/button.tsx";

/** Of more than anybody opens, the oldest are forgotten. */
const opened = createBounded<boolean>(2000);

/** Whether the part of that name is open, until the user says otherwise `initially`. */
export function useOpen(name: string, initially: boolean): [isOpen: boolean, toggle: () => void] {
  const [, redraw] = useState(0);
  const isOpen = opened.get(name) ?? initially;
  const toggle = () => {
    opened.set(name, !isOpen);
    redraw((count) => count + 1);
  };
  return [isOpen, toggle];
}

interface FoldProps {
  name: string;
  initially?: boolean;
  /** The one line that is always there. */
  summary: ComponentChildren;
  /** Behind the line, outside of the button. */
  actions?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

export function Fold({ name, initially = false, summary, actions, class: extra, children }: FoldProps) {
  const [isOpen, toggle] = useOpen(name, initially);
  return (
    <div class={`fold ${extra ?? ""}`}>
      <div class="fold-line">
        <button type="button" class="fold-button" aria-expanded={isOpen} onClick={toggle}>
          <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
          <span class="fold-summary">{summary}</span>
        </button>
        {actions}
      </div>
      {isOpen && <div class="fold-body">{children}</div>}
    </div>
  );
}
