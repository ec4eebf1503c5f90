/** The list over the composer that completes `@` and `/`. Focus stays in the text; the keys are the composer's. */

import { useEffect, useRef } from "preact/hooks";
import type { Mention } from "../../src/chat/messages.ts";
import type { SlashCommand } from "../../src/protocol.ts";
import { Icon } from "../chrome/button.tsx";
import { baseName } from "../panels/format.ts";

export type Suggestion = { kind: "mention"; mention: Mention } | { kind: "command"; command: SlashCommand };

export const LIST_ID = "composer-suggestions";

export function optionId(index: number): string {
  return `composer-suggestion-${index}`;
}

interface SuggestionsProps {
  suggestions: readonly Suggestion[];
  active: number;
  onActive: (index: number) => void;
  onChoose: (suggestion: Suggestion) => void;
}

export function Suggestions({ suggestions, active, onActive, onChoose }: SuggestionsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active, suggestions]);
  return (
    <div
      ref={list}
      id={LIST_ID}
      class="composer-suggestions"
      role="listbox"
      aria-label={suggestions[0]?.kind === "command" ? "Commands" : "Mentions"}
    >
      {suggestions.map((suggestion, index) => (
        <div
          key={optionId(index)}
          id={optionId(index)}
          class="composer-suggestion"
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onMouseMove={() => onActive(index)}
          // The text keeps the focus, so that typing goes on.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(suggestion);
          }}
        >
          {suggestion.kind === "mention" ? (
            <MentionRow mention={suggestion.mention} />
          ) : (
            <CommandRow command={suggestion.command} />
          )}
        </div>
      ))}
    </div>
  );
}

/** Of a path the name comes first: its beginning is what many have in common. */
function MentionRow({ mention }: { mention: Mention }) {
  const { kind, label, detail } = mention;
  const path = label.replace(/\/$/, "");
  const name = kind === "file" || kind === "folder" || kind === "editor" ? baseName(path) : label;
  return (
    <>
      <Icon name={iconOf(kind)} />
      <span class="composer-suggestion-name">{name}</span>
      <span class="composer-suggestion-detail">{detail === path ? path.slice(0, -name.length - 1) : detail}</span>
    </>
  );
}

function CommandRow({ command }: { command: SlashCommand }) {
  return (
    <>
      <span class="composer-suggestion-name">
        /{command.name}
        {command.argumentHint && <span class="composer-suggestion-hint"> {command.argumentHint}</span>}
      </span>
      <span class="composer-suggestion-detail">{command.description}</span>
    </>
  );
}

function iconOf(kind: Mention["kind"]): string {
  switch (kind) {
    case "file":
      return "file";
    case "folder":
      return "folder";
    case "symbol":
      return "symbol-method";
    case "problems":
      return "warning";
    case "selection":
      return "selection";
    case "editor":
      return "go-to-file";
  }
}
