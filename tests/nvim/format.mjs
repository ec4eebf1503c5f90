// Formats Lua with StyLua, compiled to WebAssembly: the one build of it that a registry carries whole.
//
// node format.mjs [--check] FILE…
// Reads .stylua.toml at the repository's root, as the program does; any other StyLua formats the same.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const ROOT = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
const stylua = createRequire(join(ROOT, "target/rigs/nvim/package.json"))("@johnnymorganz/stylua");

/** Which enumeration the words of an option are from. */
const WORDS = {
  syntax: stylua.LuaVersion,
  indent_type: stylua.IndentType,
  line_endings: stylua.LineEndings,
  quote_style: stylua.QuoteStyle,
  call_parentheses: stylua.CallParenType,
  collapse_simple_statement: stylua.CollapseSimpleStatement,
};

function configuration() {
  const config = stylua.Config.new();
  const path = join(ROOT, ".stylua.toml");
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [, key, word, number] = /^(\w+) = (?:"(\w+)"|(\d+))$/.exec(line) ?? [];
    const value = word === undefined ? Number(number) : WORDS[key]?.[word];
    if (line.trim() !== "" && (key === undefined || !(key in config) || value === undefined)) {
      throw new Error(`${path}: not understood: ${line}`);
    }
    if (key !== undefined) {
      config[key] = value;
    }
  }
  return config;
}

const [first, ...rest] = process.argv.slice(2);
const check = first === "--check";
let different = 0;
for (const file of check ? rest : [first, ...rest]) {
  const text = readFileSync(file, "utf8");
  let formatted;
  try {
    formatted = stylua.formatCode(text, configuration(), undefined, stylua.OutputVerification.Full);
  } catch (error) {
    console.log(`${file}: ${error}`);
    different += 1;
    continue;
  }
  if (formatted !== text) {
    different += 1;
    const line = formatted.split("\n").findIndex((line, index) => line !== text.split("\n")[index]);
    console.log(check ? `${file}:${line + 1}: not formatted; it should be: ${formatted.split("\n")[line]}` : `formatted ${file}`);
    if (!check) {
      writeFileSync(file, formatted);
    }
  }
}
process.exitCode = check && different > 0 ? 1 : 0;
