//! `reverie/tasks/*`.

use agent::{JobStatus, Task as AgentTask};
use protocol::{Empty, ListTasksParams, ListTasksResult, StopTaskParams, Task, TaskKind, TaskState};
use tower_lsp::jsonrpc;

use super::{error, session_id};
use crate::server::Server;

pub(super) async fn list(server: Server, params: ListTasksParams) -> jsonrpc::Result<ListTasksResult> {
    let session = params.session_id.as_deref().map(session_id).transpose()?;
    let tasks = server.agent().tasks(session.as_ref()).map_err(error)?;
    Ok(ListTasksResult { tasks: tasks.into_iter().map(converted).collect() })
}

pub(super) async fn stop(server: Server, params: StopTaskParams) -> jsonrpc::Result<Empty> {
    server.agent().stop_task(&params.task_id).map_err(error)?;
    Ok(Empty {})
}

fn converted(task: AgentTask) -> Task {
    let (state, detail) = match task.job.status {
        JobStatus::Running => (TaskState::Running, None),
        JobStatus::Exited { code: 0 } => (TaskState::Completed, None),
        JobStatus::Exited { code } => (TaskState::Failed, Some(format!("exit code {code}"))),
        JobStatus::Signalled { signal } => (TaskState::Failed, Some(format!("killed by signal {signal}"))),
        JobStatus::Killed => (TaskState::Killed, None),
    };
    Task {
        task_id: task.id,
        kind: TaskKind::Shell,
        session_id: task.session.to_string(),
        title: task.job.command,
        state,
        started_at: jiff::Timestamp::try_from(task.job.started).unwrap_or_default().to_string(),
        detail,
    }
}
