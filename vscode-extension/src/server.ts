/** Where the server's program is, and whether it runs. Knows nothing of VS Code. */

import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

/** A program that has not told its version by then hangs. */
const VERSION_LIMIT_MS = 10_000;

export interface Search {
  /** The setting `reverie.server.path`; empty where the user has not set it. */
  setting: string;
  /** The folder of the extension, which may bring the program along. */
  extensionPath: string;
  /** The variable `PATH`. */
  searchPath: string;
  platform: NodeJS.Platform;
}

export type Found = { ok: true; path: string; version: string } | { ok: false; reason: string };

/**
 * The setting alone if there is one, else the program that came with the extension, else the one on the PATH: what came
 * along speaks this extension's version of the protocol, and what else is installed may not.
 */
export async function findServer(search: Search): Promise<Found> {
  const setting = search.setting.trim();
  if (setting !== "") {
    return fromSetting(expandHome(setting));
  }
  const name = search.platform === "win32" ? "reverie.exe" : "reverie";
  const folders = search.searchPath.split(delimiter).filter((folder) => isAbsolute(folder));
  const candidates = [join(search.extensionPath, "bin", name), ...folders.map((folder) => join(folder, name))];
  const problems: string[] = [];
  for (const path of candidates) {
    if (await isExecutable(path)) {
      const tried = await askVersion(path);
      if (tried.ok) {
        return tried;
      }
      problems.push(tried.reason);
    }
  }
  return { ok: false, reason: problems[0] ?? MISSING };
}

export const MISSING =
  "The program `reverie` was not found. Install it so that it is on the PATH, or write where it is into the setting " +
  "`reverie.server.path`, and restart the server.";

async function fromSetting(path: string): Promise<Found> {
  if (!isAbsolute(path)) {
    return { ok: false, reason: `The setting \`reverie.server.path\` must be an absolute path, and is ${path}.` };
  }
  if (!(await isExecutable(path))) {
    return {
      ok: false,
      reason: `The setting \`reverie.server.path\` names ${path}, and no program is there that may be run. Correct the setting, or clear it.`,
    };
  }
  return askVersion(path);
}

function askVersion(path: string): Promise<Found> {
  return new Promise((resolve) => {
    execFile(path, ["--version"], { timeout: VERSION_LIMIT_MS, windowsHide: true }, (error, stdout) => {
      const version = /^reverie (\S+)/.exec(stdout)?.[1];
      if (version !== undefined && error === null) {
        resolve({ ok: true, path, version });
      } else {
        const why = error === null ? "it does not say that it is Reverie" : firstLine(error.message);
        resolve({
          ok: false,
          reason: `${path} does not run: ${why}. Install it again, or name another in the setting \`reverie.server.path\`.`,
        });
      }
    });
  });
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function expandHome(path: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? text).replace(/\.$/, "");
}
