/** The processes below another one, as the kernel knows them: which they are, and how long they have run. */

import { readdir, readFile } from "node:fs/promises";

export interface Descendant {
  pid: number;
  parent: number;
  /** With its parameters. */
  command: string;
}

/** All that the process has started, and what that has started in turn. */
export async function descendants(root: number): Promise<Descendant[]> {
  const entries = await readdir("/proc");
  const looked = await Promise.all(entries.filter((name) => /^\d+$/.test(name)).map((name) => look(Number(name))));
  const all = looked.filter((one) => one !== undefined);
  const below = (pid: number): Descendant[] =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid)]);
  return below(root);
}

/** Those whose command line has this in it. */
export async function running(root: number, words: string): Promise<Descendant[]> {
  return (await descendants(root)).filter(({ command }) => command.includes(words));
}

/** What the process has used of the processor so far, in hundredths of a second. */
export async function processorTicks(pid: number): Promise<number> {
  const fields = await statOf(pid);
  return Number(fields[11]) + Number(fields[12]);
}

async function look(pid: number): Promise<Descendant | undefined> {
  try {
    const fields = await statOf(pid);
    const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
    return { pid, parent: Number(fields[1]), command };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** What stands behind the name, which may have anything in it: state, parent, … */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
