//! Sessions and the loop that runs them: prompt → request → stream → tools → again.
//!
//! Never knows JSON-RPC or an editor's types: what it has to say goes through [`Frontend`].

pub mod agent;
mod attachments;
pub mod background;
mod cleaner;
mod collapse;
mod commands;
mod compaction;
mod doctor;
pub mod event;
mod extensions;
mod faults;
mod files;
mod fork;
pub mod frontend;
mod git;
mod history;
mod instructions;
mod layout;
mod loops;
mod memories;
mod meter;
mod opening;
mod original;
mod project_state;
mod prompt;
mod query_loop;
mod recall;
mod repeats;
mod report;
mod results;
mod room;
mod session;
mod shared;
mod spend;
mod store;
mod stream;
mod tasks;
mod tool_call;
mod tool_round;
mod turn;
mod turns;
pub mod types;
mod wall_clock;
mod web_search;
mod window;

pub use agent::Agent;
pub use background::{
    Account, BackgroundReport, DreamChange, DreamPhase, DreamProgress, DreamReport, DreamRound, DreamStarted,
    DreamState, DreamStatus, Gate, Job, JobEvent, JobKind, JobState, JobStep, KindReport, News, StartDream,
};
pub use compaction::{Compact, Compacted, Mode as CompactMode};
pub use context::{Entry as LedgerEntry, event::Trigger as CompactTrigger, ledger::History as Compactions};
pub use conversation::{
    Branch, Format as ExportFormat, Hit as SearchHit, Query as SearchQuery, Repair as Repaired,
    Speaker as SearchRole, Strategy,
};
pub use event::{
    AgentEvent, ContextLevel, MemoryActor, MemoryEvent, MemoryEventKind, MemoryFile, NoticeLevel,
    SessionEvent, TodoItem, TurnEnd, TurnId, TurnStop,
};
pub use faults::Faults;
pub use frontend::{Frontend, Offers, PermissionAnswer, PermissionOption, PermissionQuestion};
pub use history::review::{ChangeKind, ChangedFile, ChangedHunk, ChangedText, Verdict};
pub use memories::{
    HistoryEntry, HistoryQuery, ListedMemories, MemoryEdit, MemoryHit, MemoryLookup, MemoryReading,
    Remembered, UndoneMemories,
};
pub use memory::{history::Target as UndoTarget, recall::Decision as RecallDecision};
pub use settings::{Trust, TrustState};
pub use tasks::{Task, TaskKind};
pub use tools::{
    Display, EditorDiagnostic, EditorSymbol, PlanAnswer, Preview, Severity, SymbolQuery, TodoStatus,
};
pub use types::{
    Accepted, AgentError, Check, CheckStatus, CommandSource, ContextReport, Dependencies, Earlier,
    InstructionFile, ModelInfo, NewSession, Original, Prompt, PromptPart, Reach, Resumed, Rewound,
    SessionNotes, SessionPage, SessionSummary, SettingValue, ShownDetail, ShownKind, ShownMessage, ShownRole,
    SlashCommand, SourceCost, Standing,
};
pub use wall_clock::WallClock;
