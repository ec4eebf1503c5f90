//! `reverie/trust/*`.

use std::path::PathBuf;

use agent::{Trust, TrustState};
use protocol::{GetTrustParams, SetTrustParams, TrustItem, TrustResult, TrustStatus};
use tower_lsp::jsonrpc;

use super::blocking;
use crate::{convert::path_text, server::Server};

pub(super) async fn get(server: Server, params: GetTrustParams) -> jsonrpc::Result<TrustResult> {
    blocking(move || server.agent().trust(params.folder.map(PathBuf::from))).await.map(result)
}

/// Takes effect before it returns: a prompt that the client sends next is answered under it.
pub(super) async fn set(server: Server, params: SetTrustParams) -> jsonrpc::Result<TrustResult> {
    server
        .agent()
        .set_trust(params.folder.map(PathBuf::from), params.trusted, params.digest.as_deref())
        .map(result)
        .map_err(super::error)
}

fn result(trust: Trust) -> TrustResult {
    TrustResult {
        digest: trust.digest(),
        changes: trust.changes,
        cannot: trust.cannot,
        folder: path_text(&trust.folder),
        status: match trust.status {
            TrustState::Trusted => TrustStatus::Trusted,
            TrustState::Untrusted => TrustStatus::Untrusted,
            TrustState::Changed => TrustStatus::Changed,
        },
        items: trust
            .items
            .into_iter()
            .map(|item| TrustItem { kind: item.kind, path: path_text(&item.path), detail: item.detail })
            .collect(),
    }
}
