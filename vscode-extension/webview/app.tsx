/** The whole view: what stands where, and which page is open. */

import { useCallback, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Draft, Page } from "../src/chat/messages.ts";
import { Announcer } from "./announce.tsx";
import { Asks } from "./asks/asks.tsx";
import { Boundary } from "./boundary.tsx";
import { Banners } from "./chrome/banners.tsx";
import { Icon, IconButton } from "./chrome/button.tsx";
import { Header } from "./chrome/header.tsx";
import { Status } from "./chrome/status.tsx";
import { Composer } from "./composer/composer.tsx";
import { Folder } from "./items/actions.tsx";
import { Welcome } from "./items/welcome.tsx";
import { List } from "./list.tsx";
import { Pages } from "./panels/pages.tsx";
import { beginCommands, dismissProblem, onCommand, remember, remembered, useChat } from "./view.ts";

export function App() {
  return (
    <Boundary name="view" of={undefined}>
      <Parts />
    </Boundary>
  );
}

function Parts() {
  const chat = useChat();
  const { state, ready, problem, sending, target } = chat;
  const wanted = target?.sessionId === state.sessionId ? target?.messageUuid : undefined;
  const [page, setPage] = usePage();
  const [draft, setDraft] = useDraftOf(chat.draft, chat.drafts);
  const close = useCallback(() => setPage("chat"), [setPage]);
  const items = useMemo(
    () => (sending.length === 0 ? state.items : [...state.items, ...sending]),
    [state.items, sending],
  );
  // The same element again as long as the conversation is: typing does not touch it.
  const conversation = useMemo(
    () =>
      items.length === 0 ? (
        <Welcome />
      ) : (
        <List key={state.sessionId ?? "new"} items={items} sessionId={state.sessionId} wanted={wanted} />
      ),
    [items, state.sessionId, wanted],
  );
  // After the effects of all that is drawn with it: whatever hears commands does by now.
  useLayoutEffect(() => {
    if (ready) beginCommands();
  }, [ready]);
  if (!ready) return null;
  const isCovered = page !== "chat";
  return (
    <Folder.Provider value={state.trust[0]?.folder}>
      <div class="app">
        <div class="app-part" hidden={isCovered}>
          <Header state={state} />
          <Banners state={state} />
          <main class="conversation">{conversation}</main>
        </div>
        <Pages page={page} state={state} onClose={close} />
        {/* Somebody waits for an answer, on whichever page the user is. */}
        <Boundary name="question" of={state.asks[0]}>
          <Asks state={state} isCovered={isCovered} />
        </Boundary>
        {problem !== undefined && (
          <div class="problem" role="alert">
            <Icon name="error" />
            <span>{problem}</span>
            <IconButton icon="close" label="Dismiss" onClick={dismissProblem} />
          </div>
        )}
        <div class="app-part" hidden={isCovered}>
          <Composer state={state} draft={draft} onDraft={setDraft} />
          <Status state={state} />
        </div>
      </div>
      <Announcer state={state} />
    </Folder.Provider>
  );
}

function usePage(): [Page, (page: Page) => void] {
  const [page, setPage] = useState<Page>(() => remembered().page ?? "chat");
  const show = useCallback((next: Page) => {
    setPage(next);
    remember({ page: next });
  }, []);
  useLayoutEffect(
    () =>
      onCommand((command) => {
        // What is to be typed is not on a page.
        show(command.type === "show" ? command.page : "chat");
      }),
    [show],
  );
  return [page, show];
}

/** The composer's draft; the host's whenever it sends another one. */
function useDraftOf(given: Draft, count: number): [Draft, (draft: Draft) => void] {
  const [draft, setDraft] = useState({ draft: given, count });
  const current = draft.count === count ? draft.draft : given;
  return [current, (next) => setDraft({ draft: next, count })];
}
