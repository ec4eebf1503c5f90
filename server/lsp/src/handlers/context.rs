//! `reverie/context/*`, and what changes the context: `reverie/session/compact`, `uncompact`.

use agent::{Compact, CompactMode, CompactTrigger};
use protocol::{
    CompactSessionParams, CompactSessionResult, Compactions, ContextChange, ContextLayoutParams,
    ContextLayoutResult, ContextOriginalParams, ContextOriginalResult, ContextPart, ContextReportParams,
    ContextReportResult, Empty, PastCompaction, SessionNotes, SourceCost, UncompactSessionParams,
};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{self, Error};

use super::{blocking, error, history::message_uuid, session_id};
use crate::{
    convert::{cache_effect, context_level, path_text, tokens},
    server::Server,
};

/// Counting tokens takes a while: not on the reader's time.
pub(super) async fn report(
    server: Server,
    params: ContextReportParams,
) -> jsonrpc::Result<ContextReportResult> {
    let id = session_id(&params.session_id)?;
    let report = blocking(move || server.agent().context_report(&id)).await?;
    let change = |(at, entry): (jiff::Timestamp, agent::LedgerEntry)| ContextChange {
        at: at.to_string(),
        layer: entry.layer,
        detail: entry.detail,
        messages: entry.messages,
        tokens_freed: entry.tokens_freed,
        cache: cache_effect(entry.cache_kept),
        original: entry.original,
    };
    let source = |spent: agent::SourceCost| SourceCost {
        source: spent.source,
        usage: tokens(&spent.usage),
        cache_hit_rate: spent.cache_hit_rate,
        cost_usd: spent.cost_usd,
    };
    Ok(ContextReportResult {
        window: report.window,
        used: report.used,
        level: context_level(report.level),
        parts: report.parts.into_iter().map(|(name, tokens)| ContextPart { name, tokens }).collect(),
        ledger: report.ledger.into_iter().map(change).collect(),
        threshold: report.threshold,
        percent_left: report.percent_left,
        next_step: report.next_step.to_owned(),
        compactions: compactions(report.compactions),
        can_uncompact: report.can_uncompact,
        sources: report.sources.into_iter().map(source).collect(),
        notes: report.notes.map(|notes| SessionNotes {
            path: path_text(&notes.path),
            upto: notes.upto.map(|message| message.to_string()),
            updated_at: notes.updated_at.to_string(),
        }),
    })
}

fn compactions(history: agent::Compactions) -> Compactions {
    let past = history.compactions.into_iter().map(|past| PastCompaction {
        layer: past.record.layer,
        trigger: match past.record.trigger {
            CompactTrigger::Auto => protocol::CompactTrigger::Auto,
            CompactTrigger::Manual => protocol::CompactTrigger::Manual,
            CompactTrigger::Reactive => protocol::CompactTrigger::Reactive,
        },
        messages: past.record.messages,
        tokens_before: past.record.tokens_before,
        tokens_after: past.record.tokens_after,
        ratio: past.ratio,
        score: past.record.score,
    });
    Compactions {
        list: past.collect(),
        tokens_saved: history.tokens_saved,
        average_ratio: history.average_ratio,
    }
}

pub(super) async fn original(
    server: Server,
    params: ContextOriginalParams,
) -> jsonrpc::Result<ContextOriginalResult> {
    let id = session_id(&params.session_id)?;
    let original = blocking(move || server.agent().original(&id, &params.id)).await?;
    Ok(ContextOriginalResult { text: original.text, path: path_text(&original.path) })
}

pub(super) async fn layout(
    server: Server,
    params: ContextLayoutParams,
) -> jsonrpc::Result<ContextLayoutResult> {
    let id = session_id(&params.session_id)?;
    let lines = server.agent().layout(&id).await.map_err(error)?;
    Ok(ContextLayoutResult { lines })
}

/// Answers when it is done, which may take as long as a model takes to write a summary.
pub(super) async fn compact(
    server: Server,
    params: CompactSessionParams,
) -> jsonrpc::Result<CompactSessionResult> {
    let id = session_id(&params.session_id)?;
    let at = params.message_uuid.as_deref().map(message_uuid).transpose()?;
    let named = || at.ok_or_else(|| Error::invalid_params("messageUuid: is needed for this mode"));
    let mode = match params.mode.unwrap_or(protocol::CompactMode::Auto) {
        protocol::CompactMode::Auto => CompactMode::Auto,
        protocol::CompactMode::Full => CompactMode::Full,
        protocol::CompactMode::SessionMemory => CompactMode::SessionMemory,
        protocol::CompactMode::From => CompactMode::From(named()?),
        protocol::CompactMode::UpTo => CompactMode::UpTo(named()?),
    };
    let instructions = params.instructions.filter(|words| !words.trim().is_empty());
    let asked = Compact { mode, instructions, preview: params.preview.unwrap_or(false) };
    // A request that is cancelled is dropped.
    let cancel = CancellationToken::new();
    let _until_answered = cancel.clone().drop_guard();
    let job = format!("compact/{}", uuid::Uuid::now_v7());
    server.show_turn(id.as_str(), &job, params.work_done_token);
    let shown = Shown { server: server.clone(), job };
    let outcome = server.agent().compact(&id, asked, cancel).await;
    server.outbound().flush_updates(id.as_str());
    drop(shown);
    let done = outcome.map_err(error)?;
    Ok(CompactSessionResult {
        layer: done.layer.to_owned(),
        tokens_before: done.tokens_before,
        tokens_after: done.tokens_after,
        summary: Some(done.summary),
    })
}

/// Shown as progress while it lives.
struct Shown {
    server: Server,
    job: String,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.server.outbound().end_progress(&self.job, None);
    }
}

/// Takes effect before it returns: a prompt that the client sends next goes to the conversation as it was.
pub(super) async fn uncompact(server: Server, params: UncompactSessionParams) -> jsonrpc::Result<Empty> {
    server.agent().uncompact(&session_id(&params.session_id)?).map_err(error)?;
    Ok(Empty {})
}
