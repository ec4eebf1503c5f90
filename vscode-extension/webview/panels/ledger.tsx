/** Every change to what the model sees, newest first, with the way back to what it was. */

import { useState } from "preact/hooks";
import type { ContextChange } from "../../src/protocol.ts";
import { call } from "../view.ts";
import { counted, tokens } from "./format.ts";
import { useAction } from "./load.ts";
import { Ago, Facts, Problem, Section } from "./parts.tsx";
import { cacheWords, layerWords } from "./words.ts";

/** How many are shown before somebody asks for all. */
const SHOWN = 20;

export function Ledger({ sessionId, ledger }: { sessionId: string; ledger: readonly ContextChange[] }) {
  const [isWhole, setWhole] = useState(false);
  const { act, busy, problem } = useAction(nothing);
  const newest = ledger.toReversed();
  const shown = isWhole ? newest : newest.slice(0, SHOWN);
  const show = (change: ContextChange, id: string) =>
    act(id, async () => {
      const original = await call("reverie/context/original", { sessionId, id });
      await call("host/openText", { title: `${layerWords(change.layer)}: original`, text: original.text });
    });
  return (
    <Section title="What changed" aside={ledger.length > 0 && counted(ledger.length, "change")}>
      <Problem text={problem} />
      {ledger.length === 0 && <p class="quiet">Nothing: the model sees the conversation as it was said.</p>}
      <ul class="page-rows">
        {shown.map((change, index) => (
          <li key={ledger.length - index} class="page-line">
            <span class="page-split">
              <span>{layerWords(change.layer)}</span>
              <span class="quiet">
                <Ago at={change.at} />
              </span>
            </span>
            <span class="quiet">{change.detail}</span>
            <Facts>
              {[
                change.messages > 0 && counted(change.messages, "message"),
                change.tokensFreed > 0 && `${tokens(change.tokensFreed)} tokens freed`,
                <span key="cache" class={`page-cache-${change.cache}`}>
                  {cacheWords(change.cache)}
                </span>,
                change.original && (
                  <button
                    key="original"
                    type="button"
                    class="chrome-link"
                    disabled={busy !== undefined}
                    onClick={() => change.original && show(change, change.original)}
                  >
                    Show original
                  </button>
                ),
              ]}
            </Facts>
          </li>
        ))}
      </ul>
      {shown.length < ledger.length && (
        <button type="button" class="page-more" onClick={() => setWhole(true)}>
          Show all {ledger.length}
        </button>
      )}
    </Section>
  );
}

function nothing(): void {}
