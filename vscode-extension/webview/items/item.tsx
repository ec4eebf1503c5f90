/** One row of the conversation, by its kind. */

import type { Item, ToolItem } from "../../src/chat/state.ts";
import { moment } from "../../src/when.ts";
import { callLine, groupWords, stateWords } from "./calls.ts";
import { End } from "./end.tsx";
import { Group } from "./group.tsx";
import { Memory } from "./memory.tsx";
import { ContextChange, Notice, Plan, Question } from "./notes.tsx";
import type { Row } from "./rows.ts";
import { Text } from "./text.tsx";
import { Thinking } from "./thinking.tsx";
import { Tool } from "./tool.tsx";
import { User } from "./user.tsx";

export function RowContent({ row }: { row: Row }) {
  return row.items.length > 1 ? <Group items={row.items as readonly ToolItem[]} /> : <OneItem item={row.items[0]} />;
}

function OneItem({ item }: { item: Item }) {
  switch (item.kind) {
    case "user":
      return <User item={item} />;
    case "text":
      return <Text item={item} />;
    case "thinking":
      return <Thinking item={item} />;
    case "tool":
      return <Tool item={item} />;
    case "notice":
      return <Notice item={item} />;
    case "context":
      return <ContextChange item={item} />;
    case "plan":
      return <Plan item={item} />;
    case "question":
      return <Question item={item} />;
    case "memory":
      return <Memory item={item} />;
    case "end":
      return <End item={item} />;
  }
}

/** What a screen reader says of the row before its content. */
export function rowLabel(row: Row): string {
  const [item] = row.items;
  if (row.items.length > 1) return groupWords(row.items as readonly ToolItem[]);
  switch (item.kind) {
    case "user":
      return `You, ${moment(item.at)}`;
    case "text":
      return "Reverie";
    case "thinking":
      return "Thoughts";
    case "tool": {
      const { verb, subject } = callLine(item.tool, item.input, undefined);
      return `${verb} ${subject}, ${stateWords(item.state)}`;
    }
    case "notice":
      return "Notice";
    case "context":
      return "Change of the context";
    case "plan":
      return "Plan";
    case "question":
      return "Question";
    case "memory":
      return "Memory";
    case "end":
      return item.error === undefined ? "End of the turn" : "Error";
  }
}
