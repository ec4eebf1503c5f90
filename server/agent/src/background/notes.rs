//! The notes of a session, brought up to date by forks of its conversation while that goes on. Compaction
//! takes them instead of asking for a summary.
//!
//! What they look like and when they are due is `context::notes`'s business; the file and who may touch it is
//! `paper`'s.

mod paper;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use context::{
    Event,
    notes::{self, Progress},
};
use conversation::{Message, Record};
use model::QuerySource;
use settings::Settings;
use tokio_util::sync::CancellationToken;

use self::paper::Paper;
pub(crate) use self::paper::{path, read, written};
use super::{Gate, JobKind, JobState, jobs::Running};
use crate::{
    event::AgentEvent,
    fork::{Fork, ForkError, Spent},
    meter, query_loop,
    session::{Opening, Session},
    shared::Shared,
    turn::Turn,
};

/// One for the edits, which is the end of it where all were taken; the others for what was refused.
const ROUNDS: u32 = 3;
/// As long as all notes together may be, and some.
const OUTPUT_TOKENS: u64 = 16_000;
/// So many failures in a row end it for the session.
const MOST_FAILURES: u32 = 3;
/// "Waits ≤ 15 s for a running update."
const PATIENCE: Duration = Duration::from_secs(15);

/// How far the notes of a session have come.
#[derive(Default)]
pub(crate) struct Keeping {
    progress: Progress,
    /// The size of the conversation at the last response, and whether that had calls.
    seen: (u64, bool),
    /// In a row; one that runs counts until it has succeeded.
    failures: u32,
    /// There while notes are being written; fires when that ends.
    running: Option<CancellationToken>,
}

/// Why notes are taken now, or why not; of no session, what holds for all.
pub(crate) fn gates(shared: &Shared, settings: &Settings, session: Option<&Session>) -> Vec<Gate> {
    let is_on = settings.features(&shared.environment).session_memory;
    let mut gates = vec![
        Gate::of("enabled", is_on, "the setting reverie.features.sessionMemory"),
        Gate::of("autoCompact", settings.auto_compact_enabled, "the setting autoCompactEnabled"),
        super::gates::budget(shared, settings),
    ];
    gates.extend(session.into_iter().flat_map(of_session));
    gates
}

/// How far the session itself has come.
fn of_session(session: &Session) -> [Gate; 2] {
    let state = session.state();
    let Keeping { progress, seen: (tokens, had_calls), failures, running } = &state.notes;
    [
        Gate {
            name: "failures",
            open: running.is_some() || *failures < MOST_FAILURES,
            detail: format!("{failures} in a row, and {MOST_FAILURES} end it for the session"),
        },
        Gate {
            name: "size",
            open: progress.is_due(*tokens, *had_calls),
            detail: format!(
                "{tokens} tokens of conversation; the next notes come at {}, at an answer or after some calls",
                progress.next_at()
            ),
        },
    ]
}

/// A response has come, and all its `calls` are answered: brings the notes up to date if it is time for that.
pub(crate) fn after_response(turn: &Turn, calls: usize) {
    let session = &turn.session;
    let features = turn.settings.features(&session.shared.environment);
    if !features.session_memory || !turn.settings.auto_compact_enabled {
        return;
    }
    let covered =
        covered_before(session).map(|thread| meter::conversation_tokens(session, &turn.opening, &thread));
    let thread = session.state().thread.clone();
    let tokens = meter::conversation_tokens(session, &turn.opening, &thread);
    {
        let Keeping { progress, seen, .. } = &mut session.state().notes;
        if let Some(covered) = covered {
            progress.updated(*progress, covered);
        }
        progress.advance(tokens, calls);
        *seen = (tokens, calls > 0);
    }
    // The budget is in a file: looked at when all else is open.
    let is_open = of_session(session).iter().all(|gate| gate.open)
        && super::gates::budget(&session.shared, &turn.settings).open;
    if let Some(update) = is_open.then(|| Update::begin(session, &turn.opening, tokens)).flatten() {
        let shared = &session.shared;
        let job = shared.jobs.begin(
            &shared.frontend,
            JobKind::Notes,
            Some(session.id.clone()),
            "Notes of the session",
        );
        shared.work.spawn(update.run(job));
    }
}

/// What the notes of a resumed session cover, where it has not said anything since.
fn covered_before(session: &Session) -> Option<Vec<Arc<Message>>> {
    let state = session.state();
    let is_new = state.window.resumed && state.notes.progress == Progress::default();
    // A fork of a session begins without notes.
    let upto = state.window.projection.notes_upto().filter(|_| is_new && path(session).is_file())?;
    let last = state.thread.iter().position(|message| message.uuid == upto)?;
    state.thread.get(..=last).map(<[_]>::to_vec)
}

