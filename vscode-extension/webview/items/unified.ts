/** A unified diff as lines with their numbers. Pure. */

export interface DiffLine {
  kind: "added" | "removed" | "same" | "gap" | "note";
  text: string;
  /** Its number in the old file, from 1. */
  before?: number;
  /** Its number in the new file, from 1. */
  after?: number;
}

export interface Diff {
  lines: readonly DiffLine[];
  added: number;
  removed: number;
}

/** The first line that a diff changed, as the file is now. */
export function firstChange({ lines }: Diff): number | undefined {
  const at = lines.findIndex(({ kind }) => kind === "added" || kind === "removed");
  // Where lines only went, what follows them has moved up; at the end of a file it is what stood before.
  const after = (at < 0 ? [] : lines.slice(at)).find((line) => line.after !== undefined);
  return (after ?? lines.findLast((line) => line.after !== undefined))?.after;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

export function parseUnified(diff: string): Diff {
  const lines: DiffLine[] = [];
  let [before, after] = [0, 0];
  // What the header of the hunk says is still to come; a removed line that begins with "-- " is no file header.
  let [oldLeft, newLeft] = [0, 0];
  let [added, removed] = [0, 0];
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      before = Number(hunk[1]);
      after = Number(hunk[3]);
      oldLeft = Number(hunk[2] ?? 1);
      newLeft = Number(hunk[4] ?? 1);
      if (lines.length > 0) lines.push({ kind: "gap", text: "" });
      continue;
    }
    const text = line.slice(1);
    if (oldLeft > 0 || newLeft > 0) {
      if (line.startsWith("+")) {
        lines.push({ kind: "added", text, after: after++ });
        newLeft -= 1;
        added += 1;
        continue;
      }
      if (line.startsWith("-")) {
        lines.push({ kind: "removed", text, before: before++ });
        oldLeft -= 1;
        removed += 1;
        continue;
      }
      if (line.startsWith(" ") || line === "") {
        lines.push({ kind: "same", text, before: before++, after: after++ });
        oldLeft -= 1;
        newLeft -= 1;
        continue;
      }
    }
    if (line.startsWith("\\")) lines.push({ kind: "note", text: "no newline at the end" });
    else if (line !== "" && !/^(?:---|\+\+\+|diff |index )/.test(line)) lines.push({ kind: "note", text: line });
  }
  return { lines, added, removed };
}
