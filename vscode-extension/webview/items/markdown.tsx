/**
 * Markdown on the page: what `markdown.ts` made, through the sanitiser and into the DOM, one element per block; a block
 * that did not change is not touched. Clicks on links and on the buttons of code go to the host from here.
 */

import DOMPurify from "dompurify";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { createBounded } from "../bounded.ts";
import { type Block, references, renderBlock, splitBlocks } from "../markdown.ts";
import { tell } from "../view.ts";

interface MarkdownProps {
  text: string;
  /** More is coming. */
  streaming?: boolean;
}

export function Markdown({ text, streaming = false }: MarkdownProps) {
  const before = useRef<readonly Block[]>([]);
  const clean = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
  const blocks = useMemo(() => splitBlocks(clean, before.current), [clean]);
  before.current = blocks;
  const known = useMemo(() => (streaming ? undefined : references(clean)), [clean, streaming]);
  const last = blocks.at(-1);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only passes on what its links and buttons say.
    <div class="md" onClick={follow} onKeyDown={followByKey}>
      {blocks.map((block) => (
        <BlockView key={block.start} source={block.source} isOpen={streaming && block === last} known={known} />
      ))}
    </div>
  );
}

interface BlockViewProps {
  source: string;
  isOpen: boolean;
  known: ReturnType<typeof references>;
}

function BlockView({ source, isOpen, known }: BlockViewProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    const draw = () => current.replaceChildren(fragment(source, isOpen, known));
    // Asking for the selection lays the page out: not for each of many blocks that come at once, empty as they are.
    if (!current.hasChildNodes() || !isSelected(current)) {
      draw();
      return;
    }
    // What somebody marks while it is still being written stays marked; the rest of the block comes afterwards.
    const drawLater = () => {
      if (isSelected(current)) return;
      document.removeEventListener("selectionchange", drawLater);
      draw();
    };
    document.addEventListener("selectionchange", drawLater);
    return () => document.removeEventListener("selectionchange", drawLater);
  }, [source, isOpen, known]);
  return <div class="md-block" ref={element} />;
}

function isSelected(block: HTMLElement): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(block, true);
}

const CLEAN = {
  ALLOWED_TAGS:
    "a blockquote br button code del div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split(
      " ",
    ),
  ALLOWED_ATTR: ["aria-hidden", "aria-label", "class", "role", "start", "tabindex", "title", "type"],
  ALLOW_DATA_ATTR: true,
  RETURN_DOM_FRAGMENT: true as const,
};

/** Blocks that were drawn: rows come and go while one scrolls, and sanitising is the dear part. */
const drawn = createBounded<DocumentFragment>(800);

function fragment(source: string, isOpen: boolean, known: ReturnType<typeof references>): DocumentFragment {
  const isKept = !isOpen && known === undefined;
  const kept = isKept ? drawn.get(source) : undefined;
  if (kept !== undefined) return kept.cloneNode(true) as DocumentFragment;
  const made = DOMPurify.sanitize(renderBlock(source, isOpen, known), CLEAN);
  if (!isKept) return made;
  drawn.set(source, made);
  return made.cloneNode(true) as DocumentFragment;
}

export function followByKey(event: KeyboardEvent): void {
  const isLink = event.target instanceof HTMLElement && event.target.getAttribute("role") === "link";
  if (isLink && event.key === "Enter") follow(event);
}

/** Clicks on links and on the buttons of code, wherever in the element they are. */
export function follow(event: Event): void {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest<HTMLElement>("[data-code]");
  const link = event.target.closest<HTMLElement>("[data-url],[data-path]");
  if (button !== null) actOnCode(button);
  else if (link !== null) open(link.dataset);
  else return;
  event.preventDefault();
}

function open({ url, path, line, column }: DOMStringMap): void {
  if (url !== undefined) tell("host/openLink", { url });
  else if (path !== undefined) {
    tell("host/open", { path, ...(line && { line: Number(line) }), ...(column && { column: Number(column) }) });
  }
}

function actOnCode(button: HTMLElement): void {
  const block = button.closest<HTMLElement>(".code");
  const text = (block?.querySelector("pre")?.textContent ?? "").replace(/\n$/, "");
  const { file } = block?.dataset ?? {};
  switch (button.dataset.code) {
    case "copy":
      tell("host/copy", { text });
      confirm(button);
      break;
    case "insert":
      tell("host/insert", { text });
      break;
    case "apply":
      tell("host/apply", { text, ...(file && { path: file }) });
      break;
  }
}

/** A tick in place of the icon for a moment: the clipboard shows nothing by itself. */
function confirm(button: HTMLElement): void {
  const icon = button.querySelector(".codicon");
  icon?.classList.replace("codicon-copy", "codicon-check");
  setTimeout(() => icon?.classList.replace("codicon-check", "codicon-copy"), 1500);
}
