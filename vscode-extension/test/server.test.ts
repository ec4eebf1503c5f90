/** How the server's program is found, with real files and real processes, and when it is started again. */

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { backoff, isExhausted, recent } from "../src/restarts.ts";
import { findServer, MISSING, type Search } from "../src/server.ts";

let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "reverie-server-"));
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function program(name: string, body: string): Promise<string> {
  const path = join(folder, name, "reverie");
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

function search(change: Partial<Search>): Search {
  return { setting: "", extensionPath: join(folder, "nothing"), searchPath: "", platform: "linux", ...change };
}

test("the setting goes before all else", async () => {
  const path = await program("set", "echo reverie 1.2.3");
  const other = await program("path", "echo reverie 9.9.9");
  const found = await findServer(search({ setting: ` ${path} `, searchPath: join(other, "..") }));
  assert.deepEqual(found, { ok: true, path, version: "1.2.3" });
});

test("a setting that names no program says so, and nothing else is taken", async () => {
  const other = await program("path", "echo reverie 9.9.9");
  const found = await findServer(search({ setting: join(folder, "gone"), searchPath: join(other, "..") }));
  assert.ok(!found.ok);
  assert.match(found.reason, /reverie\.server\.path` names .*gone/);
});

test("a setting that is no absolute path is refused", async () => {
  const found = await findServer(search({ setting: "bin/reverie" }));
  assert.ok(!found.ok);
  assert.match(found.reason, /absolute/);
});

test("the program that came along goes before the one on the path", async () => {
  const path = await program("extension/bin", "echo reverie 2.0.0");
  const other = await program("path", "echo reverie 9.9.9");
  const found = await findServer(search({ extensionPath: join(folder, "extension"), searchPath: join(other, "..") }));
  assert.deepEqual(found, { ok: true, path, version: "2.0.0" });
});

test("one that came along for another machine is passed over", async () => {
  await program("foreign/bin", "exit 126");
  const path = await program("path", "echo reverie 9.9.9");
  const found = await findServer(
    search({ extensionPath: join(folder, "foreign"), searchPath: ["relative", join(path, "..")].join(delimiter) }),
  );
  assert.deepEqual(found, { ok: true, path, version: "9.9.9" });
});

test("a program that is not Reverie says so", async () => {
  const path = await program("stranger", "echo hello");
  const found = await findServer(search({ setting: path }));
  assert.ok(!found.ok);
  assert.match(found.reason, /does not say that it is Reverie/);
});

test("where there is none, it says what to do", async () => {
  assert.deepEqual(await findServer(search({ searchPath: folder })), { ok: false, reason: MISSING });
});

test("five ends within three minutes are borne, the sixth is not", () => {
  const now = 1_000_000;
  const ends = [5, 4, 3, 2, 1].map((seconds) => now - seconds * 1_000);
  assert.equal(isExhausted(recent(ends, now).length), false);
  assert.equal(isExhausted(recent([...ends, now], now).length), true);
});

test("ends of long ago count no more", () => {
  const now = 1_000_000;
  assert.deepEqual(recent([now - 200_000, now - 180_000, now - 179_999, now], now), [now - 179_999, now]);
});

test("the wait doubles, up to a limit", () => {
  assert.deepEqual([1, 2, 3, 20].map(backoff), [200, 400, 800, 10_000]);
});
