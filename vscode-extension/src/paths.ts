/** Paths as models and servers write them. Knows nothing of VS Code. */

import { posix, win32 } from "node:path";

export interface Surroundings {
  home: string;
  /** What a relative path is relative to. */
  folder: string | undefined;
  platform: NodeJS.Platform;
}

/** Absolute, where there is anything to be relative to; `~/` is the user's home. */
export function absolute(path: string, { home, folder, platform }: Surroundings): string {
  const { isAbsolute, join } = platform === "win32" ? win32 : posix;
  if (/^~[/\\]/.test(path)) return join(home, path.slice(2));
  return isAbsolute(path) || folder === undefined ? path : join(folder, path);
}
