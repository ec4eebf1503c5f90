/**
 * The model's Markdown as HTML, block by block: while an answer streams only its last block can still change, so that
 * the cost of a delta does not grow with the answer. Raw HTML stays text, pictures are never loaded, links carry no
 * address that a browser would follow (`data-url`, `data-path`; the view asks the host). Pure: no DOM.
 */

import MarkdownIt, { type Token } from "markdown-it";
import { highlightHtml } from "./highlight.ts";
import { codeTarget, filePlace, linkTarget, type Target } from "./items/places.ts";

/** A part of the text that stands for itself. */
export interface Block {
  /** Where it begins in the text: its name as long as text is only added. */
  start: number;
  source: string;
}

/** Of a fence that is still being written, so much is coloured at a time; what is before it is done. */
const PIECE_LINES = 40;

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false });
markdown.validateLink = (url) => linkTarget(url) !== undefined;
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
const { escapeHtml } = markdown.utils;

/** The text in blocks. With the blocks of a text that this one begins with, only its end is looked at. */
export function splitBlocks(text: string, before: readonly Block[] = []): readonly Block[] {
  const last = before.at(-1);
  const isMore = last !== undefined && text.startsWith(last.source, last.start) && startsSame(text, before);
  const from = isMore ? last.start : 0;
  const tail = text.slice(from);
  const tokens: Token[] = [];
  markdown.block.parse(tail, markdown, {}, tokens);
  const starts = lineStarts(tail);
  const blocks: Block[] = [];
  let begin = 0;
  for (const token of tokens) {
    if (token.level !== 0 || token.nesting < 0 || token.map === null) continue;
    const [line] = token.map;
    const start = starts[line] ?? tail.length;
    if (start > begin) blocks.push({ start: from + begin, source: tail.slice(begin, start) });
    begin = Math.max(begin, start);
  }
  if (begin < tail.length) blocks.push({ start: from + begin, source: tail.slice(begin) });
  return isMore ? [...before.slice(0, -1), ...blocks] : blocks;
}

/** Blocks are only ever taken from one text; its first one tells another text that happens to be longer. */
function startsSame(text: string, blocks: readonly Block[]): boolean {
  return blocks[0] !== undefined && text.startsWith(blocks[0].source);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Definitions of links may stand anywhere: what the blocks of a finished text need to know of each other. */
export function references(text: string): Record<string, { title: string; href: string }> | undefined {
  if (!/^ {0,3}\[[^\]]+\]:/m.test(text)) return undefined;
  const env: { references?: Record<string, { title: string; href: string }> } = {};
  markdown.block.parse(text, markdown, env, []);
  return env.references;
}

/** A block as HTML. It still has to go through the sanitiser. `isOpen`: more of it is coming. */
export function renderBlock(source: string, isOpen: boolean, known?: ReturnType<typeof references>): string {
  return markdown.render(source, { isOpen, ...(known && { references: { ...known } }) });
}

const rules = markdown.renderer.rules;

rules.link_open = (tokens, index) => {
  const target = linkTarget(String(tokens[index]?.attrGet("href") ?? ""));
  return target === undefined ? "<a>" : `<a ${targetAttributes(target)}>`;
};
rules.link_close = () => "</a>";

rules.image = (tokens, index) => {
  const token = tokens[index];
  const address = String(token?.attrGet("src") ?? "");
  const target = linkTarget(address);
  const alt = token?.content || "Picture";
  const words = `<span class="codicon codicon-file-media" aria-hidden="true"></span>${escapeHtml(alt)}`;
  const shown = `${words} <span class="md-address">${escapeHtml(address)}</span>`;
  return target === undefined
    ? `<span class="md-image">${shown}</span>`
    : `<a class="md-image" ${targetAttributes(target)}>${shown}</a>`;
};

rules.code_inline = (tokens, index) => {
  const words = tokens[index]?.content ?? "";
  const code = `<code>${escapeHtml(words)}</code>`;
  const place = filePlace(words);
  return place === undefined ? code : `<a class="md-path" ${targetAttributes({ kind: "file", ...place })}>${code}</a>`;
};

rules.fence = (tokens, index, _options, env) => {
  const token = tokens[index];
  if (token === undefined) return "";
  return codeBlock(token.info, token.content, env?.isOpen === true && index === tokens.length - 1);
};
rules.code_block = (tokens, index) => codeBlock("", tokens[index]?.content ?? "", false);

