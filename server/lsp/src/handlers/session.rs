//! `reverie/session/*`.

use agent::{NewSession, Prompt, Reach, ShownDetail, ShownKind, ShownRole, Strategy};
use protocol::{
    Branch, CancelSessionParams, ConfigureSessionParams, DeleteSessionParams, EarlierMessagesParams,
    EarlierMessagesResult, Empty, ListSessionsParams, ListSessionsResult, MemoryEventFile, MentionedFile,
    MessageKind, MessageRole, NewSessionParams, NewSessionResult, Position, PromptPart, PromptSessionParams,
    PromptSessionResult, Range, RenameSessionParams, ResumeSessionParams, ResumeSessionResult,
    ResumeStrategy, SessionMessage, SessionSummary,
};
use tower_lsp::jsonrpc::{self, Error};

use super::{blocking, error, history::message_uuid, session_id};
use crate::{
    convert::{path_text, todo_item, tool_display},
    documents::to_range,
    server::Server,
    uri,
};

/// The transcript says that a memory was put beside a prompt, not why.
const RECALLED_BEFORE: &str = "it was recalled for this message";

pub(super) async fn new(server: Server, params: NewSessionParams) -> jsonrpc::Result<NewSessionResult> {
    let NewSessionParams { cwd, model, mode, title } = params;
    let new = NewSession { cwd: cwd.map(Into::into), model, mode, title };
    let (id, standing) = blocking(move || {
        let id = server.agent().new_session(new)?;
        let standing = server.agent().standing(&id)?;
        Ok((id, standing))
    })
    .await?;
    Ok(NewSessionResult {
        session_id: id.to_string(),
        model: standing.model,
        mode: Some(standing.mode.to_owned()),
    })
}

pub(super) async fn list(server: Server, params: ListSessionsParams) -> jsonrpc::Result<ListSessionsResult> {
    let page = blocking(move || {
        let limit = params.limit.and_then(|limit| usize::try_from(limit).ok());
        let reach = if params.all { Reach::Everywhere } else { Reach::Workspace };
        server.agent().sessions(params.cursor.as_deref(), limit, params.query.as_deref(), reach)
    })
    .await?;
    Ok(ListSessionsResult {
        sessions: page.sessions.into_iter().map(summary).collect(),
        next_cursor: page.next_cursor,
    })
}

pub(super) async fn resume(
    server: Server,
    params: ResumeSessionParams,
) -> jsonrpc::Result<ResumeSessionResult> {
    let id = session_id(&params.session_id)?;
    let strategy = params.strategy.map(|strategy| match strategy {
        ResumeStrategy::Full => Strategy::Full,
        ResumeStrategy::Partial => Strategy::Partial,
        ResumeStrategy::Minimal => Strategy::Minimal,
    });
    let branch = params.message_uuid.as_deref().map(message_uuid).transpose()?;
    let (resumed, standing) = blocking(move || {
        let resumed = server.agent().resume(&id, strategy, branch)?;
        let standing = server.agent().standing(&id)?;
        Ok((resumed, standing))
    })
    .await?;
    Ok(ResumeSessionResult {
        session_id: resumed.id.to_string(),
        strategy: match resumed.strategy {
            Strategy::Full => ResumeStrategy::Full,
            Strategy::Partial => ResumeStrategy::Partial,
            Strategy::Minimal => ResumeStrategy::Minimal,
        },
        messages: resumed.messages.into_iter().map(message).collect(),
        repairs: resumed.repairs,
        branches: resumed.branches.into_iter().map(branch_of).collect(),
        title: standing.title,
        model: standing.model,
        mode: Some(standing.mode.to_owned()),
        todos: standing.todos.into_iter().map(todo_item).collect(),
        earlier_uuid: resumed.before.map(|uuid| uuid.to_string()),
        running_turn_id: standing.turn,
    })
}

pub(super) async fn earlier(
    server: Server,
    params: EarlierMessagesParams,
) -> jsonrpc::Result<EarlierMessagesResult> {
    let id = session_id(&params.session_id)?;
    let last = message_uuid(&params.message_uuid)?;
    let earlier = blocking(move || server.agent().earlier(&id, last)).await?;
    Ok(EarlierMessagesResult {
        messages: earlier.messages.into_iter().map(message).collect(),
        earlier_uuid: earlier.before.map(|uuid| uuid.to_string()),
    })
}

/// Takes effect before it returns: whatever the client sends next finds the turn.
pub(super) async fn prompt(
    server: Server,
    params: PromptSessionParams,
) -> jsonrpc::Result<PromptSessionResult> {
    let id = session_id(&params.session_id)?;
    let editor = params.editor.unwrap_or_default();
    let prompt = Prompt {
        parts: params.prompt.into_iter().map(prompt_part).collect::<jsonrpc::Result<_>>()?,
        active_file: editor.active_uri.as_deref().and_then(uri::to_path),
        selection: editor.selection.map(to_range),
    };
    let accepted = server.agent().prompt(&id, prompt).map_err(error)?;
    server.show_turn(id.as_str(), &accepted.turn, params.work_done_token);
    Ok(PromptSessionResult { turn_id: accepted.turn, queued: accepted.queued })
}

