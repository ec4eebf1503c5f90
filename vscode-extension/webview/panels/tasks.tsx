/** What runs beside the conversation: commands in the background, and what the agent does by itself. */

import { useEffect } from "preact/hooks";
import type { ChatState } from "../../src/chat/state.ts";
import type { Background, BackgroundKind, Task } from "../../src/protocol.ts";
import { Icon } from "../chrome/button.tsx";
import { call } from "../view.ts";
import { Dream } from "./dream.tsx";
import { counted, money, tokens } from "./format.ts";
import { useAction, useLoad } from "./load.ts";
import { Ago, Facts, Gates, Problem, Section } from "./parts.tsx";
import { stateWords, taskWords } from "./words.ts";

const REFRESH_MS = 2000;

export function TasksPage({ state }: { state: ChatState }) {
  const causes = [state.jobs, state.dream, state.server.state];
  const list = useLoad(() => call("reverie/tasks/list", {}), causes);
  const dream = useLoad(() => call("reverie/dream/status", {}), causes);
  const tasks = list.value?.tasks ?? [];
  const isBusy = tasks.some((task) => task.state === "running") || dream.value?.state === "running";
  const { act, busy, problem } = useAction(list.reload);

  // How far something is, nobody tells; that it ended, somebody does. So only while something runs.
  useEffect(() => {
    if (!isBusy) {
      return;
    }
    const timer = window.setInterval(() => {
      list.reload();
      dream.reload();
    }, REFRESH_MS);
    return () => window.clearInterval(timer);
  }, [isBusy, list.reload, dream.reload]);

  const running = tasks.filter((task) => task.state === "running");
  const ended = tasks.filter((task) => task.state !== "running").toReversed();
  return (
    <>
      <Problem text={problem ?? list.problem ?? dream.problem} />
      <Section title="Running" aside={running.length > 0 && String(running.length)}>
        {list.value && running.length === 0 && <p class="quiet">Nothing runs in the background.</p>}
        <ul class="page-rows">
          {running.map((task) => (
            <Row
              key={task.taskId}
              task={task}
              isStopping={busy === task.taskId}
              onStop={() => act(task.taskId, () => call("reverie/tasks/stop", { taskId: task.taskId }))}
            />
          ))}
        </ul>
      </Section>
      <Dream status={dream.value} progress={state.dream} reload={dream.reload} />
      {list.value && <ByItself background={list.value.background} />}
      {ended.length > 0 && (
        <Section title="Ended">
          <ul class="page-rows">
            {ended.map((task) => (
              <Row key={task.taskId} task={task} isStopping={false} />
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

interface RowProps {
  task: Task;
  isStopping: boolean;
  onStop?: () => void;
}

function Row({ task, isStopping, onStop }: RowProps) {
  return (
    <li class="page-line page-task">
      <Icon name={ICONS[task.state]} spin={task.state === "running"} />
      <div class="page-task-body">
        <span class={task.kind === "shell" ? "page-command" : ""}>{task.title}</span>
        <Facts>
          {[taskWords(task.kind), stateWords(task.state), <Ago key="at" at={task.startedAt} />, task.detail]}
        </Facts>
      </div>
      {onStop && (
        <button
          type="button"
          class="chrome-button chrome-secondary"
          aria-label={`Stop ${task.title}`}
          disabled={isStopping}
          onClick={onStop}
        >
          Stop
        </button>
      )}
    </li>
  );
}

const ICONS: Readonly<Record<Task["state"], string>> = {
  running: "loading",
  completed: "check",
  failed: "error",
  killed: "circle-slash",
};

function ByItself({ background }: { background: Background }) {
  const { spentUsd, limitUsd } = background;
  const spent = limitUsd === undefined ? money(spentUsd) : `${money(spentUsd)} of ${money(limitUsd)}`;
  return (
    <Section title="By itself" aside={`${spent} today`}>
      {background.kinds.map((kind) => (
        <Kind key={kind.kind} kind={kind} />
      ))}
    </Section>
  );
}

function Kind({ kind }: { kind: BackgroundKind }) {
  const { runs, files, usage, costUsd } = kind.today;
  const closed = kind.gates.find((gate) => !gate.open);
  return (
    <details class="page-kind">
      <summary>
        <span>{taskWords(kind.kind)}</span>
        <span class="quiet">{closed ? closed.detail : "ready"}</span>
      </summary>
      <Gates gates={kind.gates} />
      <Facts>
        {[
          `Today ${counted(runs, "run")}`,
          counted(files, "file"),
          `${tokens(usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens)} in, ${tokens(usage.outputTokens)} out`,
          money(costUsd),
        ]}
      </Facts>
      {kind.last && <p class="quiet">Last: {kind.last}</p>}
    </details>
  );
}
