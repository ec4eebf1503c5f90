/** The scripted model, a process of the test kit: real HTTP and real streams, answers as the test says. */

import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { SCRIPTED_MODEL } from "./places.ts";
import { start } from "./processes.ts";

export interface Delivery {
  /** On whose behalf it is asked: `main` if absent, or `recall`, `extraction`, `dream`, `compact`, `title`. */
  for?: string;
  /** Nothing of it comes before this gate is opened. */
  behind?: string;
  /** So many events come, the others wait for the gate. */
  pauses?: readonly (readonly [number, string])[];
}

export interface ModelRequest {
  role: string;
  /** The text of the last message, results of tools included. */
  last: string;
  tools: string[];
}

export interface Model {
  process: ChildProcess;
  url: string;
  /** Queues a reply, in the language of the scenarios: lines of text, `tool NAME {…}`, `thinking …`, `fault=…`. */
  reply(body: string, delivery?: Delivery): Promise<void>;
  /** Queues a reply made of content blocks, for text that the lines would misread. */
  replyText(text: string, delivery?: Delivery): Promise<void>;
  /** Answers every call of a role that has no reply of its own. */
  always(role: string, body: string, delivery?: Pick<Delivery, "behind">): Promise<void>;
  /** Waits until the server has come to a gate. */
  reached(gate: string): Promise<void>;
  open(gate: string): Promise<void>;
  requests(role?: string): Promise<ModelRequest[]>;
  /** What went wrong so far; forgotten then. */
  takeProblems(): Promise<string[]>;
  /** Fails if it was used in another way than scripted, or a reply was never fetched. */
  finish(): Promise<void>;
}

export async function startModel(): Promise<Model> {
  const child = start(SCRIPTED_MODEL, [], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, RUST_BACKTRACE: "0" },
  });
  const answers = lines(child);
  let errors = "";
  child.stderr?.on("data", (data) => {
    errors += data;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const hello = (await answers()) as { url: string };

  // One command at a time: answers come in the order of the commands.
  let last: Promise<unknown> = Promise.resolve();
  const ask = (command: object): Promise<unknown> => {
    const answer = last.then(async () => {
      child.stdin?.write(`${JSON.stringify(command)}\n`);
      const line = await Promise.race([answers(), ended]);
      if (line === null || typeof line !== "object") {
        throw new Error(`the scripted model ended: ${errors}`);
      }
      return (line as { done: unknown }).done;
    });
    last = answer.catch(() => undefined);
    return answer;
  };
  const tell = async (command: object): Promise<void> => {
    await ask(command);
  };

  return {
    process: child,
    url: hello.url,
    reply: (body, delivery = {}) => tell({ reply: body, ...delivery }),
    replyText: (text, delivery = {}) => tell({ reply: JSON.stringify([{ type: "text", text }]), ...delivery }),
    always: (role, body, delivery = {}) => tell({ reply: body, always: role, ...delivery }),
    reached: (gate) => tell({ reached: gate }),
    open: (gate) => tell({ open: gate }),
    requests: async (role) => {
      const requests = (await ask({ requests: true })) as ModelRequest[];
      return role === undefined ? requests : requests.filter((request) => request.role === role);
    },
    takeProblems: async () => (await ask({ problems: true })) as string[],
    finish: async () => {
      child.stdin?.end();
      if ((await ended) !== 0) {
        throw new Error(errors);
      }
    },
  };
}

/** The lines of its stdout, parsed, one for each call. */
function lines(child: ChildProcess): () => Promise<unknown> {
  if (!child.stdout) {
    throw new Error("the scripted model has no stdout");
  }
  const iterator = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await iterator.next();
    return done ? null : JSON.parse(value);
  };
}
