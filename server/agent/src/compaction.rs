//! Compaction: what was said is replaced by a summary, in what is sent. The transcript keeps all of it.
//!
//! Which part is summarised, what is kept and what is said are `context`'s business; this asks the fork, puts together
//! what stands in for the conversation, and writes it down in one piece: a kill leaves the old conversation or the new
//! one.

mod commit;
mod restore;
mod summary;

use std::{ops::Range, sync::Arc};

use context::{
    Trigger,
    compact::{self, Continue},
    event::layer,
    partial::{self, Direction},
    session_compact::{self, Notes},
};
use conversation::{Block, Body, Message};
use settings::Settings;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    background::notes,
    event::{NoticeLevel, TurnId},
    meter, opening,
    session::{Opening, Session},
};

/// How a conversation is compacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The notes if they will do, else a summary.
    #[default]
    Auto,
    Full,
    SessionMemory,
    /// The message and what follows is summarised.
    From(Uuid),
    /// What comes before the message is summarised.
    UpTo(Uuid),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compact {
    pub mode: Mode,
    /// What the summary has to mind.
    pub instructions: Option<String>,
    /// Only shows what it would be.
    pub preview: bool,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    pub layer: &'static str,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary: String,
}

/// A summary that was shown. Taken as it is if nothing was said since.
pub(crate) struct Preview {
    tip: Option<Uuid>,
    asked: Compact,
    plan: Plan,
}

/// Why a conversation is not compacted, in words for the user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// It was stopped.
    #[error("the compaction was cancelled; the conversation is as it was")]
    Cancelled,
    /// The user can do something about it.
    #[error("{0}")]
    Impossible(String),
    /// It was tried, and counts as a failure.
    #[error("{0}")]
    Failed(String),
    /// The conversation does not even fit a request for its summary.
    #[error("{0}")]
    TooLong(String),
}

/// Who compacts what, and why.
pub(crate) struct Job<'a> {
    pub session: &'a Arc<Session>,
    pub turn: Option<&'a TurnId>,
    pub opening: &'a Opening,
    pub settings: &'a Settings,
    pub trigger: Trigger,
    /// What the summary is followed by.
    pub then: Continue,
    pub cancel: &'a CancellationToken,
}

/// What stands in for a part of the thread.
#[derive(Clone)]
struct Plan {
    part: Part,
    /// Positions in the thread.
    summarised: Range<usize>,
    /// Before it (from) or after it.
    kept: Range<usize>,
    summary: String,
    /// The message that stands for it.
    message: String,
    score: Option<f64>,
}

/// Which part of the conversation, and by what means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    From,
    UpTo,
    /// What the session's notes cover.
    Noted,
}

impl Part {
    fn layer(self) -> &'static str {
        match self {
            Self::Whole => layer::FULL,
            Self::From => "from",
            Self::UpTo => "upTo",
            Self::Noted => layer::SESSION_MEMORY,
        }
    }
}

