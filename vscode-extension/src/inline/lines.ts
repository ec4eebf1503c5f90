/** Where a line is after an edit. */

export interface Edited {
  range: { start: { line: number }; end: { line: number } };
  text: string;
}

/** Absent if the line itself was taken away. */
export function lineAfter(line: number, edits: readonly Edited[]): number | undefined {
  let moved = line;
  for (const { range, text } of edits) {
    const [first, last] = [range.start.line, range.end.line];
    if (first >= line) continue;
    if (last > line) return undefined;
    moved += text.split("\n").length - 1 - (last - first);
  }
  return moved;
}
