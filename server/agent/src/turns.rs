//! What happens to a session one after another: prompts and the queue behind them, built-in commands, rewinds.
//!
//! Whoever wants a session to themselves marks it as running; whoever lets go of it ends what was cancelled meanwhile and
//! starts the prompt that waits next. There is one way to do either, so that nothing ever waits for nobody.

use std::sync::Arc;

use conversation::{Record, SessionId};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    agent::Agent,
    attachments,
    background::{self, Lesson},
    commands::{self, BuiltIn, Spoken},
    compaction::{self, Compact, Compacted, Refusal},
    event::{AgentEvent, Said, TurnEnd, TurnId, TurnStop},
    history, memories, query_loop, recall,
    session::{Queued, Session},
    turn::Turn,
    types::{Accepted, AgentError, Prompt, PromptPart, Rewound},
};

pub(crate) const TITLE_CHARS: usize = 80;

/// Prompts that wait behind a turn are held in memory, images and all.
const LONGEST_QUEUE: usize = 32;

impl Agent {
    /// Starts a turn, or queues the prompt behind the one that runs. The user's words are on disk when this returns.
    pub fn prompt(self: &Arc<Self>, id: &SessionId, prompt: Prompt) -> Result<Accepted, AgentError> {
        let session = self.session(id)?;
        let blocks = attachments::content(&prompt)?;
        let turn: TurnId = Uuid::now_v7().to_string();
        if let Some(statement) = memories::note(&prompt) {
            return Ok(self.save_note(&session, turn, statement));
        }
        match commands::built_in(&session, &prompt)? {
            Some(spoken) if spoken.command == BuiltIn::Compact => {
                return self.compact_by_command(&session, turn, spoken);
            }
            Some(spoken) => return self.run_command(&session, turn, spoken),
            None => {}
        }
        let cancel = CancellationToken::new();
        {
            let mut state = session.state();
            if state.running.is_some() {
                if state.queue.len() >= LONGEST_QUEUE {
                    return Err(AgentError::Unavailable(format!(
                        "{LONGEST_QUEUE} prompts wait already; wait for the turn to end, or cancel it"
                    )));
                }
                let waiting = Record::Queued { turn: turn.clone(), text: attachments::words(&prompt) };
                // Under the lock: that it waits no longer must come after it.
                let written = session.write(&mut state, &waiting);
                state.queue.push_back(Queued { turn: turn.clone(), prompt });
                drop(state);
                session.report_write(written);
                return Ok(Accepted { turn, queued: true });
            }
            state.running = Some(cancel.clone());
        }
        let first = session.state().thread.is_empty();
        session.append_user(blocks);
        if first {
            name_session(&session, &turn, &prompt);
        }
        self.spawn_turn(session, turn.clone(), prompt, cancel);
        Ok(Accepted { turn, queued: false })
    }