impl Job<'_> {
    /// Compacts, or shows how it would. Returns the opening that holds from now on.
    pub async fn run(&self, asked: Compact) -> Result<(Compacted, Opening), Refusal> {
        let (thread, tip) = {
            let state = self.session.state();
            (state.thread.clone(), state.tip)
        };
        let before = self.opening.used(self.session);
        let plan = match self.previewed(tip, &asked) {
            Some(plan) => plan,
            None => self.plan(&thread, &asked).await?,
        };
        if asked.preview {
            let tokens_after = commit::size(self, &thread, &plan);
            let shown = Compacted {
                layer: plan.part.layer(),
                tokens_before: before,
                tokens_after,
                summary: plan.summary.clone(),
            };
            self.session.state().window.preview =
                Some(Preview { tip, asked: Compact { preview: false, ..asked }, plan });
            return Ok((shown, self.opening.clone()));
        }
        commit::commit(self, &thread, plan, before).await
    }

    fn previewed(&self, tip: Option<Uuid>, asked: &Compact) -> Option<Plan> {
        let shown = self.session.state().window.preview.take()?;
        let wanted = Compact { preview: false, ..asked.clone() };
        (shown.tip == tip && shown.asked == wanted).then_some(shown.plan)
    }

    async fn plan(&self, thread: &[Arc<Message>], asked: &Compact) -> Result<Plan, Refusal> {
        match &asked.mode {
            // Instructions are for whoever summarises; the notes know nothing of them.
            Mode::Auto if asked.instructions.is_some() => self.full(thread, asked).await,
            Mode::Auto => match self.noted(thread).await {
                Ok(plan) => Ok(plan),
                Err(why) => {
                    tracing::debug!(session = %self.session.id, %why, "the notes are not used");
                    self.full(thread, asked).await
                }
            },
            Mode::SessionMemory => self.noted(thread).await.map_err(Refusal::Impossible),
            Mode::Full => self.full(thread, asked).await,
            Mode::From(at) => self.partial(thread, *at, Direction::From, asked).await,
            Mode::UpTo(at) => self.partial(thread, *at, Direction::UpTo, asked).await,
        }
    }

    /// The whole conversation; what was not answered yet is kept as it is. Where the request for the summary does not
    /// fit because of what came last, that is kept too.
    async fn full(&self, thread: &[Arc<Message>], asked: &Compact) -> Result<Plan, Refusal> {
        let end = unanswered(thread);
        if end == 0 {
            return Err(Refusal::Impossible("there is nothing to compact yet".to_owned()));
        }
        let mut attempts = vec![(end, summary::MOST_DROPS)];
        if self.trigger == Trigger::Reactive {
            let tokens = meter::of_message(self.session, &self.opening.spec);
            let mut peeled = context::reactive::peeled(thread, None, &tokens);
            peeled.retain(|peeled| *peeled < end);
            // What came first is given up only where keeping what came last as it is does not help.
            let whole = [end].into_iter().filter(|_| !peeled.is_empty());
            attempts
                .splice(0..0, whole.chain(peeled.iter().copied()).map(|end| (end, 0)).collect::<Vec<_>>());
        }
        let instructions = asked.instructions.as_deref();
        let mut outcome = Err(Refusal::Impossible("there is nothing to compact yet".to_owned()));
        for (end, drops) in attempts {
            outcome = summary::ask(self, thread, 0..end, Part::Whole, instructions, drops)
                .await
                .map(|made| (made, end));
            if !matches!(outcome, Err(Refusal::TooLong(_))) {
                break;
            }
        }
        let (made, end) = outcome?;
        let scope = if end == thread.len() { compact::Scope::Whole } else { compact::Scope::UpTo };
        Ok(Plan {
            part: Part::Whole,
            summarised: 0..end,
            kept: end..thread.len(),
            message: compact::summary_text(&made, self.session.transcript.path(), self.then, scope),
            score: Some(made.score()),
            summary: made.text().to_owned(),
        })
    }

    async fn partial(
        &self,
        thread: &[Arc<Message>],
        at: Uuid,
        direction: Direction,
        asked: &Compact,
    ) -> Result<Plan, Refusal> {
        let plan =
            partial::partial(thread, at, direction).map_err(|why| Refusal::Impossible(why.to_string()))?;
        let part = match direction {
            Direction::From => Part::From,
            Direction::UpTo => Part::UpTo,
        };
        let summarised = plan.summarise.clone();
        let instructions = asked.instructions.as_deref();
        let made = summary::ask(self, thread, summarised, part, instructions, summary::MOST_DROPS).await?;
        let scope = match (direction, thread.get(plan.summarise.start)) {
            (Direction::From, Some(first)) => compact::Scope::From(first),
            _ => compact::Scope::UpTo,
        };
        Ok(Plan {
            part,
            message: compact::summary_text(&made, self.session.transcript.path(), self.then, scope),
            summarised: plan.summarise,
            kept: plan.keep,
            score: Some(made.score()),
            summary: made.text().to_owned(),
        })
    }

    /// Free: the summary is there already.
    async fn noted(&self, thread: &[Arc<Message>]) -> Result<Plan, String> {
        let session = self.session;
        let features = self.settings.features(&session.shared.environment);
        if !features.session_memory_compact {
            return Err("compaction from the session's notes is switched off".to_owned());
        }
        notes::settled(session, self.cancel).await;
        let path = notes::path(session);
        let text = notes::read(session, &path).await?;
        let (upto, resumed) = {
            let state = session.state();
            (state.window.projection.notes_upto(), state.window.resumed)
        };
        let threshold = meter::budget(session, self.settings, &self.opening.spec).autocompact_threshold();
        let prefix = meter::prefix_tokens(session, self.opening);
        let tokens = meter::of_message(session, &self.opening.spec);
        let notes = Notes { text: &text, path: &path, upto, resumed };
        let plan = session_compact::plan(notes, thread, threshold, prefix, &tokens)
            .map_err(|why| why.to_string())?;
        Ok(Plan {
            part: Part::Noted,
            message: session_compact::summary_text(&plan, session.transcript.path(), self.then),
            summarised: 0..plan.keep_from,
            kept: plan.keep_from..thread.len(),
            summary: plan.summary,
            score: None,
        })
    }
}

