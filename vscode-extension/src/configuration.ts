/** The editor's settings as the server takes them: what the user has set, and no defaults of ours over the user's files. */

import * as vscode from "vscode";

/** Keys that the extension reads itself; the server would not know them. */
const OURS: readonly (readonly string[])[] = [["server"], ["trace"], ["inline", "notifications"]];

type Settings = Record<string, unknown>;

/** The answer to one item of `workspace/configuration`. */
export function editorSettings(section: string | undefined): unknown {
  if (section !== "reverie") {
    return section === undefined ? null : vscode.workspace.getConfiguration(section);
  }
  const set = vscode.workspace.getConfiguration().inspect<Settings>("reverie");
  const merged = [set?.globalValue, set?.workspaceValue, set?.workspaceFolderValue].reduce<Settings>(merge, {});
  return OURS.reduce(without, merged);
}

/** Whether only badges tell of what nobody has to answer. */
export function isQuiet(): boolean {
  return vscode.workspace.getConfiguration("reverie.notifications").get("quiet", false);
}

/** Whether what happens to a memory is shown at the places that it speaks of. */
export function showsInline(): boolean {
  return !isQuiet() && vscode.workspace.getConfiguration("reverie.inline").get("notifications", true);
}

function without(settings: Settings, [key = "", ...inner]: readonly string[]): Settings {
  const { [key]: value, ...others } = settings;
  return inner.length > 0 && isSettings(value) ? { ...others, [key]: without(value, inner) } : others;
}

function merge(lower: Settings, upper: Settings | undefined): Settings {
  const merged = { ...lower };
  for (const [key, value] of Object.entries(upper ?? {})) {
    // An empty field of the settings page says nothing.
    if (value === null || value === "") continue;
    const old = merged[key];
    merged[key] = isSettings(old) && isSettings(value) ? merge(old, value) : value;
  }
  return merged;
}

function isSettings(value: unknown): value is Settings {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
