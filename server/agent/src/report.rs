//! What views show of a session and of the server: messages, the window's contents, models, settings.

use std::{borrow::Cow, collections::HashMap, path::Path, sync::Arc};

use context::{Calibration, Composition, estimate, tokenizer};
use conversation::{Block, Body, CostState, Message, ModelCost, ResultContent, Usage};
use model::ModelSpec;
use serde::Serialize;
use serde_json::Value;

use crate::{
    attachments,
    background::notes,
    event::{AgentEvent, TurnId},
    history, meter, recall,
    session::Session,
    shared::Shared,
    tool_call,
    turns::TITLE_CHARS,
    types::{
        AgentError, ContextReport, ModelInfo, SettingValue, ShownDetail, ShownKind, ShownMessage, ShownRole,
        SourceCost, Standing,
    },
};

pub(crate) fn shown_messages(thread: &[Arc<Message>]) -> Vec<ShownMessage> {
    let mut calls = HashMap::new();
    thread.iter().flat_map(|message| shown(message, &mut calls)).collect()
}

/// `calls` has the calls so far by their ids: how a result is shown depends on them.
fn shown<'a>(message: &'a Message, calls: &mut HashMap<&'a str, (&'a str, &'a Value)>) -> Vec<ShownMessage> {
    let show = |role, kind, text, detail| ShownMessage {
        uuid: message.uuid,
        role,
        kind,
        text,
        timestamp: message.timestamp,
        detail,
    };
    let (role, content) = match &message.body {
        Body::User { content } => (ShownRole::User, content),
        Body::Assistant { content, .. } => (ShownRole::Assistant, content),
        Body::System { text, .. } => {
            return vec![show(ShownRole::System, ShownKind::Notice, text.clone(), None)];
        }
        Body::Attachment(attachment) => {
            let recalled = recall::attached_path(attachment).map(|path| ShownDetail::Recalled { path });
            let detail = recalled.or_else(|| attachments::mentioned(attachment));
            return vec![show(ShownRole::User, ShownKind::Attachment, head(&attachment.text), detail)];
        }
    };
    let kind_of_text = if message.flags.meta { ShownKind::Attachment } else { ShownKind::Text };
    // Beside words a picture goes along with them; alone it is what was said.
    let has_words = content.iter().any(|block| matches!(block, Block::Text { .. }));
    let kind_of_picture = if has_words { ShownKind::Attachment } else { kind_of_text };
    content
        .iter()
        .map(|block| match block {
            Block::Text { text } => show(role, kind_of_text, text.clone(), None),
            Block::Thinking { thinking, .. } => show(role, ShownKind::Thinking, thinking.clone(), None),
            Block::RedactedThinking { .. } => {
                show(role, ShownKind::Thinking, "(hidden by the provider)".to_owned(), None)
            }
            Block::ToolUse { id, name, input } => {
                calls.insert(id, (name, input));
                let detail = ShownDetail::Call { id: id.clone(), tool: name.clone(), input: input.clone() };
                show(role, ShownKind::ToolUse, format!("{name} {input}"), Some(detail))
            }
            Block::ToolResult { tool_use_id, content, is_error } => {
                let text = result_head(content);
                let (tool, input) = calls.get(tool_use_id.as_str()).copied().unwrap_or(("", &Value::Null));
                let words = if *is_error { tool_call::to_the_user(&text) } else { text.clone() };
                let display = tools::past_display(tool, input, !is_error, words);
                let detail = ShownDetail::Result { id: tool_use_id.clone(), ok: !is_error, display };
                show(role, ShownKind::ToolResult, text, Some(detail))
            }
            Block::Image { .. } => show(role, kind_of_picture, "[image]".to_owned(), None),
            Block::Document { .. } => show(role, kind_of_picture, "[document]".to_owned(), None),
            Block::Unknown(value) => show(role, ShownKind::Text, value.to_string(), None),
        })
        .collect()
}