/// Waits for notes that are being written, but not for long.
pub(crate) async fn settled(session: &Session, cancel: &CancellationToken) {
    let running = session.state().notes.running.clone();
    let Some(running) = running else { return };
    let waited = tokio::time::timeout(PATIENCE, cancel.run_until_cancelled(running.cancelled()));
    if waited.await.is_err() {
        tracing::debug!(session = %session.id, "notes that are being written are not waited for any longer");
    }
}

/// One update, of the conversation as it was when it began.
struct Update {
    session: Arc<Session>,
    opening: Opening,
    thread: Vec<Arc<Message>>,
    tokens: u64,
    progress: Progress,
    had_calls: bool,
    running: CancellationToken,
}

impl Update {
    /// `None` while another one runs.
    fn begin(session: &Arc<Session>, opening: &Opening, tokens: u64) -> Option<Self> {
        let mut state = session.state();
        if state.notes.running.is_some() {
            return None;
        }
        let running = CancellationToken::new();
        state.notes.running = Some(running.clone());
        state.notes.failures += 1;
        Some(Self {
            session: Arc::clone(session),
            opening: opening.clone(),
            thread: state.thread.clone(),
            tokens,
            progress: state.notes.progress,
            had_calls: state.notes.seen.1,
            running,
        })
    }

    async fn run(self, job: Running) {
        self.session.shared.faults.reach("notes");
        let spent = Mutex::new(Spent::default());
        let written = self.write(&job.cancel, &spent).await;
        let spent = *spent.lock().unwrap_or_else(PoisonError::into_inner);
        super::account(&self.session.shared, JobKind::Notes, spent, usize::from(written.is_ok())).await;
        let (state, detail) = match written {
            Ok(text) => {
                self.succeed(&text);
                (JobState::Completed, None)
            }
            Err(Failure::Cancelled) => {
                let failures = &mut self.session.state().notes.failures;
                *failures = failures.saturating_sub(1);
                (JobState::Killed, None)
            }
            Err(Failure::Told(why)) => {
                tracing::warn!(session = %self.session.id, why, "the notes were not brought up to date");
                (JobState::Failed, Some(why))
            }
        };
        // Whoever hears of the end may ask for the next.
        drop(self);
        job.end(state, detail);
    }

    /// The notes as they are afterwards.
    async fn write(&self, cancel: &CancellationToken, spent: &Mutex<Spent>) -> Result<String, Failure> {
        let paper = Paper::of(&self.session).await?;
        let tokens = meter::of_message(&self.session, &self.opening.spec);
        let fork = Fork {
            session: &self.session,
            opening: &self.opening,
            messages: query_loop::messages(&self.session, &self.opening, &self.thread),
            directive: paper.directive(&tokens),
            tools: &paper,
            rounds: ROUNDS,
            max_tokens: OUTPUT_TOKENS,
            source: QuerySource::SessionMemory,
            spent: Some(spent),
            cancel,
        };
        match fork.run().await {
            Ok(_) => {
                paper.written().ok_or_else(|| Failure::Told("nothing was written into the notes".to_owned()))
            }
            Err(ForkError::Cancelled) => Err(Failure::Cancelled),
            Err(error) => Err(Failure::Told(error.to_string())),
        }
    }

    fn succeed(&self, text: &str) {
        let last = self.thread.last().map(|message| message.uuid);
        // Calls and their results stay together: what was still being worked on is not covered.
        let covered = last.filter(|last| {
            let mut state = self.session.state();
            state.notes.failures = 0;
            state.notes.progress.updated(self.progress, self.tokens);
            // A compaction or a rewind may have come first.
            !self.had_calls && state.thread.iter().any(|message| message.uuid == *last)
        });
        if let Some(upto) = covered {
            self.session.decide(None, Event::Notes { upto }, None);
        }
        if let Some(title) = notes::title(text) {
            entitle(&self.session, title);
        }
    }
}

impl Drop for Update {
    /// Also where it was dropped on the way: whoever waits for it goes on.
    fn drop(&mut self) {
        self.session.state().notes.running = None;
        self.running.cancel();
    }
}

/// Why the notes are not brought up to date.
enum Failure {
    Cancelled,
    /// In words for the log and the list of jobs.
    Told(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Told(why)
    }
}

/// Better than the first words of the first prompt; never in place of what the user has chosen.
fn entitle(session: &Session, title: String) {
    {
        let mut state = session.state();
        if state.title_is_given || state.title.as_ref() == Some(&title) {
            return;
        }
        state.title = Some(title.clone());
    }
    session.record(&Record::GeneratedTitle(title.clone()));
    session.emit(None, AgentEvent::Title { title });
}
