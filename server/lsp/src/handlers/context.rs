//! `reverie/context/*`.

use protocol::{ContextChange, ContextPart, ContextReportParams, ContextReportResult};
use tower_lsp::jsonrpc;

use super::{blocking, session_id};
use crate::{
    convert::{cache_effect, context_level},
    server::Server,
};

/// Counting tokens takes a while: not on the reader's time.
pub(super) async fn report(
    server: Server,
    params: ContextReportParams,
) -> jsonrpc::Result<ContextReportResult> {
    let id = session_id(&params.session_id)?;
    let report = blocking(move || server.agent().context_report(&id)).await?;
    Ok(ContextReportResult {
        window: report.window,
        used: report.used,
        level: context_level(report.level),
        parts: report.parts.into_iter().map(|(name, tokens)| ContextPart { name, tokens }).collect(),
        ledger: report
            .ledger
            .into_iter()
            .map(|entry| ContextChange {
                at: entry.at.to_string(),
                layer: entry.layer,
                detail: entry.detail,
                tokens_freed: entry.tokens_freed,
                cache: cache_effect(entry.cache_kept),
            })
            .collect(),
    })
}
