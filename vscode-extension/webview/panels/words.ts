/** What the server names by a word of its own, in words for people. A name that is new to us is shown as it is. */

import type { TurnPhase } from "../../src/chat/state.ts";
import type {
  CacheEffect,
  CompactTrigger,
  ContextLevel,
  DreamPhase,
  StopReason,
  TaskKind,
  TaskState,
} from "../../src/protocol.ts";

const LAYERS: ReadonlyMap<string, string> = new Map([
  ["storage", "Long result put into a file"],
  ["snip", "Oldest messages left out"],
  ["microcompact", "Old tool results cleared"],
  ["cacheEdits", "Old tool results deleted in the cache"],
  ["collapse", "Old rounds collapsed"],
  ["sessionMemory", "Compacted by the session's notes"],
  ["full", "Compacted"],
  ["partial", "Compacted in part"],
  ["from", "Compacted from a message on"],
  ["upTo", "Compacted up to a message"],
  ["reactive", "Made to fit after a refusal"],
  ["server", "Cleared by the provider"],
  ["model", "Another model"],
  ["opening", "Another opening"],
  ["tools", "Tools changed"],
  ["instructions", "Instructions read anew"],
  ["cache", "Cache lost"],
]);

export function layerWords(layer: string): string {
  return LAYERS.get(layer) ?? layer;
}

const PARTS: ReadonlyMap<string, string> = new Map([
  ["system", "System prompt"],
  ["tools", "Tools"],
  ["instructions", "Instructions"],
  ["free", "Free"],
]);

export function partWords(name: string): string {
  return PARTS.get(name) ?? capitalised(name);
}

const SOURCES: ReadonlyMap<string, string> = new Map([
  ["main", "Conversation"],
  ["compact", "Compaction"],
  ["recall", "Recalling memories"],
  ["extraction", "Learning"],
  ["session_memory", "Notes"],
  ["dream", "Dreams"],
  ["collapse", "Collapsing"],
  ["web_search", "Web search"],
]);

export function sourceWords(source: string): string {
  return SOURCES.get(source) ?? capitalised(source);
}

export function levelWords(level: ContextLevel): string {
  switch (level) {
    case "normal":
      return "plenty of room";
    case "warning":
      return "filling up";
    case "error":
      return "nearly full";
    case "critical":
      return "full";
  }
}

export function cacheWords(cache: CacheEffect): string {
  return cache === "kept" ? "cache kept" : "cache broken";
}

export function triggerWords(trigger: CompactTrigger): string {
  switch (trigger) {
    case "auto":
      return "by itself";
    case "manual":
      return "as you asked";
    case "reactive":
      return "a request was too long";
  }
}

export function taskWords(kind: TaskKind): string {
  switch (kind) {
    case "shell":
      return "Command";
    case "extraction":
      return "Learning";
    case "sessionMemory":
      return "Notes";
    case "dream":
      return "Dream";
  }
}

export function stateWords(state: TaskState): string {
  switch (state) {
    case "running":
      return "running";
    case "completed":
      return "done";
    case "failed":
      return "failed";
    case "killed":
      return "stopped";
  }
}

export function dreamWords(phase: DreamPhase): string {
  return phase === "starting" ? "Reading what is remembered" : "Putting memories in order";
}

export function phaseWords(phase: TurnPhase): string {
  switch (phase) {
    case "waiting":
      return "Waiting for the model";
    case "thinking":
      return "Thinking";
    case "answering":
      return "Answering";
    case "tools":
      return "Working";
    case "retrying":
      return "Trying again";
    case "asking":
      return "Waiting for your answer";
    case "stopping":
      return "Stopping";
  }
}

const MODES: ReadonlyMap<string, string> = new Map([
  ["default", "Ask before edits"],
  ["acceptEdits", "Accept edits"],
  ["plan", "Plan"],
]);

/** The modes that a session can be put into here. */
export const MODE_NAMES: readonly string[] = [...MODES.keys()];

export function modeWords(mode: string): string {
  return MODES.get(mode) ?? capitalised(mode);
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Why a turn ended early. Nothing where the model had said all it wanted to. */
export function stopWords(reason: StopReason): string | undefined {
  switch (reason) {
    case "endTurn":
      return undefined;
    case "cancelled":
      return "Stopped.";
    case "maxRounds":
      return "Stopped: the turn took too many rounds (setting maxRounds).";
    case "budget":
      return "Stopped: the budget is used up (setting budgets).";
    case "refused":
      return "The model refused to answer.";
    case "blocked":
      return "The prompt was blocked.";
    case "error":
      return "The turn failed.";
  }
}
