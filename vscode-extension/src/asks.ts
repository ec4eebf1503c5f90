/**
 * What the agent asks the user: shown in the chat view, and where that is out of sight also as a notification, so that
 * nothing waits unseen.
 */

import * as vscode from "vscode";
import { LSPErrorCodes, ResponseError } from "vscode-languageclient/node";
import type { Answer } from "./chat/messages.ts";
import type { Chat } from "./chat/session.ts";
import type { Ask } from "./chat/state.ts";
import type { ChatView } from "./chat/view.ts";
import type { Answers } from "./link.ts";
import { inform } from "./telling.ts";
import { plainly } from "./words.ts";

/** What fits into a notification. A longer call has to be read before it is allowed. */
const MOST_SHOWN = 120;

export interface Asks extends vscode.Disposable {
  readonly answers: Pick<Answers, "reverie/permission/ask" | "reverie/user/ask" | "reverie/plan/ask">;
  /** Gives the user's answer to whoever waits for it; one that nobody waits for any more is dropped. */
  answer(answer: Answer): void;
  /** The server is gone or going, and with it those who asked. */
  forget(): void;
}

type AnswerTo<A extends Ask> = Extract<Answer, { kind: A["kind"] }>;

interface Waiting {
  ask: Ask;
  resolve(answer: Answer): void;
  reject(why: Error): void;
}

export function createAsks(chat: Chat, view: ChatView): Asks {
  const waiting = new Map<string, Waiting>();
  /** What was told with a notification, which stays until it is answered or closed. */
  const told = new Set<string>();
  let last = 0;

  /** Fails as cancelled where the question was taken back. */
  function put<A extends Ask>(ask: (id: string) => A, token: vscode.CancellationToken): Promise<AnswerTo<A>> {
    const id = `ask-${++last}`;
    const asked = ask(id);
    return new Promise((resolve, reject) => {
      waiting.set(id, { ask: asked, resolve: (answer) => resolve(answer as AnswerTo<A>), reject });
      token.onCancellationRequested(() => settle(id, undefined));
      chat.apply({ type: "ask", ask: asked });
      if (!view.isVisible) void notify(asked);
    });
  }

  function settle(id: string, answer: Answer | undefined): void {
    const asked = waiting.get(id);
    if (asked === undefined || (answer !== undefined && answer.kind !== asked.ask.kind)) return;
    waiting.delete(id);
    const plan = answer?.kind === "plan" ? { approved: answer.approved, message: answer.message } : undefined;
    const words = answer?.kind === "user" ? (answer.answer ?? null) : undefined;
    chat.apply({ type: "answered", id, plan, answer: words });
    // No answer is not a "no": nobody has said that.
    if (answer === undefined) asked.reject(new ResponseError(LSPErrorCodes.RequestCancelled, "Nobody can answer now."));
    else asked.resolve(answer);
  }

  async function notify(ask: Ask): Promise<void> {
    if (told.has(ask.id)) return;
    told.add(ask.id);
    const { words, actions } = summary(ask);
    const chosen = await inform(words, ...actions);
    told.delete(ask.id);
    if (!waiting.has(ask.id)) return;
    if (chosen === "Open") await view.focus("ask");
    else if (chosen === "Allow once") settle(ask.id, { id: ask.id, kind: "permission", option: "allowOnce" });
    else if (chosen === "Deny") settle(ask.id, { id: ask.id, kind: "permission", option: "deny" });
  }

  const listening = vscode.Disposable.from(
    view.onHidden(() => {
      for (const { ask } of waiting.values()) void notify(ask);
    }),
    // Another session is shown now, but whoever asked still waits.
    chat.onEvent((event) => {
      if (event.type !== "resumed" && event.type !== "cleared") return;
      for (const { ask } of waiting.values()) chat.apply({ type: "ask", ask });
    }),
  );

  return {
    answers: {
      async "reverie/permission/ask"(params, token) {
        const { option, message } = await put((id) => ({ kind: "permission", id, ...params }), token);
        return { option, message };
      },
      async "reverie/user/ask"(params, token) {
        const { answer } = await put((id) => ({ kind: "user", id, ...params }), token);
        return { answer };
      },
      async "reverie/plan/ask"(params, token) {
        const { approved, acceptEdits, message } = await put((id) => ({ kind: "plan", id, ...params }), token);
        return { approved, acceptEdits, message };
      },
    },
    answer: (answer) => settle(answer.id, answer),
    forget() {
      for (const id of [...waiting.keys()]) settle(id, undefined);
    },
    dispose: () => listening.dispose(),
  };
}

function summary(ask: Ask): { words: string; actions: string[] } {
  switch (ask.kind) {
    case "permission": {
      const call = ask.preview?.kind === "command" ? `${ask.tool}: ${ask.preview.text}` : `${ask.tool}: ${ask.reason}`;
      // What is shown otherwise than it is must be read in the chat.
      const isWhole = ask.preview?.kind === "command" && plainly(clip(call)) === call;
      return {
        words: `Reverie asks: may it run ${clip(call)}`,
        actions: isWhole ? ["Open", "Allow once", "Deny"] : ["Open", "Deny"],
      };
    }
    case "user":
      return { words: `Reverie asks: ${clip(ask.question)}`, actions: ["Open"] };
    case "plan":
      return { words: "Reverie asks: it has made a plan and waits for your approval.", actions: ["Open"] };
  }
}

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN - 1)}…` : line;
}
