/** The frame of a question: its keys, its buttons, what went wrong with the answer. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../chrome/button.tsx";
import { isComposing } from "../chrome/keys.ts";

/** A card that comes up under a click or a key that was meant for something else allows nothing. */
const ARMED_AFTER_MS = 300;

export interface Choice {
  id: string;
  label: string;
  title?: string;
  /** How it looks; the one that refuses is where Escape goes. */
  look: "primary" | "secondary" | "refusal";
  choose: () => Promise<unknown>;
}

interface CardProps {
  icon: string;
  title: ComponentChildren;
  /** For a screen reader, all in one. */
  label: string;
  choices: readonly Choice[];
  children?: ComponentChildren;
  /** Under the buttons: a field for words. */
  footer?: (give: (choose: () => Promise<unknown>) => void, isBusy: boolean) => ComponentChildren;
}

export function AskCard({ icon, title, label, choices, children, footer }: CardProps) {
  const root = useRef<HTMLFieldSetElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  const isLocked = ({ look }: Choice) => isBusy || (!isArmed && look !== "refusal");
  const give = (choose: () => Promise<unknown>) => {
    if (isBusy) return;
    setBusy(true);
    choose().catch((error: Error) => {
      setProblem(error.message);
      setBusy(false);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isComposing(event)) return;
    if (event.key === "Escape") {
      // Twice never refuses by accident either: it only goes there.
      root.current?.querySelector<HTMLElement>("[data-refusal]")?.focus();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const choice = isField(event.target) ? undefined : choices[Number(event.key) - 1];
    if (choice === undefined || !/^[1-9]$/.test(event.key)) return;
    event.preventDefault();
    if (!isLocked(choice)) give(choice.choose);
  };
  return (
    <fieldset class="ask" aria-label={label} tabIndex={-1} ref={root} onKeyDown={onKeyDown}>
      <div class="ask-title">
        <Icon name={icon} />
        <div class="ask-words">{title}</div>
      </div>
      {children}
      <div class="ask-choices">
        {choices.map((choice, at) => (
          <button
            key={choice.id}
            type="button"
            class={`chrome-button ${choice.look === "primary" ? "" : "chrome-secondary"}`}
            title={choice.title}
            disabled={isLocked(choice)}
            data-refusal={choice.look === "refusal" ? "" : undefined}
            onClick={() => give(choice.choose)}
          >
            {at < 9 && (
              <span class="ask-key" aria-hidden="true">
                {at + 1}
              </span>
            )}
            {choice.label}
          </button>
        ))}
      </div>
      {footer?.(give, isBusy)}
      {problem !== "" && (
        <p class="ask-problem" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}

interface WordsProps {
  label: string;
  button: string;
  isBusy: boolean;
  onSend: (words: string) => void;
}

/** A line of the user's own words; Enter or the button sends it. */
export function Words({ label, button, isBusy, onSend }: WordsProps) {
  const [words, setWords] = useState("");
  const send = () => {
    if (words.trim() !== "") onSend(words.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !isComposing(event)) send();
  };
  return (
    <div class="ask-field">
      <input
        type="text"
        value={words}
        placeholder={label}
        aria-label={label}
        disabled={isBusy}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {words.trim() !== "" && (
        <button type="button" class="chrome-button chrome-secondary" disabled={isBusy} onClick={send}>
          {button}
        </button>
      )}
    </div>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}
