//! What the agent does without being asked: it learns after a turn (`extraction`), keeps notes of a session (`notes`),
//! and puts its memories in order (`dream`).
//!
//! All of it runs as forks of a conversation, holds nobody up, can be stopped, has gates whose state anyone may see, an
//! account of its own, and a budget for the day.

mod dream;
mod extraction;
mod gates;
mod jobs;
mod memory_tools;
pub(crate) mod notes;
mod requests;

use std::{io, ops::AddAssign, path::PathBuf, sync::Arc};

use conversation::{SessionId, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::{
    event::{TurnEnd, TurnId, TurnStop},
    fork::Spent,
    session::Session,
    shared::Shared,
    spend,
};

pub(crate) use dream::Dreams;
pub(crate) use extraction::Learning;
use extraction::Snapshot;
pub(crate) use jobs::Jobs;
pub use jobs::{Job, JobState};

/// What it is that runs by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKind {
    Extraction,
    Notes,
    Dream,
}

impl JobKind {
    pub const ALL: [Self; 3] = [Self::Extraction, Self::Notes, Self::Dream];

    /// As accounts and the protocol name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Notes => "sessionMemory",
            Self::Dream => "dream",
        }
    }
}

/// One condition of running by itself, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Stable: `enabled`, `hours`, …
    pub name: &'static str,
    pub open: bool,
    /// In words: why it is open or not, with the figures.
    pub detail: String,
}

/// A job of the agent's own, as it goes along: shown as work in progress that can be stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    pub id: String,
    pub kind: JobKind,
    pub session: Option<SessionId>,
    pub step: JobStep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStep {
    Begun { title: String },
    Report { message: String },
    Ended { message: Option<String> },
}

/// Something is done that the user may want to look at, or take back. Told quietly, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub kind: JobKind,
    pub session: Option<SessionId>,
    /// "Remembered: X, Y".
    pub text: String,
    /// What "View" shows.
    pub view: Option<PathBuf>,
    /// What "Undo" takes back: a group of the history.
    pub undo: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct StartDream {
    /// Whose conversation it starts from; the one that was used last, if it is not said.
    pub session: Option<SessionId>,
    /// Only shows what it would change.
    pub dry_run: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DreamStarted {
    Started(String),
    /// And why.
    Skipped(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DreamState {
    Idle,
    /// Here.
    Running,
    /// In another process.
    Locked,
}

#[derive(Clone, Debug)]
pub struct DreamStatus {
    pub state: DreamState,
    pub last_consolidated: Option<Timestamp>,
    /// Other sessions that were touched since.
    pub sessions_since: usize,
    /// In the order in which they are looked at.
    pub gates: Vec<Gate>,
    /// The one that runs here.
    pub running: Option<DreamProgress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DreamPhase {
    Starting,
    /// Since its first change.
    Updating,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DreamProgress {
    pub dream: String,
    pub status: JobState,
    pub phase: DreamPhase,
    pub rounds: u32,
    pub files_touched: Vec<PathBuf>,
    /// What it said last, or how it ended.
    pub text: Option<String>,
    /// The last rounds, oldest first.
    pub latest: Vec<DreamRound>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DreamRound {
    pub text: String,
    pub tool_calls: usize,
}

#[derive(Clone, Debug)]
pub struct DreamReport {
    pub dream: String,
    pub status: JobState,
    pub dry_run: bool,
    /// What set it off.
    pub trigger: String,
    pub began: Timestamp,
    pub ended: Timestamp,
    /// The file, in Markdown.
    pub path: Option<PathBuf>,
    pub text: String,
    pub changes: Vec<DreamChange>,
    pub usage: Usage,
    pub cost_usd: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DreamChange {
    /// For undoing it alone; absent where nothing was written.
    pub change: Option<String>,
    pub path: PathBuf,
    pub why: String,
    pub diff: String,
}

/// What runs by itself, why or why not, and what it has cost today.
#[derive(Clone, Debug)]
pub struct BackgroundReport {
    pub kinds: Vec<KindReport>,
    pub spent_usd: f64,
    /// The setting `budgets.backgroundDayUsd`.
    pub limit_usd: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct KindReport {
    pub kind: JobKind,
    pub gates: Vec<Gate>,
    pub today: Account,
    /// How the last one ended, in words.
    pub last: Option<String>,
}

/// What one kind of background work did and cost in a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    pub runs: u64,
    pub usage: Usage,
    pub cost_usd: f64,
    /// Files written: memories, or notes.
    pub files: u64,
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.usage += other.usage;
        self.cost_usd += other.cost_usd;
        self.files = self.files.saturating_add(other.files);
    }
}

/// What is to be learnt from a turn that has ended, taken before anything follows it, and before anybody hears of the
/// end: a shutdown waits for it from then on.
pub(crate) struct Lesson(Snapshot, TaskTrackerToken);

impl Lesson {
    pub fn of(session: &Session, turn: &TurnId, end: &TurnEnd) -> Option<Self> {
        let mut state = session.state();
        let opening = state.learning.opening.take().filter(|_| end.stop == TurnStop::EndTurn)?;
        let snapshot = Snapshot { turn: turn.clone(), thread: state.thread.clone(), opening };
        Some(Self(snapshot, session.shared.learning.token()))
    }
}

/// A session is there: whoever only opens one has their dream at night, too. Looks at the disk.
pub(crate) fn opened(session: &Arc<Session>) {
    dream::clock::keep(session);
}

/// "At the end, without blocking the user, extraction and the dream gate."
pub(crate) fn after_turn(session: &Arc<Session>, lesson: Option<Lesson>) {
    let shared = &session.shared;
    shared.dreams.touch();
    let Some(Lesson(snapshot, _until_it_runs)) = lesson else { return };
    shared.learning.spawn(extraction::after_turn(Arc::clone(session), snapshot));
    shared.work.spawn(dream::after_turn(Arc::clone(session)));
}

/// Runs what waits for the disk; what went wrong, in words.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => {
            tracing::error!(%error, "background work panicked");
            Err("it failed inside; the log has the details".to_owned())
        }
    }
}

/// Books what a job did today.
async fn account(shared: &Shared, kind: JobKind, spent: Spent, files: usize) {
    let Spent { usage, cost_usd } = spent;
    let account = Account { runs: 1, usage, cost_usd, files: files as u64 };
    let spend = shared.spend.clone();
    let booked = blocking(move || spend.add_background(spend::today(), kind, account));
    if let Err(why) = booked.await {
        tracing::warn!(why, "what background work did could not be written down");
    }
}
