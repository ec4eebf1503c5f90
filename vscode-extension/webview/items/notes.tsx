/** The quiet lines between what was said: notices, changes of the context, questions with their answers, plans. */

import type { ContextItem, NoticeItem, PlanItem, QuestionItem } from "../../src/chat/state.ts";
import type { NoticeLevel } from "../../src/protocol.ts";
import { Icon } from "../chrome/button.tsx";
import { tokens } from "../panels/format.ts";
import { useLoad } from "../panels/load.ts";
import { cacheWords, layerWords } from "../panels/words.ts";
import { call, current, showPage } from "../view.ts";
import { Fold } from "./fold.tsx";
import { Markdown } from "./markdown.tsx";
import { Output } from "./terminal.tsx";

export function Notice({ item: { level, text } }: { item: NoticeItem }) {
  return (
    <div class={`note note-${level}`}>
      <Icon name={level} />
      <span class="sr-only">{levelWords(level)} </span>
      <span class="note-text">{text}</span>
    </div>
  );
}

function levelWords(level: NoticeLevel): string {
  switch (level) {
    case "info":
      return "Notice:";
    case "warning":
      return "Warning:";
    case "error":
      return "Error:";
  }
}

/** A layer changed what the model sees. Opens what it was, or else the page that tells all of it. */
export function ContextChange({ item }: { item: ContextItem }) {
  const { key, layer, detail, tokensFreed, cache, original } = item;
  const facts = [tokensFreed > 0 && `${tokens(tokensFreed)} tokens freed`, cacheWords(cache)].filter(Boolean);
  const words = [layerWords(layer), ...facts].join(", ");
  if (original === undefined) {
    return (
      <button type="button" class="note note-context" title={detail} onClick={() => showPage("context")}>
        <Icon name="layers" />
        <span class="note-text">{words}</span>
      </button>
    );
  }
  const summary = (
    <>
      <Icon name="layers" /> {words}
    </>
  );
  return (
    <Fold name={key} summary={summary} class="span">
      <p class="span-detail">
        {detail}{" "}
        <button type="button" class="text-button" onClick={() => showPage("context")}>
          Context and cost
        </button>
      </p>
      <Original id={original} title={`${layerWords(layer)}: original`} />
    </Fold>
  );
}

/** What the model does not see any more. */
function Original({ id, title }: { id: string; title: string }) {
  const { sessionId = "" } = current().state;
  const { value, problem } = useLoad(() => call("reverie/context/original", { sessionId, id }), [sessionId, id]);
  if (value !== undefined) return <Output text={value.text} title={title} keep="first" />;
  return <p class="quiet">{problem ?? "Reading…"}</p>;
}

export function Question({ item: { question, answer } }: { item: QuestionItem }) {
  return (
    <div class="note note-question">
      <Icon name="question" />
      <div class="note-text">
        <div class="quiet">{question}</div>
        {answer !== undefined && <div>{answer ?? "Dismissed without an answer."}</div>}
      </div>
    </div>
  );
}

export function Plan({ item: { key, text, answer } }: { item: PlanItem }) {
  const state = answer === undefined ? "waits for your answer" : answer.approved ? "approved" : "rejected";
  const summary = (
    <>
      <Icon name="notebook" /> <span class="tool-verb">Plan</span> <span class="tool-detail">{state}</span>
    </>
  );
  return (
    <div class="tool plan">
      <Fold name={key} initially={answer !== undefined} summary={summary}>
        <Markdown text={text} />
        {answer?.message && <p class="plan-answer">You said: {answer.message}</p>}
      </Fold>
    </div>
  );
}
