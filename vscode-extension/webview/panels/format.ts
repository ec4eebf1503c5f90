/** Numbers, sizes, money and durations as people read them. Pure, so that every page says the same thing the same way. */

/** 950, 12.4k, 168k, 1.2M. */
export function tokens(count: number): string {
  return scaled(count, ["", "k", "M"], 1000);
}

/** 950 B, 12.4 KB, 1.2 MB. */
export function bytes(count: number): string {
  return scaled(count, [" B", " KB", " MB", " GB"], 1000);
}

/** Cents are enough for a dollar and more; below that, what it takes to not say $0.00 of something that did cost. */
export function money(usd: number): string {
  if (usd <= 0) {
    return "$0.00";
  }
  if (usd < 0.0001) {
    return "<$0.0001";
  }
  return `$${usd.toFixed(usd < 0.01 ? 4 : 2)}`;
}

/** A share of 0 to 1. Neither rounds up to all nor down to nothing. */
export function percent(share: number): string {
  const clamped = Math.min(Math.max(share, 0), 1);
  if (clamped > 0 && clamped < 0.01) {
    return "<1 %";
  }
  return `${clamped < 1 ? Math.min(Math.round(clamped * 100), 99) : 100} %`;
}

/** 8 s, 1 min 5 s, 2 h 3 min. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) {
    return `${seconds} s`;
  }
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** "1 file", "3 files". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The last part of a path, whichever way its slashes lean. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** One decimal below a hundred of a unit, none above; a value that rounds up to the next unit is said in that. */
function scaled(count: number, units: readonly string[], step: number): string {
  let value = Math.max(0, count);
  let unit = 0;
  while (unit < units.length - 1 && Math.round(value) >= step) {
    value /= step;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, "")}${units[unit]}`;
}
