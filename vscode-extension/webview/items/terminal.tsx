/** What a program printed, in the colours of the theme's terminal. */

import { useMemo } from "preact/hooks";
import { tell } from "../view.ts";
import { parseAnsi, type Span } from "./ansi.ts";
import { follow, followByKey } from "./markdown.tsx";
import { filesIn } from "./places.ts";

/** The rest opens in an editor. */
const SHOWN_LINES = 40;
const SHOWN_CHARS = 12_000;

interface OutputProps {
  text: string;
  /** Of the editor that shows all of it. */
  title: string;
  /** Which part is shown of what is too long: a program's last words matter, a list's first ones. */
  keep: "first" | "last";
}

export function Output({ text, title, keep }: OutputProps) {
  const trimmed = text.replace(/\s+$/, "");
  const [shown, hidden] = clipped(trimmed, keep);
  const spans = useMemo(() => parseAnsi(shown), [shown]);
  const more = hidden > 0 && (
    <div class="output-more">
      {hidden} {keep === "last" ? "earlier" : "more"} lines.{" "}
      <button type="button" class="text-button" onClick={() => tell("host/openText", { title, text: plain(text) })}>
        Open in editor
      </button>
    </div>
  );
  return (
    <div class="output">
      {keep === "last" && more}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too. */}
      <pre tabIndex={0} onClick={follow} onKeyDown={followByKey}>
        {spans.map((span, at) => (
          <Piece key={at} span={span} />
        ))}
      </pre>
      {keep === "first" && more}
    </div>
  );
}

function Piece({ span }: { span: Span }) {
  const { text, color, background, ...looks } = span;
  const classes = Object.keys(looks).filter((look) => looks[look as keyof typeof looks]);
  if (color === undefined && background === undefined && classes.length === 0) return <Linked text={text} />;
  const style = { color: cssColor(color, "background"), backgroundColor: cssColor(background, "foreground") };
  return (
    <span class={classes.map((look) => `ansi-${look}`).join(" ")} style={style}>
      <Linked text={text} />
    </span>
  );
}

/** Not buttons: what is printed is to be marked and copied across them. */
function Linked({ text }: { text: string }) {
  const pieces = useMemo(() => filesIn(text), [text]);
  return (
    <>
      {pieces.map(({ text, place }, at) =>
        place === undefined ? (
          text
        ) : (
          // biome-ignore lint/a11y/useSemanticElements: an address would be followed by the browser.
          <span
            key={at}
            class="file-link"
            role="link"
            tabIndex={0}
            title={`Open ${place.path}`}
            data-path={place.path}
            data-line={place.line}
            data-column={place.column}
          >
            {text}
          </span>
        ),
      )}
    </>
  );
}

function cssColor(color: string | undefined, inverse: "background" | "foreground"): string | undefined {
  if (color === undefined || color.startsWith("#")) return color;
  return color === "inverse" ? `var(--output-${inverse})` : `var(--vscode-terminal-ansi${color})`;
}

/** The part to show, and how many lines that leaves out. */
function clipped(text: string, keep: "first" | "last"): [shown: string, hidden: number] {
  const lines = text.split("\n");
  const kept = keep === "last" ? lines.slice(-SHOWN_LINES) : lines.slice(0, SHOWN_LINES);
  const joined = kept.join("\n");
  const shown = keep === "last" ? joined.slice(-SHOWN_CHARS) : joined.slice(0, SHOWN_CHARS);
  const hidden = lines.length - kept.length;
  return [shown, hidden === 0 && shown.length < joined.length ? 1 : hidden];
}

function plain(text: string): string {
  return parseAnsi(text)
    .map((span) => span.text)
    .join("");
}
