//! `reverie/tasks/*`.

use agent::{JobKind, JobState, KindReport, Task as AgentTask};
use protocol::{
    Background, BackgroundAccount, BackgroundKind, Empty, ListTasksParams, ListTasksResult, StopTaskParams,
    Task, TaskKind, TaskState,
};
use tower_lsp::jsonrpc;

use super::{blocking, error, session_id};
use crate::{
    convert::{gate, tokens},
    server::Server,
};

pub(super) async fn list(server: Server, params: ListTasksParams) -> jsonrpc::Result<ListTasksResult> {
    let session = params.session_id.as_deref().map(session_id).transpose()?;
    let looked = move || Ok((server.agent().tasks(session.as_ref())?, server.agent().background()?));
    let (tasks, background) = blocking(looked).await?;
    Ok(ListTasksResult {
        tasks: tasks.into_iter().map(task).collect(),
        background: Background {
            kinds: background.kinds.into_iter().map(background_kind).collect(),
            spent_usd: background.spent_usd,
            limit_usd: background.limit_usd,
        },
    })
}

pub(super) async fn stop(server: Server, params: StopTaskParams) -> jsonrpc::Result<Empty> {
    server.agent().stop_task(&params.task_id).map_err(error)?;
    Ok(Empty {})
}

fn task(task: AgentTask) -> Task {
    Task {
        task_id: task.id,
        kind: match task.kind {
            agent::TaskKind::Shell => TaskKind::Shell,
            agent::TaskKind::Background(kind) => job_kind(kind),
        },
        session_id: task.session.map(|id| id.to_string()),
        title: task.title,
        state: match task.state {
            JobState::Running => TaskState::Running,
            JobState::Completed => TaskState::Completed,
            JobState::Failed => TaskState::Failed,
            JobState::Killed => TaskState::Killed,
        },
        started_at: task.started.to_string(),
        detail: task.detail,
    }
}

fn background_kind(report: KindReport) -> BackgroundKind {
    BackgroundKind {
        kind: job_kind(report.kind),
        gates: report.gates.into_iter().map(gate).collect(),
        today: BackgroundAccount {
            runs: report.today.runs,
            files: report.today.files,
            usage: tokens(&report.today.usage),
            cost_usd: report.today.cost_usd,
        },
        last: report.last,
    }
}

fn job_kind(kind: JobKind) -> TaskKind {
    match kind {
        JobKind::Extraction => TaskKind::Extraction,
        JobKind::Notes => TaskKind::SessionMemory,
        JobKind::Dream => TaskKind::Dream,
    }
}
