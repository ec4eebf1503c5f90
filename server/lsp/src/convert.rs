//! The agent's words in the protocol's: one function a type, nothing decided here.

use std::path::Path;

use agent::{AgentEvent, ContextLevel, NoticeLevel, PermissionQuestion, TurnEnd, TurnStop};
use agent::{Display, EditorDiagnostic, EditorSymbol, Preview, Severity};
pub(crate) use conversation::SessionId;
use protocol::{
    AskPermissionParams, CacheEffect, PermissionChoice, PermissionOption, PermissionPreview, StopReason,
    TodoItem, TodoStatus, ToolDisplay, TurnError, Update, Usage,
};

use crate::uri;

pub(crate) fn update(event: AgentEvent) -> Update {
    match event {
        AgentEvent::TextDelta { text } => Update::TextDelta { text },
        AgentEvent::ThinkingDelta { text } => Update::ThinkingDelta { text },
        AgentEvent::ToolStart { tool_use_id, tool, input } => Update::ToolStart { tool_use_id, tool, input },
        AgentEvent::ToolProgress { tool_use_id, text } => Update::ToolProgress { tool_use_id, text },
        AgentEvent::ToolEnd { tool_use_id, ok, display } => {
            Update::ToolEnd { tool_use_id, ok, display: tool_display(display) }
        }
        AgentEvent::Usage {
            usage,
            context_used,
            context_window,
            level,
            percent_left,
            next_step,
            cache_hit_rate,
            cost_usd,
        } => Update::Usage {
            usage: tokens(&usage),
            context_used,
            context_window,
            level: context_level(level),
            percent_left,
            next_step: next_step.to_owned(),
            cache_hit_rate,
            cost_usd,
        },
        AgentEvent::Context { layer, detail, tokens_freed, cache_kept, original } => {
            Update::Context { layer, detail, tokens_freed, cache: cache_effect(cache_kept), original }
        }
        AgentEvent::Retry { attempt, delay, reason, discard } => Update::Retry {
            attempt,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason,
            discard,
        },
        AgentEvent::Notice { level, text } => Update::Notice { level: notice_level(level), text },
        AgentEvent::Todo { items } => Update::Todo { items: items.into_iter().map(todo_item).collect() },
        AgentEvent::Plan { text } => Update::Plan { text },
        AgentEvent::Title { title } => Update::Title { title },
        AgentEvent::Joined => Update::Joined {},
        AgentEvent::Configured { model, mode } => Update::Configured { model, mode: Some(mode.to_owned()) },
        AgentEvent::TurnEnd(TurnEnd { stop, usage, error, said }) => Update::TurnEnd {
            stop_reason: stop_reason(stop),
            usage: tokens(&usage),
            error: error.map(|(code, message)| TurnError { code, message }),
            prompt_uuid: said.map(|said| said.prompt.to_string()),
            message_uuid: said.map(|said| said.last.to_string()),
        },
    }
}

pub(crate) fn permission_question(question: PermissionQuestion) -> AskPermissionParams {
    let PermissionQuestion { session, tool_use_id, tool, input, reason, preview, rule } = question;
    let option = |id, label: String| PermissionOption { id, label, rule: None };
    let granting = |id, label: String| PermissionOption { id, label, rule: Some(rule.clone()) };
    AskPermissionParams {
        session_id: session.to_string(),
        tool_use_id,
        tool,
        input,
        reason,
        preview: preview.map(permission_preview),
        options: vec![
            option(PermissionChoice::AllowOnce, "Allow once".to_owned()),
            granting(PermissionChoice::AllowSession, "Allow for this session".to_owned()),
            granting(PermissionChoice::AllowAlways, format!("Always allow {rule}")),
            option(PermissionChoice::Deny, "Deny".to_owned()),
        ],
    }
}

pub(crate) fn permission_option(choice: PermissionChoice) -> agent::PermissionOption {
    match choice {
        PermissionChoice::AllowOnce => agent::PermissionOption::AllowOnce,
        PermissionChoice::AllowSession => agent::PermissionOption::AllowSession,
        PermissionChoice::AllowAlways => agent::PermissionOption::AllowAlways,
        PermissionChoice::Deny => agent::PermissionOption::Deny,
    }
}

pub(crate) fn context_level(level: ContextLevel) -> protocol::ContextLevel {
    match level {
        ContextLevel::Normal => protocol::ContextLevel::Normal,
        ContextLevel::Warning => protocol::ContextLevel::Warning,
        ContextLevel::Error => protocol::ContextLevel::Error,
        ContextLevel::Critical => protocol::ContextLevel::Critical,
    }
}

pub(crate) fn cache_effect(kept: bool) -> CacheEffect {
    if kept { CacheEffect::Kept } else { CacheEffect::Broken }
}

/// `None` for what is not about a local file.
pub(crate) fn editor_diagnostic(diagnostic: protocol::EditorDiagnostic) -> Option<EditorDiagnostic> {
    let start = diagnostic.range.start;
    Some(EditorDiagnostic {
        path: uri::to_path(&diagnostic.uri)?,
        line: start.line as usize + 1,
        column: start.character as usize + 1,
        severity: match diagnostic.severity {
            1 => Severity::Error,
            2 => Severity::Warning,
            3 => Severity::Information,
            _ => Severity::Hint,
        },
        message: diagnostic.message,
        source: diagnostic.source,
        code: diagnostic.code,
    })
}

