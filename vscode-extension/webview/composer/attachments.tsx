/** The chips of what goes with a prompt and is not named in its text. */

import type { Attachment } from "../../src/chat/state.ts";
import { Icon } from "../chrome/button.tsx";

interface AttachmentsProps {
  attachments: readonly Attachment[];
  onRemove: (attachment: Attachment) => void;
}

export function Attachments({ attachments, onRemove }: AttachmentsProps) {
  if (attachments.length === 0) {
    return null;
  }
  return (
    <ul class="composer-chips" aria-label="Attached">
      {attachments.map((attachment) => (
        <li key={keyOf(attachment)} class="composer-chip">
          {attachment.kind === "image" ? (
            <img class="composer-thumbnail" src={`data:${attachment.mediaType};base64,${attachment.data}`} alt="" />
          ) : (
            <Icon name={attachment.kind === "mention" ? (attachment.range ? "selection" : "file") : "note"} />
          )}
          <span class="composer-chip-label" title={attachment.label}>
            {attachment.label}
          </span>
          <button
            type="button"
            class="composer-chip-remove"
            aria-label={`Remove ${attachment.label}`}
            title="Remove"
            onClick={() => onRemove(attachment)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function keyOf(attachment: Attachment): string {
  switch (attachment.kind) {
    case "mention":
      return `${attachment.uri}#${attachment.range?.start.line ?? ""}`;
    case "text":
      return `${attachment.label}:${attachment.text.length}`;
    case "image":
      return `${attachment.label}:${attachment.data.length}:${attachment.data.slice(-24)}`;
  }
}