pub(super) async fn cancel(server: Server, params: CancelSessionParams) -> jsonrpc::Result<Empty> {
    server.agent().cancel(&session_id(&params.session_id)?).map_err(error)?;
    Ok(Empty {})
}

/// Takes effect before it returns, as a prompt does: a few file operations, and on a thread of their own two of them
/// could change places.
pub(super) async fn delete(server: Server, params: DeleteSessionParams) -> jsonrpc::Result<Empty> {
    server.agent().delete(&session_id(&params.session_id)?).map_err(error)?;
    Ok(Empty {})
}

/// Takes effect before it returns, like `delete`: the last name sent is the one that stays.
pub(super) async fn rename(server: Server, params: RenameSessionParams) -> jsonrpc::Result<Empty> {
    server.agent().rename(&session_id(&params.session_id)?, &params.title).map_err(error)?;
    Ok(Empty {})
}

/// Takes effect before it returns: a prompt that the client sends next runs under it.
pub(super) async fn configure(server: Server, params: ConfigureSessionParams) -> jsonrpc::Result<Empty> {
    let id = session_id(&params.session_id)?;
    server.agent().configure(&id, params.model.as_deref(), params.mode.as_deref()).map_err(error)?;
    Ok(Empty {})
}

fn branch_of(branch: agent::Branch) -> Branch {
    Branch {
        message_uuid: branch.leaf.to_string(),
        first_prompt: branch.first_prompt,
        messages: branch.messages as u64,
        updated_at: branch.updated_at.to_string(),
        current: branch.current,
    }
}

fn prompt_part(part: PromptPart) -> jsonrpc::Result<agent::PromptPart> {
    Ok(match part {
        PromptPart::Text { text } => agent::PromptPart::Text(text),
        PromptPart::Mention { uri, range } => {
            let path = uri::to_path(&uri).ok_or_else(|| {
                Error::invalid_params(format!("prompt: `{uri}` is not the URI of a local file"))
            })?;
            agent::PromptPart::Mention { path, range: range.map(to_range) }
        }
        PromptPart::Image { media_type, data } => agent::PromptPart::Image { media_type, data },
    })
}

fn summary(summary: agent::SessionSummary) -> SessionSummary {
    SessionSummary {
        session_id: summary.id.to_string(),
        title: summary.title,
        first_prompt: summary.first_prompt,
        updated_at: summary.updated_at.to_string(),
        bytes: summary.bytes,
        cost_usd: summary.cost_usd,
        cwd: summary.cwd.as_deref().map(path_text),
        branches: summary.branches.filter(|branches| *branches > 1).map(|branches| branches as u64),
        forked_from: summary.forked_from.map(|session| session.to_string()),
    }
}

fn message(message: agent::ShownMessage) -> SessionMessage {
    let mut shown = SessionMessage {
        uuid: message.uuid.to_string(),
        role: match message.role {
            ShownRole::User => MessageRole::User,
            ShownRole::Assistant => MessageRole::Assistant,
            ShownRole::System => MessageRole::System,
        },
        kind: match message.kind {
            ShownKind::Text => MessageKind::Text,
            ShownKind::Thinking => MessageKind::Thinking,
            ShownKind::ToolUse => MessageKind::ToolUse,
            ShownKind::ToolResult => MessageKind::ToolResult,
            ShownKind::Attachment => MessageKind::Attachment,
            ShownKind::Notice => MessageKind::Notice,
        },
        text: message.text,
        timestamp: message.timestamp.to_string(),
        tool_use_id: None,
        tool: None,
        input: None,
        ok: None,
        display: None,
        recalled: None,
        mentioned: None,
    };
    match message.detail {
        None => {}
        Some(ShownDetail::Call { id, tool, input }) => {
            shown.tool_use_id = Some(id);
            shown.tool = Some(tool);
            shown.input = Some(input);
        }
        Some(ShownDetail::Result { id, ok, display }) => {
            shown.tool_use_id = Some(id);
            shown.ok = Some(ok);
            shown.display = Some(tool_display(display));
        }
        Some(ShownDetail::Recalled { path }) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            shown.recalled = Some(MemoryEventFile {
                path: path_text(&path),
                name,
                r#type: None,
                reason: RECALLED_BEFORE.to_owned(),
                change_id: None,
                diff: None,
            });
        }
        Some(ShownDetail::Mentioned { path, lines }) => {
            let whole_lines = |(first, last): (u32, u32)| Range {
                start: Position { line: first.saturating_sub(1), character: 0 },
                end: Position { line: last, character: 0 },
            };
            shown.mentioned =
                Some(MentionedFile { uri: uri::from_path(&path), range: lines.map(whole_lines) });
        }
    }
    shown
}
