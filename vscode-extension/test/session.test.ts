/** What happens to a conversation while it is being opened. */

import assert from "node:assert/strict";
import { test } from "node:test";
import "./vscode.ts";
import type { Item } from "../src/chat/state.ts";
import type { Server } from "../src/client.ts";
import type { ResumeSessionResult, SessionMessage, Update } from "../src/protocol.ts";

const { createChat } = await import("../src/chat/session.ts");

interface Asked {
  method: string;
  sessionId: string | undefined;
  answer(result: unknown): Promise<void>;
}

/** A server that answers when the test says so. */
function bench(wanted?: string) {
  const open: Asked[] = [];
  const states = new Set<(state: { state: "running" }) => void>();
  const server = {
    state: { state: "running" },
    onState: (listener: (state: { state: "running" }) => void) => {
      states.add(listener);
      return { dispose() {} };
    },
    onJobs: () => ({ dispose() {} }),
    start: async () => {},
    request: (method: string, params: { sessionId?: string }) =>
      new Promise((resolve) => {
        const answer = async (result: unknown) => {
          open.splice(open.indexOf(asked), 1);
          resolve(result);
          await quiet();
        };
        const asked: Asked = { method, sessionId: params.sessionId, answer };
        open.push(asked);
      }),
  } as unknown as Server;
  const memento = { get: (key: string, other: unknown) => (key === "reverie.session" ? wanted : other), update() {} };
  const log = { warn() {} };
  const chat = createChat(server, memento as never, log as never);
  /** The oldest request of this kind that waits, or one after it. */
  const asked = (method: string, sessionId?: string, at = 0) => {
    const found = open.filter((one) => one.method === method && (sessionId ?? one.sessionId) === one.sessionId)[at];
    assert.ok(found, `${method} is not asked, but ${open.map((one) => one.method).join(", ")}`);
    return found;
  };
  const answerLists = async () => {
    await asked("reverie/models/list").answer({ models: [] });
    await asked("reverie/commands/list").answer({ commands: [] });
  };
  const isAsked = (method: string) => open.some((one) => one.method === method);
  return { chat, asked, isAsked, answerLists };
}

function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function result(sessionId: string, ...texts: string[]): ResumeSessionResult {
  const messages = texts.map(
    (text): SessionMessage => ({ uuid: text, role: "user", kind: "text", text, timestamp: "2026-03-01T09:30:00Z" }),
  );
  return { sessionId, strategy: "full", messages, repairs: [] };
}

function said(items: readonly Item[]): string[] {
  return items.flatMap((item) => (item.kind === "user" || item.kind === "text" ? [item.text] : []));
}

const update = (seq: number, update: Update) =>
  ({ type: "update", params: { sessionId: "s", turnId: "t", seq, update } }) as const;

test("what a session says while its meter is asked for is shown", async () => {
  const { chat, asked } = bench();
  const opened = chat.open("s");
  await quiet();
  chat.apply(update(0, { kind: "textDelta", text: "before" }));
  await asked("reverie/session/resume").answer(result("s", "hello"));
  chat.apply(update(1, { kind: "textDelta", text: "after" }));
  await asked("reverie/context/report").answer(undefined);
  await opened;
  assert.deepEqual(said(chat.state.items), ["hello", "after"], "what came before is in what was answered");
});

test("a prompt goes to the session that is being opened, when it is open", async () => {
  const { chat, asked, isAsked, answerLists } = bench();
  const started = chat.start();
  await answerLists();
  await started;
  void chat.open("s");
  const prompted = chat.prompt("more", []);
  await quiet();
  assert.ok(!isAsked("reverie/session/prompt"));
  await asked("reverie/session/resume").answer(result("s", "hello"));
  await asked("reverie/context/report").answer(undefined);
  await asked("reverie/session/prompt", "s").answer({ turnId: "t", queued: false });
  await prompted;
  assert.deepEqual(said(chat.state.items), ["hello", "more"]);
});

test("a prompt under way is not lost when its session is opened anew", async () => {
  const { chat, asked, isAsked, answerLists } = bench();
  const started = chat.start();
  await answerLists();
  await started;
  const first = chat.open("s");
  await quiet();
  await asked("reverie/session/resume").answer(result("s", "hello"));
  await asked("reverie/context/report").answer(undefined);
  await first;
  const prompted = chat.prompt("more", []);
  await quiet();
  const again = chat.open("s");
  await quiet();
  assert.ok(!isAsked("reverie/session/resume"), "it waits for the prompt to be taken");
  await asked("reverie/session/prompt").answer({ turnId: "t", queued: false });
  await prompted;
  await asked("reverie/session/resume").answer({ ...result("s", "hello"), runningTurnId: "t" });
  await asked("reverie/context/report").answer(undefined);
  await again;
  assert.deepEqual(said(chat.state.items), ["hello", "more"]);
});

test("what was opened while the lists were read is not replaced by the session of last time", async () => {
  const { chat, asked, isAsked, answerLists } = bench("old");
  void chat.start();
  const opened = chat.open("chosen");
  await quiet();
  await asked("reverie/session/resume", "chosen").answer(result("chosen", "mine"));
  await asked("reverie/context/report").answer(undefined);
  await opened;
  await answerLists();
  await quiet();
  assert.ok(!isAsked("reverie/session/resume"));
  assert.equal(chat.state.sessionId, "chosen");
});

test("the session of last time is brought back", async () => {
  const { chat, asked, answerLists } = bench("old");
  void chat.start();
  await answerLists();
  await asked("reverie/session/resume", "old").answer(result("old", "hello"));
  await asked("reverie/context/report").answer(undefined);
  assert.deepEqual(said(chat.state.items), ["hello"]);
});

test("only the newest list of changes is shown", async () => {
  const { chat, asked } = bench();
  const opened = chat.open("s");
  await quiet();
  await asked("reverie/session/resume").answer(result("s"));
  await asked("reverie/context/report").answer(undefined);
  await opened;
  const file = (path: string) => ({ path, state: "modified", added: 1, removed: 0 });
  const first = asked("reverie/changes/list");
  void chat.refreshChanges();
  const second = asked("reverie/changes/list", "s", 1);
  await second.answer({ files: [file("/new")] });
  await first.answer({ files: [file("/old")] });
  assert.deepEqual(
    chat.state.changes.map(({ path }) => path),
    ["/new"],
  );
});
