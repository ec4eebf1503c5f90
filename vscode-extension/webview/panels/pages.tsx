/** The pages over the conversation. Escape and Back close one, and the focus goes back to where it was. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Page } from "../../src/chat/messages.ts";
import type { ChatState } from "../../src/chat/state.ts";
import { Boundary } from "../boundary.tsx";
import { IconButton } from "../chrome/button.tsx";
import { isComposing } from "../chrome/keys.ts";
import { focusOn } from "../focus.ts";
import { ContextPage } from "./context.tsx";
import { SessionsPage } from "./sessions.tsx";
import { TasksPage } from "./tasks.tsx";

interface PagesProps {
  page: Page;
  state: ChatState;
  onClose: () => void;
}

export function Pages({ page, state, onClose }: PagesProps) {
  switch (page) {
    case "chat":
      return null;
    case "sessions":
      return (
        <Frame key={page} title="Sessions" onClose={onClose}>
          <SessionsPage state={state} onClose={onClose} />
        </Frame>
      );
    case "context":
      return (
        <Frame key={page} title="Context and cost" onClose={onClose}>
          <ContextPage state={state} />
        </Frame>
      );
    case "tasks":
      return (
        <Frame key={page} title="Background" onClose={onClose}>
          <TasksPage state={state} />
        </Frame>
      );
  }
}

interface FrameProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

function Frame({ title, onClose, children }: FrameProps) {
  const root = useRef<HTMLElement>(null);
  const close = useRef(onClose);
  close.current = onClose;

  useLayoutEffect(() => {
    const before = document.activeElement;
    const first = root.current?.querySelector<HTMLElement>("[data-first]") ?? root.current?.querySelector("button");
    focusOn(first);
    return () => {
      // Later, since the conversation is not back yet; and only where nobody else has taken the focus meanwhile. The
      // composer has it where what had it is gone, or was nothing.
      requestAnimationFrame(() => {
        if (document.activeElement === null || document.activeElement === document.body) {
          const isThere = before instanceof HTMLElement && before.isConnected && before !== document.body;
          focusOn(isThere ? before : document.querySelector<HTMLElement>(".composer-text"));
        }
      });
    };
  }, []);

  // On the window: a button that was pressed and is gone leaves the focus on nothing.
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !isComposing(event)) {
        event.preventDefault();
        close.current();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);

  return (
    <section ref={root} class="page" aria-label={title}>
      <header class="page-header">
        <IconButton icon="arrow-left" label="Back to the conversation (Escape)" onClick={onClose} />
        <h1 class="page-title">{title}</h1>
      </header>
      <div class="page-body">
        <Boundary name={title} of={title}>
          {children}
        </Boundary>
      </div>
    </section>
  );
}
