/** The plan of plan mode: nothing is changed until it is approved. */

import type { Ask } from "../../src/chat/state.ts";
import { Markdown } from "../items/markdown.tsx";
import type { GiveAnswer } from "./asks.tsx";
import { AskCard, type Choice, Words } from "./card.tsx";

type PlanAsk = Extract<Ask, { kind: "plan" }>;

export function PlanCard({ ask: { id, plan }, answer }: { ask: PlanAsk; answer: GiveAnswer }) {
  const choices: Choice[] = [
    { id: "approve", label: "Approve", look: "primary", choose: () => answer({ id, kind: "plan", approved: true }) },
    {
      id: "acceptEdits",
      label: "Approve and accept edits",
      title: "Edits inside the workspace need no further question",
      look: "secondary",
      choose: () => answer({ id, kind: "plan", approved: true, acceptEdits: true }),
    },
    { id: "reject", label: "Reject", look: "refusal", choose: () => answer({ id, kind: "plan", approved: false }) },
  ];
  return (
    <AskCard
      icon="notebook"
      title={<strong>Reverie has made a plan</strong>}
      label="Plan, waits for your answer"
      choices={choices}
      footer={(give, isBusy) => (
        <Words
          label="Or reject, and say what to change"
          button="Reject"
          isBusy={isBusy}
          onSend={(message) => give(() => answer({ id, kind: "plan", approved: false, message }))}
        />
      )}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too. */}
      <section class="ask-preview ask-plan" tabIndex={0} aria-label="Plan">
        <Markdown text={plan} />
      </section>
    </AskCard>
  );
}
