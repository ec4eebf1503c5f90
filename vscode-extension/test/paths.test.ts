/** Which file a path of a model or of the server means. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isNetworkPath } from "../src/network.ts";
import { absolute } from "../src/paths.ts";

const unix = { home: "/home/me", folder: "/work", platform: "linux" as const };
const windows = { home: "C:\\Users\\me", folder: "C:\\work", platform: "win32" as const };

test("a relative path is in the folder, an absolute one where it says", () => {
  assert.equal(absolute("src/a.rs", unix), "/work/src/a.rs");
  assert.equal(absolute("/etc/hosts", unix), "/etc/hosts");
  assert.equal(absolute("src/a.rs", windows), "C:\\work\\src\\a.rs");
  assert.equal(absolute("D:/a.rs", windows), "D:/a.rs");
  assert.equal(absolute("a.rs", { ...unix, folder: undefined }), "a.rs");
});

test("a tilde is the home, and a name may begin with one", () => {
  assert.equal(absolute("~/notes.md", unix), "/home/me/notes.md");
  assert.equal(absolute("~\\notes.md", windows), "C:\\Users\\me\\notes.md");
  assert.equal(absolute("~backup", unix), "/work/~backup");
});

for (const path of [
  "\\\\host\\share\\a",
  "//host/share/a",
  "/\\host\\a",
  "\\\\?\\UNC\\host\\a",
  "\\??\\UNC\\host\\a",
]) {
  test(`${path} is not on this machine`, () => assert.equal(isNetworkPath(path), true));
}

for (const path of ["/a//b", "a", "C:\\a", "./a", "\\a", "/?/a"]) {
  test(`${path} is on this machine`, () => assert.equal(isNetworkPath(path), false));
}
