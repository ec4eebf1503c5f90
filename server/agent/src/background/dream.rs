//! A dream: when enough has happened, the memories of a project are put in order.
//!
//! A fork goes through them in four phases. Its changes lie on a desk until it has ended well: a dream that is stopped,
//! fails or would do harm leaves nothing behind. Then they are made under the lock of all who may dream, and can be
//! taken back, one or all.

pub(super) mod clock;
mod gates;
mod held;
mod report;
mod run;
mod told;

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use conversation::{SessionId, Stamp, Transcript};
use jiff::Timestamp;
use memory::dream_lock::{Acquired, DreamLock};
use settings::{Settings, directories};
use tokio::sync::Notify;

pub(super) use gates::{Depth, Look, look};
pub(super) use report::find as find_report;

use super::{DreamProgress, DreamReport, DreamStarted, JobKind};
use crate::{
    git,
    session::{Session, State},
    shared::Shared,
};

/// Reports that are kept in mind, for dreams that left no file.
const KEPT_REPORTS: usize = 5;
/// How long automatic dreams wait after one that failed; twice as long each time, up to a day.
const BACKOFF: Duration = Duration::from_secs(60 * 60);
const LONGEST_BACKOFF: Duration = Duration::from_secs(24 * 60 * 60);

/// What a server knows of its dreams.
#[derive(Default)]
pub(crate) struct Dreams {
    state: Mutex<Known>,
    /// Something happened that the clock wants to know.
    woken: Arc<Notify>,
    clock: std::sync::OnceLock<tokio_util::task::AbortOnDropHandle<()>>,
}

#[derive(Default)]
struct Known {
    /// By memory directory.
    directories: HashMap<PathBuf, Past>,
    running: Vec<DreamProgress>,
    reports: VecDeque<DreamReport>,
    last_activity: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Past {
    /// When sessions were last counted.
    scanned: Option<Instant>,
    failures: u32,
    failed: Option<Instant>,
}

/// What sets a dream off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Enough time and sessions, after a turn.
    Gates,
    Idle,
    /// And when that was.
    Schedule(Timestamp),
    Command,
}

impl Trigger {
    fn as_str(self) -> &'static str {
        match self {
            Self::Gates => "enough time and sessions had passed",
            Self::Idle => "nothing was going on",
            Self::Schedule(_) => "it was time",
            Self::Command => "you asked for it",
        }
    }
}

/// Who is to dream, about what.
pub(super) struct Wanted {
    pub shared: Arc<Shared>,
    pub folder: PathBuf,
    /// Whose conversation it starts from, if there is one.
    pub session: Option<Arc<Session>>,
    pub trigger: Trigger,
    pub dry_run: bool,
}

impl Dreams {
    /// Something was asked or answered.
    pub fn touch(&self) {
        self.known().last_activity = Some(Instant::now());
        self.woken.notify_one();
    }

    pub fn running(&self) -> Vec<DreamProgress> {
        self.known().running.clone()
    }

    fn last_activity(&self) -> Option<Instant> {
        self.known().last_activity
    }

    fn past(&self, directory: &Path) -> Past {
        self.known().directories.get(directory).copied().unwrap_or_default()
    }

    fn scanned(&self, directory: &Path) {
        self.known().directories.entry(directory.to_owned()).or_default().scanned = Some(Instant::now());
    }

    fn ended(&self, directory: &Path, went_wrong: bool, report: DreamReport) {
        let mut known = self.known();
        let past = known.directories.entry(directory.to_owned()).or_default();
        match went_wrong {
            true => (past.failures, past.failed) = (past.failures + 1, Some(Instant::now())),
            false => (past.failures, past.failed) = (0, None),
        }
        known.running.retain(|running| running.dream != report.dream);
        known.reports.push_back(report);
        if known.reports.len() > KEPT_REPORTS {
            known.reports.pop_front();
        }
    }

    /// Takes the place of what was known of it.
    fn progressed(&self, progress: &DreamProgress) {
        let mut known = self.known();
        known.running.retain(|running| running.dream != progress.dream);
        known.running.push(progress.clone());
    }

    fn forget(&self, dream: &str) {
        self.known().running.retain(|running| running.dream != dream);
    }

