/** What nobody means by `@`: what the settings leave out of lists and searches, and ignored folders. Knows nothing of VS Code. */

/** `files.exclude` and `search.exclude`: globs, and whether they hold. One that holds only beside another file does not count. */
export type Excludes = Readonly<Record<string, unknown>>;

/** One glob for all. Empty where nothing is left out. */
export function excludeGlob(settings: readonly Excludes[], gitignores: readonly string[]): string {
  const set = settings.flatMap((excludes) => Object.keys(excludes).filter((glob) => excludes[glob] === true));
  const globs = [...set.flatMap(alternatives).flatMap(withContents), ...gitignores.flatMap(ignoredFolders)];
  return globs.length === 0 ? "" : `{${[...new Set(globs)].join(",")}}`;
}

/** VS Code reads braces, but not braces in braces. */
function alternatives(glob: string): string[] {
  const group = /\{([^{}]*)\}/.exec(glob);
  if (group === null) return [glob];
  const [head, tail] = [glob.slice(0, group.index), glob.slice(group.index + group[0].length)];
  return (group[1] ?? "").split(",").flatMap((choice) => alternatives(head + choice + tail));
}

function withContents(glob: string): string[] {
  return glob.endsWith("**") ? [glob] : [glob, `${glob}/**`];
}

/** Folders that a `.gitignore` names in full, as those that builds write to. Its patterns are left to Git. */
function ignoredFolders(gitignore: string): string[] {
  const lines = gitignore.split(/\r?\n/).map((line) => line.trim());
  const kept = new Set(lines.filter((line) => line.startsWith("!")).map((line) => bare(line.slice(1))));
  const named = lines.filter((line) => /^\/?[\w.-]+(\/[\w.-]+)*\/?$/.test(line) && !kept.has(bare(line)));
  // One without a slash before its end is meant wherever it is.
  return named.map((line) => (/\/[\w.-]/.test(line) ? `${bare(line)}/**` : `**/${bare(line)}/**`));
}

function bare(line: string): string {
  return line.replace(/^\/|\/$/g, "");
}