pub(crate) fn standing(session: &Session) -> Standing {
    let settings = session.shared.settings(&session.cwd).settings;
    let (title, wanted, turn) = {
        let state = session.state();
        let title = state.title.clone().unwrap_or_else(|| first_words(&state.thread));
        let rendered = state.rendered.as_ref().map(|rendered| rendered.model.clone());
        let wanted = state.model_name.clone().or_else(|| session.shared.command_line_model()).or(rendered);
        (title, wanted, state.turn.clone())
    };
    let resolved = session.shared.models(&settings).resolve(wanted.as_deref());
    Standing {
        title,
        model: resolved.ok().map(|(spec, _)| spec.id()),
        mode: session.mode().as_str(),
        todos: tool_call::todo_items(session),
        turn,
    }
}

/// What was said in a session has led to another model or mode: whoever shows them has to know.
pub(crate) fn tell_standing(session: &Session, turn: Option<&TurnId>) {
    let Standing { model, mode, .. } = standing(session);
    session.emit(turn, AgentEvent::Configured { model, mode });
}

/// What stands for the name of a session that was given none.
fn first_words(thread: &[Arc<Message>]) -> String {
    let prompt = thread.iter().find(|message| history::is_prompt(message));
    let text = prompt.map(|message| history::text_of(message)).unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(TITLE_CHARS).collect()
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
    let (thread, rendered, wanted, projection) = {
        let state = session.state();
        let wanted = state.model_name.clone().or_else(|| session.shared.command_line_model());
        (state.thread.clone(), state.rendered.clone(), wanted, state.window.projection.clone())
    };
    let name = wanted.as_deref().or(rendered.as_ref().map(|rendered| rendered.model.as_str()));
    let models = session.shared.models(&settings);
    let (spec, _) = models.resolve(name).map_err(|error| AgentError::Invalid(error.to_string()))?;
    let counter = Counter::new(session, &spec, &thread);
    let mut parts = Vec::new();
    if let Some(rendered) = &rendered {
        parts.push(("system", rendered.system.iter().map(|block| counter.text(&block.text)).sum()));
        parts.push(("tools", counter.json(&&*rendered.tools)));
        parts.push(("instructions", counter.blocks(&rendered.context)));
    }
    parts.extend(messages_by_kind(&projection.view(&thread), |blocks| counter.blocks(blocks)));
    let used = match counter {
        Counter::Learnt { .. } => meter::used(session, rendered.as_ref(), &spec),
        Counter::Exact => parts.iter().map(|(_, tokens)| tokens).sum(),
    };
    let mut parts = scaled(parts, used);
    parts.push(("free".to_owned(), spec.context_window.saturating_sub(used)));
    let budget = meter::budget(session, &settings, &spec);
    let state = session.state();
    Ok(ContextReport {
        window: spec.context_window,
        used,
        level: meter::level(&budget, used),
        threshold: budget.autocompact_threshold(),
        percent_left: budget.percent_left(used),
        next_step: budget.next_step(used, meter::compaction(&state.window, session, &settings)),
        parts,
        ledger: state.window.ledger(),
        compactions: state.window.history(),
        can_uncompact: state.window.undo.is_some(),
        sources: sources(&state.cost),
        notes: notes::written(session, &state.window),
    })
}

/// What a vocabulary counts in a few milliseconds.
const COUNTED_BYTES: u64 = 256 * 1024;

/// How the parts of a report are counted.
enum Counter<'a> {
    /// By what the model's usage has taught.
    Learnt { session: &'a Session, spec: &'a ModelSpec },
    /// Nothing was reported yet: by a vocabulary.
    Exact,
}

impl<'a> Counter<'a> {
    fn new(session: &'a Session, spec: &'a ModelSpec, thread: &[Arc<Message>]) -> Self {
        // Of an empty conversation nobody wants to know it that well, and for a long one nobody waits.
        let sizes = thread.iter().map(|message| Composition::of_message(message)).sum::<Composition>();
        let bytes = 4 * Calibration::default().tokens("", &sizes);
        let is_short = !thread.is_empty() && bytes <= COUNTED_BYTES;
        let learnt = !is_short || session.state().window.calibration.knows(&spec.id());
        if learnt { Self::Learnt { session, spec } } else { Self::Exact }
    }

