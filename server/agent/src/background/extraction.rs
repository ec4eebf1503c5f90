//! After a turn: what of it is worth knowing later becomes a memory.
//!
//! A fork of the conversation looks at what was said since the last time. One at a time a session; what comes meanwhile
//! waits, and only the latest of it. What fails is tried again with the next turn, from where the last success ended.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use context::Event;
use conversation::{Block, Body, Message, ResultContent};
use futures_util::future::BoxFuture;
use memory::{
    directive,
    history::{Author, By, Change},
    index::is_index,
};
use model::QuerySource;
use settings::Settings;
use uuid::Uuid;

use super::{
    Gate, JobKind, JobState, News, gates,
    jobs::Running,
    memory_tools::{MemoryTools, Origin},
};
use crate::{
    event::TurnId,
    fork::{Fork, ForkError, ForkTools, Spent},
    memories::{self, Memories},
    query_loop,
    session::{Opening, Session},
    shared::Shared,
    tool_round::Call,
};

const OUTPUT_TOKENS: u64 = 8_000;
/// Failures in a row after which a session tries no more.
const MOST_FAILURES: u32 = 3;

/// What a session knows of its extractions.
#[derive(Default)]
pub(crate) struct Learning {
    /// Of the turn that has just ended.
    pub opening: Option<Opening>,
    is_running: bool,
    /// The latest turn that ended meanwhile.
    waiting: Option<Snapshot>,
    /// Turns since the last one that counted.
    turns: u32,
    failures: u32,
}

/// A conversation at the end of a turn.
pub(crate) struct Snapshot {
    pub turn: TurnId,
    pub thread: Vec<Arc<Message>>,
    /// What its requests began with, and who answered them.
    pub opening: Opening,
}

