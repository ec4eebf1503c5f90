/** When something was, in few words. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function age(at: string, now: number): string {
  const passed = now - Date.parse(at);
  if (Number.isNaN(passed)) return "";
  if (passed < HOUR) return passed < MINUTE ? "now" : `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
  const days = Math.floor(passed / DAY);
  if (days === 1) return "yesterday";
  return days < 60 ? `${days} days ago` : `${Math.floor(days / 30)} months ago`;
}

/** Day and time as the user writes them; both arguments are the user's own where they are absent. */
export function moment(at: string, locale?: string, timeZone?: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone }).format(date);
}
