/** A question of the agent: its answers to choose from, and room for another one. */

import type { Ask } from "../../src/chat/state.ts";
import { Markdown } from "../items/markdown.tsx";
import type { GiveAnswer } from "./asks.tsx";
import { AskCard, type Choice, Words } from "./card.tsx";

type Question = Extract<Ask, { kind: "user" }>;

export function QuestionCard({ ask, answer }: { ask: Question; answer: GiveAnswer }) {
  const { id, question, options } = ask;
  const choices: Choice[] = [
    ...options.map(
      (option, at): Choice => ({
        id: `${at}`,
        label: option,
        look: "secondary",
        choose: () => answer({ id, kind: "user", answer: option }),
      }),
    ),
    { id: "dismiss", label: "Dismiss", look: "refusal", choose: () => answer({ id, kind: "user" }) },
  ];
  const label = options.length > 0 ? "Or write another answer" : "Write an answer";
  return (
    <AskCard
      icon="question"
      title={<Markdown text={question} />}
      label={`Question: ${question}`}
      choices={choices}
      footer={(give, isBusy) => (
        <Words
          label={label}
          button="Answer"
          isBusy={isBusy}
          onSend={(words) => give(() => answer({ id, kind: "user", answer: words }))}
        />
      )}
    />
  );
}
