/** The dream that runs, as it goes along, or what keeps the next one from starting by itself. */

import type { DreamProgressParams, DreamStatusResult } from "../../src/protocol.ts";
import { call } from "../view.ts";
import { baseName, counted } from "./format.ts";
import { useAction } from "./load.ts";
import { Ago, Facts, Problem, Section } from "./parts.tsx";
import { dreamWords } from "./words.ts";

interface DreamProps {
  status?: DreamStatusResult;
  /** The last that was told; newer than what `status` has. */
  progress?: DreamProgressParams;
  reload: () => void;
}

export function Dream({ status, progress, reload }: DreamProps) {
  const { act, busy, problem } = useAction(reload);
  const running = progress?.status === "running" ? progress : progress ? undefined : status?.running;
  return (
    <Section title="Dream" aside={running ? "running" : status?.state === "locked" ? "runs elsewhere" : "not running"}>
      <Problem text={problem} />
      {running ? <Progress dream={running} /> : status && <Waiting status={status} ended={progress} />}
      <div class="chrome-buttons">
        {running ? (
          <button
            type="button"
            class="chrome-button"
            disabled={busy !== undefined}
            onClick={() => act("stop", () => call("host/dream/stop", { dreamId: running.dreamId }))}
          >
            Stop dream
          </button>
        ) : (
          <button
            type="button"
            class="chrome-button"
            disabled={busy !== undefined || status?.state === "locked"}
            onClick={() => act("start", () => call("host/dream/start", {}))}
          >
            Start dream
          </button>
        )}
        {(status?.lastConsolidatedAt || (progress && !running)) && (
          <button
            type="button"
            class="chrome-button chrome-secondary"
            disabled={busy !== undefined}
            onClick={() => act("report", () => call("host/dream/report", {}))}
          >
            Last report
          </button>
        )}
      </div>
    </Section>
  );
}

function Progress({ dream }: { dream: DreamProgressParams }) {
  const latest = dream.latest?.slice(-3) ?? [];
  return (
    <div class="page-dream" role="status">
      <p>{dreamWords(dream.phase)}</p>
      <Facts>
        {[
          counted(dream.rounds, "round"),
          dream.filesTouched.length > 0 &&
            `${counted(dream.filesTouched.length, "file")}: ${names(dream.filesTouched)}`,
        ]}
      </Facts>
      {latest.map((round, index) => (
        <p key={index} class="quiet page-said">
          {round.text || `${counted(round.toolCalls, "tool call")}`}
        </p>
      ))}
      {latest.length === 0 && dream.text && <p class="quiet page-said">{dream.text}</p>}
    </div>
  );
}

function names(paths: readonly string[]): string {
  const shown = paths.slice(0, 4).map(baseName).join(", ");
  return paths.length > 4 ? `${shown}, …` : shown;
}

function Waiting({ status, ended }: { status: DreamStatusResult; ended?: DreamProgressParams }) {
  return (
    <>
      {ended?.text && <p>{ended.text}</p>}
      <p class="quiet">
        {status.lastConsolidatedAt ? (
          <>
            The last one was <Ago at={status.lastConsolidatedAt} />; {counted(status.sessionsSince, "other session")}{" "}
            since.
          </>
        ) : (
          "There was none yet. A dream merges what says the same and brings memories up to date."
        )}
      </p>
    </>
  );
}
