/** The files that the agent changed and nobody has looked through: review, keep or take back, one or all. */

import type { ChangedFile } from "../../src/protocol.ts";
import { baseName, counted } from "../panels/format.ts";
import { tell } from "../view.ts";
import { Icon, IconButton } from "./button.tsx";

export function Changes({ files }: { files: readonly ChangedFile[] }) {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <section class="chrome-changes" aria-label="Changes to review">
      <details class="chrome-fold">
        <summary>
          <Icon name="diff-multiple" /> {counted(files.length, "file")} changed{" "}
          <Counts added={added} removed={removed} />
        </summary>
        <ul class="chrome-list">
          {files.map((file) => (
            <Changed key={file.path} file={file} />
          ))}
        </ul>
      </details>
      <div class="chrome-changes-all">
        <button type="button" class="chrome-button" onClick={() => tell("host/resolve", { keep: true })}>
          Keep all
        </button>
        <button
          type="button"
          class="chrome-button chrome-secondary"
          onClick={() => tell("host/resolve", { keep: false })}
        >
          Undo all
        </button>
      </div>
    </section>
  );
}

function Changed({ file }: { file: ChangedFile }) {
  const { path } = file;
  const name = baseName(path);
  return (
    <li class="chrome-changed">
      <button
        type="button"
        class="chrome-row"
        title={path}
        aria-label={`Review ${name}, ${file.state}, ${file.added} added, ${file.removed} removed`}
        onClick={() => tell("host/review", { path })}
      >
        <Icon
          name={file.state === "created" ? "diff-added" : file.state === "deleted" ? "diff-removed" : "diff-modified"}
        />
        <span class={`chrome-row-name${file.state === "deleted" ? " chrome-gone" : ""}`}>{name}</span>
        <Counts added={file.added} removed={file.removed} />
      </button>
      <IconButton icon="check" label={`Keep ${name}`} onClick={() => tell("host/resolve", { path, keep: true })} />
      <IconButton icon="discard" label={`Undo ${name}`} onClick={() => tell("host/resolve", { path, keep: false })} />
    </li>
  );
}

function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="chrome-counts">
      <span class="chrome-added">+{added}</span> <span class="chrome-removed">−{removed}</span>
    </span>
  );
}
