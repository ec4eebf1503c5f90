/** What fills the window, what changed it, and what all of it cost. */

import { useState } from "preact/hooks";
import type { ChatState } from "../../src/chat/state.ts";
import type { ContextPart, ContextReportResult, PastCompaction, SourceCost } from "../../src/protocol.ts";
import { call, tell } from "../view.ts";
import { counted, money, percent, tokens } from "./format.ts";
import { Ledger } from "./ledger.tsx";
import { useAction, useLoad } from "./load.ts";
import { Ago, Facts, Problem, Section } from "./parts.tsx";
import { layerWords, levelWords, partWords, sourceWords, triggerWords } from "./words.ts";

export function ContextPage({ state }: { state: ChatState }) {
  const { sessionId } = state;
  return sessionId ? (
    <Report sessionId={sessionId} state={state} />
  ) : (
    <p class="page-empty">There is nothing in the window yet: it fills with the first prompt.</p>
  );
}

function Report({ sessionId, state }: { sessionId: string; state: ChatState }) {
  const {
    value: report,
    problem,
    reload,
  } = useLoad(() => call("reverie/context/report", { sessionId }), [sessionId, state.meter, state.turn === undefined]);
  if (!report) {
    return problem ? <Problem text={problem} /> : <p class="page-empty">Counting…</p>;
  }
  return (
    <>
      <Problem text={problem} />
      <Window report={report} />
      <Compact report={report} isRunning={state.turn !== undefined} reload={reload} />
      <Ledger sessionId={sessionId} ledger={report.ledger} />
      <Compactions report={report} />
      <Costs sources={report.sources} />
      {report.notes && (
        <Section title="Notes of the session">
          <p>
            <button
              type="button"
              class="chrome-link"
              onClick={() => report.notes && tell("host/open", { path: report.notes.path })}
            >
              Open the notes
            </button>
            , written <Ago at={report.notes.updatedAt} />
          </p>
        </Section>
      )}
    </>
  );
}

/** As many colours as there are in charts; the legend says in words what each stands for. */
const COLOURS = 8;

function Window({ report }: { report: ContextReportResult }) {
  const { used, window, threshold, level } = report;
  const parts = report.parts.filter((part) => part.tokens > 0 && part.name !== "free");
  const share = (count: number) => (window > 0 ? count / window : 0);
  return (
    <Section title="Window" aside={levelWords(level)}>
      <p>
        <strong>{percent(share(used))}</strong> used: {tokens(used)} of {tokens(window)} tokens
      </p>
      <div class={`page-bar page-bar-${level}`} aria-hidden="true">
        {parts.map((part, index) => (
          <span
            key={part.name}
            class={`page-part page-colour-${index % COLOURS}`}
            style={{ width: `${share(part.tokens) * 100}%` }}
            title={`${partWords(part.name)}: ${tokens(part.tokens)}`}
          />
        ))}
        <span class="page-threshold" style={{ left: `${Math.min(share(threshold), 1) * 100}%` }} title="Compaction" />
      </div>
      <p class="quiet">
        {report.percentLeft} % left until compaction at {tokens(threshold)}; next: {report.nextStep}
      </p>
      <Legend parts={parts} window={window} />
    </Section>
  );
}

function Legend({ parts, window }: { parts: readonly ContextPart[]; window: number }) {
  return (
    <table class="page-table page-legend">
      <caption class="sr-only">What fills the window</caption>
      <tbody>
        {parts.map((part, index) => (
          <tr key={part.name}>
            <th scope="row">
              <span class={`page-swatch page-colour-${index % COLOURS}`} aria-hidden="true" />
              {partWords(part.name)}
            </th>
            <td>{tokens(part.tokens)}</td>
            <td>{percent(window > 0 ? part.tokens / window : 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CompactProps {
  report: ContextReportResult;
  isRunning: boolean;
  reload: () => void;
}

function Compact({ report, isRunning, reload }: CompactProps) {
  const [wishes, setWishes] = useState("");
  const { act, busy, problem } = useAction(reload);
  return (
    <form
      class="page-compact"
      onSubmit={(event) => {
        event.preventDefault();
        act("compact", () => call("host/compact", { instructions: wishes.trim() || undefined }));
      }}
    >
      <input
        class="page-input"
        type="text"
        value={wishes}
        placeholder="Wishes for the summary (optional)"
        aria-label="Wishes for the summary"
        onInput={(event) => setWishes(event.currentTarget.value)}
      />
      <div class="chrome-buttons">
        <button type="submit" class="chrome-button" disabled={busy !== undefined || isRunning}>
          {busy === "compact" ? "Compacting…" : "Compact now"}
        </button>
        {report.canUncompact && (
          <button
            type="button"
            class="chrome-button chrome-secondary"
            disabled={busy !== undefined || isRunning}
            onClick={() => act("uncompact", () => call("host/uncompact", {}))}
          >
            Undo compaction
          </button>
        )}
      </div>
      <Problem text={problem} />
    </form>
  );
}

function Compactions({ report }: { report: ContextReportResult }) {
  const { list, tokensSaved } = report.compactions;
  if (list.length === 0) {
    return null;
  }
  return (
    <Section title="Compactions" aside={`${tokens(tokensSaved)} tokens saved`}>
      <ul class="page-rows">
        {list.toReversed().map((past, index) => (
          <li key={list.length - index} class="page-line">
            <Compaction past={past} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Compaction({ past }: { past: PastCompaction }) {
  return (
    <>
      {layerWords(past.layer)}, {triggerWords(past.trigger)}
      <Facts>
        {[
          counted(past.messages, "message"),
          `${tokens(past.tokensBefore)} → ${tokens(past.tokensAfter)} tokens`,
          `${past.ratio.toFixed(1)} to 1`,
          past.score !== undefined && `${Math.round(past.score * 9)} of 9 sections`,
        ]}
      </Facts>
    </>
  );
}

function Costs({ sources }: { sources: readonly SourceCost[] }) {
  if (sources.length === 0) {
    return null;
  }
  const all = sources.reduce((sum, source) => sum + source.costUsd, 0);
  return (
    <Section title="Cost" aside={money(all)}>
      <ul class="page-rows">
        {sources.map(({ source, usage, cacheHitRate, costUsd }) => (
          <li key={source} class="page-line">
            <span class="page-split">
              <span>{sourceWords(source)}</span>
              <span>{money(costUsd)}</span>
            </span>
            <Facts>
              {[
                `${tokens(usage.inputTokens)} in`,
                `${tokens(usage.outputTokens)} out`,
                `cache ${tokens(usage.cacheReadTokens)} read, ${tokens(usage.cacheWriteTokens)} written`,
                `${percent(cacheHitRate)} cached`,
              ]}
            </Facts>
          </li>
        ))}
      </ul>
    </Section>
  );
}