pub(crate) fn editor_symbol(symbol: protocol::EditorSymbol) -> Option<EditorSymbol> {
    let kind = symbol.kind.checked_sub(1).and_then(|index| SYMBOL_KINDS.get(index as usize));
    Some(EditorSymbol {
        name: symbol.name,
        kind: (*kind.unwrap_or(&"symbol")).to_owned(),
        path: uri::to_path(&symbol.uri)?,
        line: symbol.range.start.line as usize + 1,
        end_line: symbol.range.end.line as usize + 1,
        container: symbol.container,
    })
}

/// LSP's, from 1.
const SYMBOL_KINDS: [&str; 26] = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum member",
    "struct",
    "event",
    "operator",
    "type parameter",
];

/// Paths go out as text; a name that is not UTF-8 is shown as well as it can be.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(crate) fn tool_display(display: Display) -> ToolDisplay {
    match display {
        Display::Text { text } => ToolDisplay::Text { text },
        Display::Diff { path, diff } => ToolDisplay::Diff { path: path_text(&path), diff },
        Display::Files { paths } => {
            ToolDisplay::Files { paths: paths.iter().map(|path| path_text(path)).collect() }
        }
        Display::Terminal { command, output, exit_code } => {
            ToolDisplay::Terminal { command, output, exit_code }
        }
    }
}

fn permission_preview(preview: Preview) -> PermissionPreview {
    match preview {
        Preview::Diff(text) => PermissionPreview::Diff { text },
        Preview::Command(text) => PermissionPreview::Command { text },
        Preview::Text(text) => PermissionPreview::Text { text },
    }
}

pub(crate) fn tokens(usage: &conversation::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_input_tokens,
        cache_write_tokens: usage.cache_creation_input_tokens,
    }
}

fn notice_level(level: NoticeLevel) -> protocol::NoticeLevel {
    match level {
        NoticeLevel::Info => protocol::NoticeLevel::Info,
        NoticeLevel::Warning => protocol::NoticeLevel::Warning,
        NoticeLevel::Error => protocol::NoticeLevel::Error,
    }
}

pub(crate) fn todo_item(item: agent::TodoItem) -> TodoItem {
    let status = match item.status {
        agent::TodoStatus::Completed => TodoStatus::Completed,
        agent::TodoStatus::InProgress => TodoStatus::InProgress,
        agent::TodoStatus::Pending => TodoStatus::Pending,
    };
    TodoItem { content: item.content, status, active_form: item.active_form }
}

fn stop_reason(stop: TurnStop) -> StopReason {
    match stop {
        TurnStop::EndTurn => StopReason::EndTurn,
        TurnStop::Cancelled => StopReason::Cancelled,
        TurnStop::MaxRounds => StopReason::MaxRounds,
        TurnStop::Budget => StopReason::Budget,
        TurnStop::Refused => StopReason::Refused,
        TurnStop::Blocked => StopReason::Blocked,
        TurnStop::Error => StopReason::Error,
    }
}

pub(crate) fn memory_event(event: agent::MemoryEvent) -> protocol::MemoryEventParams {
    use agent::MemoryEventKind as Kind;
    protocol::MemoryEventParams {
        kind: match event.kind {
            Kind::Recalled => protocol::MemoryEventKind::Recalled,
            Kind::Saved => protocol::MemoryEventKind::Saved,
            Kind::Updated => protocol::MemoryEventKind::Updated,
            Kind::Deleted => protocol::MemoryEventKind::Deleted,
            Kind::Undone => protocol::MemoryEventKind::Undone,
            Kind::Stale => protocol::MemoryEventKind::Stale,
        },
        session_id: event.session.map(|session| session.to_string()),
        turn_id: event.turn,
        by: crate::handlers::memory::actor(event.by),
        files: event
            .files
            .into_iter()
            .map(|file| protocol::MemoryEventFile {
                path: path_text(&file.path),
                name: file.name,
                r#type: file.kind.map(|kind| kind.as_str().to_owned()),
                reason: file.reason,
                change_id: file.change,
                diff: file.diff,
            })
            .collect(),
    }
}

pub(crate) fn gate(gate: agent::Gate) -> protocol::Gate {
    protocol::Gate { name: gate.name.to_owned(), open: gate.open, detail: gate.detail }
}

pub(crate) fn dream_progress(progress: agent::DreamProgress) -> protocol::DreamProgressParams {
    let round = |round: agent::DreamRound| protocol::DreamRound {
        text: round.text,
        tool_calls: u64::try_from(round.tool_calls).unwrap_or(u64::MAX),
    };
    protocol::DreamProgressParams {
        dream_id: progress.dream,
        status: dream_outcome(progress.status),
        phase: match progress.phase {
            agent::DreamPhase::Starting => protocol::DreamPhase::Starting,
            agent::DreamPhase::Updating => protocol::DreamPhase::Updating,
        },
        rounds: progress.rounds,
        files_touched: progress.files_touched.iter().map(|path| path_text(path)).collect(),
        text: progress.text,
        latest: progress.latest.into_iter().map(round).collect(),
    }
}

pub(crate) fn dream_outcome(outcome: agent::JobState) -> protocol::DreamOutcome {
    match outcome {
        agent::JobState::Running => protocol::DreamOutcome::Running,
        agent::JobState::Completed => protocol::DreamOutcome::Completed,
        agent::JobState::Failed => protocol::DreamOutcome::Failed,
        agent::JobState::Killed => protocol::DreamOutcome::Killed,
    }
}