    /// Takes the conversation back to before a prompt, or to right after another message, and its files too. It is
    /// carried through even if nobody waits for it any more.
    pub async fn rewind(
        self: &Arc<Self>,
        id: &SessionId,
        message: Uuid,
        restore_files: bool,
        force: bool,
    ) -> Result<Rewound, AgentError> {
        let session = self.session(id)?;
        let alone = self.alone_in(&session)?;
        let rewinding = self.turns.spawn(async move {
            session.shared.faults.reach("rewind");
            let outcome = history::rewind(&session, message, restore_files, force).await;
            drop(alone);
            outcome
        });
        rewinding.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a rewind panicked");
            Err(AgentError::Unavailable("the rewind failed inside; the log has the details".to_owned()))
        })
    }

    /// Keeps the session to the caller: until it is dropped no turn begins.
    pub(crate) fn alone_in(self: &Arc<Self>, session: &Arc<Session>) -> Result<Alone, AgentError> {
        let mut state = session.state();
        if state.running.is_some() {
            return Err(AgentError::Unavailable(
                "a turn is running; stop it first, or wait for its end".to_owned(),
            ));
        }
        let cancel = CancellationToken::new();
        state.running = Some(cancel.clone());
        drop(state);
        Ok(Alone { agent: Arc::clone(self), session: Arc::clone(session), cancel })
    }

    /// Replaces a part of the conversation by a summary, or shows what that would be. Ends soon after `cancel` fires, or
    /// the session is cancelled, and leaves the conversation as it was then.
    pub async fn compact(
        self: &Arc<Self>,
        id: &SessionId,
        asked: Compact,
        cancel: CancellationToken,
    ) -> Result<Compacted, AgentError> {
        let session = self.session(id)?;
        let alone = self.alone_in(&session)?;
        let compacting = self.turns.spawn(async move {
            session.shared.faults.reach("compact");
            let stop = alone.cancel.clone();
            let mut running = std::pin::pin!(compaction::by_request(&session, None, asked, &stop));
            let outcome = tokio::select! {
                outcome = &mut running => outcome,
                () = cancel.cancelled() => {
                    stop.cancel();
                    running.await
                }
            };
            drop(alone);
            outcome
        });
        match compacting.await {
            Ok(outcome) => outcome.map_err(refused),
            Err(error) => {
                tracing::error!(%error, "a compaction panicked");
                let text = "the compaction failed inside; the conversation is as it was".to_owned();
                Err(AgentError::Unavailable(text))
            }
        }
    }

    /// Takes the last compaction back, until the next request.
    pub fn uncompact(self: &Arc<Self>, id: &SessionId) -> Result<(), AgentError> {
        let session = self.session(id)?;
        let _alone = self.alone_in(&session)?;
        if session.uncompact() { Ok(()) } else { Err(commands::nothing_to_uncompact()) }
    }

    /// `/compact` is a turn of its own: it asks a model, and can be cancelled.
    fn compact_by_command(
        self: &Arc<Self>,
        session: &Arc<Session>,
        turn: TurnId,
        spoken: Spoken,
    ) -> Result<Accepted, AgentError> {
        let alone = self.alone_in(session)?;
        let accepted = Accepted { turn: turn.clone(), queued: false };
        let session = Arc::clone(session);
        self.turns.spawn(async move {
            let (compacted, id) = (Arc::clone(&session), turn.clone());
            let running = tokio::spawn(async move {
                compacted.shared.faults.reach("compact");
                let instructions = Some(spoken.arguments.clone()).filter(|words| !words.is_empty());
                let asked = Compact { mode: compaction::Mode::Auto, instructions, preview: false };
                let outcome = compaction::by_request(&compacted, Some(&id), asked, &alone.cancel).await;
                drop(alone);
                outcome
            });
            let end = match running.await {
                Ok(Ok(done)) => {
                    let text = format!(
                        "The conversation was compacted ({}): {} tokens before, {} after. /uncompact takes it back \
                         until the next prompt; the transcript has everything.",
                        done.layer, done.tokens_before, done.tokens_after
                    );
                    session.emit(Some(&turn), AgentEvent::TextDelta { text });
                    TurnEnd::unasked(TurnStop::EndTurn)
                }
                Ok(Err(Refusal::Cancelled)) => {
                    TurnEnd::unasked(TurnStop::Cancelled)
                }
                Ok(Err(refusal)) => TurnEnd {
                    error: Some(("compaction".to_owned(), refusal.to_string())),
                    ..TurnEnd::unasked(TurnStop::Error)
                },
                Err(error) => panicked(&session, &error),
            };
            session.emit(Some(&turn), AgentEvent::TurnEnd(end));
        });
        Ok(accepted)
    }

    /// A built-in command answers like a turn, but no model is asked, and it waits for none.
    fn run_command(
        self: &Arc<Self>,
        session: &Arc<Session>,
        turn: TurnId,
        spoken: Spoken,
    ) -> Result<Accepted, AgentError> {
        let alone = spoken.needs_quiet().then(|| self.alone_in(session)).transpose()?;
        let accepted = Accepted { turn: turn.clone(), queued: false };
        let (agent, session) = (Arc::clone(self), Arc::clone(session));
        self.turns.spawn(async move {
            let spoken_in = Arc::clone(&session);
            let answered = tokio::task::spawn_blocking(move || {
                let _until_done = alone;
                spoken_in.shared.faults.reach("command");
                spoken.run(&agent, &spoken_in)
            });
            let end = match answered.await {
                Ok(text) => {
                    session.emit(Some(&turn), AgentEvent::TextDelta { text });
                    TurnEnd::unasked(TurnStop::EndTurn)
                }
                Err(error) => panicked(&session, &error),
            };
            session.emit(Some(&turn), AgentEvent::TurnEnd(end));
        });
        Ok(accepted)
    }

    /// What is typed behind `#` is kept at once, whatever else runs.
    fn save_note(self: &Arc<Self>, session: &Arc<Session>, turn: TurnId, statement: String) -> Accepted {
        let accepted = Accepted { turn: turn.clone(), queued: false };
        let session = Arc::clone(session);
        self.turns.spawn(async move {
            let (saved_in, id) = (Arc::clone(&session), turn.clone());
            let saving = tokio::task::spawn_blocking(move || {
                saved_in.shared.faults.reach("note");
                memories::save(&saved_in, &id, &statement)
            });
            let end = match saving.await {
                Ok(text) => {
                    session.emit(Some(&turn), AgentEvent::TextDelta { text });
                    TurnEnd::unasked(TurnStop::EndTurn)
                }
                Err(error) => panicked(&session, &error),
            };
            session.emit(Some(&turn), AgentEvent::TurnEnd(end));
        });
        accepted
    }

    fn spawn_turn(
        self: &Arc<Self>,
        session: Arc<Session>,
        turn: TurnId,
        prompt: Prompt,
        cancel: CancellationToken,
    ) {
        let agent = Arc::clone(self);
        session.state().turn = Some(turn.clone());
        self.turns.spawn(async move {
            // On a task of its own: a panic ends this turn, with words, and nothing else.
            let running = tokio::spawn(run_turn(Arc::clone(&session), turn.clone(), prompt, cancel));
            let end = running.await.unwrap_or_else(|error| panicked(&session, &error));
            let closing = Arc::clone(&session);
            let closed = tokio::spawn(async move {
                closing.shared.faults.reach("end of turn");
                closing.record_read_files();
                closing.keep_window();
                closing.sync_in_background();
            });
            if let Err(error) = closed.await {
                tracing::error!(%error, session = %session.id, "the end of a turn panicked");
            }
            let lesson = Lesson::of(&session, &turn, &end);
            agent.let_go(&session, Some((&turn, end)));
            background::after_turn(&session, lesson);
            session.history.settle(&session, Some(&turn)).await;
        });
    }

    /// Ends the turn that ran, those that joined it and those that were cancelled while they waited, and starts the next
    /// in the queue.
    fn let_go(self: &Arc<Self>, session: &Arc<Session>, ended: Option<(&TurnId, TurnEnd)>) {
        let cancel = CancellationToken::new();
        // Before an end is told: whoever hears of it may prompt at once.
        let (joined, dropped, next, said) = {
            let mut state = session.state();
            let said = Said::of(&state.thread);
            let next = state.queue.pop_front();
            state.running = next.as_ref().map(|_| cancel.clone());
            state.turn = None;
            (std::mem::take(&mut state.joined), std::mem::take(&mut state.dropped), next, said)
        };
        if let Some((turn, end)) = ended {
            session.emit(Some(turn), AgentEvent::TurnEnd(TurnEnd { said, ..end.clone() }));
            for turn in &joined {
                session.emit(Some(turn), AgentEvent::TurnEnd(end.clone()));
            }
        }
        for turn in dropped {
            session.record(&Record::Dequeued { turn: turn.clone() });
            let end = TurnEnd::unasked(TurnStop::Cancelled);
            session.emit(Some(&turn), AgentEvent::TurnEnd(end));
        }
        if let Some(Queued { turn, prompt }) = next {
            // Was checked when it was queued.
            if let Ok(blocks) = attachments::content(&prompt) {
                session.append_user(blocks);
            }
            // After its message: what is neither waiting nor said would be lost.
            session.record(&Record::Dequeued { turn: turn.clone() });
            self.spawn_turn(Arc::clone(session), turn, prompt, cancel);
        }
    }
}

