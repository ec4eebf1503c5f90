//! One dream, from its fork to its report.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use conversation::{Body, Message, ResultContent};
use futures_util::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use memory::{
    directive,
    dream_lock::Hold,
    history::{Author, By, Change, History},
    index::is_index,
    lint::{self, LintContext},
    scan,
};
use model::QuerySource;
use settings::directories;

use super::{
    super::{
        DreamChange, DreamReport, JobKind, JobState, News, blocking,
        jobs::Running,
        memory_tools::{MemoryTools, Origin},
    },
    Trigger,
    held::{Held, beat, let_go, lost},
    report,
    told::Told,
};
use crate::{
    fork::{Fork, ForkError, ForkTools, Spent},
    memories::Memories,
    opening, query_loop,
    session::Session,
    shared::Shared,
    tool_round::Call,
};

/// Many memories are read and written in few rounds; whoever needs more goes in circles.
const ROUNDS: u32 = 40;
const OUTPUT_TOKENS: u64 = 16_000;

pub(super) struct Dream {
    pub shared: Arc<Shared>,
    /// Whose conversation it starts from.
    pub session: Arc<Session>,
    pub memories: Arc<Memories>,
    /// `None` where nothing will be written.
    pub hold: Option<Hold>,
    pub trigger: Trigger,
    pub dry_run: bool,
    /// The sessions since the last dream.
    pub since: Vec<String>,
}

/// What came of it, before it is reported.
pub(super) struct Came {
    pub status: JobState,
    /// What the agent said at its end, or what went wrong.
    pub words: String,
    pub changes: Vec<DreamChange>,
    /// Those that were made, as the history has them.
    pub recorded: Vec<Change>,
    /// Left alone, and why.
    pub kept: Vec<(String, String)>,
}

impl Came {
    fn to_nothing(status: JobState, words: impl Into<String>) -> Self {
        Self { status, words: words.into(), changes: Vec::new(), recorded: Vec::new(), kept: Vec::new() }
    }

    /// What would be done, and is not.
    fn planned(status: JobState, words: String, changes: Vec<DreamChange>) -> Self {
        Self { changes, ..Self::to_nothing(status, words) }
    }

    /// Of what was changed or would be: the index is no memory.
    pub fn memories(&self) -> usize {
        let is_memory = |change: &&DreamChange| !change.path.to_str().is_some_and(is_index);
        self.changes.iter().filter(is_memory).count()
    }
}

/// Whoever asks from now on is told that it runs.
pub(super) fn start(dream: Dream, job: Running) {
    let told = Arc::new(Told::new(&dream.shared, &job.id));
    told.tell(|_| {});
    let work = dream.shared.work.clone();
    work.spawn(run(dream, job, told));
}

async fn run(mut dream: Dream, job: Running, told: Arc<Told>) {
    let began = Timestamp::now();
    let hold = Arc::new(Mutex::new(dream.hold.take()));
    let spent = Mutex::new(Spent::default());
    let dreamt = AssertUnwindSafe(dream.dream(&job, &told, &hold, &spent)).catch_unwind();
    let came = dreamt.await.unwrap_or_else(|_panic| {
        tracing::error!("a dream panicked");
        Came::to_nothing(JobState::Failed, "It broke off, and nothing was changed; the log has the details.")
    });
    // Before anybody hears of the end: the next one may begin at once.
    let_go(hold).await;
    let spent = *spent.lock().unwrap_or_else(PoisonError::into_inner);
    dream.tell(job, &told, came, spent, began).await;
}

impl Dream {
    async fn dream(&self, job: &Running, told: &Arc<Told>, hold: &Held, spent: &Mutex<Spent>) -> Came {
        let forked = tokio::select! {
            forked = self.fork(job, told, hold, spent) => forked,
            why = lost(hold) => Err(ForkError::Stopped(why)),
        };
        match forked {
            Ok((tools, said)) => self.finish(&job.id, tools, said, hold).await,
            Err(ForkError::Cancelled) => {
                Came::to_nothing(JobState::Killed, "It was stopped; nothing was changed.")
            }
            Err(error) => {
                Came::to_nothing(JobState::Failed, format!("It failed, and nothing was changed: {error}"))
            }
        }
    }

