//! `reverie/tasks/*`.

use agent::{JobState, Task as AgentTask};
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
    Task {
        task_id: task.id,
        kind: TaskKind::Shell,
        session_id: task.session.map(|id| id.to_string()).unwrap_or_default(),
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
