/** What needs to be known before going on: the server, trust in the folder, other branches, files to look through. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ChatState, ServerState } from "../../src/chat/state.ts";
import type { Branch, TrustResult } from "../../src/protocol.ts";
import { ago } from "../../src/when.ts";
import { baseName, counted } from "../panels/format.ts";
import { remember, remembered, tell } from "../view.ts";
import { Icon } from "./button.tsx";
import { Changes } from "./changes.tsx";

const MOST_DISMISSED = 20;

export function Banners({ state }: { state: ChatState }) {
  const { server, trust, restricted, branches, changes, sessionId } = state;
  return (
    <div class="chrome-banners">
      <Server server={server} />
      {trust
        .filter(({ status }) => status !== "trusted")
        .map((one) => (
          <Trust key={one.folder} trust={one} restricted={restricted} isOne={trust.length === 1} />
        ))}
      {sessionId && branches.length > 1 && <Branches sessionId={sessionId} branches={branches} />}
      {changes.length > 0 && <Changes files={changes} />}
    </div>
  );
}

interface BannerProps {
  icon: string;
  kind: "info" | "warning" | "error";
  spin?: boolean;
  children: ComponentChildren;
}

function Banner({ icon, kind, spin, children }: BannerProps) {
  return (
    <div class={`chrome-banner chrome-banner-${kind}`} role={kind === "error" ? "alert" : "status"}>
      <Icon name={icon} spin={spin} />
      <div class="chrome-banner-body">{children}</div>
    </div>
  );
}

function Server({ server }: { server: ServerState }) {
  switch (server.state) {
    case "running":
      return null;
    case "starting":
      return (
        <Banner icon="loading" kind="info" spin>
          Reverie is starting.
        </Banner>
      );
    case "restarting":
      return (
        <Banner icon="loading" kind="warning" spin>
          The server ended and is being started again: {server.reason}
        </Banner>
      );
    case "failed":
      return (
        <Banner icon="error" kind="error">
          <p>{server.reason}</p>
          <div class="chrome-buttons">
            {server.help.map(({ label, command }, index) => (
              <button
                key={command}
                type="button"
                class={index === 0 ? "chrome-button" : "chrome-button chrome-secondary"}
                onClick={() => tell("host/command", { command })}
              >
                {label}
              </button>
            ))}
          </div>
        </Banner>
      );
  }
}

interface TrustProps {
  trust: TrustResult;
  restricted: boolean;
  /** There is no other folder that could be meant. */
  isOne: boolean;
}

function Trust({ trust, restricted, isOne }: TrustProps) {
  const [dismissed, setDismissed] = useState(() => remembered().dismissed ?? []);
  // Something else would run meanwhile: that is news.
  const name = `${trust.folder} ${trust.digest}`;
  if (dismissed.includes(name)) {
    return null;
  }
  const dismiss = () => {
    const all = [...(remembered().dismissed ?? []), name].slice(-MOST_DISMISSED);
    remember({ dismissed: all });
    setDismissed(all);
  };
  const said = trust.status === "changed" ? "Changed since you trusted it" : "Not trusted";
  return (
    <Banner icon="shield" kind="warning">
      <p>
        {said}: nothing of {isOne ? "this folder" : <b title={trust.folder}>{baseName(trust.folder)}</b>} runs, and
        every command asks.
      </p>
      {trust.cannot && <p>{trust.cannot}</p>}
      {trust.items.length > 0 && (
        <details>
          <summary>Trust would let {counted(trust.items.length, "thing")} run or loosen a rule</summary>
          <ul class="chrome-trust-items">
            {trust.items.map((item) => (
              <li key={`${item.kind} ${item.path} ${item.detail}`} title={item.path}>
                <span class="quiet">{item.kind}</span> {item.detail}
              </li>
            ))}
          </ul>
        </details>
      )}
      {trust.changes?.map((change) => (
        <p key={change}>{change}</p>
      ))}
      {(restricted || !trust.cannot) && (
        <div class="chrome-buttons">
          <button type="button" class="chrome-button" onClick={() => tell("host/trust", { folder: trust.folder })}>
            {restricted ? "Manage workspace trust" : trust.items.length > 0 ? "Trust…" : "Trust"}
          </button>
          <button type="button" class="chrome-button chrome-secondary" onClick={dismiss}>
            Not now
          </button>
        </div>
      )}
    </Banner>
  );
}

function Branches({ sessionId, branches }: { sessionId: string; branches: readonly Branch[] }) {
  return (
    <details class="chrome-fold">
      <summary>
        <Icon name="git-branch" /> This conversation went {branches.length} ways
      </summary>
      <ul class="chrome-list">
        {branches.map((branch) => (
          <li key={branch.messageUuid}>
            <button
              type="button"
              class="chrome-row"
              aria-current={branch.current}
              disabled={branch.current}
              onClick={() => tell("host/session/open", { sessionId, messageUuid: branch.messageUuid })}
            >
              <Icon name={branch.current ? "check" : "blank"} />
              <span class="chrome-row-name">{branch.firstPrompt}</span>
              <span class="quiet">
                {branch.current
                  ? "this one"
                  : `${counted(branch.messages, "message")}, ${ago(branch.updatedAt, Date.now())}`}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
