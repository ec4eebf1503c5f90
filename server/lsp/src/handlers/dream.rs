//! `reverie/dream/*`.

use agent::{DreamStarted, StartDream};
use protocol::{
    DreamChange, DreamReportParams, DreamReportResult, DreamState, DreamStatusParams, DreamStatusResult,
    Empty, StartDreamParams, StartDreamResult, StopDreamParams,
};
use tower_lsp::jsonrpc;

use super::{blocking, error, session_id};
use crate::{
    convert::{dream_outcome, dream_progress, gate, path_text, tokens},
    server::Server,
};

/// Looks at the lock first, which is a file.
pub(super) async fn start(server: Server, params: StartDreamParams) -> jsonrpc::Result<StartDreamResult> {
    let session = params.session_id.as_deref().map(session_id).transpose()?;
    let start = StartDream { session, dry_run: params.dry_run.unwrap_or(false) };
    Ok(match blocking(move || server.agent().dream_start(start)).await? {
        DreamStarted::Started(dream_id) => StartDreamResult::Started { dream_id },
        DreamStarted::Skipped(skipped) => StartDreamResult::Skipped { skipped },
    })
}

pub(super) async fn stop(server: Server, params: StopDreamParams) -> jsonrpc::Result<Empty> {
    server.agent().dream_stop(&params.dream_id).map_err(error)?;
    Ok(Empty {})
}

pub(super) async fn status(server: Server, _params: DreamStatusParams) -> jsonrpc::Result<DreamStatusResult> {
    let status = blocking(move || server.agent().dream_status()).await?;
    Ok(DreamStatusResult {
        state: match status.state {
            agent::DreamState::Idle => DreamState::Idle,
            agent::DreamState::Running => DreamState::Running,
            agent::DreamState::Locked => DreamState::Locked,
        },
        last_consolidated_at: status.last_consolidated.map(|at| at.to_string()),
        sessions_since: u64::try_from(status.sessions_since).unwrap_or(u64::MAX),
        gates: status.gates.into_iter().map(gate).collect(),
        running: status.running.map(dream_progress),
    })
}

pub(super) async fn report(server: Server, params: DreamReportParams) -> jsonrpc::Result<DreamReportResult> {
    let report = blocking(move || server.agent().dream_report(params.dream_id.as_deref())).await?;
    let change = |change: agent::DreamChange| DreamChange {
        change_id: change.change,
        path: path_text(&change.path),
        why: change.why,
        diff: change.diff,
    };
    Ok(DreamReportResult {
        dream_id: report.dream,
        status: dream_outcome(report.status),
        dry_run: report.dry_run,
        trigger: report.trigger,
        started_at: report.began.to_string(),
        ended_at: report.ended.to_string(),
        path: report.path.as_deref().map(path_text),
        text: report.text,
        changes: report.changes.into_iter().map(change).collect(),
        usage: tokens(&report.usage),
        cost_usd: report.cost_usd,
    })
}