/// Because the user says so. Is not dropped on the way: it looks itself whether it was cancelled, and never between what
/// belongs together.
pub(crate) async fn by_request(
    session: &Arc<Session>,
    turn: Option<&TurnId>,
    asked: Compact,
    cancel: &CancellationToken,
) -> Result<Compacted, Refusal> {
    let settings = session.shared.settings(&session.cwd).settings;
    let opening = cancel.run_until_cancelled(opening::current(session, &settings)).await;
    let opening =
        opening.ok_or(Refusal::Cancelled)?.map_err(|error| Refusal::Impossible(error.to_string()))?;
    let job = Job {
        session,
        turn,
        opening: &opening,
        settings: &settings,
        trigger: Trigger::Manual,
        then: Continue::OnPrompt,
        cancel,
    };
    let (compacted, _) = job.run(asked).await?;
    Ok(compacted)
}

/// Where the part begins that was not answered yet: the user's words behind the last response, unless they are results
/// of its calls.
pub(crate) fn unanswered(thread: &[Arc<Message>]) -> usize {
    let behind = thread.iter().rposition(|message| matches!(message.body, Body::Assistant { .. }));
    let end = behind.map_or(0, |last| last + 1);
    let rest = thread.get(end..).unwrap_or_default();
    let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
    let answers_calls = rest
        .iter()
        .any(|message| matches!(&message.body, Body::User { content } if content.iter().any(is_result)));
    let speaks = rest.iter().any(|message| {
        !message.flags.meta
            && matches!(&message.body, Body::User { content } if !content.iter().any(is_result))
    });
    if answers_calls || !speaks { thread.len() } else { end }
}

/// "Three failures in a row stop automatic compaction for the session."
pub(crate) const MOST_FAILURES: u32 = 3;

/// A failure is told; the third in a row stops automatic compaction, and the user may take that back.
pub(crate) fn count_failure(session: &Arc<Session>, turn: Option<&TurnId>, why: &str) {
    let failures = {
        let mut state = session.state();
        state.window.failures += 1;
        state.window.failures
    };
    let text = format!("the conversation could not be compacted: {why}");
    session.notice(turn, NoticeLevel::Warning, text);
    if failures != MOST_FAILURES {
        return;
    }
    let text = format!(
        "{MOST_FAILURES} compactions have failed in a row: none is tried by itself in this session any more; /compact \
         tries again"
    );
    session.notice(turn, NoticeLevel::Error, &text);
    let session = Arc::clone(session);
    tokio::spawn(async move {
        session.shared.faults.reach("breaker question");
        let options = ["Leave it at that", "Try again"].map(str::to_owned).to_vec();
        let question = format!("{text}. Shall it be tried again?");
        let answer = session.shared.frontend.ask_user(session.id.clone(), question, options.clone()).await;
        if answer.is_some() && answer.as_ref() == options.last() {
            session.state().window.failures = 0;
        }
    });
}
