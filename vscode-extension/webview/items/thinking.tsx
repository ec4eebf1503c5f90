/** What the model thought: one line until it is opened. */

import type { ThinkingItem } from "../../src/chat/state.ts";
import { Fold } from "./fold.tsx";
import { Markdown } from "./markdown.tsx";

export function Thinking({ item: { key, text, streaming } }: { item: ThinkingItem }) {
  const latest = lastLine(text);
  const summary = streaming ? (
    <>
      <span class="shimmer">Thinking</span> <span class="quiet">{latest}</span>
    </>
  ) : (
    <>
      Thought <span class="quiet">{firstLine(text)}</span>
    </>
  );
  return (
    <Fold name={key} summary={summary} class="thinking">
      <Markdown text={text} streaming={streaming} />
    </Fold>
  );
}

function firstLine(text: string): string {
  return plain(text.trimStart().slice(0, 200).split("\n", 1)[0] ?? "");
}

function lastLine(text: string): string {
  return plain(text.slice(-200).trimEnd().split("\n").at(-1) ?? "");
}

function plain(line: string): string {
  return line.replace(/^[#>\s*-]+|[*_`]+/g, "");
}
