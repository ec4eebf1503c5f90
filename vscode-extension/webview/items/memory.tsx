/** Something was remembered, changed or forgotten: what, and how to look at it or take it back. */

import type { MemoryItem } from "../../src/chat/state.ts";
import type { MemoryEventFile, MemoryEventKind } from "../../src/protocol.ts";
import { Icon } from "../chrome/button.tsx";
import { tell } from "../view.ts";

export function Memory({ item: { event, files, undone } }: { item: MemoryItem }) {
  return (
    <ul class={`memory ${undone ? "memory-undone" : ""}`}>
      {files.map((file, at) => (
        <File key={at} file={file} event={event} undone={undone} />
      ))}
    </ul>
  );
}

function File({ file, event, undone }: { file: MemoryEventFile; event: MemoryEventKind; undone: boolean }) {
  const { path, name, reason, changeId } = file;
  const isThere = event !== "deleted" && !(undone && event === "saved");
  return (
    <li class="note">
      <Icon name={undone ? "discard" : event === "stale" ? "warning" : "lightbulb"} />
      <span class="note-text" title={reason}>
        {verb(event)}: <span class="memory-name">{name}</span>
        {undone && <span class="quiet"> taken back</span>}
      </span>
      <span class="note-actions">
        {isThere && <TextButton words="View" about={name} onClick={() => tell("host/memory/open", { path })} />}
        {changeId !== undefined && (
          <TextButton words="Diff" about={name} onClick={() => tell("host/memory/diff", { changeId })} />
        )}
        {changeId !== undefined && !undone && (
          <TextButton words="Undo" about={name} onClick={() => tell("host/memory/undo", { changeIds: [changeId] })} />
        )}
      </span>
    </li>
  );
}

function TextButton({ words, about, onClick }: { words: string; about: string; onClick: () => void }) {
  return (
    <button type="button" class="text-button" aria-label={`${words} ${about}`} onClick={onClick}>
      {words}
    </button>
  );
}

function verb(event: MemoryEventKind): string {
  switch (event) {
    case "saved":
      return "Remembered";
    case "updated":
      return "Memory updated";
    case "deleted":
      return "Forgot";
    case "undone":
      return "Taken back";
    case "recalled":
      return "Recalled";
    case "stale":
      return "Out of date";
  }
}
