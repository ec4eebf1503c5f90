/** Calls in a row that only looked: one line, the cards behind it. */

import type { ToolItem } from "../../src/chat/state.ts";
import { Icon } from "../chrome/button.tsx";
import { groupWords } from "./calls.ts";
import { Fold } from "./fold.tsx";
import { Tool } from "./tool.tsx";

export function Group({ items }: { items: readonly ToolItem[] }) {
  const running = items.some((item) => item.state === "running");
  const summary = (
    <>
      <Icon name={running ? "loading" : "search"} spin={running} />
      <span class="tool-verb">{groupWords(items)}</span>
      <span class="sr-only">, {running ? "running" : "done"}</span>
    </>
  );
  return (
    <div class="tool tool-group">
      <Fold name={`group:${items[0]?.key}`} summary={summary}>
        {items.map((item) => (
          <Tool key={item.key} item={item} />
        ))}
      </Fold>
    </div>
  );
}
