/** Which files are left out of the completion of `@`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { excludeGlob } from "../src/chat/excludes.ts";

test("what the settings leave out is left out with all that is in it", () => {
  const files = { "**/.git": true, "**/*.js": { when: "$(basename).ts" }, "**/kept": false };
  const search = { "**/node_modules": true, "out/**": true };
  assert.equal(excludeGlob([files, search], []), "{**/.git,**/.git/**,**/node_modules,**/node_modules/**,out/**}");
});

test("braces are written out, since they do not nest", () => {
  assert.equal(excludeGlob([{ "**/*.{a,{b,c}}/**": true }], []), "{**/*.a/**,**/*.b/**,**/*.c/**}");
});

test("folders that Git ignores by name are left out, here or everywhere", () => {
  const gitignore = "# builds\n/target\nnode_modules/\r\ndocs/site/\n\n*.log\n!important\n";
  assert.equal(excludeGlob([], [gitignore]), "{target/**,**/node_modules/**,docs/site/**}");
});

test("what is ignored and taken in again stays", () => {
  assert.equal(excludeGlob([], ["build/\n!build/\n"]), "");
});

test("nothing to leave out is no glob", () => {
  assert.equal(excludeGlob([{}], [""]), "");
});
