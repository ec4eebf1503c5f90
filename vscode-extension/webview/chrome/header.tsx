/** The line over the conversation: what it is called, and the ways to others. */

import type { ChatState } from "../../src/chat/state.ts";
import { showPage, tell } from "../view.ts";
import { IconButton } from "./button.tsx";

export function Header({ state }: { state: ChatState }) {
  const { sessionId } = state;
  const title = state.title || (sessionId ? "Untitled session" : "New session");
  const rename = () => sessionId && tell("host/session/rename", { sessionId });
  return (
    <header class="chrome-header">
      {/* Renaming by mouse is a shortcut to the button beside it. */}
      <h1 class="chrome-title" title={title} onDblClick={rename}>
        {title}
      </h1>
      {sessionId && <IconButton icon="edit" label="Rename session" class="chrome-rename" onClick={rename} />}
      <div class="chrome-actions">
        <IconButton icon="add" label="New session" onClick={() => tell("host/session/new", {})} />
        <IconButton icon="history" label="Sessions" onClick={() => showPage("sessions")} />
        <IconButton
          icon="book"
          label="Memory"
          onClick={() => tell("host/command", { command: "reverie.memory.focus" })}
        />
      </div>
    </header>
  );
}
