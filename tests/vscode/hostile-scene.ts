/** A folder, a home and old conversations full of hostile text: file names, memories, commands, settings, titles. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EditorOptions } from "./harness.ts";
import { oneLine, type Payload } from "./payloads.ts";
import { writeTranscript } from "./transcript.ts";

/** What the memories that are to be recalled are about, one each. */
export const ANIMALS = ["giraffes", "walruses", "pelicans", "armadillos", "tarantulas"];

/** The first prompt of the conversation with all that is too long to be said, and so its title. */
export const LONG_SESSION = "At length: <img src=x onerror=__reverieRan(0)>";

export function scene(small: readonly Payload[], large: readonly Payload[]): EditorOptions {
  const lines = small.map(({ text }) => oneLine(text));
  const files: Record<string, string> = {
    // What the folder would run is shown before it is trusted.
    ".claude/settings.json": JSON.stringify({
      permissions: { allow: lines.slice(0, 20).map((line) => `Bash(${line})`) },
      hooks: { Stop: [{ hooks: lines.slice(0, 20).map((line) => ({ type: "command", command: `echo ${line}` })) }] },
    }),
  };
  batches(small).forEach((batch, at) => {
    files[batchFile(at)] = batch.map(({ text }) => oneLine(text)).join("\n");
  });
  for (const payload of small) {
    const name = fileName(payload);
    if (name !== undefined) files[`names/${name}`] = payload.text;
  }
  const memories: Record<string, string> = {};
  for (const payload of small) memories[`payload-${payload.id}.md`] = memory(payload);
  ANIMALS.forEach((animal, at) => {
    const some = lines.filter((_, place) => place % ANIMALS.length === at).slice(0, 4);
    const words = `What ${animal} eat in Zanzibar: ${some.join(" ")}`;
    memories[`${animal}.md`] = memoryText(`${animal} ${some.join(" ")}`, words, "project", words);
  });
  return {
    files,
    memories,
    // Each is told as a notice, in every conversation.
    agentSettings: { permissions: { allow: lines.slice(0, 6).map((line) => `${line}(`) } },
    prepare: async ({ home, workspace, project }) => {
      const folder = join(home, ".claude/commands");
      await mkdir(folder, { recursive: true });
      for (const { id, text } of small) {
        const line = JSON.stringify(oneLine(text));
        const front = `---\ndescription: ${line}\nargument-hint: ${line}\n---\n`;
        await writeFile(join(folder, `payload-${id}.md`), `${front}${text}`);
      }
      const asked = { role: "user", text: LONG_SESSION } as const;
      const said = large.map(({ text }) => ({ role: "assistant", text }) as const);
      await writeTranscript(project, workspace, [asked, ...said.flatMap((one) => [one, asked])]);
    },
  };
}

/** As many as the view shows of an output. */
export function batches(all: readonly Payload[]): Payload[][] {
  const size = 35;
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}

export function batchFile(at: number): string {
  return `batch-${at}.txt`;
}

/** Nothing where it would be too long for a file system. */
export function fileName({ text }: Payload): string | undefined {
  const name = oneLine(text).replaceAll("/", "∕");
  return Buffer.byteLength(name) <= 200 ? `${name}.html` : undefined;
}

export function memory({ id, text }: Payload): string {
  const line = oneLine(text).slice(0, 300);
  return memoryText(line, line, ["user", "feedback", "project", "reference"][id % 4] ?? "user", text);
}

function memoryText(name: string, description: string, type: string, body: string): string {
  return `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(description)}\ntype: ${type}\n---\n\n${body}\n`;
}

/** All in one Markdown text; what has a fence at the end, because one that is not closed takes the others in. */
export function joined(all: readonly Payload[]): string {
  const isFenced = ({ text }: Payload) => /^\W*(```|~~~)/m.test(text);
  const ordered = [...all.filter((payload) => !isFenced(payload)), ...all.filter(isFenced)];
  return ordered.map(({ text }) => text).join("\n\n");
}
