/** Processes that a test starts: each in a group of its own, and none outlives the test, however it ends. */

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

const running = new Set<number>();

export function start(command: string, parameters: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, parameters, { ...options, detached: true });
  const { pid } = child;
  if (pid === undefined) {
    throw new Error(`cannot start ${command}`);
  }
  running.add(pid);
  return child;
}

/** Ends the group; answers when its leader is gone. */
export async function end(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) {
    return;
  }
  const gone = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve();
    } else {
      child.once("exit", () => resolve());
    }
  });
  killGroup(pid);
  await gone;
  running.delete(pid);
}

/** Runs to the end; what it printed. */
export async function run(command: string, parameters: readonly string[], options: SpawnOptions = {}): Promise<string> {
  const child = start(command, parameters, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout?.on("data", (data) => {
    output += data;
  });
  child.stderr?.on("data", (data) => {
    output += data;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (child.pid !== undefined) {
    running.delete(child.pid);
  }
  if (code !== 0) {
    throw new Error(`${command} ${parameters.join(" ")} ended with ${code}:\n${output}`);
  }
  return output;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

process.on("exit", () => running.forEach(killGroup));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => process.exit(1));
}
