/** What was pasted or dropped, made into attachments: pictures and short texts are read here, URIs are left to the host. */

import type { Attachment } from "../../src/chat/state.ts";

const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const IMAGE_LIMIT = 5_000_000;
const TEXT_LIMIT = 200_000;

/** What came of some files: those that could be taken, and a sentence for each that could not. */
export interface Taken {
  attachments: readonly Attachment[];
  refused: readonly string[];
}

export async function takeFiles(files: readonly File[]): Promise<Taken> {
  const taken = await Promise.all(files.map(takeFile));
  return {
    attachments: taken.filter((one) => typeof one !== "string"),
    refused: taken.filter((one) => typeof one === "string"),
  };
}

/** The attachment, or why there is none. */
async function takeFile(file: File): Promise<Attachment | string> {
  const label = file.name || "picture";
  if (file.type.startsWith("image/") && file.type !== "image/svg+xml") {
    if (!IMAGE_TYPES.includes(file.type)) {
      return `${label} was not attached: pictures must be PNG, JPEG, GIF or WebP.`;
    }
    if (file.size > IMAGE_LIMIT) {
      return `${label} was not attached: pictures may have 5 MB at most.`;
    }
    return { kind: "image", label, mediaType: file.type, data: await base64(file) };
  }
  if (file.size > TEXT_LIMIT) {
    return `${label} was not attached: a file from outside may have 200 KB at most. Put it into the folder and mention it with @.`;
  }
  const text = await file.text().catch(() => undefined);
  if (text === undefined) {
    return `${label} was not attached: it cannot be read. Folders are mentioned with @.`;
  }
  return text.includes("\0") ? `${label} was not attached: it is not text.` : { kind: "text", label, text };
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

/** The files and folders that VS Code's own views drag. */
export function droppedUris(data: DataTransfer): readonly string[] {
  const own = data.getData("application/vnd.code.uri-list");
  const list = own || (data.files.length > 0 ? "" : data.getData("text/uri-list"));
  return list.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
}

/** The files of a paste. Office programs add a picture of the text they copy; the text is meant then. */
export function pastedFiles(data: DataTransfer | null): readonly File[] {
  const isText = data?.types.includes("text/html") && data.types.includes("text/plain");
  return data && !isText ? [...data.files] : [];
}

/** Whether a drag carries something that can be attached; its contents are not to be seen before the drop. */
export function isAttachable(data: DataTransfer | null): boolean {
  const kinds = ["Files", "application/vnd.code.uri-list", "text/uri-list"];
  return data?.types.some((type) => kinds.includes(type)) ?? false;
}