/// Looks at a turn that has ended. Returns when all that is to be learnt by now is learnt.
pub(super) async fn after_turn(session: Arc<Session>, snapshot: Snapshot) {
    {
        let mut state = session.state();
        if state.learning.is_running {
            state.learning.waiting = Some(snapshot);
            return;
        }
        state.learning.is_running = true;
    }
    let mut next = Some((snapshot, Throttled::Yes));
    while let Some((snapshot, throttled)) = next {
        // On a task of its own: a panic must not leave the session running for good.
        let looking = tokio::spawn(consider(Arc::clone(&session), snapshot, throttled));
        if let Err(error) = looking.await {
            tracing::error!(%error, session = %session.id, "an extraction panicked");
            session.state().learning.failures += 1;
        }
        let mut state = session.state();
        next = state.learning.waiting.take().map(|snapshot| (snapshot, Throttled::No));
        state.learning.is_running = next.is_some();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Throttled {
    Yes,
    No,
}

async fn consider(session: Arc<Session>, snapshot: Snapshot, throttled: Throttled) {
    let settings = session.shared.settings(&session.cwd).settings;
    let gates = gates(&session.shared, &settings, Some(&session));
    if gates.iter().any(|gate| !gate.open) {
        gates::tell_spent(&session.shared, JobKind::Extraction, Some(session.id.clone()), &gates);
        return;
    }
    let Some(memories) = session.memories() else { return };
    let cursor = session.state().window.projection.extracted_upto();
    let new = since(&snapshot.thread, cursor);
    let Some(last) = snapshot.thread.last().map(|message| message.uuid) else { return };
    if has_written_memory(new, &memories) {
        session.decide(None, Event::Extracted { upto: last }, None);
        return;
    }
    let every = settings.features(&session.shared.environment).extraction_every_n;
    {
        let mut state = session.state();
        state.learning.turns += 1;
        if throttled == Throttled::Yes && state.learning.turns < every {
            return;
        }
        state.learning.turns = 0;
    }
    let count = new.iter().filter(|message| is_said(message)).count();
    if count == 0 {
        return;
    }
    let learnt = run(&session, &memories, &snapshot, count).await;
    let mut state = session.state();
    match learnt {
        Ok(()) => state.learning.failures = 0,
        Err(Failed::Stopped) => {
            // Whoever stops it at the end wants to leave.
            if session.shared.jobs.is_draining() {
                state.learning.waiting = None;
            }
            return;
        }
        Err(Failed::Failed) => {
            state.learning.failures += 1;
            return;
        }
    }
    drop(state);
    session.decide(None, Event::Extracted { upto: last }, None);
}

enum Failed {
    Stopped,
    Failed,
}

/// One fork, from its job's beginning to what is told of it.
async fn run(
    session: &Arc<Session>,
    memories: &Arc<Memories>,
    snapshot: &Snapshot,
    count: usize,
) -> Result<(), Failed> {
    let (shared, id) = (&session.shared, Some(session.id.clone()));
    let job =
        shared.jobs.begin(&shared.frontend, JobKind::Extraction, id.clone(), "Remembering what is worth it");
    shared.faults.reach("extraction");
    let (learnt, spent) = (Arc::new(Mutex::new(Vec::new())), Mutex::new(Spent::default()));
    let forked = Extraction { session, memories, snapshot, count, job: &job, learnt: &learnt };
    let outcome = forked.run(&spent).await;
    // What was written is told, however it ended.
    let changes = std::mem::take(&mut *learnt.lock().unwrap_or_else(PoisonError::into_inner));
    let first = changes.iter().find(|change| !is_index(&change.path));
    let view = first.map(|change| memories.directory().join(&change.path));
    let (known, told_in, turn) = (Arc::clone(memories), Arc::clone(session), snapshot.turn.clone());
    let told = super::blocking(move || {
        let names = known.names(&changes);
        known.tell(&*told_in.shared.frontend, Some((&told_in, &turn)), Ok(changes));
        Ok(names)
    });
    let names = told.await.unwrap_or_default();
    let spent = *spent.lock().unwrap_or_else(PoisonError::into_inner);
    super::account(shared, JobKind::Extraction, spent, names.len()).await;
    if !names.is_empty() {
        let text = format!("Remembered: {}", names.join(", "));
        let undo = Some(job.id.clone());
        shared.frontend.news(News { kind: JobKind::Extraction, session: id, text, view, undo });
    }
    match outcome {
        Ok(()) => {
            let detail = if names.is_empty() { "nothing was worth it".to_owned() } else { names.join(", ") };
            job.end(JobState::Completed, Some(detail));
            Ok(())
        }
        Err(_) if job.cancel.is_cancelled() => {
            job.end(JobState::Killed, None);
            Err(Failed::Stopped)
        }
        Err(error) => {
            tracing::warn!(session = %session.id, %error, "an extraction failed");
            job.end(JobState::Failed, Some(error.to_string()));
            Err(Failed::Failed)
        }
    }
}

struct Extraction<'a> {
    session: &'a Arc<Session>,
    memories: &'a Arc<Memories>,
    snapshot: &'a Snapshot,
    count: usize,
    job: &'a Running,
    learnt: &'a Arc<Mutex<Vec<Change>>>,
}

impl Extraction<'_> {
    async fn run(&self, spent: &Mutex<Spent>) -> Result<(), ForkError> {
        let opening = &self.snapshot.opening;
        let today = self.session.shared.faults.clock().today();
        let prompt = memories::last_prompt(&self.snapshot.thread);
        let author = Author {
            by: By::Extraction,
            why: match &prompt {
                Some((_, words)) => format!("learnt from “{}”", memories::head(words)),
                None => "learnt from the conversation".to_owned(),
            },
            session: Some(self.session.id.to_string()),
            message: prompt.as_ref().map(|(uuid, _)| uuid.to_string()),
            group: Some(self.job.id.clone()),
        };
        let source = prompt.map(|(uuid, _)| format!("{}/{uuid}", self.session.id));
        let (session, memories) = (Arc::clone(self.session), Arc::clone(self.memories));
        let (toolbox, cancel) = (opening.toolbox.clone(), self.job.cancel.clone());
        let made = super::blocking(move || {
            let known = memories.store.memories();
            let origin = Origin { created: today, source };
            let tools = MemoryTools::new(&session, memories, &toolbox, cancel, origin)?;
            Ok((tools, known))
        });
        let (tools, known) = made.await.map_err(ForkError::Stopped)?;
        let tools = Extractor {
            session: Arc::clone(self.session),
            folder: self.memories.directory().to_owned(),
            tools: Arc::new(tools),
            author,
            learnt: Arc::clone(self.learnt),
        };
        let fork = Fork {
            session: self.session,
            opening,
            messages: query_loop::messages(self.session, opening, &self.snapshot.thread),
            directive: directive::Extract {
                directory: self.memories.directory(),
                today,
                messages: self.count,
                memories: &known,
            }
            .text(),
            tools: &tools,
            rounds: directive::EXTRACT_ROUNDS,
            max_tokens: OUTPUT_TOKENS,
            source: QuerySource::Extraction,
            spent: Some(spent),
            cancel: &self.job.cancel,
        };
        fork.run().await.map(|_| ())
    }
}

/// Makes the changes of each round as soon as it is over: a topic and its line in the index belong to one.
struct Extractor {
    session: Arc<Session>,
    /// Where the memories were when it began.
    folder: PathBuf,
    tools: Arc<MemoryTools>,
    author: Author,
    learnt: Arc<Mutex<Vec<Change>>>,
}

