/**
 * The commands of the server in lenses, hints and actions, by names of ours. Under its own they would meet VS Code's: the
 * view `reverie.memory` is opened by `reverie.memory.open`. Only these are run, whatever a message of the server names.
 */

const FROM = "reverie.memory.";
const TO = "reverie.inline.";

const KNOWN = ["open", "remember", "delete", "merge", "undo", "history"] as const;

export type InlineCommand = `${typeof TO}${(typeof KNOWN)[number]}`;

/** Empty where it leads nowhere: then VS Code shows words, and nothing to click. */
export function nameOfOurs(command: string): InlineCommand | "" {
  const known = KNOWN.find((name) => command === FROM + name);
  return known === undefined ? "" : `${TO}${known}`;
}
