//! `reverie/changes/*`: what the agent changed in files, for the user to keep or take back.

use std::{ops::Range, path::PathBuf};

use agent::{ChangeKind, Verdict};
use protocol::{
    ChangedFile, ChangedHunk, ChangedState, LineSpan, ListChangesParams, ListChangesResult, ReadChangeParams,
    ReadChangeResult, ResolveChangesParams,
};
use tower_lsp::jsonrpc;

use super::{blocking, error, session_id};
use crate::{
    convert::{SessionId, path_text},
    server::Server,
};

pub(super) async fn list(server: Server, params: ListChangesParams) -> jsonrpc::Result<ListChangesResult> {
    files(server, session_id(&params.session_id)?).await
}

pub(super) async fn read(server: Server, params: ReadChangeParams) -> jsonrpc::Result<ReadChangeResult> {
    let id = session_id(&params.session_id)?;
    let path = PathBuf::from(params.path);
    let text = blocking(move || server.agent().change(&id, &path)).await?;
    let hunks = text.hunks.into_iter().map(|hunk| ChangedHunk {
        id: hunk.id,
        before: span(&hunk.before),
        after: span(&hunk.after),
    });
    Ok(ReadChangeResult { hunks: hunks.collect(), before: text.before, after: text.after })
}

/// Runs on a task of its own: it waits for the client, which applies the edit.
pub(super) async fn resolve(
    server: Server,
    params: ResolveChangesParams,
) -> jsonrpc::Result<ListChangesResult> {
    let id = session_id(&params.session_id)?;
    let path = params.path.map(PathBuf::from);
    let verdict = if params.keep { Verdict::Keep } else { Verdict::TakeBack };
    let reviewed = server.agent().review(&id, path.as_deref(), params.hunk_id.as_deref(), verdict).await;
    reviewed.map_err(error)?;
    files(server, id).await
}

async fn files(server: Server, id: SessionId) -> jsonrpc::Result<ListChangesResult> {
    let files = blocking(move || server.agent().changes(&id)).await?;
    let files = files.into_iter().map(|file| ChangedFile {
        path: path_text(&file.path),
        state: match file.kind {
            ChangeKind::Created => ChangedState::Created,
            ChangeKind::Modified => ChangedState::Modified,
            ChangeKind::Deleted => ChangedState::Deleted,
        },
        added: file.added as u64,
        removed: file.removed as u64,
    });
    Ok(ListChangesResult { files: files.collect() })
}

fn span(range: &Range<usize>) -> LineSpan {
    LineSpan { start: range.start as u64, lines: range.len() as u64 }
}
