/** Colours for code: highlight.js with the languages people ask about. Pure; the look is in css/code.css. */

import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import clojure from "highlight.js/lib/languages/clojure";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import dart from "highlight.js/lib/languages/dart";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import elixir from "highlight.js/lib/languages/elixir";
import go from "highlight.js/lib/languages/go";
import graphql from "highlight.js/lib/languages/graphql";
import haskell from "highlight.js/lib/languages/haskell";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import julia from "highlight.js/lib/languages/julia";
import kotlin from "highlight.js/lib/languages/kotlin";
import less from "highlight.js/lib/languages/less";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import nix from "highlight.js/lib/languages/nix";
import perl from "highlight.js/lib/languages/perl";
import php from "highlight.js/lib/languages/php";
import powershell from "highlight.js/lib/languages/powershell";
import protobuf from "highlight.js/lib/languages/protobuf";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import scala from "highlight.js/lib/languages/scala";
import scss from "highlight.js/lib/languages/scss";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import vim from "highlight.js/lib/languages/vim";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash,
  c,
  clojure,
  cpp,
  csharp,
  css,
  dart,
  diff,
  dockerfile,
  elixir,
  go,
  graphql,
  haskell,
  ini,
  java,
  javascript,
  json,
  julia,
  kotlin,
  less,
  lua,
  makefile,
  markdown,
  nix,
  perl,
  php,
  powershell,
  protobuf,
  python,
  r,
  ruby,
  rust,
  scala,
  scss,
  shell,
  sql,
  swift,
  typescript,
  vim,
  xml,
  yaml,
};

for (const [name, language] of Object.entries(LANGUAGES)) core.registerLanguage(name, language);
core.registerAliases(["svelte", "vue", "astro"], { languageName: "xml" });
core.registerAliases(["json5", "jsonc", "jsonl", "ipynb"], { languageName: "json" });
core.registerAliases(["mts", "cts"], { languageName: "typescript" });
core.registerAliases(["fish", "terminal"], { languageName: "bash" });

/** Colouring more than this takes longer than a frame. */
const MOST_CHARS = 60_000;

/** One piece of a line; `scope` is highlight.js's, as classes. */
export interface Token {
  text: string;
  scope: string;
}

/** The code as HTML that has nothing but `span`s with classes in it, or nothing where it is left plain. */
export function highlightHtml(code: string, language: string): string | undefined {
  if (code.length > MOST_CHARS || core.getLanguage(language) === undefined) return undefined;
  return core.highlight(code, { language, ignoreIllegals: true }).value;
}

/** The code line by line, for where lines are drawn one by one. */
export function highlightLines(code: string, language: string): Token[][] {
  const html = highlightHtml(code, language);
  if (html === undefined) return code.split("\n").map((text) => [{ text, scope: "" }]);
  const lines: Token[][] = [[]];
  const open: string[] = [];
  for (const piece of html.split(/(<span class="[^"]*">|<\/span>|\n)/)) {
    if (piece === "\n") lines.push([]);
    else if (piece === "</span>") open.pop();
    else if (piece.startsWith("<span ")) open.push(piece.slice('<span class="'.length, -2));
    else if (piece !== "") lines.at(-1)?.push({ text: plain(piece), scope: open.at(-1) ?? "" });
  }
  return lines;
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

function plain(html: string): string {
  return html.replace(/&(amp|lt|gt|quot|#x27);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
