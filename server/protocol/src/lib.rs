//! What editors see: one table of methods ([`METHODS`]), the types they carry, nothing else.
//!
//! This crate is the single source of the wire format. TypeScript types, LuaCATS, the JSON schema and the table in
//! `docs/protocol.md` are generated from it, so doc comments here are read by people who write clients. Names and
//! fields may be added; none is renamed or removed.

pub mod ask;
pub mod capability;
pub mod context;
pub mod error;
pub mod info;
pub mod method;
pub mod position;
pub mod session;
pub mod update;

pub use ask::{
    AskPermissionParams, AskPermissionResult, AskUserParams, AskUserResult, PermissionChoice,
    PermissionOption, PermissionPreview, SaveDocumentParams, SaveDocumentResult,
};
pub use capability::{ClientCapabilities, ServerCapabilities, VERSION};
pub use context::{
    CacheEffect, ContextChange, ContextLevel, ContextPart, ContextReportParams, ContextReportResult,
};
pub use error::{ErrorCode, SessionErrorData};
pub use info::{
    Check, CheckStatus, DoctorParams, DoctorResult, GetSettingsParams, GetSettingsResult, ListModelsParams,
    ListModelsResult, Model, Setting,
};
pub use method::{
    ClientRequest, Direction, METHODS, Method, Notification, Request, ServerNotification, ServerRequest,
    find_method,
};
pub use position::{Position, Range};
pub use session::{
    CancelSessionParams, DeleteSessionParams, EditorState, Empty, ListSessionsParams, ListSessionsResult,
    MessageKind, MessageRole, NewSessionParams, NewSessionResult, ProgressToken, PromptPart,
    PromptSessionParams, PromptSessionResult, RenameSessionParams, ResumeSessionParams, ResumeSessionResult,
    ResumeStrategy, SessionMessage, SessionSummary,
};
pub use update::{
    NoticeLevel, SessionUpdateParams, StopReason, TodoItem, TodoStatus, ToolDisplay, TurnError, Update, Usage,
};
