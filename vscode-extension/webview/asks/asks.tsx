/**
 * What the agent waits for, pinned above the composer, one card at a time. A card never takes the focus by itself, and
 * its keys work only while the focus is in it: nothing that is typed elsewhere can allow something.
 */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Answer } from "../../src/chat/messages.ts";
import type { Ask, ChatState } from "../../src/chat/state.ts";
import { Icon } from "../chrome/button.tsx";
import { focusOn } from "../focus.ts";
import { call, focusComposer, onCommand, tell } from "../view.ts";
import { isForeign } from "./origin.ts";
import { PermissionCard } from "./permission.tsx";
import { PlanCard } from "./plan.tsx";
import { QuestionCard } from "./question.tsx";

interface AsksProps {
  state: ChatState;
  /** A page is open in place of the conversation. */
  isCovered: boolean;
}

export function Asks({ state, isCovered }: AsksProps) {
  const { asks } = state;
  const root = useRef<HTMLElement>(null);
  const hadFocus = useRef(false);
  const [ask] = asks;
  const shown = useRef(ask?.id);
  // It may also have been answered elsewhere, in a notification; here the old card is still on the page.
  if (shown.current !== ask?.id) hadFocus.current ||= root.current?.contains(document.activeElement) ?? false;
  shown.current = ask?.id;
  useLayoutEffect(
    () =>
      onCommand((command) => {
        if (command.type !== "focus" || command.on !== "ask") return;
        // After the composer, which takes the focus in the next frame and keeps it where nothing waits.
        requestAnimationFrame(() => requestAnimationFrame(() => focusCard(root.current)));
      }),
    [],
  );
  // Who answered by keyboard goes on with the next question, on the page that is open, or writes on.
  useLayoutEffect(() => {
    if (!hadFocus.current) return;
    hadFocus.current = false;
    if (ask !== undefined) focusCard(root.current);
    else if (isCovered) focusOn(document.querySelector<HTMLElement>(".page button"));
    else focusComposer();
  }, [ask?.id]);
  if (ask === undefined) return null;
  const answer = (answer: Answer) => {
    hadFocus.current = root.current?.contains(document.activeElement) ?? false;
    return call("host/answer", answer);
  };
  return (
    <section class="asks" ref={root} aria-label="Reverie waits for your answer">
      {asks.length > 1 && <div class="asks-count">1 of {asks.length}</div>}
      {isForeign(ask, state) && <Origin sessionId={ask.sessionId} />}
      <Card key={ask.id} ask={ask} answer={answer} />
    </section>
  );
}

function Origin({ sessionId }: { sessionId: string }) {
  return (
    <div class="asks-origin">
      <Icon name="comment-discussion" />
      <span>From another conversation</span>
      <button type="button" class="chrome-link" onClick={() => tell("host/session/open", { sessionId })}>
        Go to it
      </button>
    </div>
  );
}

export type GiveAnswer = (answer: Answer) => Promise<unknown>;

function Card({ ask, answer }: { ask: Ask; answer: GiveAnswer }) {
  switch (ask.kind) {
    case "permission":
      return <PermissionCard ask={ask} answer={answer} />;
    case "user":
      return <QuestionCard ask={ask} answer={answer} />;
    case "plan":
      return <PlanCard ask={ask} answer={answer} />;
  }
}

function focusCard(root: HTMLElement | null): void {
  focusOn(root?.querySelector<HTMLElement>(".ask"));
}
