//! `reverie/memory/*` and `reverie/instructions/reload`: what is remembered, and what is obeyed.

use agent::{HistoryQuery, MemoryActor as Actor, RecallDecision as Decision, Remembered, UndoTarget};
use protocol::{
    DeleteMemoryParams, DeleteMemoryResult, ExplainMemoryParams, ExplainMemoryResult, InstructionFile,
    KeptFile, LintMemoryParams, LintMemoryResult, ListMemoriesParams, ListMemoriesResult, Memory,
    MemoryActor, MemoryCandidate, MemoryChange, MemoryFinding, MemoryHistoryParams, MemoryHistoryResult,
    MemoryHit, MemoryScope, ReadMemoryParams, ReadMemoryResult, RecallDecision, ReloadInstructionsParams,
    ReloadInstructionsResult, SearchMemoryParams, SearchMemoryResult, UndoMemoryParams, UndoMemoryResult,
    WriteMemoryParams, WriteMemoryResult,
};
use tower_lsp::jsonrpc::{self, Error};

use super::{blocking, history::time, session_id};
use crate::{convert::path_text, server::Server};

const SEARCH_LIMIT: u32 = 10;
const HISTORY_LIMIT: u32 = 50;

pub(super) async fn list(server: Server, _params: ListMemoriesParams) -> jsonrpc::Result<ListMemoriesResult> {
    let listed = blocking(move || server.agent().memory_list()).await?;
    let memories = listed.memories.into_iter().map(|(memory, stale)| Memory {
        path: path_text(&listed.directory.join(&memory.path)),
        name: memory.name,
        description: memory.description,
        r#type: memory.kind.map(|kind| kind.as_str().to_owned()),
        scope: if memory.path.starts_with("team/") { MemoryScope::Team } else { MemoryScope::Private },
        modified_at: memory.modified.to_string(),
        stale,
        recalled: memory.counts.recalled,
        cited: memory.counts.cited,
    });
    Ok(ListMemoriesResult { memories: memories.collect(), dir: path_text(&listed.directory) })
}

pub(super) async fn read(server: Server, params: ReadMemoryParams) -> jsonrpc::Result<ReadMemoryResult> {
    let content = blocking(move || server.agent().memory_read(&params.path)).await?;
    Ok(ReadMemoryResult { content })
}

pub(super) async fn write(server: Server, params: WriteMemoryParams) -> jsonrpc::Result<WriteMemoryResult> {
    let written = blocking(move || server.agent().memory_write(&params.path, &params.content)).await?;
    Ok(remembered(written))
}

pub(super) async fn delete(
    server: Server,
    params: DeleteMemoryParams,
) -> jsonrpc::Result<DeleteMemoryResult> {
    let deleted = blocking(move || server.agent().memory_delete(&params.path)).await?;
    Ok(DeleteMemoryResult { change_id: deleted.change })
}

pub(super) fn remembered(remembered: Remembered) -> WriteMemoryResult {
    WriteMemoryResult { path: path_text(&remembered.path), change_id: remembered.change }
}

pub(super) async fn search(
    server: Server,
    params: SearchMemoryParams,
) -> jsonrpc::Result<SearchMemoryResult> {
    let limit = params.limit.unwrap_or(SEARCH_LIMIT) as usize;
    let hits = blocking(move || server.agent().memory_search(&params.query, limit)).await?;
    let hits = hits.into_iter().map(|hit| MemoryHit {
        path: path_text(&hit.path),
        score: hit.score,
        snippet: hit.snippet,
    });
    Ok(SearchMemoryResult { hits: hits.collect() })
}

pub(super) async fn explain(
    server: Server,
    params: ExplainMemoryParams,
) -> jsonrpc::Result<ExplainMemoryResult> {
    let id = session_id(&params.session_id)?;
    let explained = blocking(move || {
        server.agent().memory_explain(&id, params.turn_id.as_deref(), params.query.as_deref())
    });
    let candidates = explained.await?.into_iter().map(|candidate| MemoryCandidate {
        path: path_text(&candidate.path),
        score: candidate.score,
        decision: match candidate.decision {
            Decision::Recalled => RecallDecision::Recalled,
            Decision::Filtered => RecallDecision::Filtered,
            Decision::NotSelected => RecallDecision::NotSelected,
            Decision::OverBudget => RecallDecision::OverBudget,
        },
        reason: candidate.reason,
    });
    Ok(ExplainMemoryResult { candidates: candidates.collect() })
}

pub(super) async fn history(
    server: Server,
    params: MemoryHistoryParams,
) -> jsonrpc::Result<MemoryHistoryResult> {
    let limit = params.limit.unwrap_or(HISTORY_LIMIT) as usize;
    let MemoryHistoryParams { path, change_id: change, contents, .. } = params;
    let query = HistoryQuery { path, change, limit, contents };
    let changes = blocking(move || server.agent().memory_history(&query)).await?;
    let changes = changes.into_iter().map(|change| MemoryChange {
        id: change.id,
        path: path_text(&change.path),
        at: change.at.to_string(),
        by: actor(change.by),
        why: change.why,
        session_id: change.session,
        message_uuid: change.message,
        diff: change.diff,
        before: change.before,
        after: change.after,
    });
    Ok(MemoryHistoryResult { changes: changes.collect() })
}

pub(super) async fn undo(server: Server, params: UndoMemoryParams) -> jsonrpc::Result<UndoMemoryResult> {
    let target = match (params.change_id, params.dream_id, params.since) {
        (Some(change), None, None) if params.together => UndoTarget::Together(change),
        (Some(change), None, None) => UndoTarget::Change(change),
        (None, Some(dream), None) => UndoTarget::Group(dream),
        (None, None, Some(since)) => UndoTarget::Since(time("since", &since)?),
        _ => return Err(Error::invalid_params("give one of changeId, dreamId and since")),
    };
    let undone = blocking(move || server.agent().memory_undo(target)).await?;
    Ok(UndoMemoryResult {
        undone: undone.restored.iter().map(|path| path_text(path)).collect(),
        kept: undone
            .kept
            .into_iter()
            .map(|(path, reason)| KeptFile { path: path_text(&path), reason })
            .collect(),
    })
}

pub(super) async fn lint(server: Server, _params: LintMemoryParams) -> jsonrpc::Result<LintMemoryResult> {
    let findings = blocking(move || server.agent().memory_lint()).await?;
    let findings = findings.into_iter().map(|finding| MemoryFinding {
        path: path_text(&finding.path),
        line: u32::try_from(finding.line).unwrap_or(u32::MAX),
        code: finding.code.to_owned(),
        message: finding.message,
        fix: finding.fix.map(|fix| fix.title),
    });
    Ok(LintMemoryResult { findings: findings.collect() })
}

pub(super) async fn reload(
    server: Server,
    params: ReloadInstructionsParams,
) -> jsonrpc::Result<ReloadInstructionsResult> {
    let id = session_id(&params.session_id)?;
    let files = blocking(move || server.agent().reload_instructions(&id)).await?;
    let files = files.into_iter().map(|file| InstructionFile {
        path: path_text(&file.path),
        memory_type: file.source.to_owned(),
        load_reason: file.reason.to_owned(),
    });
    Ok(ReloadInstructionsResult { files: files.collect() })
}

pub(crate) fn actor(by: Actor) -> MemoryActor {
    match by {
        Actor::Recall => MemoryActor::Recall,
        Actor::Model => MemoryActor::Model,
        Actor::Extraction => MemoryActor::Extraction,
        Actor::Dream => MemoryActor::Dream,
        Actor::User => MemoryActor::User,
        Actor::Team => MemoryActor::Team,
    }
}
