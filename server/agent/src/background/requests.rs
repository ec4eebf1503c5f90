//! What editors and the command line ask about background work. All of it looks at the disk, but for what stops it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use settings::Settings;

use super::{
    BackgroundReport, DreamReport, DreamStarted, DreamState, DreamStatus, Gate, JobKind, KindReport,
    StartDream,
    dream::{self, Depth, Look, Trigger, Wanted},
    extraction, notes,
};
use crate::{agent::Agent, session::Session, spend, types::AgentError};

/// "Shutdown drains running extractions ≤ 60 s."
const DRAIN: Duration = Duration::from_secs(60);

impl Agent {
    /// Before the end: what is being learnt and noted may come to its end. Turns are stopped, so that nothing is added to
    /// it, and so is a dream, which would take too long.
    pub async fn drain(&self) {
        for session in self.sessions_here() {
            session.cancel();
        }
        let (jobs, learning) = (&self.shared.jobs, &self.shared.learning);
        jobs.drain();
        learning.close();
        let drained = async { tokio::join!(learning.wait(), jobs.idle()) };
        if tokio::time::timeout(self.shared.faults.drain(DRAIN), drained).await.is_err() {
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
    pub fn dream_start(self: &Arc<Self>, start: StartDream) -> Result<DreamStarted, AgentError> {
        let StartDream { session, dry_run } = start;
        let session = match session {
            Some(id) => Some(self.session(&id)?),
            None => self.latest_session(),
        };
        let folder = session.as_ref().map_or_else(|| self.default_folder(), |session| session.cwd.clone());
        let (shared, trigger) = (Arc::clone(&self.shared), Trigger::Command);
        Ok(dream::begin_by_command(Wanted { shared, folder, session, trigger, dry_run }))
    }

    /// Stopping one that has ended does nothing.
    pub fn dream_stop(&self, id: &str) -> Result<(), AgentError> {
        let unknown = || AgentError::Invalid(format!("dreamId: there is no dream {id} here"));
        if self.shared.jobs.stop(id) { Ok(()) } else { Err(unknown()) }
    }

    pub fn dream_status(&self) -> Result<DreamStatus, AgentError> {
        let (folder, settings) = self.background_folder();
        let look = self.dream_look(&folder, &settings);
        let running = self.shared.dreams.running().into_iter().next();
        let (state, last) = match (&running, &look.holder) {
            (Some(_), _) => (DreamState::Running, look.before()),
            (None, Some(_)) => (DreamState::Locked, look.before()),
            (None, None) => (DreamState::Idle, look.last),
        };
        let sessions_since = look.sessions.len();
        Ok(DreamStatus { state, last_consolidated: last, sessions_since, gates: look.gates, running })
    }

    /// Of one dream, or of the last.
    pub fn dream_report(&self, id: Option<&str>) -> Result<DreamReport, AgentError> {
        let (folder, settings) = self.background_folder();
        let directory = settings.memory_dir(&self.shared.environment, &folder);
        let written = match dream::find_report(&directory, id) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(AgentError::Unavailable(format!("the reports cannot be read: {error}")));
            }
            found => found.unwrap_or_default(),
        };
        // Some leave no file, and some are another process's.
        let known = self.shared.dreams.report(id);
        let found = [written, known].into_iter().flatten().max_by_key(|report| report.ended);
        found.ok_or_else(|| {
            AgentError::Invalid(match id {
                Some(id) => format!("dreamId: there is no report of a dream {id}"),
                None => "there was no dream yet".to_owned(),
            })
        })
    }

    /// What runs by itself, why or why not, and what it has cost today.
    pub fn background(&self) -> Result<BackgroundReport, AgentError> {
        let (folder, settings) = self.background_folder();
        let today = self.shared.spend.background(spend::today());
        let session = self.latest_session();
        let gates = |kind: JobKind| -> Vec<Gate> {
            match kind {
                JobKind::Extraction => extraction::gates(&self.shared, &settings, session.as_deref()),
                JobKind::Notes => notes::gates(&self.shared, &settings, session.as_deref()),
                JobKind::Dream => self.dream_look(&folder, &settings).gates,
            }
        };
        let kinds = JobKind::ALL.map(|kind| KindReport {
            kind,
            gates: gates(kind),
            today: today.get(&kind).copied().unwrap_or_default(),
            last: self.shared.jobs.last(kind),
        });
        Ok(BackgroundReport {
            kinds: kinds.into(),
            spent_usd: self.shared.spend.background_usd(spend::today()),
            limit_usd: settings.budgets.background_day_usd,
        })
    }

    fn dream_look(&self, folder: &Path, settings: &Settings) -> Look {
        let current = self.latest_session().map(|session| session.id.clone());
        dream::look(&self.shared, settings, folder, current.as_ref(), Depth::All)
    }

    fn background_folder(&self) -> (PathBuf, Settings) {
        let folder = self.default_folder();
        let settings = self.shared.settings(&folder).settings;
        (folder, settings)
    }

    /// The open session in which something was said last.
    fn latest_session(&self) -> Option<Arc<Session>> {
        let said = |session: &Arc<Session>| session.state().thread.last().map(|message| message.timestamp);
        self.sessions_here().into_iter().filter(|session| said(session).is_some()).max_by_key(said)
    }
}
