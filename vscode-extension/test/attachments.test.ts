import assert from "node:assert/strict";
import { test } from "node:test";
import { kept, lossOf } from "../src/chat/attachments.ts";
import type { AttachmentLabel } from "../src/chat/state.ts";

const file: AttachmentLabel = { kind: "mention", label: "a.ts", uri: "file:///a.ts" };
const picture: AttachmentLabel = { kind: "image", label: "dot.png" };

test("of a prompt that is edited, files go along again, and what is lost is named", () => {
  assert.deepEqual(kept([file, picture]), [{ kind: "mention", label: "a.ts", uri: "file:///a.ts" }]);
  assert.equal(lossOf([file, picture]), "No longer attached, add it again: dot.png");
  assert.equal(lossOf([file]), undefined);
});
