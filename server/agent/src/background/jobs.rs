//! The list of what runs by itself, and of the last that ended.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use conversation::SessionId;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{JobEvent, JobKind, JobStep};
use crate::frontend::Frontend;

/// Ended jobs that are still listed.
const REMEMBERED: usize = 20;

#[derive(Clone, Debug)]
pub struct Job {
    pub id: String,
    pub kind: JobKind,
    pub session: Option<SessionId>,
    pub title: String,
    pub began: Timestamp,
    pub state: JobState,
    /// What it is at, or how it ended.
    pub detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Running,
    Completed,
    Failed,
    Killed,
}

#[derive(Default)]
pub(crate) struct Jobs {
    list: Mutex<VecDeque<(Job, CancellationToken)>>,
    ended: Notify,
    /// Fires when the server goes: the parent of all that stop jobs.
    going: CancellationToken,
    /// Fires when only what was learnt is still waited for.
    draining: CancellationToken,
}

/// A job while it runs; one that is dropped has failed.
pub(crate) struct Running {
    jobs: Arc<Jobs>,
    frontend: Arc<dyn Frontend>,
    pub id: String,
    kind: JobKind,
    session: Option<SessionId>,
    /// Fires when it is to stop.
    pub cancel: CancellationToken,
    has_ended: bool,
}

impl Jobs {
    pub fn begin(
        self: &Arc<Self>,
        frontend: &Arc<dyn Frontend>,
        kind: JobKind,
        session: Option<SessionId>,
        title: &str,
    ) -> Running {
        let (id, cancel) = (Uuid::now_v7().to_string(), self.going.child_token());
        if kind == JobKind::Dream && self.is_draining() {
            cancel.cancel();
        }
        let job = Job {
            id: id.clone(),
            kind,
            session: session.clone(),
            title: title.to_owned(),
            began: Timestamp::now(),
            state: JobState::Running,
            detail: None,
        };
        self.list().push_back((job, cancel.clone()));
        let running = Running {
            jobs: Arc::clone(self),
            frontend: Arc::clone(frontend),
            id,
            kind,
            session,
            cancel,
            has_ended: false,
        };
        running.tell(JobStep::Begun { title: title.to_owned() });
        running
    }

    /// Oldest first.
    pub fn all(&self) -> Vec<Job> {
        self.list().iter().map(|(job, _)| job.clone()).collect()
    }

    /// How the last of a kind ended, in words.
    pub fn last(&self, kind: JobKind) -> Option<String> {
        let list = self.list();
        let mut newest = list.iter().rev().map(|(job, _)| job);
        let job = newest.find(|job| job.kind == kind && job.state != JobState::Running)?;
        let how = match job.state {
            JobState::Running | JobState::Completed => "completed",
            JobState::Failed => "failed",
            JobState::Killed => "stopped",
        };
        Some(match &job.detail {
            Some(detail) => format!("{how}: {detail}"),
            None => how.to_owned(),
        })
    }

    /// Whether there is such a job. Stopping one that has ended does nothing.
    pub fn stop(&self, id: &str) -> bool {
        let list = self.list();
        let found = list.iter().find(|(job, _)| job.id == id);
        if let Some((_, cancel)) = found {
            cancel.cancel();
        }
        found.is_some()
    }

    pub fn stop_all(&self, is_meant: impl Fn(&Job) -> bool) {
        for (_, cancel) in self.list().iter().filter(|(job, _)| is_meant(job)) {
            cancel.cancel();
        }
    }

    /// The end is near: a dream has time until tomorrow, one that begins now included.
    pub fn drain(&self) {
        self.draining.cancel();
        self.stop_all(|job| job.kind == JobKind::Dream);
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Resolves when the end is near.
    pub async fn drained(&self) {
        self.draining.cancelled().await;
    }

    /// Stops everything, whatever begins from now on included.
    pub fn close(&self) {
        self.going.cancel();
    }

    /// Resolves when nothing runs.
    pub async fn idle(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.list().iter().all(|(job, _)| job.state != JobState::Running) {
                return;
            }
            ended.await;
        }
    }

    fn list(&self) -> MutexGuard<'_, VecDeque<(Job, CancellationToken)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, id: &str, change: impl FnOnce(&mut Job)) {
        let mut list = self.list();
        if let Some((job, _)) = list.iter_mut().find(|(job, _)| job.id == id) {
            change(job);
        }
        let ended = |list: &VecDeque<(Job, CancellationToken)>| {
            list.iter().filter(|(job, _)| job.state != JobState::Running).count()
        };
        while ended(&list) > REMEMBERED {
            let Some(oldest) = list.iter().position(|(job, _)| job.state != JobState::Running) else { break };
            list.remove(oldest);
        }
    }
}

impl Running {
    /// What it is at.
    pub fn report(&self, message: &str) {
        self.jobs.with(&self.id, |job| job.detail = Some(message.to_owned()));
        self.tell(JobStep::Report { message: message.to_owned() });
    }

    /// How it ended, in words if there is something to say.
    pub fn end(mut self, state: JobState, detail: Option<String>) {
        self.finish(state, detail);
    }

    fn finish(&mut self, state: JobState, detail: Option<String>) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        self.jobs.with(&self.id, |job| (job.state, job.detail) = (state, detail.clone()));
        self.tell(JobStep::Ended { message: detail });
        self.jobs.ended.notify_waiters();
    }

    fn tell(&self, step: JobStep) {
        let (id, session) = (self.id.clone(), self.session.clone());
        self.frontend.job(JobEvent { id, kind: self.kind, session, step });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.finish(JobState::Failed, Some("it broke off; the log has the details".to_owned()));
    }
}
