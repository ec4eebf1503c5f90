//! What editors see: one table of methods ([`METHODS`]), the types they carry, nothing else.
//!
//! This crate is the single source of the wire format. TypeScript types, LuaCATS, the JSON schema and the table in
//! `docs/protocol.md` are generated from it, so doc comments here are read by people who write clients. Names and
//! fields may be added; none is renamed or removed.

pub mod ask;
pub mod capability;
pub mod change;
pub mod context;
pub mod dream;
pub mod editor;
pub mod error;
pub mod history;
pub mod info;
pub mod memory;
pub mod method;
pub mod position;
pub mod session;
pub mod task;
pub mod trust;
pub mod update;

pub use ask::{
    AskPermissionParams, AskPermissionResult, AskPlanParams, AskPlanResult, AskUserParams, AskUserResult,
    PermissionChoice, PermissionOption, PermissionPreview, SaveDocumentParams, SaveDocumentResult,
};
pub use capability::{ClientCapabilities, ServerCapabilities, VERSION};
pub use change::{
    ChangedFile, ChangedHunk, ChangedState, LineSpan, ListChangesParams, ListChangesResult, ReadChangeParams,
    ReadChangeResult, ResolveChangesParams,
};
pub use context::{
    CacheEffect, CompactMode, CompactSessionParams, CompactSessionResult, CompactTrigger, Compactions,
    ContextChange, ContextLayoutParams, ContextLayoutResult, ContextLevel, ContextOriginalParams,
    ContextOriginalResult, ContextPart, ContextReportParams, ContextReportResult, PastCompaction,
    SessionNotes, SourceCost, UncompactSessionParams,
};
pub use dream::{
    DreamChange, DreamOutcome, DreamPhase, DreamProgressParams, DreamReportParams, DreamReportResult,
    DreamRound, DreamState, DreamStatusParams, DreamStatusResult, StartDreamParams, StartDreamResult,
    StopDreamParams,
};
pub use editor::{
    EditorDiagnostic, EditorDiagnosticsParams, EditorDiagnosticsResult, EditorSymbol, EditorSymbolsParams,
    EditorSymbolsResult,
};
pub use error::{ErrorCode, SessionErrorData};
pub use history::{
    Branch, ConfigureSessionParams, ExportFormat, ExportSessionParams, ExportSessionResult,
    ForkSessionParams, ForkSessionResult, KeptFile, RewindSessionParams, RewindSessionResult, SearchHit,
    SearchRole, SearchSessionsParams, SearchSessionsResult,
};
pub use info::{
    Check, CheckStatus, CommandSource, DoctorParams, DoctorResult, GetSettingsParams, GetSettingsResult,
    ListCommandsParams, ListCommandsResult, ListModelsParams, ListModelsResult, Model, Repair, Setting,
    SlashCommand,
};
pub use memory::{
    DeleteMemoryParams, DeleteMemoryResult, ExplainMemoryParams, ExplainMemoryResult, InstructionFile,
    LintMemoryParams, LintMemoryResult, ListMemoriesParams, ListMemoriesResult, Memory, MemoryActor,
    MemoryCandidate, MemoryChange, MemoryEventFile, MemoryEventKind, MemoryEventParams, MemoryFinding,
    MemoryHistoryParams, MemoryHistoryResult, MemoryHit, MemoryInlineParams, MemoryPlace, MemoryScope,
    MergeMemoriesParams, OpenMemoriesParams, ReadMemoryParams, ReadMemoryResult, RecallDecision,
    ReloadInstructionsParams, ReloadInstructionsResult, RememberPlaceParams, SearchMemoryParams,
    SearchMemoryResult, UndoMemoryParams, UndoMemoryResult, WriteMemoryParams, WriteMemoryResult,
};
pub use method::{
    ClientRequest, Direction, METHODS, Method, Notification, Request, ServerNotification, ServerRequest,
    find_method,
};
pub use position::{Position, Range};
pub use session::{
    CancelSessionParams, DeleteSessionParams, EarlierMessagesParams, EarlierMessagesResult, EditorState,
    Empty, ListSessionsParams, ListSessionsResult, MentionedFile, MessageKind, MessageRole, NewSessionParams,
    NewSessionResult, ProgressToken, PromptPart, PromptSessionParams, PromptSessionResult,
    RenameSessionParams, ResumeSessionParams, ResumeSessionResult, ResumeStrategy, SessionMessage,
    SessionSummary,
};
pub use task::{
    Background, BackgroundAccount, BackgroundKind, Gate, ListTasksParams, ListTasksResult, StopTaskParams,
    Task, TaskKind, TaskState,
};
pub use trust::{GetTrustParams, SetTrustParams, TrustItem, TrustResult, TrustStatus};
pub use update::{
    NoticeLevel, SessionUpdateParams, StopReason, TodoItem, TodoStatus, ToolDisplay, TurnError, Update, Usage,
};
