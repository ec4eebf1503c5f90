//! The table of methods: the only place where a method's name is written down.
//!
//! A name or a variant that occurs twice does not compile. `lsp` matches exhaustively on [`ClientRequest`], so a
//! method without a handler does not compile either.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    ask::{
        AskPermissionParams, AskPermissionResult, AskPlanParams, AskPlanResult, AskUserParams, AskUserResult,
        SaveDocumentParams, SaveDocumentResult,
    },
    change::{
        ListChangesParams, ListChangesResult, ReadChangeParams, ReadChangeResult, ResolveChangesParams,
    },
    context::{
        CompactSessionParams, CompactSessionResult, ContextLayoutParams, ContextLayoutResult,
        ContextOriginalParams, ContextOriginalResult, ContextReportParams, ContextReportResult,
        UncompactSessionParams,
    },
    dream::{
        DreamProgressParams, DreamReportParams, DreamReportResult, DreamStatusParams, DreamStatusResult,
        StartDreamParams, StartDreamResult, StopDreamParams,
    },
    editor::{EditorDiagnosticsParams, EditorDiagnosticsResult, EditorSymbolsParams, EditorSymbolsResult},
    error::ErrorCode,
    history::{
        ConfigureSessionParams, ExportSessionParams, ExportSessionResult, ForkSessionParams,
        ForkSessionResult, RewindSessionParams, RewindSessionResult, SearchSessionsParams,
        SearchSessionsResult,
    },
    info::{
        DoctorParams, DoctorResult, GetSettingsParams, GetSettingsResult, ListCommandsParams,
        ListCommandsResult, ListModelsParams, ListModelsResult,
    },
    memory::{
        DeleteMemoryParams, DeleteMemoryResult, ExplainMemoryParams, ExplainMemoryResult, LintMemoryParams,
        LintMemoryResult, ListMemoriesParams, ListMemoriesResult, MemoryEventParams, MemoryHistoryParams,
        MemoryHistoryResult, MemoryInlineParams, MergeMemoriesParams, OpenMemoriesParams, ReadMemoryParams,
        ReadMemoryResult, ReloadInstructionsParams, ReloadInstructionsResult, RememberPlaceParams,
        SearchMemoryParams, SearchMemoryResult, UndoMemoryParams, UndoMemoryResult, WriteMemoryParams,
        WriteMemoryResult,
    },
    session::{
        CancelSessionParams, DeleteSessionParams, EarlierMessagesParams, EarlierMessagesResult, Empty,
        ListSessionsParams, ListSessionsResult, NewSessionParams, NewSessionResult, PromptSessionParams,
        PromptSessionResult, RenameSessionParams, ResumeSessionParams, ResumeSessionResult,
    },
    task::{ListTasksParams, ListTasksResult, StopTaskParams},
    trust::{GetTrustParams, SetTrustParams, TrustResult},
    update::SessionUpdateParams,
};

/// One row of the table.
pub struct Method {
    pub name: &'static str,
    pub direction: Direction,
    /// One sentence.
    pub doc: &'static str,
    pub params: fn(&mut SchemaGenerator) -> Schema,
    /// `None` for notifications.
    pub result: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// The codes a response may carry, besides JSON-RPC's own.
    pub errors: &'static [ErrorCode],
    /// JSON.
    pub example_params: &'static str,
    /// JSON; `None` for notifications.
    pub example_result: Option<&'static str>,
    /// Whether the examples parse as the row's types and come out the same.
    pub check_examples: fn() -> Result<(), String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A request that the server answers.
    ClientToServer,
    /// A request that the client answers.
    ServerToClient,
    /// A notification to the client.
    Notification,
}

/// A request by its type: what it carries and what answers it.
pub trait Request {
    const NAME: &'static str;
    type Params: Serialize + DeserializeOwned + JsonSchema;
    type Result: Serialize + DeserializeOwned + JsonSchema;
}

/// A notification by its type.
pub trait Notification {
    const NAME: &'static str;
    type Params: Serialize + DeserializeOwned + JsonSchema;
}

