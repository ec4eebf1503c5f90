//! What runs beside the conversation: commands in the background of the open sessions, and the agent's own work.

use conversation::SessionId;
use jiff::Timestamp;
use tools::shell::{JobInfo, JobStatus};

use crate::{
    agent::Agent,
    background::{Job, JobKind, JobState},
    types::AgentError,
};

pub struct Task {
    pub id: String,
    pub kind: TaskKind,
    /// Absent where it belongs to no session.
    pub session: Option<SessionId>,
    /// What it does: the command of a shell.
    pub title: String,
    pub state: JobState,
    pub started: Timestamp,
    /// What it is at, or how it ended, in words.
    pub detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    Shell,
    Background(JobKind),
}

impl Agent {
    /// Of one session, or of all that are open.
    pub fn tasks(&self, session: Option<&SessionId>) -> Result<Vec<Task>, AgentError> {
        let sessions = match session {
            Some(id) => vec![self.session(id)?],
            None => self.sessions_here(),
        };
        let commands = sessions.iter().flat_map(|session| {
            session.shell.jobs().into_iter().map(|job| of_command(session.id.clone(), job))
        });
        let own = self.shared.jobs.all().into_iter().map(of_job);
        let own = own.filter(|task| session.is_none_or(|id| task.session.as_ref() == Some(id)));
        let mut tasks: Vec<Task> = commands.chain(own).collect();
        tasks.sort_by_key(|task| task.started);
        Ok(tasks)
    }

    /// Has it end, with its children; it is gone from the list of what runs when it has. Stopping what has ended does
    /// nothing.
    pub fn stop_task(&self, id: &str) -> Result<(), AgentError> {
        if self.shared.jobs.stop(id) {
            return Ok(());
        }
        let unknown = || AgentError::Invalid(format!("taskId: there is no task {id}"));
        let (session, job) = id.rsplit_once('/').ok_or_else(unknown)?;
        let session = SessionId::parse(session).ok_or_else(unknown)?;
        self.session(&session).map_err(|_| unknown())?.shell.stop(job).map_err(|_| unknown())
    }
}

/// The session's id and the job's in one.
fn of_command(session: SessionId, job: JobInfo) -> Task {
    let (state, detail) = match job.status {
        JobStatus::Running => (JobState::Running, None),
        JobStatus::Exited { code: 0 } => (JobState::Completed, None),
        JobStatus::Exited { code } => (JobState::Failed, Some(format!("exit code {code}"))),
        JobStatus::Signalled { signal } => (JobState::Failed, Some(format!("killed by signal {signal}"))),
        JobStatus::Killed => (JobState::Killed, None),
    };
    Task {
        id: format!("{session}/{}", job.id),
        kind: TaskKind::Shell,
        session: Some(session),
        title: job.command,
        state,
        started: Timestamp::try_from(job.started).unwrap_or_default(),
        detail,
    }
}

fn of_job(job: Job) -> Task {
    Task {
        id: job.id,
        kind: TaskKind::Background(job.kind),
        session: job.session,
        title: job.title,
        state: job.state,
        started: job.began,
        detail: job.detail,
    }
}
