/** Numbers, money and durations as the pages say them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { baseName, bytes, counted, elapsed, money, percent, tokens } from "../webview/panels/format.ts";

test("tokens are compact, and what rounds up to a unit is said in it", () => {
  const said = [0, 7, 950, 999.6, 1000, 12_400, 12_000, 99_949, 99_960, 168_211, 999_600, 1_250_000].map(tokens);
  assert.deepEqual(said, ["0", "7", "950", "1k", "1k", "12.4k", "12k", "99.9k", "100k", "168k", "1M", "1.3M"]);
});

test("bytes have their unit", () => {
  assert.deepEqual([0, 512, 4900, 2_500_000].map(bytes), ["0 B", "512 B", "4.9 KB", "2.5 MB"]);
});

test("money that was spent is never said to be nothing", () => {
  const said = [0, 0.00001, 0.0042, 0.03, 0.126, 12.5].map(money);
  assert.deepEqual(said, ["$0.00", "<$0.0001", "$0.0042", "$0.03", "$0.13", "$12.50"]);
});

test("a share is all or nothing only when it is", () => {
  const said = [0, 0.004, 0.5, 0.963, 0.999, 1, 1.2, -1].map(percent);
  assert.deepEqual(said, ["0 %", "<1 %", "50 %", "96 %", "99 %", "100 %", "100 %", "0 %"]);
});

test("time that passes is said in two units at most", () => {
  assert.deepEqual([-5, 8_900, 65_000, 7_380_000].map(elapsed), ["0 s", "8 s", "1 min 5 s", "2 h 3 min"]);
});

test("things are counted in the right number", () => {
  assert.deepEqual(
    [counted(1, "file"), counted(0, "file"), counted(2, "branch", "branches")],
    ["1 file", "0 files", "2 branches"],
  );
});

test("the name of a path is its last part", () => {
  assert.deepEqual(["/a/b.ts", "C:\\a\\b.ts", "b.ts"].map(baseName), ["b.ts", "b.ts", "b.ts"]);
});
