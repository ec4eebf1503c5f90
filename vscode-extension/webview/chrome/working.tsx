/** What goes on now: the turn with its phase and time, the todo list, jobs in the background, a dream. */

import { useEffect, useState } from "preact/hooks";
import type { ChatState, Turn } from "../../src/chat/state.ts";
import type { TodoItem } from "../../src/protocol.ts";
import { counted, elapsed } from "../panels/format.ts";
import { phaseWords } from "../panels/words.ts";
import { showPage, tell } from "../view.ts";
import { Icon } from "./button.tsx";

export function Working({ state }: { state: ChatState }) {
  const { turn, todos, jobs, dream } = state;
  const isDreaming = dream?.status === "running";
  const isListed = todos.some((todo) => todo.status !== "completed");
  if (!turn && !isListed && jobs === 0 && !isDreaming) {
    return null;
  }
  return (
    <div class="chrome-working">
      {isListed && <Todos todos={todos} />}
      {turn && <Running turn={turn} />}
      {(jobs > 0 || isDreaming) && (
        <button type="button" class="chrome-line chrome-line-button" onClick={() => showPage("tasks")}>
          <Icon name={isDreaming ? "sparkle" : "server-process"} />
          <span class="chrome-line-text">
            {isDreaming && `Dreaming, ${counted(dream.rounds, "round")}`}
            {isDreaming && jobs > 0 && "; "}
            {jobs > 0 && `${jobs} running in the background`}
          </span>
        </button>
      )}
    </div>
  );
}

function Running({ turn }: { turn: Turn }) {
  const isAsking = turn.phase === "asking";
  return (
    <div class="chrome-line">
      <Icon name={isAsking ? "question" : "loading"} spin={!isAsking} />
      <span class="chrome-line-text" title={turn.detail}>
        {phaseWords(turn.phase)}
        {turn.detail && `: ${turn.detail}`}
      </span>
      {turn.startedAt > 0 && <Elapsed since={turn.startedAt} />}
      <button
        type="button"
        class="chrome-link"
        disabled={turn.phase === "stopping"}
        onClick={() => tell("host/stop", {})}
      >
        Stop
      </button>
    </div>
  );
}

/** Ticks by itself, so that a second that passes draws a few characters and no more. */
function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <span class="quiet" aria-hidden="true">
      {elapsed(now - since)}
    </span>
  );
}

function Todos({ todos }: { todos: readonly TodoItem[] }) {
  const done = todos.filter((todo) => todo.status === "completed").length;
  const active = todos.find((todo) => todo.status === "in_progress") ?? todos.find((todo) => todo.status === "pending");
  return (
    <details class="chrome-fold">
      <summary>
        <Icon name="checklist" />{" "}
        <span class="chrome-line-text">
          {done} of {todos.length}
          {active && `: ${active.activeForm ?? active.content}`}
        </span>
      </summary>
      <ul class="chrome-list chrome-todos" aria-label="Todo list">
        {todos.map((todo, index) => (
          <Todo key={`${index} ${todo.content}`} todo={todo} />
        ))}
      </ul>
    </details>
  );
}

function Todo({ todo }: { todo: TodoItem }) {
  const { icon, words } = MARKS[todo.status];
  return (
    <li class={`chrome-todo chrome-todo-${todo.status}`}>
      <Icon name={icon} />
      <span>
        {todo.content}
        <span class="sr-only"> ({words})</span>
      </span>
    </li>
  );
}

const MARKS: Readonly<Record<TodoItem["status"], { icon: string; words: string }>> = {
  pending: { icon: "circle-large-outline", words: "to do" },
  in_progress: { icon: "arrow-right", words: "under way" },
  completed: { icon: "check", words: "done" },
};
