/** How a turn ended. One that ended as it should leaves next to nothing. */

import type { EndItem } from "../../src/chat/state.ts";
import type { Usage } from "../../src/protocol.ts";
import { Icon } from "../chrome/button.tsx";
import { tokens } from "../panels/format.ts";
import { stopWords } from "../panels/words.ts";
import { ForkButton } from "./text.tsx";

export function End({ item: { stopReason, usage, error, uuid } }: { item: EndItem }) {
  if (error !== undefined) {
    return (
      <div class="note note-error">
        <Icon name="error" />
        <span class="sr-only">Error: </span>
        <span class="note-text">
          {error.message} <span class="quiet">{error.code}</span>
        </span>
      </div>
    );
  }
  const words = stopWords(stopReason);
  return (
    <div class={`end ${words === undefined ? "" : "end-early"}`} title={usageWords(usage)}>
      {words === undefined ? (
        <span class="sr-only">End of the answer. {usageWords(usage)}</span>
      ) : (
        <span class="note">
          <Icon name="circle-slash" />
          <span class="note-text">{words}</span>
        </span>
      )}
      {uuid !== undefined && (
        <span class="item-actions end-actions">
          <ForkButton uuid={uuid} />
          <span class="end-usage">{usageWords(usage)}</span>
        </span>
      )}
    </div>
  );
}

function usageWords({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): string {
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  const cached = input > 0 ? `, ${Math.round((100 * cacheReadTokens) / input)} % cached` : "";
  return `${tokens(input)} tokens in${cached}, ${tokens(outputTokens)} out`;
}
