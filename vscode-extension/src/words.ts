/** Words for people: errors, and what others wrote. */

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Text of a model, a memory, a file's name or the server as nothing but text, on one line: notifications make links of
 * `[words](command:…)` and run them on a click, and some characters hide or turn round what stands beside them.
 */
export function plainly(text: string): string {
  return (
    text
      .replaceAll(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ")
      .replaceAll(
        HIDING,
        (character) => `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`,
      )
      // Last, so that nothing that was taken out brings the two together again.
      .replaceAll("](", "] (")
  );
}

/** Controls and what is formatted by; not the two that join and part letters, which scripts and emoji need. */
const HIDING = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u115f\u1160\u3164\uffa0]/gu;