    async fn fork(
        &self,
        job: &Running,
        told: &Arc<Told>,
        hold: &Held,
        spent: &Mutex<Spent>,
    ) -> Result<(Arc<MemoryTools>, String), ForkError> {
        self.shared.faults.reach("dream");
        let settings = self.shared.settings(&self.session.cwd).settings;
        let opening = job.cancel.run_until_cancelled(opening::current(&self.session, &settings)).await;
        let opening = opening.ok_or(ForkError::Cancelled)?.map_err(ForkError::Model)?;
        let today = self.shared.faults.clock().today();
        let (session, memories) = (Arc::clone(&self.session), Arc::clone(&self.memories));
        let (toolbox, cancel, since) = (opening.toolbox.clone(), job.cancel.clone(), self.since.clone());
        let prepared = blocking(move || {
            let directory = memories.directory().to_owned();
            let context = LintContext { roots: session.shared.workspace.roots(), ..LintContext::default() };
            let findings = lint::lint(&directory, &context).unwrap_or_else(|error| {
                tracing::warn!(%error, "the memories cannot be looked through for what is wrong");
                Vec::new()
            });
            let directive = directive::Dream {
                directory: &directory,
                transcripts: &directories::related_project_dirs(&session.shared.environment, &session.cwd),
                today,
                sessions: &since,
                memories: &memories.store.memories(),
                findings: &findings,
                logs: &scan::logs(&directory),
                has_team: directory.join("team").is_dir(),
            }
            .text();
            let origin = Origin { created: today, source: None };
            Ok((MemoryTools::new(&session, memories, &toolbox, cancel, origin)?, directive))
        });
        let (tools, directive) = prepared.await.map_err(ForkError::Stopped)?;
        let tools = Arc::new(tools);
        let thread = settled(&self.session.state().thread);
        let dreamer =
            Dreamer { tools: Arc::clone(&tools), told: Arc::clone(told), hold: Arc::clone(hold), job };
        let fork = Fork {
            session: &self.session,
            opening: &opening,
            messages: query_loop::messages(&self.session, &opening, &thread),
            directive,
            tools: &dreamer,
            rounds: ROUNDS,
            max_tokens: OUTPUT_TOKENS,
            source: QuerySource::Dream,
            spent: Some(spent),
            cancel: &job.cancel,
        };
        let ended = fork.run().await?;
        if ended.is_cut {
            return Err(ForkError::Stopped(format!("it was not done after {ROUNDS} rounds")));
        }
        Ok((tools, ended.text))
    }

    /// Makes the changes, unless they would do harm or are only to be seen.
    async fn finish(&self, id: &str, tools: Arc<MemoryTools>, mut said: String, hold: &Held) -> Came {
        for refusal in tools.refusals() {
            said.push_str(&format!("\n\nNot done: {refusal}"));
        }
        let (id, hold, directory) = (id.to_owned(), Arc::clone(hold), self.memories.directory().to_owned());
        let (dry_run, session) = (self.dry_run, Arc::clone(&self.session));
        let finished = blocking(move || {
            let settings = session.shared.settings(&session.cwd).settings;
            let is_on = settings.features(&session.shared.environment).dream.is_some();
            super::super::gates::still_here(&session, &settings, is_on, &directory)?;
            if dry_run {
                let changes = planned(&tools, &said, &directory);
                return Ok(Came::planned(JobState::Completed, said, changes));
            }
            // The desk is let go of before it is looked at again.
            let objection = tools.desk().objection()?;
            if let Some(why) = objection {
                let changes = planned(&tools, &said, &directory);
                let words = format!("It was rolled back, because {why}. Nothing was changed.\n\n{said}");
                return Ok(Came::planned(JobState::Failed, words, changes));
            }
            let mut hold = hold.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(committed(&id, &tools, said, &mut hold, &directory))
        });
        finished.await.unwrap_or_else(|why| {
            Came::to_nothing(JobState::Failed, format!("Its changes could not be made: {why}"))
        })
    }

    async fn tell(self, job: Running, told: &Told, came: Came, spent: Spent, began: Timestamp) {
        let Came { status, .. } = came;
        let words = report::headline(&came, self.dry_run);
        let mut made = DreamReport {
            dream: job.id.clone(),
            status,
            dry_run: self.dry_run,
            trigger: self.trigger.as_str().to_owned(),
            began,
            ended: Timestamp::now(),
            path: None,
            text: String::new(),
            changes: came.changes.clone(),
            usage: spent.usage,
            cost_usd: spent.cost_usd,
        };
        made.text = report::text(&made, &came, &words);
        // A dream that was stopped has nothing to report, and pushes none out that has.
        if !self.dry_run && status != JobState::Killed {
            let (directory, report) = (self.memories.directory().to_owned(), made.clone());
            match blocking(move || report::save(&directory, &report)).await {
                Ok(path) => made.path = Some(path),
                Err(why) => tracing::warn!(why, "the report of a dream could not be written"),
            }
        }
        let has_written = !came.recorded.is_empty();
        let written = if has_written { came.memories() } else { 0 };
        self.tell_changes(came.recorded).await;
        super::super::account(&self.shared, JobKind::Dream, spent, written).await;
        // Whoever asked for it is waiting for its end.
        let is_awaited = self.trigger == Trigger::Command && status != JobState::Killed;
        if is_awaited || status == JobState::Failed || has_written {
            self.shared.frontend.news(News {
                kind: JobKind::Dream,
                session: (!self.session.is_ephemeral).then(|| self.session.id.clone()),
                text: words.clone(),
                view: made.path.clone(),
                undo: has_written.then(|| job.id.clone()),
            });
        }
        let went_wrong = status == JobState::Failed;
        self.shared.dreams.ended(self.memories.directory(), went_wrong, made);
        told.end(status, &words);
        job.end(status, Some(words));
    }

