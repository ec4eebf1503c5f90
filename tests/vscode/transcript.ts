/** Conversations that took place before the test: transcripts in Claude Code's layout, written as a session writes them. */

import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type Said =
  | { role: "user" | "assistant"; text: string }
  /** A call and its result. */
  | { role: "tool"; name: string; input: object; result: string };

/** Writes a transcript and returns the id of its session. */
export async function writeTranscript(project: string, workspace: string, said: readonly Said[]): Promise<string> {
  const sessionId = randomUUID();
  const start = Date.now() - 24 * 60 * 60 * 1000;
  let parentUuid: string | null = null;
  let count = 0;
  const lines: string[] = [];
  const record = (type: "user" | "assistant", content: readonly object[]): void => {
    const uuid = randomUUID();
    const timestamp = new Date(start + 1000 * count).toISOString();
    count += 1;
    const head = { parentUuid, isSidechain: false, userType: "external", cwd: workspace, sessionId, version: "0.1.0" };
    const message =
      type === "user"
        ? { role: "user", content }
        : {
            id: `msg_${count}`,
            type: "message",
            role: "assistant",
            model: "claude-sonnet-4-5",
            content,
            stop_reason: "end_turn",
            usage: { input_tokens: 10, output_tokens: 10 },
          };
    lines.push(JSON.stringify({ ...head, gitBranch: "", type, message, uuid, timestamp }));
    parentUuid = uuid;
  };
  said.forEach((one, at) => {
    if (one.role === "tool") {
      const id = `toolu_old_${at}`;
      record("assistant", [{ type: "tool_use", id, name: one.name, input: one.input }]);
      record("user", [{ type: "tool_result", tool_use_id: id, content: one.result }]);
    } else {
      record(one.role, [{ type: "text", text: one.text }]);
    }
  });
  await mkdir(project, { recursive: true });
  await writeFile(join(project, `${sessionId}.jsonl`), `${lines.join("\n")}\n`);
  return sessionId;
}
