/** What the model said. */

import type { TextItem } from "../../src/chat/state.ts";
import { IconButton } from "../chrome/button.tsx";
import { current, tell } from "../view.ts";
import { CopyButton } from "./actions.tsx";
import { Markdown } from "./markdown.tsx";

export function Text({ item: { text, streaming, uuid } }: { item: TextItem }) {
  return (
    <div class={`text ${streaming ? "text-streaming" : ""}`} aria-busy={streaming}>
      <Markdown text={text} streaming={streaming} />
      {!streaming && (
        <div class="item-actions">
          <CopyButton text={text} label="Copy the answer" />
          {uuid !== undefined && <ForkButton uuid={uuid} />}
        </div>
      )}
    </div>
  );
}

export function ForkButton({ uuid }: { uuid: string }) {
  const fork = () => {
    const { sessionId } = current().state;
    if (sessionId !== undefined) tell("host/session/fork", { sessionId, messageUuid: uuid });
  };
  return <IconButton icon="repo-forked" label="Fork from here" onClick={fork} />;
}
