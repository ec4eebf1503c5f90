/**
 * Texts that try to load, to run or to break something (`hostile.json`), each with a number that tells who it was: its
 * addresses lead to a sink of the test's own or to a host that is nowhere, its scripts set `__hacked`.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export interface Payload {
  id: number;
  name: string;
  text: string;
}

interface Entry {
  name: string;
  text?: string;
  /** Texts and how often each is repeated, for what is too long to be written down. */
  pieces?: [string, number][];
}

/** Up to this, a payload goes every way; longer ones are said, or in a conversation that is opened. */
export const SMALL = 8_000;
/** Up to this, a payload is said by the model, a few characters at a time. */
export const STREAMED = 35_000;

export function payloads(sink: Sink): Payload[] {
  const entries: Entry[] = JSON.parse(readFileSync(join(import.meta.dirname, "hostile.json"), "utf8"));
  return entries.map(({ name, text, pieces }, at) => {
    const id = at + 1;
    const raw = text ?? (pieces ?? []).map(([piece, count]) => piece.repeat(count)).join("");
    const filled = raw
      .replaceAll("{sink}", `${sink.url}/payload-${id}`)
      .replaceAll("{host}", `payload-${id}.hostile.invalid`)
      .replaceAll("{id}", String(id));
    return { id, name, text: filled };
  });
}

/** In one line, as names, titles and paths are. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\0]+/g, " ").trim();
}

export interface Sink {
  url: string;
  port: number;
  /** The addresses that somebody asked it for. */
  readonly hits: readonly string[];
  close(): Promise<void>;
}

/** A server on this machine, which no rule against the outside keeps a browser from. Its root is an empty page. */
export async function startSink(): Promise<Sink> {
  const hits: string[] = [];
  const server = createServer((request, response) => {
    if (request.url === "/") {
      response.setHeader("content-type", "text/html");
      response.end("<!DOCTYPE html>");
      return;
    }
    hits.push(request.url ?? "");
    response.setHeader("access-control-allow-origin", "*");
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    hits,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
