/** What the user said, with what went along and which memories were put beside it. */

import type { AttachmentLabel, UserItem } from "../../src/chat/state.ts";
import { moment } from "../../src/when.ts";
import { Icon, IconButton } from "../chrome/button.tsx";
import { counted } from "../panels/format.ts";
import { edit, type SendingItem, tell } from "../view.ts";
import { CopyButton } from "./actions.tsx";
import { Fold, useOpen } from "./fold.tsx";
import { pathOfUri } from "./places.ts";

/** A longer prompt is cut until it is opened. */
const SHOWN_CHARS = 1200;
const SHOWN_LINES = 14;

export function User({ item }: { item: UserItem | SendingItem }) {
  const { text, attachments, at, queued, recalled, uuid } = item;
  const isSending = "sending" in item;
  const [isWhole, toggle] = useOpen(`${item.key}:whole`, false);
  const isLong = text.length > SHOWN_CHARS || text.split("\n", SHOWN_LINES + 1).length > SHOWN_LINES;
  const shown = isLong && !isWhole ? cut(text) : text;
  return (
    <div class={`user ${queued || isSending ? "user-queued" : ""}`} title={moment(at)}>
      <div class="user-text">{shown}</div>
      {isLong && (
        <button type="button" class="text-button" aria-expanded={isWhole} onClick={toggle}>
          {isWhole ? "Show less" : "Show all"}
        </button>
      )}
      {attachments.length > 0 && (
        <ul class="chips" aria-label="Attached">
          {attachments.map((attachment, at) => (
            <Chip key={at} attachment={attachment} />
          ))}
        </ul>
      )}
      {isSending && (
        <div class="user-mark">
          <Icon name="loading" spin /> Sending…
        </div>
      )}
      {queued && (
        <div class="user-mark">
          <Icon name="clock" /> Queued: goes along with the next step
        </div>
      )}
      {recalled.length > 0 && <Recalled item={item} />}
      <div class="item-actions">
        {uuid !== undefined && !queued && (
          <IconButton icon="edit" label="Edit and run again" onClick={() => rewind(uuid, attachments)} />
        )}
        <CopyButton text={text} label="Copy the prompt" />
      </div>
    </div>
  );
}

function Chip({ attachment }: { attachment: AttachmentLabel }) {
  const { kind, label, uri, range } = attachment;
  const icon = kind === "image" ? "file-media" : kind === "text" ? "note" : "file";
  const words = (
    <>
      <Icon name={icon} /> {label}
    </>
  );
  const path = uri === undefined ? undefined : pathOfUri(uri);
  return (
    <li class="chip">
      {path === undefined ? (
        words
      ) : (
        <button
          type="button"
          class="file-link"
          onClick={() => tell("host/open", { path, ...(range && { line: range.start.line + 1 }) })}
        >
          {words}
        </button>
      )}
    </li>
  );
}

function Recalled({ item: { key, recalled } }: { item: UserItem }) {
  const summary = (
    <>
      <Icon name="lightbulb" /> {counted(recalled.length, "memory", "memories")} used
    </>
  );
  return (
    <Fold name={`${key}:recalled`} summary={summary} class="recalled">
      <ul>
        {recalled.map(({ path, name, reason }, at) => (
          <li key={at}>
            <button
              type="button"
              class="file-link"
              title={`Open ${path}`}
              onClick={() => tell("host/memory/open", { path })}
            >
              {name}
            </button>
            {reason !== "" && <span class="quiet"> {reason}</span>}
          </li>
        ))}
      </ul>
    </Fold>
  );
}

/** The conversation goes back to before the prompt, and its words go to the composer. */
function rewind(messageUuid: string, attached: readonly AttachmentLabel[]): void {
  tell("host/rewind", { messageUuid }, ({ prompt }) => {
    if (prompt !== undefined) edit(prompt, attached);
  });
}

function cut(text: string): string {
  const lines = text.split("\n").slice(0, SHOWN_LINES).join("\n");
  return `${lines.slice(0, SHOWN_CHARS).trimEnd()} …`;
}
