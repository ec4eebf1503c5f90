/** The server's process: where it runs, what it logs, how it ended. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import * as vscode from "vscode";

/** A server that closed its output and does not end by then is taken for ended. */
const EXIT_LIMIT_MS = 500;

/** Fails if it cannot be started. In VS Code's restricted mode the server is told to trust nothing. */
export async function spawnServer(path: string, log: vscode.LogOutputChannel): Promise<ChildProcessWithoutNullStreams> {
  const env = vscode.workspace.isTrusted ? process.env : { ...process.env, REVERIE_RESTRICTED: "1" };
  const child = spawn(path, ["lsp"], { cwd: workingFolder(), env, stdio: "pipe", windowsHide: true });
  // Without a listener such an error would end the whole extension host.
  child.on("error", (error) => log.error(`the server's process: ${error.message}`));
  child.stdin.on("error", (error) => log.debug(`the server's input: ${error.message}`));
  await once(child, "spawn");
  return child;
}

export function hasEnded({ exitCode, signalCode }: ChildProcessWithoutNullStreams): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Ends it at once if it still runs. */
export function kill(child: ChildProcessWithoutNullStreams | undefined): void {
  if (child !== undefined && !hasEnded(child)) child.kill("SIGKILL");
}

/** The first folder that is on a disk. */
function workingFolder(): string {
  const folder = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
  return folder?.uri.fsPath ?? homedir();
}

/** Its output may be closed a moment before it is known how it ended. */
export async function howItEnded(child: ChildProcessWithoutNullStreams | undefined): Promise<string> {
  if (child === undefined) return "it did not start";
  if (!hasEnded(child)) {
    const signal = AbortSignal.timeout(EXIT_LIMIT_MS);
    await once(child, "exit", { signal }).catch(() => undefined);
  }
  if (child.signalCode !== null) return `it was ended by ${child.signalCode}`;
  return child.exitCode === null ? "it closed its output" : `it ended with exit code ${child.exitCode}`;
}

/** The server's own log, with the levels that its lines begin with. */
export function logLines(input: NodeJS.ReadableStream, log: vscode.LogOutputChannel): void {
  createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
    const level = /\b(ERROR|WARN|INFO|DEBUG|TRACE)\b/.exec(line.slice(0, 60))?.[1];
    if (level === "ERROR") log.error(line);
    else if (level === "WARN") log.warn(line);
    else if (level === "DEBUG") log.debug(line);
    else if (level === "TRACE") log.trace(line);
    else log.info(line);
  });
}
