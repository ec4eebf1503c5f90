/**
 * The server as the rest of the extension knows it: starts `reverie lsp`, starts it again when it ends unasked, and
 * says which state it is in. What is shown of that is decided elsewhere.
 */

import type { ChildProcessWithoutNullStreams } from "node:child_process";
import * as vscode from "vscode";
import type { ServerHelp, ServerState } from "./chat/state.ts";
import { HELP } from "./help.ts";
import { type Answers, createLink, endLink, type Link, type Listeners, misfit } from "./link.ts";
import { howItEnded, kill } from "./process.ts";
import type { ClientRequests } from "./protocol.ts";
import { backoff, isExhausted, recent } from "./restarts.ts";
import { findServer } from "./server.ts";
import { wordsOf } from "./words.ts";

export interface Server extends vscode.Disposable {
  readonly state: ServerState;
  /** Somebody has wanted it, and it was not stopped since. */
  readonly isStarted: boolean;
  readonly onState: vscode.Event<ServerState>;
  /** How many background jobs run. */
  readonly onJobs: vscode.Event<number>;
  /** Starts it if it does not run yet. Never fails: the state tells. */
  start(): Promise<void>;
  /** Ends it and starts it anew, whatever state it is in. */
  restart(reason: string): Promise<void>;
  stop(): Promise<void>;
  /** Starts the server where that is needed. Fails with words for people. */
  request<M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    token?: vscode.CancellationToken,
  ): Promise<ClientRequests[M]["result"]>;
  /** What answers the server, and hears it; to be said before the first start. */
  connect(answers: Answers, listeners: Listeners): void;
}

export function createServer(extensionPath: string, log: vscode.LogOutputChannel): Server {
  const stateChanged = new vscode.EventEmitter<ServerState>();
  const jobsChanged = new vscode.EventEmitter<number>();
  const jobs = new Set<string | number>();
  let state: ServerState = { state: "starting" };
  let link: Link | undefined;
  let starting: Promise<void> | undefined;
  let answers: Answers | undefined;
  let listeners: Listeners | undefined;
  let ends: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** Ends the wait before a restart. */
  let wake = () => {};
  /** Counts the stops, so that what was under way before one knows that it is over. */
  let run = 0;

  function setState(next: ServerState): void {
    state = next;
    if (next.state !== "running" && jobs.size > 0) {
      jobs.clear();
      jobsChanged.fire(0);
    }
    stateChanged.fire(next);
  }

  function fail(reason: string, help: readonly ServerHelp[]): void {
    log.error(reason);
    setState({ state: "failed", reason, help });
  }

  async function launch(): Promise<void> {
    const mine = run;
    const found = await findServer({
      setting: vscode.workspace.getConfiguration("reverie.server").get("path", ""),
      extensionPath,
      searchPath: process.env.PATH ?? "",
      platform: process.platform,
    });
    if (mine !== run) return;
    if (!found.ok) {
      fail(found.reason, [HELP.settings, HELP.restart, HELP.log]);
      return;
    }
    log.info(`reverie ${found.version} at ${found.path}`);
    const next = createLink(found.path, log, {
      answers: answers ?? {},
      listeners: listeners ?? {},
      onJob(token, isRunning) {
        if (isRunning) jobs.add(token);
        else jobs.delete(token);
        jobsChanged.fire(jobs.size);
      },
      onEnd(ended) {
        // Not when it was ours to end: `stop` has let go of it by then.
        if (link !== ended) return;
        link = undefined;
        endedUnasked(ended.process);
      },
    });
    link = next;
    try {
      await next.client.start();
    } catch (error) {
      kill(next.process);
      // One that ended while it started is being started again already, and of one that was stopped nobody wants to know.
      if (link !== next) return;
      link = undefined;
      const reason = `The server could not be started: ${wordsOf(error)}. The log has the details.`;
      fail(reason, [HELP.restart, HELP.log, HELP.doctor]);
      return;
    }
    if (link !== next) return;
    const why = misfit(next);
    if (why === undefined) {
      setState({ state: "running" });
      return;
    }
    await stop();
    fail(`${why} It is ${found.path}.`, [HELP.settings, HELP.restart, HELP.log]);
  }

  function endedUnasked(process: ChildProcessWithoutNullStreams | undefined): void {
    ends = [...recent(ends, Date.now()), Date.now()];
    const mine = run;
    starting = (async () => {
      const how = await howItEnded(process);
      kill(process);
      if (mine !== run) return;
      if (isExhausted(ends.length)) {
        const reason = `The server has ended ${ends.length} times in a few minutes: ${how}. It is not started again by itself.`;
        fail(reason, [HELP.restart, HELP.log, HELP.doctor]);
        return;
      }
      log.warn(`the server has ended: ${how}`);
      setState({ state: "restarting", reason: how });
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, backoff(ends.length));
      });
      if (mine === run) await launch();
    })();
  }

  async function start(): Promise<void> {
    if (state.state === "failed") {
      setState({ state: "starting" });
      starting = undefined;
    }
    starting ??= launch();
    await starting;
  }

  async function stop(): Promise<void> {
    run += 1;
    clearTimeout(timer);
    wake();
    const old = link;
    link = undefined;
    starting = undefined;
    if (old !== undefined) await endLink(old, log);
  }

  return {
    get state() {
      return state;
    },
    get isStarted() {
      return starting !== undefined;
    },
    onState: stateChanged.event,
    onJobs: jobsChanged.event,
    start,
    stop,
    async restart(reason) {
      ends = [];
      // It is told to end before anything else: who takes back what it asked must not seem to answer it.
      const stopped = stop();
      setState({ state: "restarting", reason });
      await stopped;
      await start();
    },
    async request(method, params, token) {
      if (link?.client.isRunning() !== true) {
        await (state.state === "failed" ? undefined : start());
      }
      if (link === undefined) {
        throw new Error(state.state === "failed" ? state.reason : "The server does not run. Try again in a moment.");
      }
      const { client } = link;
      return token === undefined ? client.sendRequest(method, params) : client.sendRequest(method, params, token);
    },
    connect(toAnswer, toHear) {
      answers = toAnswer;
      listeners = toHear;
    },
    dispose() {
      clearTimeout(timer);
      stateChanged.dispose();
      jobsChanged.dispose();
    },
  };
}
