/** What went along with a prompt that is to be edited and said again. Pure: both sides use it. */

import type { Attachment, AttachmentLabel } from "./state.ts";

/** Files go along again. */
export function kept(attached: readonly AttachmentLabel[]): Attachment[] {
  return attached.flatMap(({ label, uri, range }) =>
    uri === undefined ? [] : [{ kind: "mention", label, uri, ...(range && { range }) }],
  );
}

/** Of the rest only the name is known. Words for the user, if there is any. */
export function lossOf(attached: readonly AttachmentLabel[]): string | undefined {
  const labels = attached.filter(({ uri }) => uri === undefined).map(({ label }) => label);
  return labels.length === 0 ? undefined : `No longer attached, add it again: ${labels.join(", ")}`;
}