/** Inline styles are forbidden here: alignment is a class. */
for (const name of ["th_open", "td_open"]) {
  rules[name] = (tokens, index) => {
    const align = /text-align:(left|center|right)/.exec(String(tokens[index]?.attrGet("style") ?? ""))?.[1];
    const tag = name.slice(0, 2);
    return align === undefined ? `<${tag}>` : `<${tag} class="align-${align}">`;
  };
}
rules.table_open = () => '<div class="md-table" tabindex="0" role="group" aria-label="Table"><table>';
rules.table_close = () => "</table></div>";

/** `- [x] done`: the mark becomes an icon that says it. */
markdown.core.ruler.after("inline", "tasks", (state) => {
  state.tokens.forEach((token, at) => {
    if (token.type !== "inline" || state.tokens[at - 2]?.type !== "list_item_open") return;
    const first = token.children?.[0];
    const mark = first?.type === "text" ? /^\[([ xX])\] /.exec(first.content) : null;
    if (first === undefined || mark === null) return;
    first.content = first.content.slice(mark[0].length);
    const box = new state.Token("html_inline", "", 0);
    const isDone = mark[1] !== " ";
    const icon = isDone ? "pass-filled" : "circle-large";
    box.content = `<span class="md-task codicon codicon-${icon}" role="img" aria-label="${isDone ? "Done" : "To do"}"></span>`;
    token.children?.unshift(box);
    state.tokens[at - 2]?.attrJoin("class", "md-task-item");
  });
});

function targetAttributes(target: Target): string {
  const data =
    target.kind === "web"
      ? `data-url="${escapeHtml(target.url)}" title="${escapeHtml(target.url)}"`
      : `data-path="${escapeHtml(target.path)}"${numbered("line", target.line)}${numbered("column", target.column)}` +
        ` title="Open ${escapeHtml(target.path)}"`;
  return `role="link" tabindex="0" ${data}`;
}

function numbered(name: string, value: number | undefined): string {
  return value === undefined ? "" : ` data-${name}="${value}"`;
}

function codeBlock(info: string, content: string, isOpen: boolean): string {
  const code = content.replace(/\n$/, "");
  const { language, path } = codeTarget(info, code);
  const label = path === undefined ? escapeHtml(language || "text") : fileLabel(path);
  const button = (action: string, icon: string, words: string) =>
    `<button type="button" class="icon-button" data-code="${action}" title="${words}" aria-label="${words}">` +
    `<span class="codicon codicon-${icon}" aria-hidden="true"></span></button>`;
  const buttons = [
    button("copy", "copy", "Copy"),
    button("insert", "insert", "Insert at the cursor"),
    button("apply", "git-stash-apply", path === undefined ? "Apply to the open file" : `Apply to ${escapeHtml(path)}`),
  ];
  const body = isOpen ? piecewise(code, language) : (highlightHtml(code, language) ?? escapeHtml(code));
  const file = path === undefined ? "" : ` data-file="${escapeHtml(path)}"`;
  return (
    `<div class="code"${file}><div class="code-head"><span class="code-name">${label}</span>` +
    `<span class="code-actions">${buttons.join("")}</span></div>` +
    `<pre tabindex="0" aria-label="Code, ${escapeHtml(language || "text")}"><code>${body}\n</code></pre></div>`
  );
}

function fileLabel(path: string): string {
  return `<a ${targetAttributes({ kind: "file", path })}>${escapeHtml(path)}</a>`;
}

const pieces = new Map<string, string>();

/** Code that grows: whole pieces are coloured once, only the last one each time. */
function piecewise(code: string, language: string): string {
  const lines = code.split("\n");
  const coloured: string[] = [];
  for (let at = 0; at < lines.length; at += PIECE_LINES) {
    const piece = lines.slice(at, at + PIECE_LINES).join("\n");
    const isLast = at + PIECE_LINES >= lines.length;
    const name = `${language}\n${piece}`;
    const html = (isLast ? undefined : pieces.get(name)) ?? highlightHtml(piece, language) ?? escapeHtml(piece);
    if (!isLast) pieces.set(name, html);
    coloured.push(html);
  }
  if (pieces.size > 500) pieces.clear();
  return coloured.join("\n");
}
