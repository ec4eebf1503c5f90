/** A session of months, in the layout of Claude Code: prompts, thoughts, long answers with code, calls and results. */

import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export const FIRST_PROMPT = "Prompt 1: where does it begin?";
export const LAST_WORDS = "These are the last words of it all.";

/** A prompt, a thought, a text, a call with its result, and an answer: so many rows of the list. */
const ROWS_OF_TURN = 5;

/** Writes a session of so many messages (results of calls not counted) to the project's folder. */
export async function writeLongSession(project: string, workspace: string, messages: number): Promise<void> {
  const sessionId = randomUUID();
  const lines: string[] = [];
  let parentUuid: string | null = null;
  const begun = Date.parse("2026-03-01T10:00:00.000Z");
  const say = (entry: { type: string; message: object }): void => {
    const uuid = randomUUID();
    const timestamp = new Date(begun + lines.length * 1000).toISOString();
    const place = { isSidechain: false, userType: "external", cwd: workspace, version: "2.1.14", gitBranch: "main" };
    lines.push(JSON.stringify({ parentUuid, ...place, sessionId, ...entry, uuid, timestamp }));
    parentUuid = uuid;
  };
  const asked = (content: unknown): void => say({ type: "user", message: { role: "user", content } });
  const answered = (id: string, content: object, end: string | null): void => {
    const usage = { input_tokens: 4, cache_creation_input_tokens: 900, cache_read_input_tokens: 0, output_tokens: 60 };
    const message = { id, type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [content] };
    say({ type: "assistant", message: { ...message, stop_reason: end, stop_sequence: null, usage } });
  };
  const turns = messages / ROWS_OF_TURN;
  for (let turn = 1; turn <= turns; turn += 1) {
    const call = `toolu_${turn}`;
    asked(turn === 1 ? FIRST_PROMPT : `Prompt ${turn}: ${"and what about this part? ".repeat(1 + (turn % 9))}`);
    answered(`msg_${turn}_a`, { type: "thinking", thinking: thought(turn), signature: "signed" }, null);
    answered(`msg_${turn}_a`, { type: "text", text: `I look at part ${turn} of **${turns}**.` }, null);
    answered(`msg_${turn}_a`, { type: "tool_use", id: call, ...tool(turn, workspace) }, "tool_use");
    asked([{ tool_use_id: call, type: "tool_result", content: result(turn) }]);
    const words = turn === turns ? `${answer(turn)}\n\n${LAST_WORDS}` : answer(turn);
    answered(`msg_${turn}_b`, { type: "text", text: words }, "end_turn");
  }
  await mkdir(project, { recursive: true });
  await writeFile(join(project, `${sessionId}.jsonl`), `${lines.join("\n")}\n`);
}

function thought(turn: number): string {
  return `The user asks about part ${turn}. ${"It depends on what was said before. ".repeat(3 + (turn % 12))}`;
}

function tool(turn: number, workspace: string): { name: string; input: object } {
  const path = `${workspace}/src/part${turn}.ts`;
  switch (turn % 4) {
    case 0:
      return { name: "Bash", input: { command: `ls -l src && echo part ${turn}`, description: "Lists the parts" } };
    case 1:
      return { name: "Read", input: { file_path: path } };
    case 2:
      return { name: "Edit", input: { file_path: path, old_string: code(turn, 4), new_string: code(turn + 1, 6) } };
    default:
      return { name: "Grep", input: { pattern: `part${turn}`, path: workspace } };
  }
}

function result(turn: number): string {
  return Array.from({ length: 5 + (turn % 40) }, (_, at) => `${at + 1}→line ${at + 1} of part ${turn}`).join("\n");
}

function code(turn: number, lines: number): string {
  return Array.from({ length: lines }, (_, at) => `export const value${at}: number = ${turn} * ${at};`).join("\n");
}

/** Some short, some longer than any window is high. */
function answer(turn: number): string {
  const paragraph = `Part ${turn} does *this* and \`that\`, as [the book](https://example.org/${turn}) says. `;
  const sections = Array.from({ length: 1 + (turn % 5) }, (_, at) => {
    const list = ["one", "two", "three"].map((word) => `- ${word} of ${at}`).join("\n");
    const table = `| Name | Value |\n| --- | --- |\n| turn | ${turn} |\n| section | ${at} |`;
    const block = `\`\`\`ts\n${code(turn, 3 + ((turn + at) % 12))}\n\`\`\``;
    return `## Section ${at + 1}\n\n${paragraph.repeat(1 + ((turn + at) % 4))}\n\n${list}\n\n${block}\n\n${table}`;
  });
  return `# About part ${turn}\n\n${sections.join("\n\n")}`;
}
