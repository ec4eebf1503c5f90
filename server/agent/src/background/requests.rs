//! What editors and the command line ask about background work.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    Account, BackgroundReport, DreamReport, DreamStarted, DreamState, DreamStatus, JobKind, KindReport,
    StartDream,
};
use crate::{agent::Agent, types::AgentError};

/// "Shutdown drains running extractions ≤ 60 s."
const DRAIN: Duration = Duration::from_secs(60);

impl Agent {
    /// Before the end: what is being learnt and noted may come to its end. Turns are stopped, so that nothing is added to
    /// it, and so is a dream, which would take too long.
    pub async fn drain(&self) {
        for session in self.sessions_here() {
            session.cancel();
        }
        let jobs = &self.shared.jobs;
        jobs.stop_all(|job| job.kind == JobKind::Dream);
        if tokio::time::timeout(DRAIN, jobs.idle()).await.is_err() {
            tracing::warn!("some background work did not end in time");
        }
    }

    /// Nobody is there to see what happens: a turn of `reverie ask`.
    pub fn set_non_interactive(&self, is_set: bool) {
        self.shared.non_interactive.store(is_set, Ordering::Relaxed);
    }

    /// The setting `notifications.quiet`. Reads files.
    pub fn is_quiet(&self) -> bool {
        self.shared.settings(&self.default_folder()).settings.notifications.quiet
    }

    /// Begins at once, or says why not. Skips the gates of time and of sessions, never the lock.
    pub fn dream_start(self: &Arc<Self>, _start: StartDream) -> Result<DreamStarted, AgentError> {
        Ok(DreamStarted::Skipped("not yet".to_owned()))
    }

    /// Stopping one that has ended does nothing.
    pub fn dream_stop(&self, id: &str) -> Result<(), AgentError> {
        let unknown = || AgentError::Invalid(format!("dreamId: there is no dream {id}"));
        if self.shared.jobs.stop(id) { Ok(()) } else { Err(unknown()) }
    }

    /// Looks at the disk.
    pub fn dream_status(&self) -> Result<DreamStatus, AgentError> {
        Ok(DreamStatus {
            state: DreamState::Idle,
            last_consolidated: None,
            sessions_since: 0,
            gates: Vec::new(),
            running: None,
        })
    }

    /// Of one dream, or of the last. Looks at the disk.
    pub fn dream_report(&self, id: Option<&str>) -> Result<DreamReport, AgentError> {
        Err(AgentError::Invalid(format!("dreamId: there is no report of {}", id.unwrap_or("a dream"))))
    }

    /// What runs by itself, why or why not, and what it has cost today. Looks at the disk.
    pub fn background(&self) -> Result<BackgroundReport, AgentError> {
        let kinds = JobKind::ALL.map(|kind| KindReport {
            kind,
            gates: Vec::new(),
            today: Account::default(),
            last: self.shared.jobs.last(kind),
        });
        Ok(BackgroundReport { kinds: kinds.into(), spent_usd: 0.0, limit_usd: None })
    }
}