    pub fn report(&self, dream: Option<&str>) -> Option<DreamReport> {
        let known = self.known();
        known.reports.iter().rev().find(|report| dream.is_none_or(|dream| report.dream == dream)).cloned()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Past {
    /// How long automatic dreams still wait.
    fn waits(&self) -> Option<Duration> {
        let factor = 1_u32 << self.failures.saturating_sub(1).min(5);
        let pause = BACKOFF.saturating_mul(factor).min(LONGEST_BACKOFF);
        self.failed.and_then(|failed| pause.checked_sub(failed.elapsed()))
    }
}

/// Dreams if all gates are open.
pub(super) async fn after_turn(session: Arc<Session>) {
    session.shared.faults.reach("dream gate");
    clock::keep(&session);
    let wanted = Wanted {
        shared: Arc::clone(&session.shared),
        folder: session.cwd.clone(),
        session: Some(session),
        trigger: Trigger::Gates,
        dry_run: false,
    };
    begin_if_open(wanted).await;
}

/// Looks at the gates, the cheapest first, up to one that is closed.
async fn begin_if_open(wanted: Wanted) {
    let begun = super::blocking(move || {
        let shared = Arc::clone(&wanted.shared);
        let settings = shared.settings(&wanted.folder).settings;
        let current = wanted.session.as_ref().map(|session| session.id.clone());
        let depth = match wanted.trigger {
            Trigger::Schedule(strike) => Depth::Scheduled(strike),
            Trigger::Idle => Depth::AtRest,
            Trigger::Gates | Trigger::Command => Depth::UpToTheFirstClosed,
        };
        let look = look(&shared, &settings, &wanted.folder, current.as_ref(), depth);
        if !look.is_open() {
            super::gates::tell_spent(&shared, JobKind::Dream, current, &look.gates);
            return Ok(());
        }
        if let DreamStarted::Skipped(why) = begin(wanted, &settings, look) {
            tracing::debug!(why, "no dream after all");
        }
        Ok(())
    });
    if let Err(why) = begun.await {
        tracing::warn!(why, "the gates of the dream could not be looked at");
    }
}

/// Because the user says so: whatever the hours, the sessions and the budget, but never where it is switched off.
pub(super) fn begin_by_command(wanted: Wanted) -> DreamStarted {
    let settings = wanted.shared.settings(&wanted.folder).settings;
    let current = wanted.session.as_ref().map(|session| session.id.clone());
    let look = look(&wanted.shared, &settings, &wanted.folder, current.as_ref(), Depth::All);
    let switches = ["memory", "remote", "bare", "enabled"];
    if let Some(closed) = look.gates.iter().find(|gate| !gate.open && switches.contains(&gate.name)) {
        return DreamStarted::Skipped(closed.detail.clone());
    }
    begin(wanted, &settings, look)
}

/// Takes the lock and starts. Never waits for long; not on the runtime's own threads.
fn begin(mut wanted: Wanted, settings: &Settings, look: Look) -> DreamStarted {
    // A conversation in which nothing was said is not begun by a dream.
    wanted.session = wanted.session.filter(|session| !session.state().thread.is_empty());
    let Wanted { shared, folder, .. } = &wanted;
    let memories = shared.memories(&settings.memory_dir(&shared.environment, folder));
    if let Err(error) = crate::files::create_private_dir(memories.directory()) {
        return DreamStarted::Skipped(format!("the memory directory cannot be made: {error}"));
    }
    let hold = if wanted.dry_run {
        None
    } else {
        match lock_of(shared, memories.directory()).acquire() {
            Ok(Acquired::Held(hold))
                if wanted.trigger != Trigger::Command && hold.previous() != look.last =>
            {
                hold.release();
                return DreamStarted::Skipped("somebody else has dreamt meanwhile".to_owned());
            }
            Ok(Acquired::Held(hold)) => Some(hold),
            Ok(Acquired::Busy(holder)) => {
                let who = holder.pid;
                return DreamStarted::Skipped(format!(
                    "process {who} is dreaming here already; wait for its end"
                ));
            }
            Err(error) => return DreamStarted::Skipped(error.to_string()),
        }
    };
    let session = match &wanted.session {
        Some(session) => Arc::clone(session),
        None => ephemeral(shared, folder, settings),
    };
    let job = shared.jobs.begin(
        &shared.frontend,
        JobKind::Dream,
        wanted.session.as_ref().map(|session| session.id.clone()),
        if wanted.dry_run { "A dream, only to see" } else { "Dreaming: memories are put in order" },
    );
    let id = job.id.clone();
    let dream = run::Dream {
        shared: Arc::clone(shared),
        session,
        memories,
        hold,
        trigger: wanted.trigger,
        dry_run: wanted.dry_run,
        since: look.sessions,
    };
    run::start(dream, job);
    DreamStarted::Started(id)
}

/// By the clock that all dreams go by.
fn lock_of(shared: &Shared, directory: &Path) -> DreamLock {
    let clock = shared.faults.clock().clone();
    DreamLock::with_clock(directory, Arc::new(move || clock.now().timestamp()))
}

/// A conversation in which nothing was said, of which nothing is kept.
fn ephemeral(shared: &Arc<Shared>, folder: &Path, settings: &Settings) -> Arc<Session> {
    let id = SessionId::random();
    let stamp = Stamp {
        session: id.clone(),
        cwd: folder.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git_branch: git::branch(folder),
    };
    let transcript = Transcript::create(&directories::project_dir(&shared.environment, folder), stamp);
    let state = State { is_ephemeral: true, ..State::default() };
    Session::new(id, folder.to_owned(), Arc::clone(shared), settings, transcript, state, Vec::new())
}
