/** What a terminal would show of a program's output: colours, without the rest of the escape sequences. Pure. */

/** A piece of one look. Colours are names of the 16 of the theme, or `#rrggbb`. */
export interface Span {
  text: string;
  color?: string;
  background?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
}

type Look = Omit<Span, "text">;

const NAMES = ["Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"];

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
/** CSI, OSC and the like, two-character escapes, and control characters that draw nothing. */
const SEQUENCE =
  /\u001b\[([0-9;:]*)m|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|[\u0000-\u0007\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.

export function parseAnsi(output: string): Span[] {
  const spans: Span[] = [];
  let look: Look = {};
  let inverse = false;
  let from = 0;
  const text = settled(output);
  const push = (piece: string) => {
    if (piece !== "") spans.push({ text: piece, ...(inverse ? inverted(look) : look) });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    push(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] === undefined) continue;
    const codes = match[1].split(/[;:]/).map(Number);
    for (let at = 0; at < codes.length; at += 1) {
      const code = codes[at] ?? 0;
      if (code === 7) inverse = true;
      else if (code === 27) inverse = false;
      else if (code === 38 || code === 48) {
        const [color, used] = extended(codes.slice(at + 1));
        look = { ...look, [code === 38 ? "color" : "background"]: color };
        at += used;
      } else {
        if (code === 0) inverse = false;
        look = styled(look, code);
      }
    }
  }
  push(text.slice(from));
  return spans;
}

/** A carriage return writes over its line: what is left is what was written last, as a progress bar. */
function settled(output: string): string {
  if (!output.includes("\r") && !output.includes("\b")) return output;
  const lines = output.replace(/\r+\n/g, "\n").split("\n");
  return lines
    .map((line) =>
      lastWritten(line)
        .replace(/[^\b][\b]/g, "")
        .replaceAll("\b", ""),
    )
    .join("\n");
}

function lastWritten(line: string): string {
  return line.split("\r").findLast((part) => part !== "") ?? "";
}

function styled(look: Look, code: number): Look {
  if (code >= 30 && code <= 37) return { ...look, color: NAMES[code - 30] };
  if (code >= 40 && code <= 47) return { ...look, background: NAMES[code - 40] };
  if (code >= 90 && code <= 97) return { ...look, color: `Bright${NAMES[code - 90]}` };
  if (code >= 100 && code <= 107) return { ...look, background: `Bright${NAMES[code - 100]}` };
  switch (code) {
    case 0:
      return {};
    case 1:
      return { ...look, bold: true };
    case 2:
      return { ...look, dim: true };
    case 3:
      return { ...look, italic: true };
    case 4:
      return { ...look, underline: true };
    case 9:
      return { ...look, strike: true };
    case 22:
      return { ...look, bold: undefined, dim: undefined };
    case 23:
      return { ...look, italic: undefined };
    case 24:
      return { ...look, underline: undefined };
    case 29:
      return { ...look, strike: undefined };
    case 39:
      return { ...look, color: undefined };
    case 49:
      return { ...look, background: undefined };
    default:
      return look;
  }
}

/** The 256 and the true colours: what follows 38 or 48, and how many codes that were. */
function extended(codes: readonly number[]): [color: string | undefined, used: number] {
  const [kind, ...values] = codes;
  if (kind === 2) {
    const [red = 0, green = 0, blue = 0] = values;
    return [hex(red, green, blue), 4];
  }
  const index = values[0] ?? 0;
  if (kind !== 5 || index < 0 || index > 255) return [undefined, 2];
  if (index < 16) return [`${index < 8 ? "" : "Bright"}${NAMES[index % 8]}`, 2];
  if (index >= 232) {
    const grey = (index - 232) * 10 + 8;
    return [hex(grey, grey, grey), 2];
  }
  const level = (step: number) => (step === 0 ? 0 : step * 40 + 55);
  const cube = index - 16;
  return [hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2];
}

function hex(...parts: number[]): string {
  return `#${parts
    .map((part) =>
      Math.min(255, Math.max(0, part | 0))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function inverted(look: Look): Look {
  return { ...look, color: look.background ?? "inverse", background: look.color ?? "inverse" };
}