    fn text(&self, text: &str) -> u64 {
        match self {
            Self::Learnt { session, spec } => meter::of_blocks(session, spec, &[Block::text(text)]),
            Self::Exact => tokenizer::count(text),
        }
    }

    fn json(&self, value: &impl Serialize) -> u64 {
        match self {
            Self::Learnt { session, spec } => meter::of_json(session, spec, value),
            Self::Exact => tokenizer::count(&serde_json::to_string(value).unwrap_or_default()),
        }
    }

    fn blocks(&self, blocks: &[Block]) -> u64 {
        match self {
            Self::Learnt { session, spec } => meter::of_blocks(session, spec, blocks),
            Self::Exact => blocks.iter().map(|block| self.block(block)).sum(),
        }
    }

    fn block(&self, block: &Block) -> u64 {
        match block {
            Block::Text { text } => self.text(text),
            Block::Image { .. } | Block::Document { .. } => {
                estimate::tokens_of_blocks(std::slice::from_ref(block))
            }
            other => self.json(other),
        }
    }
}

/// The provider says how much all of it is; how it is divided is an estimate.
fn scaled(parts: Vec<(&'static str, u64)>, used: u64) -> Vec<(String, u64)> {
    let estimated: u64 = parts.iter().map(|(_, tokens)| tokens).sum();
    let mut left = used;
    let mut rest = estimated;
    let scale = |(name, tokens): (&str, u64)| {
        // What is left over by rounding goes to the last ones.
        let share = (tokens as f64 / rest.max(1) as f64 * left as f64).round() as u64;
        let share = share.min(left);
        (left, rest) = (left - share, rest - tokens);
        (name.to_owned(), share)
    };
    parts.into_iter().map(scale).collect()
}

fn sources(cost: &CostState) -> Vec<SourceCost> {
    let of = |(source, spent): (&String, &ModelCost)| SourceCost {
        source: source.clone(),
        usage: spent.usage,
        cache_hit_rate: cache_hit_rate(&spent.usage),
        cost_usd: spent.cost_usd,
    };
    cost.sources.iter().map(of).collect()
}

/// The share of the input that came from the cache.
pub(crate) fn cache_hit_rate(usage: &Usage) -> f64 {
    let read = usage.cache_read_input_tokens as f64;
    let all = read + usage.input_tokens as f64 + usage.cache_creation_input_tokens as f64;
    if all == 0.0 { 0.0 } else { read / all }
}

fn messages_by_kind(view: &[Cow<'_, Message>], tokens: impl Fn(&[Block]) -> u64) -> Vec<(&'static str, u64)> {
    let (mut user, mut assistant, mut results, mut memories, mut summaries, mut attachments) =
        (0, 0, 0, 0, 0, 0);
    for message in view {
        match &message.body {
            Body::User { content } if message.flags.compact_summary => summaries += tokens(content),
            Body::User { content } => {
                for block in content {
                    let tokens = tokens(std::slice::from_ref(block));
                    let part =
                        if matches!(block, Block::ToolResult { .. }) { &mut results } else { &mut user };
                    *part += tokens;
                }
            }
            Body::Assistant { content, .. } => assistant += tokens(content),
            Body::Attachment(attachment) => {
                let part = if attachment.kind == recall::KIND { &mut memories } else { &mut attachments };
                *part += tokens(&[Block::text(&attachment.text)]);
            }
            Body::System { .. } => {}
        }
    }
    vec![
        ("user messages", user),
        ("assistant messages", assistant),
        ("tool results", results),
        ("summaries", summaries),
        ("memories", memories),
        ("attachments", attachments),
    ]
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