macro_rules! methods {
    (
        client_requests { $(
            #[doc = $client_doc:literal]
            $client:ident = $client_name:literal: $client_params:ty => $client_result:ty,
            errors [$($client_error:ident),*],
            example $client_example:literal => $client_answer:literal;
        )* }
        server_requests { $(
            #[doc = $server_doc:literal]
            $server:ident = $server_name:literal: $server_params:ty => $server_result:ty,
            example $server_example:literal => $server_answer:literal;
        )* }
        server_notifications { $(
            #[doc = $notification_doc:literal]
            $notification:ident = $notification_name:literal: $notification_params:ty,
            example $notification_example:literal;
        )* }
    ) => {
        /// The requests that the server answers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ClientRequest { $( #[doc = $client_doc] $client, )* }

        impl ClientRequest {
            pub const ALL: &[Self] = &[$( Self::$client, )*];

            pub const fn name(self) -> &'static str {
                match self { $( Self::$client => $client_name, )* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( $client_name => Some(Self::$client), )*
                    _ => None,
                }
            }
        }

        /// The requests that the server sends.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ServerRequest { $( #[doc = $server_doc] $server, )* }

        impl ServerRequest {
            pub const fn name(self) -> &'static str {
                match self { $( Self::$server => $server_name, )* }
            }
        }

        /// The notifications that the server sends.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ServerNotification { $( #[doc = $notification_doc] $notification, )* }

        impl ServerNotification {
            pub const fn name(self) -> &'static str {
                match self { $( Self::$notification => $notification_name, )* }
            }
        }

        $(
            #[doc = $client_doc]
            #[derive(Clone, Copy, Debug)]
            pub struct $client;
            impl Request for $client {
                const NAME: &'static str = $client_name;
                type Params = $client_params;
                type Result = $client_result;
            }
        )*
        $(
            #[doc = $server_doc]
            #[derive(Clone, Copy, Debug)]
            pub struct $server;
            impl Request for $server {
                const NAME: &'static str = $server_name;
                type Params = $server_params;
                type Result = $server_result;
            }
        )*
        $(
            #[doc = $notification_doc]
            #[derive(Clone, Copy, Debug)]
            pub struct $notification;
            impl Notification for $notification {
                const NAME: &'static str = $notification_name;
                type Params = $notification_params;
            }
        )*

        /// Every method, in the order of the table.
        pub const METHODS: &[Method] = &[
            $( Method {
                name: $client_name,
                direction: Direction::ClientToServer,
                doc: trim_start($client_doc),
                params: |generator| generator.subschema_for::<$client_params>(),
                result: Some(|generator| generator.subschema_for::<$client_result>()),
                errors: &[$( ErrorCode::$client_error, )*],
                example_params: $client_example,
                example_result: Some($client_answer),
                check_examples: || {
                    round_trips::<$client_params>($client_example)?;
                    round_trips::<$client_result>($client_answer)
                },
            }, )*
            $( Method {
                name: $server_name,
                direction: Direction::ServerToClient,
                doc: trim_start($server_doc),
                params: |generator| generator.subschema_for::<$server_params>(),
                result: Some(|generator| generator.subschema_for::<$server_result>()),
                errors: &[],
                example_params: $server_example,
                example_result: Some($server_answer),
                check_examples: || {
                    round_trips::<$server_params>($server_example)?;
                    round_trips::<$server_result>($server_answer)
                },
            }, )*
            $( Method {
                name: $notification_name,
                direction: Direction::Notification,
                doc: trim_start($notification_doc),
                params: |generator| generator.subschema_for::<$notification_params>(),
                result: None,
                errors: &[],
                example_params: $notification_example,
                example_result: None,
                check_examples: || round_trips::<$notification_params>($notification_example),
            }, )*
        ];

        /// The row of a method. A name that occurs twice is an unreachable arm here, hence an error.
        #[deny(unreachable_patterns)]
        pub fn find_method(name: &str) -> Option<&'static Method> {
            match name {
                $( $client_name )|* $( | $server_name )* $( | $notification_name )* => {
                    METHODS.iter().find(|method| method.name == name)
                }
                _ => None,
            }
        }
    };
}

