/** The card of one tool call: a line that says what and how it went, and what came of it behind a fold. */

import { useContext } from "preact/hooks";
import type { ToolItem } from "../../src/chat/state.ts";
import type { ToolDisplay } from "../../src/protocol.ts";
import { Icon, IconButton } from "../chrome/button.tsx";
import { counted } from "../panels/format.ts";
import { tell } from "../view.ts";
import { FileLink, Folder } from "./actions.tsx";
import { type CallLine, callLine, stateWords } from "./calls.ts";
import { Diff } from "./diff.tsx";
import { Fold } from "./fold.tsx";
import { ShownPath } from "./path.tsx";
import { Output } from "./terminal.tsx";
import { firstChange, parseUnified } from "./unified.ts";

/** A list of files longer than this is cut. */
const SHOWN_FILES = 50;
/** A command of one line may be a whole script. */
const MOST_TITLE = 120;

export function Tool({ item }: { item: ToolItem }) {
  const line = callLine(item.tool, item.input, useContext(Folder));
  const changed = item.display?.kind === "diff" ? item.display : undefined;
  const isOpen = item.state === "failed" || changed !== undefined || (item.state === "running" && item.tool === "Bash");
  const summary = <Summary item={item} line={line} />;
  const body = hasBody(item);
  return (
    <div class={`tool tool-${item.state}`}>
      {body ? (
        <Fold name={item.key} initially={isOpen} summary={summary} actions={<Actions changed={changed} line={line} />}>
          <Body item={item} line={line} />
        </Fold>
      ) : (
        <div class="fold-line tool-plain">
          <span class="fold-summary">{summary}</span>
          <Actions changed={changed} line={line} />
        </div>
      )}
    </div>
  );
}

function Summary({ item, line }: { item: ToolItem; line: CallLine }) {
  return (
    <>
      <StateIcon state={item.state} icon={line.icon} />
      <span class="tool-verb">{line.verb} </span>
      <Subject line={line} />
      {line.detail !== undefined && <span class="tool-where"> {line.detail}</span>}
      <Outcome item={item} />
      <span class="sr-only">, {stateWords(item.state)}</span>
    </>
  );
}

function Subject({ line: { subject, isCode, whole } }: { line: CallLine }) {
  if (subject === "") return null;
  return (
    <span class={isCode ? "tool-code" : "tool-subject"}>
      {whole === undefined ? subject : <ShownPath path={subject} whole={whole} />}
    </span>
  );
}

function StateIcon({ state, icon }: { state: ToolItem["state"]; icon: string }) {
  switch (state) {
    case "running":
      return <Icon name="loading" spin />;
    case "failed":
      return <Icon name="error" />;
    case "stopped":
      return <Icon name="circle-slash" />;
    case "done":
      return <Icon name={icon} />;
  }
}

/** How it went, as far as a few characters can say it. */
function Outcome({ item: { display, state } }: { item: ToolItem }) {
  if (state === "stopped") return <span class="tool-detail"> stopped</span>;
  switch (display?.kind) {
    case "diff": {
      const { added, removed } = parseUnified(display.diff);
      return (
        <span class="tool-counts">
          {" "}
          <span class="count-added">+{added}</span> <span class="count-removed">−{removed}</span>
        </span>
      );
    }
    case "files":
      return <span class="tool-detail"> {counted(display.paths.length, "file")}</span>;
    case "terminal":
      return display.exitCode ? <span class="tool-exit"> exit code {display.exitCode}</span> : null;
    case "text":
    case undefined:
      return null;
  }
}

interface ActionsProps {
  changed: Extract<ToolDisplay, { kind: "diff" }> | undefined;
  line: CallLine;
}

function Actions({ changed, line }: ActionsProps) {
  if (changed !== undefined) {
    const { path, diff } = changed;
    const open = () => tell("host/open", { path, line: firstChange(parseUnified(diff)) });
    return (
      <span class="tool-actions">
        <IconButton icon="diff-single" label="Open the diff" onClick={() => tell("host/review", { path })} />
        <IconButton icon="go-to-file" label="Open the file" onClick={open} />
      </span>
    );
  }
  const { place } = line;
  return place === undefined ? null : (
    <span class="tool-actions">
      <IconButton icon="go-to-file" label="Open the file" onClick={() => tell("host/open", place)} />
    </span>
  );
}

function hasBody({ display, progress, input, tool }: ToolItem): boolean {
  switch (display?.kind) {
    case "text":
      return display.text.trim() !== "";
    case "files":
      return display.paths.length > 0;
    case "terminal":
    case "diff":
      return true;
    case undefined:
      return progress.trim() !== "" || (tool === "Bash" && commandOf(input).includes("\n"));
  }
}

function Body({ item, line }: { item: ToolItem; line: CallLine }) {
  const title = `${line.verb} ${line.subject}`.trim().slice(0, MOST_TITLE);
  if (item.display === undefined) {
    return (
      <>
        <Command command={commandOf(item.input)} />
        {item.progress.trim() !== "" && <Output text={item.progress} title={title} keep="last" />}
      </>
    );
  }
  return <Display name={item.key} display={item.display} title={title} />;
}

function Display({ name, display, title }: { name: string; display: ToolDisplay; title: string }) {
  switch (display.kind) {
    case "text":
      return <Output text={display.text} title={title} keep="first" />;
    case "diff":
      return <Diff name={name} diff={display.diff} path={display.path} />;
    case "files":
      return <Files paths={display.paths} title={title} />;
    case "terminal":
      return (
        <>
          <Command command={display.command} />
          {display.output.trim() === "" ? (
            <p class="quiet">No output.</p>
          ) : (
            <Output text={display.output} title={title} keep="last" />
          )}
        </>
      );
  }
}

/** Only where the line of the card could not hold all of it. */
function Command({ command }: { command: string }) {
  return command.includes("\n") || command.length > 50 ? <pre class="command">{command.trim()}</pre> : null;
}

function Files({ paths, title }: { paths: readonly string[]; title: string }) {
  const hidden = paths.length - SHOWN_FILES;
  return (
    <>
      <ul class="file-list">
        {paths.slice(0, SHOWN_FILES).map((path) => (
          <li key={path}>
            <FileLink path={path} />
          </li>
        ))}
      </ul>
      {hidden > 0 && (
        <button
          type="button"
          class="more-button"
          onClick={() => tell("host/openText", { title, text: paths.join("\n") })}
        >
          Open all {paths.length} in an editor
        </button>
      )}
    </>
  );
}

function commandOf(input: unknown): string {
  const command = (input as { command?: unknown } | null | undefined)?.command;
  return typeof command === "string" ? command : "";
}
