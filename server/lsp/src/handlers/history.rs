//! `reverie/session/fork`, `rewind`, `export`, `search`: what was said before.

use std::path::PathBuf;

use agent::{ExportFormat, Reach, SearchQuery, SearchRole};
use protocol::{
    ExportSessionParams, ExportSessionResult, ForkSessionParams, ForkSessionResult, KeptFile,
    RewindSessionParams, RewindSessionResult, SearchHit, SearchSessionsParams, SearchSessionsResult,
};
use tower_lsp::jsonrpc::{self, Error};
use uuid::Uuid;

use super::{blocking, error, session_id};
use crate::{convert::path_text, server::Server};

pub(super) async fn fork(server: Server, params: ForkSessionParams) -> jsonrpc::Result<ForkSessionResult> {
    let id = session_id(&params.session_id)?;
    let at = params.message_uuid.as_deref().map(message_uuid).transpose()?;
    let fork = blocking(move || server.agent().fork(&id, at)).await?;
    Ok(ForkSessionResult { session_id: fork.to_string() })
}

pub(super) async fn rewind(
    server: Server,
    params: RewindSessionParams,
) -> jsonrpc::Result<RewindSessionResult> {
    let id = session_id(&params.session_id)?;
    let message = message_uuid(&params.message_uuid)?;
    let restore_files = params.restore_files.unwrap_or(true);
    let force = params.force.unwrap_or(false);
    let rewound = server.agent().rewind(&id, message, restore_files, force).await.map_err(error)?;
    Ok(RewindSessionResult {
        restored: rewound.restored.iter().map(|path| path_text(path)).collect(),
        kept: rewound
            .kept
            .into_iter()
            .map(|(path, reason)| KeptFile { path: path_text(&path), reason })
            .collect(),
        prompt: rewound.prompt,
    })
}

pub(super) async fn export(
    server: Server,
    params: ExportSessionParams,
) -> jsonrpc::Result<ExportSessionResult> {
    let id = session_id(&params.session_id)?;
    let format = match params.format {
        protocol::ExportFormat::Markdown => ExportFormat::Markdown,
        protocol::ExportFormat::Json => ExportFormat::Json,
    };
    let path = params.path.map(PathBuf::from);
    let written = path.clone();
    let text = blocking(move || server.agent().export(&id, format, path.as_deref())).await?;
    Ok(match written {
        Some(path) => ExportSessionResult { text: None, path: Some(path_text(&path)) },
        None => ExportSessionResult { text: Some(text), path: None },
    })
}

pub(super) async fn search(
    server: Server,
    params: SearchSessionsParams,
) -> jsonrpc::Result<SearchSessionsResult> {
    let query = SearchQuery {
        text: params.query,
        since: params.since.as_deref().map(|text| time("since", text)).transpose()?,
        until: params.until.as_deref().map(|text| time("until", text)).transpose()?,
        role: params.role.map(|role| match role {
            protocol::SearchRole::User => SearchRole::User,
            protocol::SearchRole::Assistant => SearchRole::Assistant,
            protocol::SearchRole::Tool => SearchRole::Tool,
        }),
        session: params.session_id.as_deref().map(session_id).transpose()?,
        limit: params.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or_default(),
        message: params.message_uuid.as_deref().map(message_uuid).transpose()?,
        parent: params.parent_uuid.as_deref().map(|text| uuid("parentUuid", text)).transpose()?,
    };
    let reach = if params.all { Reach::Everywhere } else { Reach::Workspace };
    let hits = blocking(move || Ok(server.agent().search(&query, reach))).await?;
    Ok(SearchSessionsResult {
        hits: hits
            .into_iter()
            .map(|hit| SearchHit {
                session_id: hit.session.to_string(),
                message_uuid: hit.message.to_string(),
                role: match hit.role {
                    SearchRole::User => protocol::SearchRole::User,
                    SearchRole::Assistant => protocol::SearchRole::Assistant,
                    SearchRole::Tool => protocol::SearchRole::Tool,
                },
                timestamp: hit.timestamp.to_string(),
                snippet: hit.snippet,
            })
            .collect(),
    })
}

pub(super) fn message_uuid(text: &str) -> jsonrpc::Result<Uuid> {
    uuid("messageUuid", text)
}

fn uuid(field: &str, text: &str) -> jsonrpc::Result<Uuid> {
    Uuid::try_parse(text)
        .map_err(|_| Error::invalid_params(format!("{field}: `{text}` is not the id of a message")))
}

pub(super) fn time(field: &str, text: &str) -> jsonrpc::Result<jiff::Timestamp> {
    text.parse().map_err(|_| {
        Error::invalid_params(format!("{field}: `{text}` is not a time like 2026-03-01T09:30:00Z"))
    })
}
