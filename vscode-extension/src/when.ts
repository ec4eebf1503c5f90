/** When something was, as people say it. Pure: both sides say it in the same way. */

const DAY = 24 * 60;

/** "just now", "3 min ago", "5 h ago", "yesterday", "4 days ago", then the date. `at` is RFC 3339. */
export function ago(at: string, now: number): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return "";
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < DAY) return `${Math.floor(minutes / 60)} h ago`;
  const days = Math.floor(minutes / DAY);
  if (days < 7) return days === 1 ? "yesterday" : `${days} days ago`;
  const date = new Date(then);
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short", year: sameYear ? undefined : "numeric" });
}

/** Day and time as the user writes them; both arguments are the user's own where they are absent. */
export function moment(at: string, locale?: string, timeZone?: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone }).format(date);
}
