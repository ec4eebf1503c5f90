/**
 * What may be followed from a text of the model: which links, which words are files, which file a code block is about.
 * Everything else stays text. Pure.
 */

import { isNetworkPath } from "../../src/network.ts";

/** A file, perhaps with a place in it; lines and columns from 1. */
export interface Place {
  path: string;
  line?: number;
  column?: number;
}

export type Target = { kind: "web"; url: string } | ({ kind: "file" } & Place);

/** Endings that make a bare word a file: `parser.rs` is one, `console.log` is not. */
const ENDINGS = new Set(
  (
    "astro bash bat bib c cc cfg clj cmake cjs conf cpp cs css csv cts cxx dart diff dockerfile ejs elm env erb ex exs " +
    "fish fs go gql gradle graphql groovy h hbs hcl hh hpp hrl hs htm html hxx ini ipynb java jl js json json5 jsonc " +
    "jsonl jsx kt kts less lock lua m md mdx mjs ml mli mm mts nim nix patch php pl plist pm prisma properties proto " +
    "ps1 py pyi r rb rkt rs rst sass scala scm scss sh sln sol sql svelte svg swift tex tf toml ts tsx txt vim vue wat " +
    "xml yaml yml zig zsh"
  ).split(" "),
);

const NAMES = new Set(["Makefile", "Dockerfile", "Containerfile", "Justfile", "LICENSE", "Rakefile", "Gemfile"]);

/** `:12`, `:12:5`, `:12-20`, `#L12`, `#L12-L20`, `(12,5)`. */
const POSITION =
  /(?::(\d{1,7})(?::(\d{1,5})|[-–]\d{1,7})?|#L(\d{1,7})(?:-L?\d{1,7})?|\((\d{1,7})(?:,\s?(\d{1,5}))?\))$/;

/** A path that may be opened with a click: not one on another computer, unless the session itself works there. */
export function isOpenable(path: string, folder: string | undefined): boolean {
  return !isNetworkPath(path) || isInside(path, folder);
}

/** Whether these words are a file, and where in it. */
export function filePlace(words: string): Place | undefined {
  if (words.length > 300 || words.includes("://") || isNetworkPath(words)) return undefined;
  const position = POSITION.exec(words);
  const path = position === null ? words : words.slice(0, position.index);
  if (!/^(?:[A-Za-z]:[\\/])?[\w.@~+\-/\\()[\]$]+$/.test(path) || !isFile(path)) return undefined;
  const line = Number(position?.[1] ?? position?.[3] ?? position?.[4] ?? 0);
  const column = Number(position?.[2] ?? position?.[5] ?? 0);
  return { path, ...(line > 0 && { line }), ...(column > 0 && { column }) };
}

/** What may be a file and a place in what a program prints; `src/a.rs:12:let x` goes on behind it. */
const PRINTED = /(?:[A-Za-z]:[\\/])?[\w.@~+\-/\\$]+(?:(?::\d{1,7}){1,2}|\(\d{1,7}(?:,\s?\d{1,5})?\))?/g;

export interface Piece {
  text: string;
  /** Where it leads, if it is a file. */
  place?: Place;
}

/** The output of a program in pieces: files, and all else between them. */
export function filesIn(output: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of output.matchAll(PRINTED)) {
    // A sentence ends behind its last file.
    const text = match[0].replace(/\.+$/, "");
    const place = filePlace(text);
    if (place === undefined) continue;
    if (match.index > from) pieces.push({ text: output.slice(from, match.index) });
    pieces.push({ text, place });
    from = match.index + text.length;
  }
  if (from < output.length) pieces.push({ text: output.slice(from) });
  return pieces;
}

function isFile(path: string): boolean {
  const parts = path.split(/[\\/]/);
  const name = parts.at(-1) ?? "";
  if (NAMES.has(name)) return true;
  const dot = name.lastIndexOf(".");
  const isNamed = dot >= 0 && dot < name.length - 1 && /^\w+$/.test(name.slice(dot + 1));
  if (parts.length === 1) {
    return isNamed && (dot > 0 || name.length > 3) && ENDINGS.has(name.slice(dot + 1).toLowerCase());
  }
  // `and/or`, `origin/main` and `/compact` are no files; `./target` and `src/a.rs` are.
  const isRooted = /^(?:\.{1,2}[\\/]|~[\\/]|[A-Za-z]:[\\/])/.test(path) || (path.startsWith("/") && parts.length > 2);
  return name !== "" && (isRooted || (isNamed && !/^\d+$/.test(name)));
}

