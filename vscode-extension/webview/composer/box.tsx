/** Where the user writes: the text, what goes with it, its completion, sending and stopping. It owns the draft. */

import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Draft } from "../../src/chat/messages.ts";
import type { Attachment } from "../../src/chat/state.ts";
import type { SlashCommand } from "../../src/protocol.ts";
import { Icon, IconButton } from "../chrome/button.tsx";
import { isComposing } from "../chrome/keys.ts";
import { focusOn } from "../focus.ts";
import { call, current, edit, prompt, tell } from "../view.ts";
import { Attachments } from "./attachments.tsx";
import { useCompletion } from "./completion.ts";
import { useDraft } from "./draft.ts";
import { useDrop } from "./drop.ts";
import { droppedUris, pastedFiles, takeFiles } from "./files.ts";
import { useIncoming } from "./incoming.ts";
import { add, hold, standing } from "./mentions.ts";
import { LIST_ID, optionId, type Suggestion, Suggestions } from "./suggestions.tsx";

interface BoxProps {
  commands: readonly SlashCommand[];
  turn: "none" | "running" | "stopping";
  draft: Draft;
  onDraft: (draft: Draft) => void;
}

export function Box({ commands, turn, draft, onDraft }: BoxProps) {
  const { content, latest, change, save, release } = useDraft(draft, onDraft);
  const { completion, active, setActive, update, dismiss } = useCompletion(commands);
  const [problem, setProblem] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const toEnd = useRef(false);
  const isRunning = turn !== "none";

  // In the next frame: a page that covers the composer is closed by the same message.
  const focus = useCallback(() => void requestAnimationFrame(() => focusOn(area.current)), []);
  const fail = useCallback((error: Error) => setProblem(error.message), []);
  const attach = useCallback(
    (attachments: readonly Attachment[]) => {
      const { text, held } = latest();
      const named = hold(text, attachments);
      change({ held: named.reduce((all, { attachment, word }) => add(all, [attachment], word), held) });
      focus();
    },
    [change, latest, focus],
  );
  const begin = useCallback(
    (words: string) => {
      const { text } = latest();
      toEnd.current = text.trim() === "";
      change({ text: toEnd.current ? words : `${words}\n\n${text}` });
      focus();
    },
    [change, latest, focus],
  );
  useIncoming({ begin, attach, focus });

  const take = useCallback(
    async (files: readonly File[]) => {
      const { attachments, refused } = await takeFiles(files);
      setProblem(refused.join(" "));
      if (attachments.length > 0) {
        attach(attachments);
      }
    },
    [attach],
  );
  const drop = useCallback(
    (data: DataTransfer) => {
      const uris = droppedUris(data);
      if (uris.length > 0) {
        call("host/attach", { uris }).then(({ attachments }) => attach(attachments), fail);
      } else {
        take([...data.files]).catch(fail);
      }
    },
    [attach, take, fail],
  );
  const isOver = useDrop(drop);

  useLayoutEffect(() => {
    if (toEnd.current) {
      toEnd.current = false;
      area.current?.setSelectionRange(content.text.length, content.text.length);
    }
  }, [content.text]);

  const choose = (suggestion: Suggestion) => {
    if (!completion || !area.current) {
      return;
    }
    const { start } = completion.trigger;
    const caret = area.current.selectionStart;
    if (suggestion.kind === "mention") {
      const { label, attachment } = suggestion.mention;
      change({ held: add(latest().held, [attachment], label) });
      replace(area.current, start, caret, `@${label} `);
    } else {
      replace(area.current, start, caret, `/${suggestion.command.name} `);
    }
    dismiss();
  };

  const submit = () => {
    const before = latest();
    const attachments = standing(before.text, before.held);
    const text = before.text.trim();
    if (text === "" && attachments.length === 0) {
      return;
    }
    setProblem("");
    dismiss();
    release(prompt(text, attachments)).catch(fail);
    focusOn(area.current);
  };

  const stop = () => {
    tell("host/stop", {});
    focusOn(area.current);
  };

  /** Keys of the list of suggestions; whether it was one. */
  const pressInList = (event: KeyboardEvent): boolean => {
    const chosen = completion?.suggestions[active];
    if (!completion || !chosen) {
      return false;
    }
    const count = completion.suggestions.length;
    switch (event.key) {
      case "ArrowDown":
        setActive((active + 1) % count);
        return true;
      case "ArrowUp":
        setActive((active + count - 1) % count);
        return true;
      case "Escape":
        dismiss();
        return true;
      case "Enter":
        // A command that is typed in full is sent, not completed once more.
        if (event.shiftKey || (chosen.kind === "command" && chosen.command.name === completion.trigger.query)) {
          return false;
        }
        choose(chosen);
        return true;
      case "Tab":
        // Backwards is a way out, as everywhere.
        if (event.shiftKey) {
          return false;
        }
        choose(chosen);
        return true;
      default:
        return false;
    }
  };

  /** Keys of the text; whether it was one that does something else than in any text. */
  const pressInText = (event: KeyboardEvent): boolean => {
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      submit();
      return true;
    }
    if (event.key === "Escape") {
      // Not what was drawn last: a turn may have begun since.
      const { state, sending } = current();
      if (state.turn === undefined && sending.length === 0) {
        return false;
      }
      stop();
      return true;
    }
    if (event.key === "ArrowUp" && content.text === "") {
      const last = current().state.items.findLast((item) => item.kind === "user");
      if (last?.kind === "user") {
        edit(last.text, last.attachments);
      }
      return true;
    }
    return false;
  };

  const press = (event: KeyboardEvent) => {
    if (isComposing(event)) {
      return;
    }
    if (pressInList(event) || pressInText(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };

  const chips = content.held.filter((one) => one.word === undefined).map((one) => one.attachment);
  const isEmpty = content.text.trim() === "" && chips.length === 0;
  return (
    <>
      {problem && <Problem text={problem} onClose={() => setProblem("")} />}
      <div class="composer-box">
        <Attachments
          attachments={chips}
          onRemove={(gone) => {
            change({ held: latest().held.filter((one) => one.attachment !== gone) });
            focus();
          }}
        />
        <div class="composer-grow" data-text={content.text}>
          <textarea
            ref={area}
            class="composer-text"
            rows={1}
            value={content.text}
            placeholder={isRunning ? "Add to what Reverie is doing" : "Ask, @ mention or / command"}
            aria-label="Message to Reverie"
            aria-autocomplete="list"
            aria-haspopup="listbox"
            aria-controls={completion && LIST_ID}
            aria-activedescendant={completion && optionId(active)}
            onInput={(event) => {
              change({ text: event.currentTarget.value });
              update(event.currentTarget.value, event.currentTarget.selectionStart);
            }}
            onSelect={(event) => update(event.currentTarget.value, event.currentTarget.selectionStart)}
            onKeyDown={press}
            onPaste={(event) => {
              const files = pastedFiles(event.clipboardData);
              if (files.length > 0) {
                event.preventDefault();
                take(files).catch(fail);
              }
            }}
            onBlur={() => {
              save();
              dismiss();
            }}
          />
        </div>
        <div class="composer-bar">
          <IconButton
            icon="attach"
            label="Attach files"
            onClick={() => call("host/pick", {}).then(({ attachments }) => attach(attachments), fail)}
          />
          <span class="composer-hint">{isRunning && !isEmpty && "Enter queues it"}</span>
          {isRunning && isEmpty ? (
            <IconButton icon="debug-stop" label="Stop (Escape)" disabled={turn === "stopping"} onClick={stop} />
          ) : (
            <IconButton icon="send" label="Send (Enter)" class="composer-send" disabled={isEmpty} onClick={submit} />
          )}
        </div>
        {completion && (
          <Suggestions suggestions={completion.suggestions} active={active} onActive={setActive} onChoose={choose} />
        )}
        <span class="sr-only" role="status">
          {completion && `${completion.suggestions.length} suggestions`}
        </span>
        {isOver && (
          <div class="composer-drop">
            <Icon name="attach" /> Drop to attach
          </div>
        )}
      </div>
    </>
  );
}

function Problem({ text, onClose }: { text: string; onClose: () => void }) {
  return (
    <div class="composer-problem" role="alert">
      <Icon name="error" />
      <span>{text}</span>
      <IconButton icon="close" label="Dismiss" onClick={onClose} />
    </div>
  );
}

/** As if it were typed: undo takes it back, and the input event tells the rest. */
function replace(area: HTMLTextAreaElement, start: number, end: number, text: string): void {
  focusOn(area);
  area.setSelectionRange(start, end);
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, start, end, "end");
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
}
