/** May this call run? Shows what it would do, and offers what the server offers, in its order. */

import { useContext } from "preact/hooks";
import type { Ask } from "../../src/chat/state.ts";
import type { PermissionOption, PermissionPreview } from "../../src/protocol.ts";
import { Folder } from "../items/actions.tsx";
import { callLine } from "../items/calls.ts";
import { Diff } from "../items/diff.tsx";
import { Breakable } from "../items/path.tsx";
import type { GiveAnswer } from "./asks.tsx";
import { AskCard, type Choice, Words } from "./card.tsx";

type Permission = Extract<Ask, { kind: "permission" }>;

export function PermissionCard({ ask, answer }: { ask: Permission; answer: GiveAnswer }) {
  const { id, tool, input, reason, preview, options } = ask;
  const folder = useContext(Folder);
  const line = callLine(tool, input, folder);
  const why = folder === undefined ? reason : reason.replaceAll(`${folder}/`, "");
  const isShown = preview?.kind === "command";
  const choices = options.map(
    (option): Choice => ({
      id: option.id,
      label: option.label,
      ...(option.rule && { title: `Allows ${option.rule}` }),
      look: look(option),
      choose: () => answer({ id, kind: "permission", option: option.id }),
    }),
  );
  const deny = (message: string) => () => answer({ id, kind: "permission", option: "deny", message });
  const title = (
    <>
      <strong>{line.verb}</strong>{" "}
      {!isShown && (
        <span class={line.isCode ? "tool-code" : ""} title={line.whole}>
          <Breakable text={line.subject} />
        </span>
      )}
      {why !== "" && (
        <div class="quiet">
          <Breakable text={why} />
        </div>
      )}
    </>
  );
  return (
    <AskCard
      icon="shield"
      title={title}
      label={`Permission: ${line.verb} ${line.subject}. ${why}`}
      choices={choices}
      footer={(give, isBusy) => (
        <Words
          label="Or deny, and say what to do instead"
          button="Deny"
          isBusy={isBusy}
          onSend={(words) => give(deny(words))}
        />
      )}
    >
      {preview !== undefined && (
        <div class="ask-preview">
          <Preview name={id} preview={preview} path={line.place?.path ?? ""} />
        </div>
      )}
    </AskCard>
  );
}

function look({ id }: PermissionOption): Choice["look"] {
  switch (id) {
    case "allowOnce":
      return "primary";
    case "allowSession":
    case "allowAlways":
      return "secondary";
    case "deny":
      return "refusal";
  }
}

function Preview({ name, preview, path }: { name: string; preview: PermissionPreview; path: string }) {
  switch (preview.kind) {
    case "diff":
      return <Diff name={`ask:${name}`} diff={preview.text} path={path} />;
    case "command":
    case "text":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too.
        <pre class="command" tabIndex={0}>
          {preview.text}
        </pre>
      );
  }
}
