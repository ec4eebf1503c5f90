/** Numbers, sizes, money and times as people read them. Pure, so that every page says the same thing the same way. */

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

const DAY = 24 * 60;

/** "just now", "3 min ago", "5 h ago", "yesterday", "4 days ago", then the date. `at` is RFC 3339. */
export function ago(at: string, now: number): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) {
    return "";
  }
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) {
    return "just now";
  }
  if (minutes < 60) {
    return `${minutes} min ago`;
  }
  if (minutes < DAY) {
    return `${Math.floor(minutes / 60)} h ago`;
  }
  const days = Math.floor(minutes / DAY);
  if (days < 7) {
    return days === 1 ? "yesterday" : `${days} days ago`;
  }
  const date = new Date(then);
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short", year: sameYear ? undefined : "numeric" });
}

/** A moment in full, for a tooltip. */
export function moment(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? at
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
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
