//! What runs beside the conversation: the background jobs of the open sessions.

use conversation::SessionId;
use tools::shell::JobInfo;

use crate::{agent::Agent, types::AgentError};

pub struct Task {
    /// The session's and the job's in one.
    pub id: String,
    pub session: SessionId,
    pub job: JobInfo,
}

impl Agent {
    /// Of one session, or of all that are open.
    pub fn tasks(&self, session: Option<&SessionId>) -> Result<Vec<Task>, AgentError> {
        let sessions = match session {
            Some(id) => vec![self.session(id)?],
            None => self.sessions_here(),
        };
        let mut tasks: Vec<Task> = sessions
            .iter()
            .flat_map(|session| {
                let jobs = session.shell.jobs().into_iter();
                jobs.map(|job| Task {
                    id: format!("{}/{}", session.id, job.id),
                    session: session.id.clone(),
                    job,
                })
            })
            .collect();
        tasks.sort_by_key(|task| task.job.started);
        Ok(tasks)
    }

    /// Has it end, with its children; it is gone from the list of what runs when it has. Stopping what has ended does
    /// nothing.
    pub fn stop_task(&self, id: &str) -> Result<(), AgentError> {
        let unknown = || AgentError::Invalid(format!("taskId: there is no task {id}"));
        let (session, job) = id.rsplit_once('/').ok_or_else(unknown)?;
        let session = SessionId::parse(session).ok_or_else(unknown)?;
        self.session(&session).map_err(|_| unknown())?.shell.stop(job).map_err(|_| unknown())
    }
}
