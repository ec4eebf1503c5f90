//! What views show of a session and of the server: messages, the window's contents, models, settings.

use std::{path::Path, sync::Arc};

use context::estimate;
use conversation::{Block, Body, Message, ResultContent};

use crate::{
    opening, recall,
    session::Session,
    shared::Shared,
    types::{AgentError, ContextReport, ModelInfo, SettingValue, ShownKind, ShownMessage, ShownRole},
};

pub(crate) fn shown_messages(thread: &[Arc<Message>]) -> Vec<ShownMessage> {
    thread.iter().flat_map(|message| shown(message)).collect()
}

fn shown(message: &Message) -> Vec<ShownMessage> {
    let show = |role, kind, text| ShownMessage {
        uuid: message.uuid,
        role,
        kind,
        text,
        timestamp: message.timestamp,
    };
    let (role, content) = match &message.body {
        Body::User { content } => (ShownRole::User, content),
        Body::Assistant { content, .. } => (ShownRole::Assistant, content),
        Body::System { text, .. } => return vec![show(ShownRole::System, ShownKind::Notice, text.clone())],
        Body::Attachment(attachment) => {
            return vec![show(ShownRole::User, ShownKind::Attachment, head(&attachment.text))];
        }
    };
    let kind_of_text = if message.flags.meta { ShownKind::Attachment } else { ShownKind::Text };
    content
        .iter()
        .map(|block| match block {
            Block::Text { text } => show(role, kind_of_text, text.clone()),
            Block::Thinking { thinking, .. } => show(role, ShownKind::Thinking, thinking.clone()),
            Block::RedactedThinking { .. } => {
                show(role, ShownKind::Thinking, "(hidden by the provider)".to_owned())
            }
            Block::ToolUse { name, input, .. } => show(role, ShownKind::ToolUse, format!("{name} {input}")),
            Block::ToolResult { content, .. } => show(role, ShownKind::ToolResult, result_head(content)),
            Block::Image { .. } => show(role, ShownKind::Text, "[image]".to_owned()),
            Block::Document { .. } => show(role, ShownKind::Text, "[document]".to_owned()),
            Block::Unknown(value) => show(role, ShownKind::Text, value.to_string()),
        })
        .collect()
}

/// A view shows the head of a long result; the whole is in the transcript.
const SHOWN_BYTES: usize = 4_000;

fn head(text: &str) -> String {
    if text.len() <= SHOWN_BYTES {
        return text.to_owned();
    }
    let shown = text.get(..text.floor_char_boundary(SHOWN_BYTES)).unwrap_or_default();
    format!("{shown}\n… ({} more bytes)", text.len() - shown.len())
}

fn result_head(content: &ResultContent) -> String {
    match content {
        ResultContent::Text(text) => head(text),
        ResultContent::Blocks(blocks) => {
            let texts = blocks.iter().map(|block| match block {
                Block::Text { text } => head(text),
                Block::Image { .. } => "[image]".to_owned(),
                _ => "[other content]".to_owned(),
            });
            head(&texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

pub(crate) fn context(session: &Session) -> Result<ContextReport, AgentError> {
    let settings = session.shared.settings(&session.cwd).settings;
    // Counting is long: not under the lock that a cancel needs.
    let (thread, rendered, wanted, ledger) = {
        let state = session.state();
        let wanted = state.model_name.clone().or_else(|| session.shared.command_line_model());
        (state.thread.clone(), state.rendered.clone(), wanted, state.ledger.clone())
    };
    let name = wanted.as_deref().or(rendered.as_ref().map(|rendered| rendered.model.as_str()));
    let models = session.shared.models(&settings);
    let (spec, _) = models.resolve(name).map_err(|error| AgentError::Invalid(error.to_string()))?;
    let mut parts = Vec::new();
    if let Some(rendered) = &rendered {
        let system = rendered.system.iter().map(|block| estimate::tokens_of_text(&block.text)).sum();
        parts.push(("system".to_owned(), system));
        parts.push(("tools".to_owned(), estimate::tokens_of_json(&&*rendered.tools)));
        parts.push(("instructions".to_owned(), estimate::tokens_of_blocks(&rendered.context)));
    }
    parts.extend(messages_by_kind(&thread));
    let used = match &rendered {
        Some(rendered) => rendered.context_tokens(&thread),
        None => estimate::context_tokens(&thread),
    };
    parts.push(("free".to_owned(), spec.context_window.saturating_sub(used)));
    Ok(ContextReport { window: spec.context_window, used, level: opening::level(&spec, used), parts, ledger })
}

fn messages_by_kind(thread: &[Arc<Message>]) -> Vec<(String, u64)> {
    let (mut user, mut assistant, mut results, mut memories, mut attachments) = (0, 0, 0, 0, 0);
    for message in thread {
        match &message.body {
            Body::User { content } => {
                for block in content {
                    let tokens = estimate::tokens_of_blocks(std::slice::from_ref(block));
                    let part =
                        if matches!(block, Block::ToolResult { .. }) { &mut results } else { &mut user };
                    *part += tokens;
                }
            }
            Body::Assistant { content, .. } => assistant += estimate::tokens_of_blocks(content),
            Body::Attachment(attachment) => {
                let part = if attachment.kind == recall::KIND { &mut memories } else { &mut attachments };
                *part += estimate::tokens_of_text(&attachment.text);
            }
            Body::System { .. } => {}
        }
    }
    [
        ("user messages", user),
        ("assistant messages", assistant),
        ("tool results", results),
        ("memories", memories),
        ("attachments", attachments),
    ]
    .into_iter()
    .map(|(name, tokens)| (name.to_owned(), tokens))
    .collect()
}

pub(crate) fn models(shared: &Shared, folder: &Path) -> Vec<ModelInfo> {
    let settings = shared.settings(folder).settings;
    let models = shared.models(&settings);
    let default = models.resolve(None).ok().map(|(spec, _)| spec.id());
    models
        .list()
        .into_iter()
        .map(|(spec, available)| ModelInfo {
            default: default.as_deref() == Some(spec.id().as_str()),
            id: spec.id(),
            name: spec.display_name,
            context_window: spec.context_window,
            max_output_tokens: spec.max_output_tokens,
            available,
        })
        .collect()
}

pub(crate) fn settings(shared: &Shared, folder: &Path) -> Vec<SettingValue> {
    shared
        .settings(folder)
        .settings
        .entries()
        .into_iter()
        .map(|entry| SettingValue { key: entry.key, value: entry.value, source: entry.source })
        .collect()
}