methods! {
    client_requests {
        /// Makes a session; nothing is written until its first prompt.
        SessionNew = "reverie/session/new": NewSessionParams => NewSessionResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"cwd": "/home/ada/engine", "model": "offline/offline"}"#
            => r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"#;

        /// Lists the sessions of the project, newest first, in pages.
        SessionList = "reverie/session/list": ListSessionsParams => ListSessionsResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"limit": 1, "query": "parser"}"#
            => r#"{"sessions": [{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "title": "Fix the parser", "firstPrompt": "Why does the parser stop at a BOM?", "updatedAt": "2026-03-01T09:30:00Z", "bytes": 48211, "costUsd": 0.12, "cwd": "/home/ada/engine"}], "nextCursor": "1"}"#;

        /// Opens a session from its transcript and returns what to show of it.
        SessionResume = "reverie/session/resume": ResumeSessionParams => ResumeSessionResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "strategy": "full"}"#
            => r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "strategy": "full", "messages": [{"uuid": "0d3b6c1e-8a57-4f0e-9d4e-2b1c7a9e5f60", "role": "user", "kind": "text", "text": "Why does the parser stop at a BOM?", "timestamp": "2026-03-01T09:29:12Z"}], "repairs": ["cut off a torn last line"], "branches": []}"#;

        /// Returns what was said before a compaction, for views that show it still.
        SessionEarlier = "reverie/session/earlier": EarlierMessagesParams => EarlierMessagesResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "messageUuid": "0d3b6c1e-8a57-4f0e-9d4e-2b1c7a9e5f60"}"#
            => r#"{"messages": [{"uuid": "0d3b6c1e-8a57-4f0e-9d4e-2b1c7a9e5f60", "role": "user", "kind": "text", "text": "Why does the parser stop at a BOM?", "timestamp": "2026-03-01T09:29:12Z"}]}"#;

        /// Starts a turn and answers at once; a prompt during a turn joins it at the next round boundary.
        SessionPrompt = "reverie/session/prompt": PromptSessionParams => PromptSessionResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "prompt": [{"type": "text", "text": "What does this do?"}, {"type": "mention", "uri": "file:///home/ada/engine/src/parser.rs", "range": {"start": {"line": 4, "character": 0}, "end": {"line": 9, "character": 1}}}], "editor": {"activeUri": "file:///home/ada/engine/src/parser.rs"}}"#
            => r#"{"turnId": "turn-1", "queued": false}"#;

        /// Stops the session's turn and kills what it started; without a turn it does nothing.
        SessionCancel = "reverie/session/cancel": CancelSessionParams => Empty,
        errors [UNKNOWN_SESSION, INVALID_PARAMS],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"# => r#"{}"#;

        /// Deletes a session and its transcript.
        SessionDelete = "reverie/session/delete": DeleteSessionParams => Empty,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"# => r#"{}"#;

        /// Gives a session another title.
        SessionRename = "reverie/session/rename": RenameSessionParams => Empty,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "title": "The BOM bug"}"# => r#"{}"#;

        /// Makes a new session that shares this one's past, and opens it.
        SessionFork = "reverie/session/fork": ForkSessionParams => ForkSessionResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "messageUuid": "0d3b6c1e-8a57-4f0e-9d4e-2b1c7a9e5f60"}"#
            => r#"{"sessionId": "b1a7d2c4-52a1-4a5e-8f0b-6c1f3de4a902"}"#;

        /// Takes the conversation, and unless told otherwise the files, back to before a prompt.
        SessionRewind = "reverie/session/rewind": RewindSessionParams => RewindSessionResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "messageUuid": "0d3b6c1e-8a57-4f0e-9d4e-2b1c7a9e5f60", "restoreFiles": true}"#
            => r#"{"restored": ["/home/ada/engine/src/parser.rs"], "kept": [{"path": "/home/ada/engine/notes.md", "reason": "it was changed since by somebody else"}], "prompt": "Why does the parser stop at a BOM?"}"#;

        /// Lists the files that the agent changed and the user has neither kept nor taken back.
        ChangesList = "reverie/changes/list": ListChangesParams => ListChangesResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"#
            => r#"{"files": [{"path": "/home/ada/engine/src/parser.rs", "state": "modified", "added": 3, "removed": 1}]}"#;

        /// Shows what a file was before the agent changed it, what it is now, and where they differ.
        ChangesRead = "reverie/changes/read": ReadChangeParams => ReadChangeResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "path": "/home/ada/engine/src/parser.rs"}"#
            => r#"{"before": "fn open() {}\n", "after": "fn open() { skip() }\n", "hunks": [{"id": "9f2c41d07a3e5b18", "before": {"start": 0, "lines": 1}, "after": {"start": 0, "lines": 1}}]}"#;

        /// Keeps or takes back what the agent changed: a hunk, a file, or all; answers with what is left to look through.
        ChangesResolve = "reverie/changes/resolve": ResolveChangesParams => ListChangesResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "path": "/home/ada/engine/src/parser.rs", "hunkId": "9f2c41d07a3e5b18", "keep": false}"#
            => r#"{"files": []}"#;

        /// Writes a session down for people or for programs.
        SessionExport = "reverie/session/export": ExportSessionParams => ExportSessionResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r##"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "format": "markdown"}"##
            => r##"{"text": "# Fix the parser\n\n…"}"##;

        /// Searches all that was said in the sessions of the workspace's projects, or of all.
        SessionSearch = "reverie/session/search": SearchSessionsParams => SearchSessionsResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"query": "parser \"byte order mark\"", "since": "2026-02-01T00:00:00Z", "role": "assistant", "all": true, "limit": 20}"#
            => r#"{"hits": [{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "messageUuid": "0d3b6c1e-8a57-4f0e-9d4e-2b1c7a9e5f60", "role": "assistant", "timestamp": "2026-03-01T09:29:12Z", "snippet": "… the parser takes the byte order mark for …"}]}"#;

        /// Chooses another model or permission mode for a session.
        SessionConfigure = "reverie/session/configure": ConfigureSessionParams => Empty,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "mode": "plan"}"# => r#"{}"#;

        /// Lists what a prompt may begin with: built-in commands, command files and skills.
        CommandsList = "reverie/commands/list": ListCommandsParams => ListCommandsResult,
        errors [],
        example r#"{}"#
            => r#"{"commands": [{"name": "cost", "description": "Shows what this session cost", "source": "builtIn"}, {"name": "review", "description": "Reviews a change", "argumentHint": "[branch]", "source": "project"}]}"#;

        /// Says whether a folder is trusted, and what trusting it would let run.
        TrustGet = "reverie/trust/get": GetTrustParams => TrustResult,
        errors [INVALID_PARAMS],
        example r#"{}"#
            => r#"{"folder": "/home/ada/engine", "status": "untrusted", "items": [{"kind": "mcp", "path": "/home/ada/engine/.mcp.json", "detail": "runs `npx engine-mcp`"}], "digest": "9f2c"}"#;

        /// Trusts a folder as its files are now, or takes the trust back.
        TrustSet = "reverie/trust/set": SetTrustParams => TrustResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"folder": "/home/ada/engine", "trusted": true, "digest": "9f2c"}"#
            => r#"{"folder": "/home/ada/engine", "status": "trusted", "items": [], "digest": "9f2c"}"#;

        /// Lists what is remembered of the project.
        MemoryList = "reverie/memory/list": ListMemoriesParams => ListMemoriesResult,
        errors [UNAVAILABLE],
        example r#"{}"#
            => r#"{"dir": "/home/ada/.claude/projects/-home-ada-engine/memory", "memories": [{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md", "name": "Deploys", "description": "We deploy on Fridays only", "type": "project", "scope": "private", "modifiedAt": "2026-03-01T09:30:00Z", "stale": false, "recalled": 2, "cited": 1}]}"#;

        /// Returns a memory as its file is.
        MemoryRead = "reverie/memory/read": ReadMemoryParams => ReadMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"path": "deploys.md"}"# => r#"{"content": "Fridays only."}"#;

        /// Writes a memory for the user; what it was is kept in its history.
        MemoryWrite = "reverie/memory/write": WriteMemoryParams => WriteMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"path": "deploys.md", "content": "Mondays only."}"#
            => r#"{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md"}"#;

        /// Deletes a memory and its line in the index; both are kept in the history.
        MemoryDelete = "reverie/memory/delete": DeleteMemoryParams => DeleteMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"path": "deploys.md"}"# => r#"{"changeId": "0194"}"#;

        /// Finds memories by their words.
        MemorySearch = "reverie/memory/search": SearchMemoryParams => SearchMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"query": "when can I ship?", "limit": 1}"#
            => r#"{"hits": [{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md", "score": 3.5, "snippet": "Fridays only."}]}"#;

        /// Says why a memory was recalled for a message, or was not.
        MemoryExplain = "reverie/memory/explain": ExplainMemoryParams => ExplainMemoryResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"#
            => r#"{"candidates": [{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md", "score": 3.5, "decision": "recalled", "reason": "it fits the message by “ship” (confidence 80 %)"}]}"#;

        /// Lists the changes to what is remembered, with who made them and why.
        MemoryHistory = "reverie/memory/history": MemoryHistoryParams => MemoryHistoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"limit": 1}"#
            => r#"{"changes": [{"id": "0193", "path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md", "at": "2026-03-01T09:30:00Z", "by": "model", "why": "you asked to remember it", "sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "diff": "+Fridays only."}]}"#;

        /// Takes back one change, a dream, or all changes since a time, byte for byte.
        MemoryUndo = "reverie/memory/undo": UndoMemoryParams => UndoMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"changeId": "0193"}"#
            => r#"{"undone": ["/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md"]}"#;

        /// Lists what is wrong with what is remembered.
        MemoryLint = "reverie/memory/lint": LintMemoryParams => LintMemoryResult,
        errors [UNAVAILABLE],
        example r#"{}"#
            => r#"{"findings": [{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/MEMORY.md", "line": 3, "code": "dead-link", "message": "there is no old.md", "fix": "remove the line"}]}"#;

        /// Makes one memory of two that say the same.
        MemoryMerge = "reverie/memory/merge": MergeMemoriesParams => WriteMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"path": "deploys-2.md", "into": "deploys.md"}"#
            => r#"{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md"}"#;

        /// Remembers something about a place in the code.
        MemoryRemember = "reverie/memory/remember": RememberPlaceParams => WriteMemoryResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{"uri": "file:///home/ada/engine/src/parser.rs", "range": {"start": {"line": 4, "character": 3}, "end": {"line": 4, "character": 3}}, "text": "Never skip the byte order mark here"}"#
            => r#"{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/never-skip-byte-order-mark.md"}"#;

        /// Shows a memory in the editor (`window/showDocument`); of several, the one that the user chooses.
        MemoryOpen = "reverie/memory/open": OpenMemoriesParams => Empty,
        errors [INVALID_PARAMS],
        example r#"{"paths": ["/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md"]}"# => r#"{}"#;

        /// Reads CLAUDE.md files and the index anew; the next request is not served from the cache, which is announced.
        InstructionsReload = "reverie/instructions/reload": ReloadInstructionsParams => ReloadInstructionsResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"#
            => r#"{"files": [{"path": "/home/ada/engine/CLAUDE.md", "memoryType": "project", "loadReason": "session_start"}]}"#;

        /// Lists what runs beside the conversation: commands in the background, and what the agent does by itself.
        TasksList = "reverie/tasks/list": ListTasksParams => ListTasksResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{}"#
            => r#"{"tasks": [{"taskId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51/bash_1", "kind": "shell", "sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "title": "npm start", "state": "running", "startedAt": "2026-03-01T09:30:00Z"}], "background": {"kinds": [{"kind": "extraction", "gates": [{"name": "enabled", "open": true, "detail": "extraction is on"}], "today": {"runs": 4, "files": 2, "usage": {"inputTokens": 310, "outputTokens": 620, "cacheReadTokens": 61000, "cacheWriteTokens": 0}, "costUsd": 0.03}, "last": "completed: Remembered: Deploys"}], "spentUsd": 0.03, "limitUsd": 1.0}}"#;

        /// Ends a task and all it has started; one that has ended already stays as it is.
        TasksStop = "reverie/tasks/stop": StopTaskParams => Empty,
        errors [INVALID_PARAMS],
        example r#"{"taskId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51/bash_1"}"# => r#"{}"#;

        /// Starts a dream, which puts memories in order, and answers at once; only another dream keeps it from starting.
        DreamStart = "reverie/dream/start": StartDreamParams => StartDreamResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"dryRun": true}"# => r#"{"dreamId": "019a1f6e-7c1b-7a3e-9d57-3f0f5d1c2b44"}"#;

        /// Stops a dream and takes back what it changed; one that has ended already stays as it is.
        DreamStop = "reverie/dream/stop": StopDreamParams => Empty,
        errors [INVALID_PARAMS],
        example r#"{"dreamId": "019a1f6e-7c1b-7a3e-9d57-3f0f5d1c2b44"}"# => r#"{}"#;

        /// Says whether a dream runs, when the last one was, and what keeps the next from starting by itself.
        DreamStatus = "reverie/dream/status": DreamStatusParams => DreamStatusResult,
        errors [UNAVAILABLE],
        example r#"{}"#
            => r#"{"state": "idle", "lastConsolidatedAt": "2026-03-01T03:00:00Z", "sessionsSince": 3, "gates": [{"name": "hours", "open": true, "detail": "30 hours since the last dream, 24 needed"}, {"name": "sessions", "open": false, "detail": "3 sessions since the last dream, 5 needed"}]}"#;

        /// Returns what a dream changed and why, with what it cost.
        DreamReport = "reverie/dream/report": DreamReportParams => DreamReportResult,
        errors [INVALID_PARAMS, UNAVAILABLE],
        example r#"{}"#
            => r##"{"dreamId": "019a1f6e-7c1b-7a3e-9d57-3f0f5d1c2b44", "status": "completed", "dryRun": false, "trigger": "command", "startedAt": "2026-03-01T03:00:00Z", "endedAt": "2026-03-01T03:01:10Z", "path": "/home/ada/.claude/projects/-home-ada-engine/memory/.history/dreams/2026-03-01T03-00-00Z.md", "text": "# Dream\n\n…", "changes": [{"changeId": "0194", "path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md", "why": "two memories said the same", "diff": "-On Friday.\n+On Fridays only."}], "usage": {"inputTokens": 900, "outputTokens": 2100, "cacheReadTokens": 88000, "cacheWriteTokens": 4000}, "costUsd": 0.06}"##;

        /// Says what fills the context window and what changed it so far.
        ContextReport = "reverie/context/report": ContextReportParams => ContextReportResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"#
            => r#"{"window": 200000, "used": 15211, "level": "normal", "parts": [{"name": "system", "tokens": 2811}, {"name": "tools", "tokens": 12400}], "ledger": [{"at": "2026-03-01T09:31:00Z", "layer": "microcompact", "detail": "3 old tool results were cleared", "messages": 3, "tokensFreed": 9000, "cache": "broken", "original": "/home/ada/.claude/projects/-home-ada-engine/7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51.jsonl"}], "threshold": 167000, "percentLeft": 91, "nextStep": "nothing for now", "compactions": {"list": [{"layer": "full", "trigger": "auto", "messages": 212, "tokensBefore": 168211, "tokensAfter": 12011, "ratio": 14.0, "score": 1.0}], "tokensSaved": 156200, "averageRatio": 14.0}, "canUncompact": false, "sources": [{"source": "main", "usage": {"inputTokens": 120, "outputTokens": 5012, "cacheReadTokens": 912000, "cacheWriteTokens": 168000}, "cacheHitRate": 0.84, "costUsd": 1.21}], "notes": {"path": "/home/ada/.claude/projects/-home-ada-engine/7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51/session-memory/summary.md", "upto": "0198b2f4-6f1d-7f4e-9a55-0d5b6a1c2e11", "updatedAt": "2026-03-01T09:30:12Z"}}"#;

        /// Shows the full text behind a piece of the conversation that is not sent as it was.
        ContextOriginal = "reverie/context/original": ContextOriginalParams => ContextOriginalResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "id": "toolu_01"}"#
            => r#"{"text": "the whole output", "path": "/home/ada/.claude/projects/-home-ada-engine/7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51/tool-results/toolu_01.txt"}"#;

        /// Prints the session's next request, one line per item.
        ContextLayout = "reverie/context/layout": ContextLayoutParams => ContextLayoutResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"#
            => r#"{"lines": ["system 0 · 4120 B · 1030 t ◆ \"You are Reverie…\"", "user 0.0 text · 48 B · 12 t ◆ \"what is in a.txt?\""]}"#;

        /// Replaces a part of the conversation by a summary in what the model sees, or shows what that would be.
        SessionCompact = "reverie/session/compact": CompactSessionParams => CompactSessionResult,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "mode": "full", "instructions": "keep the schema"}"#
            => r#"{"layer": "full", "tokensBefore": 168211, "tokensAfter": 12011, "summary": "1. Request and intent: …"}"#;

        /// Takes the last compaction back; possible until the next request.
        SessionUncompact = "reverie/session/uncompact": UncompactSessionParams => Empty,
        errors [UNKNOWN_SESSION, INVALID_PARAMS, UNAVAILABLE],
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"}"# => r#"{}"#;

        /// Lists the models, and which of them can be used as things are.
        ModelsList = "reverie/models/list": ListModelsParams => ListModelsResult,
        errors [],
        example r#"{}"#
            => r#"{"models": [{"id": "offline/offline", "name": "Offline", "contextWindow": 200000, "maxOutputTokens": 8192, "available": true, "default": true}]}"#;

        /// Tells every effective setting and where its value came from.
        SettingsGet = "reverie/settings/get": GetSettingsParams => GetSettingsResult,
        errors [],
        example r#"{}"#
            => r#"{"settings": [{"key": "model", "value": "offline", "source": "default"}]}"#;

        /// Examines the installation: configuration, models, directories, transcripts.
        Doctor = "reverie/doctor": DoctorParams => DoctorResult,
        errors [UNAVAILABLE],
        example r#"{}"#
            => r#"{"checks": [{"name": "model", "status": "warning", "detail": "no key is configured; the offline model answers", "fix": "set ANTHROPIC_API_KEY"}], "repairs": [{"at": "2026-03-01T09:30:00Z", "subject": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "check": "token totals", "detail": "The total says 520 tokens, and the messages 1220.", "success": true}]}"#;
    }
    server_requests {
        /// Asks the user whether a tool call may run.
        PermissionAsk = "reverie/permission/ask": AskPermissionParams => AskPermissionResult,
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "toolUseId": "toolu_01", "tool": "Bash", "input": {"command": "cargo test"}, "reason": "no rule allows this command", "preview": {"kind": "command", "text": "cargo test"}, "options": [{"id": "allowOnce", "label": "Allow once"}, {"id": "allowSession", "label": "Allow for this session", "rule": "Bash(cargo test:*)"}, {"id": "allowAlways", "label": "Always allow Bash(cargo test:*)", "rule": "Bash(cargo test:*)"}, {"id": "deny", "label": "Deny"}]}"#
            => r#"{"option": "deny", "message": "use nextest"}"#;

        /// Asks the user a question of the agent.
        UserAsk = "reverie/user/ask": AskUserParams => AskUserResult,
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "question": "Which database?", "options": ["SQLite", "PostgreSQL"]}"#
            => r#"{"answer": "SQLite"}"#;

        /// Asks the user to approve the plan that was made in plan mode.
        PlanAsk = "reverie/plan/ask": AskPlanParams => AskPlanResult,
        example r##"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "toolUseId": "toolu_02", "plan": "1. Skip the BOM in `open`.\n2. Test it."}"##
            => r#"{"approved": true, "acceptEdits": true}"#;

        /// Asks what the editor's language servers complain about.
        EditorDiagnostics = "reverie/editor/diagnostics": EditorDiagnosticsParams => EditorDiagnosticsResult,
        example r#"{"uri": "file:///home/ada/engine/src/parser.rs"}"#
            => r#"{"diagnostics": [{"uri": "file:///home/ada/engine/src/parser.rs", "range": {"start": {"line": 4, "character": 8}, "end": {"line": 4, "character": 12}}, "severity": 2, "message": "unused variable: `mark`", "source": "rustc"}]}"#;

        /// Asks for a document's outline, or for the workspace's symbols by name.
        EditorSymbols = "reverie/editor/symbols": EditorSymbolsParams => EditorSymbolsResult,
        example r#"{"query": "parse"}"#
            => r#"{"symbols": [{"name": "parse", "kind": 12, "uri": "file:///home/ada/engine/src/parser.rs", "range": {"start": {"line": 4, "character": 0}, "end": {"line": 40, "character": 1}}}]}"#;

        /// Asks the client to save an open document that was clean before the agent's edit.
        DocumentSave = "reverie/document/save": SaveDocumentParams => SaveDocumentResult,
        example r#"{"uri": "file:///home/ada/engine/src/parser.rs"}"# => r#"{"saved": true}"#;
    }
    server_notifications {
        /// Tells what a session does, in order and without gaps.
        SessionUpdate = "reverie/session/update": SessionUpdateParams,
        example r#"{"sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "turnId": "turn-1", "seq": 4, "update": {"kind": "textDelta", "text": "The parser "}}"#;

        /// Tells that something was remembered, recalled, changed or taken back.
        MemoryEvent = "reverie/memory/event": MemoryEventParams,
        example r#"{"kind": "saved", "sessionId": "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51", "turnId": "turn-1", "by": "model", "files": [{"path": "/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md", "name": "Deploys", "type": "project", "reason": "you asked to remember it", "changeId": "0193"}]}"#;

        /// Tells where in open documents the memories are spoken of to which something happened.
        MemoryInline = "reverie/memory/inline": MemoryInlineParams,
        example r#"{"kind": "updated", "by": "dream", "places": [{"uri": "file:///home/ada/engine/src/parser.rs", "range": {"start": {"line": 4, "character": 3}, "end": {"line": 4, "character": 8}}, "text": "◆ Updated by a dream: Parser rules", "path": "/home/ada/.claude/projects/-home-ada-engine/memory/parser.md", "changeId": "0193"}]}"#;

        /// Tells how a dream goes along, and how it ended.
        DreamProgress = "reverie/dream/progress": DreamProgressParams,
        example r#"{"dreamId": "019a1f6e-7c1b-7a3e-9d57-3f0f5d1c2b44", "status": "running", "phase": "updating", "rounds": 3, "filesTouched": ["/home/ada/.claude/projects/-home-ada-engine/memory/deploys.md"], "text": "Two memories say the same.", "latest": [{"text": "Two memories say the same.", "toolCalls": 2}]}"#;
    }
}

/// The leading space of a doc comment's line is not part of its sentence.
const fn trim_start(doc: &'static str) -> &'static str {
    doc.trim_ascii_start()
}

fn round_trips<T: Serialize + DeserializeOwned>(json: &str) -> Result<(), String> {
    let given: serde_json::Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let typed: T = serde_json::from_value(given.clone()).map_err(|error| error.to_string())?;
    let again = serde_json::to_value(&typed).map_err(|error| error.to_string())?;
    if given == again { Ok(()) } else { Err(format!("{given} became {again}")) }
}

#[cfg(test)]
mod tests;