/// A session in which nothing else happens.
pub(crate) struct Alone {
    agent: Arc<Agent>,
    session: Arc<Session>,
    /// Fires when the user cancels what the session does.
    pub cancel: CancellationToken,
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.agent.let_go(&self.session, None);
    }
}

fn refused(refusal: Refusal) -> AgentError {
    match refusal {
        Refusal::Cancelled | Refusal::Failed(_) | Refusal::TooLong(_) => {
            AgentError::Unavailable(refusal.to_string())
        }
        Refusal::Impossible(text) => AgentError::Invalid(text),
    }
}

fn panicked(session: &Session, error: &JoinError) -> TurnEnd {
    tracing::error!(%error, session = %session.id, "a turn panicked");
    let message = "Reverie failed inside; this is a bug, and its log has the details".to_owned();
    TurnEnd { error: Some(("internal".to_owned(), message)), ..TurnEnd::unasked(TurnStop::Error) }
}

async fn run_turn(session: Arc<Session>, id: TurnId, prompt: Prompt, cancel: CancellationToken) -> TurnEnd {
    session.shared.faults.reach("turn");
    let begin = async {
        let recall = recall::begin(&session, &id, &attachments::words(&prompt));
        attachments::attach(&session, prompt).await;
        let mut turn = Turn::begin(Arc::clone(&session), id, cancel.clone()).await?;
        turn.recalls.extend(recall);
        Ok(turn)
    };
    match cancel.run_until_cancelled(begin).await {
        Some(Ok(mut turn)) => {
            let end = query_loop::run(&mut turn).await;
            session.state().learning.opening = Some(turn.opening);
            end
        }
        Some(Err(end)) => end,
        None => TurnEnd::unasked(TurnStop::Cancelled),
    }
}

/// The first prompt names a session that has no name, and writes down what was chosen before there was a file.
fn name_session(session: &Session, turn: &TurnId, prompt: &Prompt) {
    let (mode, given) = {
        let state = session.state();
        (state.mode, state.title.clone())
    };
    if let Some(mode) = mode {
        session.record(&Record::Mode(mode.as_str().to_owned()));
    }
    if let Some(title) = given {
        session.record(&Record::Title(title));
        return;
    }
    let words = prompt.parts.iter().find_map(|part| match part {
        PromptPart::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()),
        PromptPart::Mention { .. } | PromptPart::Image { .. } => None,
    });
    if let Some(words) = words {
        let title: String = words.chars().take(TITLE_CHARS).collect();
        session.state().title = Some(title.clone());
        session.emit(Some(turn), AgentEvent::Title { title });
    }
}
