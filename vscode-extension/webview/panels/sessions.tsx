/** The sessions of the workspace: found by title or by what was said, opened, renamed, forked, written down, deleted. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { ChatState } from "../../src/chat/state.ts";
import type { ListSessionsResult, SearchHit, SessionSummary } from "../../src/protocol.ts";
import { Icon, IconButton } from "../chrome/button.tsx";
import { isComposing } from "../chrome/keys.ts";
import { focusOn } from "../focus.ts";
import { aimAt, call } from "../view.ts";
import { bytes, counted, money } from "./format.ts";
import { useAction, useLoad } from "./load.ts";
import { Ago, Facts, Problem, Section } from "./parts.tsx";

const PAGE = 30;
/** Fewer of them, so that what was said is in sight. */
const FOUND = 8;
const SEARCH_AFTER_MS = 150;

export function SessionsPage({ state, onClose }: { state: ChatState; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [query, setQuery] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setQuery(typed.trim()), SEARCH_AFTER_MS);
    return () => window.clearTimeout(timer);
  }, [typed]);

  const first = useLoad<ListSessionsResult>(
    () => call("reverie/session/list", query ? { limit: FOUND, query } : { limit: PAGE }),
    [query, state.sessionId, state.title],
  );
  const said = useLoad<readonly SearchHit[]>(
    async () => (query ? (await call("reverie/session/search", { query, limit: 20 })).hits : []),
    [query],
  );
  const [further, setFurther] = useState<ListSessionsResult>();
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setFurther(undefined);
    // A row that had the focus may be gone.
    if (document.activeElement === document.body) {
      focusOn(search.current);
    }
  }, [first.value]);

  const sessions = [...(first.value?.sessions ?? []), ...(further?.sessions ?? [])];
  const cursor = further ? further.nextCursor : first.value?.nextCursor;
  const { act, busy, problem } = useAction(first.reload);
  const more = useCallback(async () => {
    const page = await call("reverie/session/list", { limit: PAGE, query: query || undefined, cursor });
    setFurther((old) => ({ ...page, sessions: [...(old?.sessions ?? []), ...page.sessions] }));
  }, [query, cursor]);

  const open = (sessionId: string, messageUuid?: string) =>
    act("open", async () => {
      await call("host/session/open", { sessionId });
      if (messageUuid !== undefined) aimAt({ sessionId, messageUuid });
      onClose();
    });
  const titles = new Map(sessions.map((session) => [session.sessionId, titleOf(session)]));
  const isNothing = first.value && sessions.length === 0;
  return (
    <div class="page-sessions">
      <div class="page-search">
        <Icon name="search" />
        <input
          ref={search}
          data-first
          type="search"
          value={typed}
          placeholder="Search sessions"
          aria-label="Search sessions"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (isComposing(event)) {
              return;
            }
            if (event.key === "Escape" && typed !== "") {
              event.preventDefault();
              setTyped("");
            } else {
              step(event);
            }
          }}
        />
      </div>
      <Problem text={problem ?? first.problem ?? said.problem} />
      {isNothing && (
        <p class="page-empty">{query ? "No session has this in its title." : "There are no sessions yet."}</p>
      )}
      <ul class="page-rows" aria-label="Sessions" aria-busy={busy !== undefined}>
        {sessions.map((session) => (
          <Session
            key={session.sessionId}
            session={session}
            isCurrent={session.sessionId === state.sessionId}
            onOpen={() => open(session.sessionId)}
            onClose={onClose}
            act={act}
          />
        ))}
      </ul>
      {cursor && <More key={cursor} load={more} isEager={query === ""} />}
      {query && said.value && said.value.length > 0 && (
        <Section title="In what was said">
          <ul class="page-rows">
            {said.value.map((hit) => (
              <li key={hit.messageUuid} class="page-row">
                <button
                  type="button"
                  class="page-open"
                  data-row
                  onClick={() => open(hit.sessionId, hit.messageUuid)}
                  onKeyDown={step}
                >
                  <span class="page-snippet">{hit.snippet}</span>
                  <Facts>{[WHO[hit.role], <Ago key="at" at={hit.timestamp} />, titles.get(hit.sessionId)]}</Facts>
                </button>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </div>
  );
}

const WHO: Readonly<Record<SearchHit["role"], string>> = { user: "you", assistant: "Reverie", tool: "a tool" };

interface SessionProps {
  session: SessionSummary;
  isCurrent: boolean;
  onOpen: () => void;
  onClose: () => void;
  act: (name: string, work: () => Promise<unknown>) => void;
}

function Session({ session, isCurrent, onOpen, onClose, act }: SessionProps) {
  const { sessionId } = session;
  const title = titleOf(session);
  const rename = () => act("rename", () => call("host/session/rename", { sessionId }));
  const remove = () => act("delete", () => call("host/session/delete", { sessionId }));
  const press = (event: KeyboardEvent) => {
    if (event.key === "F2") {
      event.preventDefault();
      rename();
    } else if (event.key === "Delete") {
      event.preventDefault();
      remove();
    } else {
      step(event);
    }
  };
  return (
    <li class={`page-row${isCurrent ? " page-row-current" : ""}`}>
      <button
        type="button"
        class="page-open"
        data-row
        aria-current={isCurrent}
        title={session.firstPrompt}
        onClick={onOpen}
        onKeyDown={press}
      >
        <span class="page-row-title">{title}</span>
        <Facts>
          {[
            isCurrent && "open now",
            <Ago key="at" at={session.updatedAt} />,
            bytes(session.bytes),
            session.costUsd !== undefined && session.costUsd > 0 && money(session.costUsd),
            session.forkedFrom && "fork",
            session.branches && counted(session.branches, "branch", "branches"),
          ]}
        </Facts>
      </button>
      <div class="page-row-actions">
        <IconButton icon="edit" label={`Rename ${title} (F2)`} onClick={rename} />
        <IconButton
          icon="repo-forked"
          label={`Fork ${title}`}
          onClick={() => act("fork", () => call("host/session/fork", { sessionId }).then(onClose))}
        />
        <IconButton
          icon="export"
          label={`Export ${title}`}
          onClick={() => act("export", () => call("host/session/export", { sessionId }))}
        />
        <IconButton icon="trash" label={`Delete ${title} (Delete)`} onClick={remove} />
      </div>
    </li>
  );
}

function titleOf(session: SessionSummary): string {
  return session.title || session.firstPrompt || "Untitled session";
}

/** Loads the next page when it is pressed, or, if eager, as soon as it comes into sight. */
function More({ load, isEager }: { load: () => Promise<void>; isEager: boolean }) {
  const button = useRef<HTMLButtonElement>(null);
  const [problem, setProblem] = useState<string>();
  const begun = useRef(false);
  const run = useCallback(() => {
    if (!begun.current) {
      begun.current = true;
      load().catch((error: Error) => {
        begun.current = false;
        setProblem(error.message);
      });
    }
  }, [load]);
  useEffect(() => {
    if (!button.current || !isEager) {
      return;
    }
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && run());
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [run, isEager]);
  return (
    <>
      <Problem text={problem} />
      <button ref={button} type="button" class="page-more" onClick={run}>
        Show more
      </button>
    </>
  );
}

/** The arrows move the focus from row to row; from the search box to the first, and back. */
function step(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") {
    return;
  }
  event.preventDefault();
  const rows = [...document.querySelectorAll<HTMLElement>(".page-sessions [data-row], .page-sessions [data-first]")];
  const at = rows.indexOf(event.currentTarget as HTMLElement);
  rows[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
}
