/**
 * What the chat view shows, as plain data. The extension host and the web view each keep a copy and apply the same
 * events to it (`reduce`), so that a view that is opened anew needs one message to be where the old one was.
 */

import type {
  AskPermissionParams,
  AskPlanParams,
  AskUserParams,
  Branch,
  ChangedFile,
  ContextLevel,
  DreamProgressParams,
  MemoryActor,
  MemoryEventFile,
  MemoryEventKind,
  MemoryEventParams,
  Model,
  NoticeLevel,
  Range,
  ResumeSessionResult,
  SessionMessage,
  SessionUpdateParams,
  SlashCommand,
  StopReason,
  TodoItem,
  ToolDisplay,
  TrustResult,
  TurnError,
  Update,
  Usage,
} from "../protocol.ts";

export interface ChatState {
  server: ServerState;
  /** Absent until the first prompt of a new conversation. */
  sessionId?: string;
  /** Empty until the session has one. */
  title: string;
  /** The conversation, oldest first. Items are replaced, never changed: an item that is `===` the old one looks the same. */
  items: readonly Item[];
  /** The turn that runs. */
  turn?: Turn;
  /** What the agent waits for an answer to, oldest first. */
  asks: readonly Ask[];
  todos: readonly TodoItem[];
  meter?: Meter;
  /** The session's model, `provider/model`; the default model's before there is a session. */
  model?: string;
  /** `default`, `acceptEdits`, `plan`, … */
  mode: string;
  models: readonly Model[];
  commands: readonly SlashCommand[];
  /** Of each folder of the workspace. */
  trust: readonly TrustResult[];
  /** VS Code itself trusts nothing here, and its question comes before ours. */
  restricted: boolean;
  /** Files that the agent changed and nobody has looked through yet. */
  changes: readonly ChangedFile[];
  dream?: DreamProgressParams;
  /** Background jobs that run, for the badge. */
  jobs: number;
  /** The ways the conversation went, where there are several. */
  branches: readonly Branch[];
  /** The next `seq` of the session's updates; -1 where any will do. */
  nextSeq: number;
}

export type ServerState =
  | { state: "starting" }
  | { state: "running" }
  /** It ended by itself and is being started again. */
  | { state: "restarting"; reason: string }
  /** It cannot be started, or was stopped. `help` says what to do, as commands of ours to offer. */
  | { state: "failed"; reason: string; help: readonly ServerHelp[] };

export interface ServerHelp {
  label: string;
  /** A command of the extension, `reverie.…`. */
  command: string;
}

export interface Turn {
  id: string;
  /** Milliseconds since 1970; 0 while that is not known. */
  startedAt: number;
  phase: TurnPhase;
  /** What it is at, where that says more than the phase: the reason of a retry. */
  detail?: string;
}

export type TurnPhase = "waiting" | "thinking" | "answering" | "tools" | "retrying" | "asking" | "stopping";

export type Item =
  | UserItem
  | TextItem
  | ThinkingItem
  | ToolItem
  | NoticeItem
  | ContextItem
  | PlanItem
  | QuestionItem
  | MemoryItem
  | EndItem;

interface ItemBase {
  /** Unique in the conversation and stable. */
  key: string;
  turnId?: string;
}

export interface UserItem extends ItemBase {
  kind: "user";
  /** Of the message in the transcript; what a rewind takes. */
  uuid?: string;
  text: string;
  attachments: readonly AttachmentLabel[];
  /** RFC 3339. */
  at: string;
  /** It waits for the next round of the running turn. */
  queued: boolean;
  /** It has joined a turn that ran already. */
  joined?: boolean;
  /** Memories that were put beside it, each with why. */
  recalled: readonly MemoryEventFile[];
}

export interface AttachmentLabel {
  kind: Attachment["kind"];
  label: string;
  uri?: string;
  range?: Range;
}

/** Markdown of the model. */
export interface TextItem extends ItemBase {
  kind: "text";
  /** Of the message in the transcript, where known; what a fork takes. */
  uuid?: string;
  text: string;
  /** More is coming. */
  streaming: boolean;
}

export interface ThinkingItem extends ItemBase {
  kind: "thinking";
  text: string;
  streaming: boolean;
}

