/**
 * Where a piece of code belongs in a text: only where that is clear, so that nothing else is replaced. Compares lines and
 * counts brackets; whoever looks at the diff decides.
 */

/** Lines from 0; `end` is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/**
 * From the code's first line to its last. The first must say something and stand in the text once; so must the last, or
 * else it closes the blocks that begin there. Nothing where that is not so, or where the code is only a sketch.
 */
export function placeOf(text: string, code: string): Span | undefined {
  const lines = linesOf(text);
  const wanted = linesOf(code);
  while (wanted[0] === "") wanted.shift();
  while (wanted.at(-1) === "") wanted.pop();
  const [first, last] = [wanted[0], wanted.at(-1)];
  if (first === undefined || last === undefined || wanted.length < 2 || wanted.some(isEllipsis)) return undefined;
  const start = onlyPlace(lines, first);
  if (start === undefined || !isTelling(first)) return undefined;
  const isBlock = !isTelling(last);
  const end = isBlock ? endOfBlocks(lines, start, wanted, last) : onlyPlace(lines, last);
  if (end === undefined || end <= start) return undefined;
  const replaced = lines.slice(start, end + 1);
  if (depth(replaced) !== depth(wanted)) return undefined;
  // Between two lines that merely look alike there may be what the code knows nothing of.
  if (!isBlock && lost(replaced, wanted) > wanted.length) return undefined;
  return { start, end: end + 1 };
}

function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.trimEnd());
}

function onlyPlace(lines: readonly string[], wanted: string): number | undefined {
  const at = lines.indexOf(wanted);
  return at >= 0 && lines.lastIndexOf(wanted) === at ? at : undefined;
}

/** Where as many blocks are closed as in the code, with nothing between at their level that the code does not have. */
function endOfBlocks(
  lines: readonly string[],
  start: number,
  wanted: readonly string[],
  last: string,
): number | undefined {
  const level = indentation(last);
  const known = new Set(wanted);
  let left = wanted.filter((line, at) => line === last && depth(wanted.slice(0, at + 1)) === 0).length;
  let open = 0;
  for (let at = start; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    open += depth([line]);
    if (line === last && open === 0) {
      left -= 1;
      if (left === 0) return at;
    }
    if (line === "" || indentation(line) > level) continue;
    if (indentation(line) < level) return undefined;
    if (/[^\s()[\]{};,]/.test(line) && !known.has(line)) return undefined;
  }
  return undefined;
}

/** A tab is as good as any other blank here: lines of one file are compared with each other. */
function indentation(line: string): number {
  return line.length - line.trimStart().length;
}

/** Whether a line has a word of its own; `}`, `end` and `} else {` are in many places. */
function isTelling(line: string): boolean {
  const words = line.match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
  return words.some((word) => !COMMON.has(word));
}

const COMMON = new Set(
  "end else elif fi done esac do begin try catch except finally return break continue pass then default null true false".split(
    " ",
  ),
);

/** `// ...` and its like stand for code that the writer did not want to repeat. */
function isEllipsis(line: string): boolean {
  if (/^\s*(\.{3}|…)\s*$/.test(line)) return true;
  const isComment = /^\s*(\/\/|#|\/\*|\*|--|;|%|<!--|\{\s*\/\*)/.test(line);
  return isComment && /\.{3}|…|\b(existing|rest of|unchanged|omitted|same as before)\b/i.test(line);
}

/** How many brackets are left open, one kind like the other. Strings count too: they do so on both sides. */
function depth(lines: readonly string[]): number {
  let open = 0;
  for (const character of lines.join("\n")) {
    if ("([{".includes(character)) open += 1;
    else if (")]}".includes(character)) open -= 1;
  }
  return open;
}

/** How many lines would go. */
function lost(replaced: readonly string[], wanted: readonly string[]): number {
  const kept = new Set(wanted.map((line) => line.trim()));
  return replaced.filter((line) => line !== "" && !kept.has(line.trim())).length;
}
