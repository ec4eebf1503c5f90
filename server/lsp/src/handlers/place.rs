//! `reverie/memory/remember`, `open` and `merge`: what the actions of code and of memory files lead to.

use std::{path::PathBuf, time::Duration};

use protocol::{Empty, MergeMemoriesParams, OpenMemoriesParams, RememberPlaceParams, WriteMemoryResult};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{self, Error};

use super::{blocking, memory::remembered};
use crate::{server::Server, uri};

/// Who has not chosen by then does not want any.
const CHOICE_LIMIT: Duration = Duration::from_secs(600);
const MOST_CHOICES: usize = 10;
const INFO: u8 = 3;

pub(super) async fn merge(server: Server, params: MergeMemoriesParams) -> jsonrpc::Result<WriteMemoryResult> {
    let merged = blocking(move || server.agent().memory_merge(&params.path, &params.into)).await?;
    Ok(remembered(merged))
}

/// Without words, the memory that was begun is shown, for them to be written in.
pub(super) async fn remember(
    server: Server,
    params: RememberPlaceParams,
) -> jsonrpc::Result<WriteMemoryResult> {
    let path = uri::to_path(&params.uri)
        .ok_or_else(|| Error::invalid_params(format!("uri: `{}` is no file", params.uri)))?;
    let has_words = params.text.as_ref().is_some_and(|text| !text.trim().is_empty());
    let for_language = server.clone();
    let (saved, entry) = blocking(move || {
        let about = for_language.language().about(&path, params.range);
        for_language.agent().memory_remember(&about, params.text.as_deref())
    })
    .await?;
    if let Some(entry) = entry {
        let server = server.clone();
        tokio::spawn(async move {
            // Without its entry the memory is found all the same, and lint offers to add it.
            if let Err(error) = server.agent().memory_edit_open(&entry, "Remember").await {
                tracing::warn!(%error, "the index that is open does not get the entry");
            }
        });
    }
    if !has_words {
        tokio::spawn(show(server, saved.path.clone()));
    }
    Ok(remembered(saved))
}

pub(super) async fn open(server: Server, params: OpenMemoriesParams) -> jsonrpc::Result<Empty> {
    let mut paths: Vec<PathBuf> = params.paths.into_iter().map(PathBuf::from).collect();
    paths.truncate(MOST_CHOICES);
    if paths.is_empty() || paths.iter().any(|path| !path.is_absolute()) {
        return Err(Error::invalid_params("paths: absolute paths of memories are needed"));
    }
    tokio::spawn(async move {
        if let Some(path) = chosen(&server, paths).await {
            show(server, path).await;
        }
    });
    Ok(Empty {})
}

async fn chosen(server: &Server, paths: Vec<PathBuf>) -> Option<PathBuf> {
    if let [only] = paths.as_slice() {
        return Some(only.clone());
    }
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let actions: Vec<Value> = names.iter().map(|name| json!({ "title": name })).collect();
    let params = json!({ "type": INFO, "message": "Which memory?", "actions": actions });
    let asked = server.outbound().request(None, "window/showMessageRequest", &params);
    let answer = tokio::time::timeout(CHOICE_LIMIT, asked).await.ok()?.ok()?;
    let title = answer.get("title")?.as_str()?;
    let place = names.iter().position(|name| name == title)?;
    paths.into_iter().nth(place)
}

async fn show(server: Server, path: PathBuf) {
    if !server.client().is_some_and(|client| client.shows_documents) {
        let message = format!("The memory is {}", path.display());
        server.outbound().notify("window/showMessage", json!({ "type": INFO, "message": message }));
        return;
    }
    let params = json!({ "uri": server.documents().uri(&path), "takeFocus": true });
    if let Err(error) = server.outbound().request(None, "window/showDocument", &params).await {
        tracing::warn!(%error, "the client did not show the memory");
    }
}