export interface ToolItem extends ItemBase {
  kind: "tool";
  /** Of the message in the transcript that has its result, where known. */
  uuid?: string;
  toolUseId: string;
  tool: string;
  input: unknown;
  state: "running" | "done" | "failed" | "stopped";
  /** What it has said so far, its tail. */
  progress: string;
  display?: ToolDisplay;
}

export interface NoticeItem extends ItemBase {
  kind: "notice";
  level: NoticeLevel;
  text: string;
}

/** A layer changed what the model sees; as the server told it. */
export type ContextItem = ItemBase & Extract<Update, { kind: "context" }>;

export interface PlanItem extends ItemBase {
  kind: "plan";
  /** Markdown. */
  text: string;
  /** Absent while nobody has answered. */
  answer?: { approved: boolean; message?: string };
}

/** A question of the agent, with the answer once there is one. */
export interface QuestionItem extends ItemBase {
  kind: "question";
  question: string;
  /** Absent while nobody has answered; null where it was dismissed. */
  answer?: string | null;
}

/** Something was remembered, changed or forgotten. */
export interface MemoryItem extends ItemBase {
  kind: "memory";
  event: MemoryEventKind;
  by: MemoryActor;
  files: readonly MemoryEventFile[];
  /** Taken back meanwhile. */
  undone: boolean;
}

export interface EndItem extends ItemBase {
  kind: "end";
  stopReason: StopReason;
  usage: Usage;
  error?: TurnError;
  /** The last message of the turn; what a fork takes. */
  uuid?: string;
}

/** A question that the server asked and waits for. */
export type Ask =
  | ({ kind: "permission"; id: string } & AskPermissionParams)
  | ({ kind: "user"; id: string } & AskUserParams)
  | ({ kind: "plan"; id: string } & AskPlanParams);

export interface Meter {
  used: number;
  window: number;
  level: ContextLevel;
  percentLeft: number;
  nextStep: string;
  /** 0 to 1, of the last request. */
  cacheHitRate: number;
  costUsd: number;
}

/** What goes with the words of a prompt. */
export type Attachment =
  | { kind: "mention"; label: string; uri: string; range?: Range }
  /** Words that the editor put together: problems, pasted files. */
  | { kind: "text"; label: string; text: string }
  /** `data` is base64. */
  | { kind: "image"; label: string; mediaType: string; data: string };

export type ChatEvent =
  | { type: "server"; server: ServerState }
  | { type: "update"; params: SessionUpdateParams }
  | { type: "memory"; params: MemoryEventParams }
  | { type: "dream"; params: DreamProgressParams }
  | { type: "jobs"; running: number }
  /** The user said something; the server has it. */
  | {
      type: "prompted";
      sessionId: string;
      turnId: string;
      queued: boolean;
      text: string;
      attachments: readonly AttachmentLabel[];
      at: string;
    }
  | { type: "stopping" }
  /** A session was opened: all there is of it. */
  | { type: "resumed"; result: ResumeSessionResult; meter?: Meter }
  /** What was said before a compaction, to be shown before all the rest. */
  | { type: "earlier"; sessionId: string; messages: readonly SessionMessage[] }
  /** A conversation begins; there is no session yet. */
  | { type: "cleared" }
  | { type: "ask"; ask: Ask }
  | { type: "answered"; id: string; plan?: { approved: boolean; message?: string }; answer?: string | null }
  | { type: "configured"; model?: string; mode?: string }
  | { type: "models"; models: readonly Model[] }
  | { type: "commands"; commands: readonly SlashCommand[] }
  | { type: "trust"; trust: readonly TrustResult[]; restricted: boolean }
  | { type: "changes"; files: readonly ChangedFile[] }
  | { type: "undone"; changeIds: readonly string[] }
  | { type: "notice"; level: NoticeLevel; text: string };

export const EMPTY: ChatState = {
  server: { state: "starting" },
  title: "",
  trust: [],
  restricted: false,
  items: [],
  asks: [],
  todos: [],
  mode: "default",
  models: [],
  commands: [],
  changes: [],
  jobs: 0,
  branches: [],
  nextSeq: -1,
};
