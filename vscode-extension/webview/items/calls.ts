/** What a tool call is about, in one line. Pure. A tool that is new to us is shown by its name and its first argument. */

import type { ToolItem } from "../../src/chat/state.ts";
import { counted } from "../panels/format.ts";
import { isOpenable, type Place, shownPath } from "./places.ts";

export interface CallLine {
  /** A codicon. */
  icon: string;
  verb: string;
  /** What it is done to; code where `isCode`. */
  subject: string;
  isCode: boolean;
  /** The file, where the subject is one that can be opened. */
  place?: Place;
  /** The path in full, where the subject is a file. */
  whole?: string;
  /** Behind the subject, quieter. */
  detail?: string;
}

type Fields = Record<string, unknown>;

export function callLine(tool: string, input: unknown, folder: string | undefined): CallLine {
  const fields: Fields = typeof input === "object" && input !== null ? (input as Fields) : {};
  const line = (icon: string, verb: string, key: string, isCode = false): CallLine => ({
    icon,
    verb,
    subject: firstLine(text(fields, key)),
    isCode,
  });
  const file = (icon: string, verb: string): CallLine => {
    const path = text(fields, "file_path") || text(fields, "path") || text(fields, "notebook_path");
    const from = number(fields, "offset");
    const count = number(fields, "limit");
    const lines = from === undefined && count === undefined ? "" : range(from ?? 1, count);
    const subject = `${shownPath(path, folder)}${lines}`;
    if (path === "") return { icon, verb, subject, isCode: false };
    const place = isOpenable(path, folder) ? { path, ...(from !== undefined && { line: from }) } : undefined;
    return { icon, verb, subject, isCode: false, whole: path, ...(place && { place }) };
  };
  const where = text(fields, "path") || text(fields, "glob");
  const inside = where === "" || where === folder ? undefined : `in ${shownPath(where, folder)}`;
  switch (tool) {
    case "Read":
      return file("file", "Read");
    case "Write":
      return file("new-file", "Write");
    case "Edit":
      return file("edit", "Edit");
    case "MultiEdit":
      return file("edit", "Edit");
    case "Grep":
      return { ...line("search", "Search", "pattern", true), ...(inside && { detail: inside }) };
    case "Glob":
      return { ...line("list-tree", "Find", "pattern", true), ...(inside && { detail: inside }) };
    case "Bash":
      return line("terminal", "Run", "command", true);
    case "BashOutput":
      return line("terminal", "Output of", "bash_id");
    case "KillShell":
      return line("debug-stop", "Stop", "shell_id");
    case "AskUser":
      return line("question", "Ask", "question");
    case "WebFetch":
      return line("globe", "Fetch", "url");
    case "WebSearch":
      return line("globe", "Search the web", "query");
    case "TodoWrite":
      return { icon: "checklist", verb: "Update the todo list", subject: "", isCode: false };
    case "ExitPlanMode":
      return { icon: "notebook", verb: "Propose a plan", subject: "", isCode: false };
    case "Skill":
      return line("book", "Use the skill", "name");
    case "Diagnostics":
      return {
        ...file("warning", "Problems"),
        verb: text(fields, "file_path") ? "Problems in" : "Look at the problems",
      };
    case "Symbols":
      return text(fields, "file_path")
        ? file("symbol-class", "Outline of")
        : line("symbol-class", "Find", "query", true);
    case "Task":
    case "Agent":
      return line("hubot", "Agent", "description");
    default:
      return unknown(tool, fields);
  }
}

/** `mcp__server__tool` is "tool of server". */
function unknown(tool: string, fields: Fields): CallLine {
  const external = /^mcp__(.+?)__(.+)$/.exec(tool);
  const first = Object.values(fields).find((value) => typeof value === "string");
  return {
    icon: external === null ? "tools" : "plug",
    verb: external === null ? tool : `${external[2]} (${external[1]})`,
    subject: firstLine(typeof first === "string" ? first : ""),
    isCode: false,
  };
}

export function stateWords(state: ToolItem["state"]): string {
  switch (state) {
    case "running":
      return "running";
    case "done":
      return "done";
    case "failed":
      return "failed";
    case "stopped":
      return "stopped";
  }
}

/** Calls that only look: several of them in a row take one line. */
export function isReading(tool: string): boolean {
  return kindOfReading(tool) !== undefined;
}

function kindOfReading(tool: string): "read" | "search" | "fetch" | "look" | undefined {
  switch (tool) {
    case "Read":
      return "read";
    case "Grep":
    case "Glob":
    case "Symbols":
      return "search";
    case "WebFetch":
    case "WebSearch":
      return "fetch";
    case "BashOutput":
    case "Diagnostics":
      return "look";
    default:
      return undefined;
  }
}

/** "Read 3 files, searched 2 times". */
export function groupWords(items: readonly ToolItem[]): string {
  const count = (kind: string) => items.filter((item) => kindOfReading(item.tool) === kind).length;
  const files = new Set(
    items.filter((item) => item.tool === "Read").map(({ input }) => text(input as Fields, "file_path")),
  );
  const parts = [
    files.size > 0 && `read ${counted(files.size, "file")}`,
    count("search") > 0 && `searched ${times(count("search"))}`,
    count("fetch") > 0 && `looked on the web ${times(count("fetch"))}`,
    count("look") > 0 && `looked at output or problems ${times(count("look"))}`,
  ].filter((part) => part !== false);
  const words = parts.join(", ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function text(fields: Fields | null | undefined, key: string): string {
  const value = fields?.[key];
  return typeof value === "string" ? value : "";
}

function number(fields: Fields, key: string): number | undefined {
  const value = fields[key];
  return typeof value === "number" && value > 0 ? value : undefined;
}

function range(from: number, count: number | undefined): string {
  return count === undefined ? `:${from}` : `:${from}–${from + count - 1}`;
}

function firstLine(words: string): string {
  const trimmed = words.trim();
  const end = trimmed.indexOf("\n");
  return end < 0 ? trimmed : `${trimmed.slice(0, end)} …`;
}