/** Where a link leads, or nothing where it must not lead anywhere. `href` as Markdown has it, percent-encoded or not. */
export function linkTarget(href: string): Target | undefined {
  const url = href.trim();
  if (/^https?:\/\/[^\s/]/i.test(url) || /^mailto:[^\s@]+@/i.test(url)) return { kind: "web", url };
  // A line number is no scheme, nor is a drive.
  const hasScheme = /^[a-z][a-z0-9+.-]+:/i.test(url) && !/^[\w.-]+:\d+(?:[:-]\d+)?$/.test(url);
  if (hasScheme || url.startsWith("#")) return undefined;
  let path: string;
  try {
    path = decodeURIComponent(url);
  } catch {
    return undefined;
  }
  const position = POSITION.exec(path);
  const bare = (position === null ? path : path.slice(0, position.index)).replace(/[?#].*$/, "");
  // A scheme or another computer may hide behind the encoding, and control characters behind anything.
  if (isNetworkPath(bare)) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (bare === "" || /[\u0000-\u001f\u007f]/.test(bare) || /^[a-z][a-z0-9+.-]+:/i.test(bare)) return undefined;
  return { kind: "file", ...(filePlace(path) ?? { path: bare }) };
}

/** The path of a file on this computer; nothing where the URI is another one, or none. */
export function pathOfUri(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const { protocol, host, pathname } = new URL(uri);
  if (protocol !== "file:" || host !== "") return undefined;
  try {
    const path = decodeURIComponent(pathname).replace(/^\/(?=[A-Za-z]:)/, "");
    return isNetworkPath(path) ? undefined : path;
  } catch {
    return undefined;
  }
}

export interface CodeTarget {
  /** As the fence says, lower case; empty where it says nothing. */
  language: string;
  /** The file that the code is meant for. */
  path?: string;
}

/** What a fence says about its code: "ts path=src/a.ts", "rust:src/a.rs", "src/a.rs", or a path in the first comment. */
export function codeTarget(info: string, code: string): CodeTarget {
  const [first = "", ...rest] = info.trim().split(/\s+/);
  const named = /(?:^|\s)(?:path|file|filename|title)=(?:"([^"]+)"|'([^']+)'|(\S+))/.exec(info);
  const colon = /^([\w+#-]+):(.+)$/.exec(first);
  const bare = filePlace(first);
  const given =
    named?.[1] ?? named?.[2] ?? named?.[3] ?? colon?.[2] ?? bare?.path ?? rest.find((word) => filePlace(word));
  const path = filePlace(given ?? "")?.path ?? commentedPath(code);
  const language = bare === undefined ? (colon?.[1] ?? (first.includes("=") ? "" : first)) : ending(first);
  return { language: language.replace(/^[{.]+|[},].*$/g, "").toLowerCase(), ...(path && { path }) };
}

/** `// src/a.ts`, `# a.py`, `<!-- a.html -->` as the first line. */
function commentedPath(code: string): string | undefined {
  const line = code.slice(0, 400).split("\n", 1)[0] ?? "";
  const comment = /^\s*(?:\/\/+!?|#+|--|;+|%+|\/\*+|<!--)\s*(?:file(?:name)?:\s*)?(\S+?)\s*(?:\*\/|-->)?\s*$/i.exec(
    line,
  );
  return comment?.[1] === undefined ? undefined : filePlace(comment[1])?.path;
}

/** What follows the last dot. */
export function ending(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : name.toLowerCase();
}

/** A path inside the folder, without the folder; of one elsewhere the last two names, which say more than the first. */
export function shownPath(path: string, folder: string | undefined): string {
  const slash = slashOf(path);
  if (folder !== undefined && isInside(path, folder)) return path.slice(rootOf(folder, slash).length);
  const isAbsolute = /^(?:[\\/]|[A-Za-z]:)/.test(path);
  const names = path.split(slash).filter((name) => name !== "");
  return isAbsolute && names.length > 3 ? `…${slash}${names.slice(-2).join(slash)}` : path;
}

function isInside(path: string, folder: string | undefined): boolean {
  return folder !== undefined && folder !== "" && path.startsWith(rootOf(folder, slashOf(path)));
}

function rootOf(folder: string, slash: string): string {
  return folder.endsWith(slash) ? folder : `${folder}${slash}`;
}

function slashOf(path: string): string {
  return path.includes("\\") ? "\\" : "/";
}