    /// As any other change of a memory.
    async fn tell_changes(&self, changes: Vec<Change>) {
        let (memories, frontend) = (Arc::clone(&self.memories), Arc::clone(&self.shared.frontend));
        let told = blocking(move || {
            memories.tell(&*frontend, None, Ok(changes));
            Ok(())
        });
        if let Err(why) = told.await {
            tracing::warn!(why, "what a dream changed could not be told");
        }
    }
}

/// Under the lock; whoever has lost it meanwhile writes nothing more.
fn committed(
    id: &str,
    tools: &MemoryTools,
    said: String,
    hold: &mut Option<Hold>,
    directory: &std::path::Path,
) -> Came {
    let fence = || match hold.as_ref() {
        Some(hold) => hold.check().map_err(std::io::Error::other),
        None => Err(std::io::Error::other("nobody holds the dream lock")),
    };
    let author =
        |path: &str| Author { group: Some(id.to_owned()), ..Author::new(By::Dream, why(path, &said)) };
    let made = tools.commit(author, fence);
    let history = History::open(directory).ok();
    let changes = made.changes.iter().map(|change| DreamChange {
        change: Some(change.id.clone()),
        path: directory.join(&change.path),
        why: change.why.clone(),
        diff: history.as_ref().map(|history| history.diff(change)).unwrap_or_default(),
    });
    let changes: Vec<DreamChange> = changes.collect();
    if let Some(error) = made.error {
        if error.kind() == std::io::ErrorKind::Interrupted && made.left.is_empty() {
            let words = "It was stopped; what it had begun to change was taken back.";
            return Came::to_nothing(JobState::Killed, words);
        }
        let words = match made.left.join(", ") {
            none if none.is_empty() => format!("It could not be finished, and nothing was changed: {error}"),
            left => format!("It could not be finished, and stays half done in {left}: {error}"),
        };
        let (recorded, kept) = (made.changes, made.kept);
        return Came { status: JobState::Failed, words, changes, recorded, kept };
    }
    if let Some(hold) = hold.take()
        && let Err(error) = hold.complete()
    {
        tracing::warn!(%error, "the time of the dream could not be written down");
    }
    let (recorded, kept) = (made.changes, made.kept);
    Came { status: JobState::Completed, words: said, changes, recorded, kept }
}

/// What is on the desk.
fn planned(tools: &MemoryTools, said: &str, directory: &std::path::Path) -> Vec<DreamChange> {
    let desk = tools.desk();
    let changes = desk.drafts().map(|(path, draft)| DreamChange {
        change: None,
        path: directory.join(path),
        why: why(path, said),
        diff: draft.diff(path),
    });
    changes.collect()
}

/// What the agent says of a file, if it says something.
fn why(path: &str, said: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let line = said.lines().find(|line| line.contains(name)).unwrap_or_default();
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    match line.is_empty() {
        false => format!("a dream: {line}"),
        true if is_index(path) => "a dream: the index follows the memories".to_owned(),
        true => "a dream put it in order".to_owned(),
    }
}

/// The conversation up to where nothing is unanswered: somebody may be at work in it.
fn settled(thread: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let is_answer = |message: &Arc<Message>| {
        matches!(&message.body, Body::Assistant { content, .. }
            if !content.iter().any(|block| matches!(block, conversation::Block::ToolUse { .. })))
    };
    let end = thread.iter().rposition(is_answer).map_or(0, |last| last + 1);
    thread.get(..end).unwrap_or_default().to_vec()
}

/// What the dream's agent may call, and who hears of it.
struct Dreamer<'a> {
    tools: Arc<MemoryTools>,
    told: Arc<Told>,
    hold: Held,
    job: &'a Running,
}

impl ForkTools for Dreamer<'_> {
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<ResultContent, String>> {
        Box::pin(async move {
            let answer = self.tools.answer(call).await;
            let touched = self.tools.touched();
            if !touched.is_empty() {
                self.told.touched(touched);
            }
            answer
        })
    }

    /// A heartbeat; who finds the lock lost stops.
    fn round<'a>(&'a self, said: &'a str, calls: usize) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.told.round(said, calls);
            let progress = self.told.progress();
            let files = progress.files_touched.len();
            self.job.report(&format!("round {}, {files} memories touched", progress.rounds));
            beat(&self.hold).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_reason_that_names_it() {
        let said = "Tidied up.\n- merged tabs.md into style.md: they said the same\n";
        assert_eq!(why("tabs.md", said), "a dream: merged tabs.md into style.md: they said the same");
        assert_eq!(why("team/other.md", said), "a dream put it in order");
        assert_eq!(why("MEMORY.md", said), "a dream: the index follows the memories");
    }
}
