/** Which suggestions the word before the caret calls for. Commands are known; mentions are asked of the host. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { SlashCommand } from "../../src/protocol.ts";
import { call } from "../view.ts";
import { commandsFor, type Trigger, triggerAt } from "./mentions.ts";
import type { Suggestion } from "./suggestions.tsx";

export interface Completion {
  trigger: Trigger;
  suggestions: readonly Suggestion[];
}

export interface CompletionControl {
  /** Absent while nothing is suggested. */
  completion?: Completion;
  active: number;
  setActive: (index: number) => void;
  /** The text or the caret changed. */
  update: (text: string, caret: number) => void;
  /** Until another word is begun. */
  dismiss: () => void;
}

const ASK_AFTER_MS = 60;

export function useCompletion(commands: readonly SlashCommand[]): CompletionControl {
  const [completion, show] = useState<Completion>();
  const [active, setActive] = useState(0);
  const wanted = useRef<Trigger | undefined>(undefined);
  const dismissed = useRef<number | undefined>(undefined);
  const timer = useRef<number | undefined>(undefined);
  const typed = useRef({ text: "", caret: 0 });

  const close = useCallback(() => {
    window.clearTimeout(timer.current);
    wanted.current = undefined;
    show(undefined);
  }, []);

  const offer = useCallback((trigger: Trigger, suggestions: readonly Suggestion[]) => {
    show(suggestions.length > 0 ? { trigger, suggestions } : undefined);
    setActive(0);
  }, []);

  const update = useCallback(
    (text: string, caret: number) => {
      typed.current = { text, caret };
      const trigger = triggerAt(text, caret);
      if (!trigger || trigger.start !== dismissed.current) {
        dismissed.current = undefined;
      }
      if (!trigger || dismissed.current !== undefined) {
        close();
        return;
      }
      if (trigger.start === wanted.current?.start && trigger.query === wanted.current.query) {
        return;
      }
      wanted.current = trigger;
      window.clearTimeout(timer.current);
      if (trigger.kind === "command") {
        const found = commandsFor(commands, trigger.query);
        offer(
          trigger,
          found.map((command) => ({ kind: "command", command })),
        );
        return;
      }
      timer.current = window.setTimeout(async () => {
        const symbols = suggested("host/symbols", trigger.query);
        const others = await suggested("host/mentions", trigger.query);
        // An answer to what was typed before is of no use any more.
        if (wanted.current === trigger) offer(trigger, others);
        const late = await symbols;
        if (wanted.current === trigger && late.length > 0) show({ trigger, suggestions: [...others, ...late] });
      }, ASK_AFTER_MS);
    },
    [commands, close, offer],
  );

  const dismiss = useCallback(() => {
    dismissed.current = wanted.current?.start;
    close();
  }, [close]);

  // The server's commands may come after the first slash was typed.
  useEffect(() => {
    if (wanted.current?.kind === "command") {
      wanted.current = undefined;
      update(typed.current.text, typed.current.caret);
    }
  }, [update]);

  useEffect(() => () => window.clearTimeout(timer.current), []);

  return { completion, active, setActive, update, dismiss };
}

async function suggested(method: "host/mentions" | "host/symbols", query: string): Promise<readonly Suggestion[]> {
  const answer = await call(method, { query }).catch(() => undefined);
  return (answer?.mentions ?? []).map((mention) => ({ kind: "mention", mention }));
}