impl ForkTools for Extractor {
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<ResultContent, String>> {
        Box::pin(self.tools.answer(call))
    }

    fn round<'a>(&'a self, _said: &'a str, _calls: usize) -> BoxFuture<'a, Result<(), String>> {
        let (tools, author, learnt) =
            (Arc::clone(&self.tools), self.author.clone(), Arc::clone(&self.learnt));
        let (session, folder) = (Arc::clone(&self.session), self.folder.clone());
        Box::pin(super::blocking(move || {
            let settings = session.shared.settings(&session.cwd).settings;
            let is_on = settings.features(&session.shared.environment).extraction;
            super::gates::still_here(&session, &settings, is_on, &folder)?;
            let committed = tools.commit(|_| author.clone(), || Ok(()));
            learnt.lock().unwrap_or_else(PoisonError::into_inner).extend(committed.changes);
            committed.error.map_or(Ok(()), Err)
        }))
    }
}

/// Whether it may run, in the order in which it is looked at.
pub(super) fn gates(shared: &Shared, settings: &Settings, session: Option<&Session>) -> Vec<Gate> {
    let features = settings.features(&shared.environment);
    let mut gates = gates::common(shared, settings);
    gates.push(Gate::of("enabled", features.extraction, "the setting reverie.features.extraction"));
    let offline = session.is_some_and(|session| {
        session.state().rendered.as_ref().is_none_or(|rendered| rendered.model.starts_with("offline/"))
    });
    let attended = !shared.non_interactive.load(Ordering::Relaxed);
    gates.push(Gate {
        name: "interactive",
        open: attended || offline || features.extraction_non_interactive,
        detail: match (attended, offline) {
            (true, _) => "somebody is there".to_owned(),
            (false, true) => "nobody is there, but the offline model costs nothing".to_owned(),
            (false, false) => {
                "nobody is there to see it; reverie.features.extractionNonInteractive has it run all the same"
                    .to_owned()
            }
        },
    });
    gates.push(Gate {
        name: "dailyLog",
        open: !features.daily_log,
        detail: if features.daily_log { "the model keeps a log for each day itself" } else { "no daily log" }
            .to_owned(),
    });
    if let Some(session) = session {
        let failures = session.state().learning.failures;
        gates.push(Gate {
            name: "breaker",
            open: failures < MOST_FAILURES,
            detail: format!("{failures} of {MOST_FAILURES} failures in a row in this session"),
        });
    }
    gates
}

/// What came after the cursor. A cursor that is not in the conversation any more, or none, leaves all of it.
fn since(thread: &[Arc<Message>], cursor: Option<Uuid>) -> &[Arc<Message>] {
    let after = cursor.and_then(|cursor| thread.iter().position(|message| message.uuid == cursor));
    thread.get(after.map_or(0, |at| at + 1)..).unwrap_or_default()
}

fn is_said(message: &Message) -> bool {
    !message.flags.meta && matches!(message.body, Body::User { .. } | Body::Assistant { .. })
}

/// Whether the main agent has written a memory itself: whoever says "remember" is served already.
fn has_written_memory(messages: &[Arc<Message>], memories: &Memories) -> bool {
    let blocks = || {
        messages.iter().flat_map(|message| match &message.body {
            Body::User { content } | Body::Assistant { content, .. } => content.as_slice(),
            _ => &[],
        })
    };
    let failed: HashSet<&str> = blocks()
        .filter_map(|block| match block {
            Block::ToolResult { tool_use_id, is_error: true, .. } => Some(tool_use_id.as_str()),
            _ => None,
        })
        .collect();
    let mut calls = blocks();
    calls.any(|block| match block {
        Block::ToolUse { id, name, input }
            if matches!(name.as_str(), "Write" | "Edit" | "MultiEdit") && !failed.contains(id.as_str()) =>
        {
            let path = input.get("file_path").and_then(serde_json::Value::as_str);
            path.is_some_and(|path| memories.relative(path).is_some())
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_that_is_lost_leaves_everything() {
        let message = |number: u128| {
            Arc::new(Message {
                uuid: Uuid::from_u128(number),
                parent: None,
                timestamp: jiff::Timestamp::UNIX_EPOCH,
                flags: conversation::Flags::default(),
                body: Body::User { content: vec![Block::text("x")] },
            })
        };
        let thread = [message(1), message(2), message(3)];
        assert_eq!(since(&thread, Some(Uuid::from_u128(2))).len(), 1);
        assert_eq!(since(&thread, Some(Uuid::from_u128(3))).len(), 0);
        assert_eq!(since(&thread, Some(Uuid::from_u128(9))).len(), 3);
        assert_eq!(since(&thread, None).len(), 3);
    }
}
