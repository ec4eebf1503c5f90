/** `Reverie: Doctor`: what the server found when it examined the installation, as a page. */

import type { Server } from "./client.ts";
import type { Documents } from "./documents.ts";
import type { Check, CheckStatus, DoctorResult } from "./protocol.ts";
import { warn } from "./telling.ts";
import { moment } from "./when.ts";
import { wordsOf } from "./words.ts";

const MARKS: Record<CheckStatus, string> = { ok: "✓ ok", warning: "△ warning", failed: "✗ failed" };

export async function doctor(server: Server, documents: Documents, repair: boolean): Promise<void> {
  const result = await server.request("reverie/doctor", { repair }).catch((error: unknown) => wordsOf(error));
  const text = typeof result === "string" ? noServer(result) : page(result);
  await documents.open("Reverie Doctor.md", text);
  const isBroken = typeof result !== "string" && result.checks.some((check) => check.status === "failed");
  if (isBroken && !repair) {
    const words = "The doctor found something that may be mended.";
    if ((await warn(words, "Repair")) === "Repair") await doctor(server, documents, true);
  }
}

function page({ checks, repairs }: DoctorResult): string {
  const sections = checks.map(section);
  const mended = (repairs ?? []).map(
    ({ at, subject, check, detail, success }) =>
      `- ${moment(at)}, ${subject}, ${check}: ${detail}${success ? "" : " (not mended)"}`,
  );
  const last = mended.length === 0 ? "" : `\n## What was mended\n\n${mended.join("\n")}\n`;
  return `# Reverie Doctor\n\n${sections.join("\n\n")}\n${last}`;
}

function section({ name, status, detail, fix }: Check): string {
  return `**${MARKS[status]}** — ${name}\n\n${detail}${fix === undefined ? "" : `\n\n> To mend it: ${fix}`}`;
}

function noServer(reason: string): string {
  return `# Reverie Doctor\n\n**${MARKS.failed}** — server\n\n${reason}\n`;
}
