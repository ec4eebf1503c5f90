/** A diff in the conversation: numbers, signs and the language's colours. Signs, not only colours, say what a line is. */

import { useMemo } from "preact/hooks";
import { highlightLines, type Token } from "../highlight.ts";
import { useOpen } from "./fold.tsx";
import { ending } from "./places.ts";
import { type DiffLine, parseUnified } from "./unified.ts";

/** More than this is shown only when asked for. */
const SHOWN_LINES = 30;

interface DiffProps {
  /** For what the user opened. */
  name: string;
  diff: string;
  /** Names the language. */
  path: string;
}

export function Diff({ name, diff, path }: DiffProps) {
  const [isWhole, showWhole] = useOpen(`${name}:whole`, false);
  const { lines, added, removed } = useMemo(() => parseUnified(diff), [diff]);
  const coloured = useMemo(() => colour(lines, ending(path)), [lines, path]);
  const shown = isWhole ? lines : lines.slice(0, SHOWN_LINES);
  const hidden = lines.length - shown.length;
  return (
    <div class="diff">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, by keyboard too. */}
      <section class="diff-lines" aria-label={`${added} lines added, ${removed} removed`} tabIndex={0}>
        <table>
          <tbody>
            {shown.map((line, at) => (
              <Line key={at} line={line} tokens={coloured[at] ?? []} />
            ))}
          </tbody>
        </table>
      </section>
      {hidden > 0 && (
        <button type="button" class="more-button" onClick={showWhole}>
          Show {hidden} more lines
        </button>
      )}
    </div>
  );
}

function Line({ line, tokens }: { line: DiffLine; tokens: readonly Token[] }) {
  return (
    <tr class={`diff-${line.kind}`}>
      <td class="diff-number">{line.before}</td>
      <td class="diff-number">{line.after}</td>
      <td class="diff-sign">{sign(line.kind)}</td>
      <td class="diff-text">
        {tokens.map(({ text, scope }, at) => (
          <span key={at} class={scope}>
            {text}
          </span>
        ))}
      </td>
    </tr>
  );
}

function sign(kind: DiffLine["kind"]): string {
  switch (kind) {
    case "added":
      return "+";
    case "removed":
      return "−";
    case "gap":
      return "⋯";
    case "same":
    case "note":
      return "";
  }
}

/** Each side is coloured as a whole: a comment may be longer than a line. */
function colour(lines: readonly DiffLine[], language: string): Token[][] {
  const side = (without: DiffLine["kind"]) => {
    const places = lines.flatMap(({ kind }, at) => (kind === without || kind === "gap" || kind === "note" ? [] : [at]));
    const code = places.map((at) => lines[at]?.text ?? "").join("\n");
    const tokens = highlightLines(code, language);
    return new Map(places.map((at, line) => [at, tokens[line] ?? []]));
  };
  const [old, next] = [side("added"), side("removed")];
  return lines.map(({ text }, at) => next.get(at) ?? old.get(at) ?? [{ text, scope: "" }]);
}
