//! The agent as its server sees it: sessions by id, and one method per thing that can be asked of them.
//!
//! Every method but `shutdown` returns at once or after disk reads; turns run on their own tasks.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use conversation::{Record, SessionId, Stamp, Strategy, Transcript};
use permissions::Mode;
use serde_json::Value;
use settings::directories;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    attachments,
    event::{AgentEvent, TurnEnd, TurnId, TurnStop},
    git, query_loop, report,
    session::{Queued, Session, State},
    shared::Shared,
    store::{self, OpenHere},
    turn::Turn,
    types::{
        Accepted, AgentError, Check, ContextReport, Dependencies, ModelInfo, NewSession, Prompt, PromptPart,
        Resumed, SessionPage, SettingValue,
    },
};

/// How long running turns may take to end when the server goes.
const SHUTDOWN: Duration = Duration::from_millis(1_200);

const TITLE_CHARS: usize = 80;

/// Prompts that wait behind a turn are held in memory, images and all.
const LONGEST_QUEUE: usize = 32;

pub struct Agent {
    shared: Arc<Shared>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    turns: tokio_util::task::TaskTracker,
}

impl Agent {
    pub fn new(dependencies: Dependencies) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::new(Shared::new(dependencies)),
            sessions: Mutex::new(HashMap::new()),
            turns: tokio_util::task::TaskTracker::new(),
        })
    }

    pub fn set_editor_settings(&self, configuration: Value) {
        self.shared.set_editor_settings(configuration);
    }

    /// Nothing reaches the disk before the first prompt.
    pub fn new_session(&self, new: NewSession) -> Result<SessionId, AgentError> {
        let cwd = self.session_folder(new.cwd)?;
        let mode = match new.mode.as_deref() {
            None => None,
            Some(name) => Some(self.checked_mode(name)?),
        };
        let settings = self.shared.settings(&cwd).settings;
        let models = self.shared.models(&settings);
        if let Some(name) = &new.model {
            models.resolve(Some(name)).map_err(|error| AgentError::Invalid(error.to_string()))?;
        }
        models.warm_up();
        let id = SessionId::random();
        let stamp = self.stamp(&id, &cwd);
        let transcript = Transcript::create(&directories::project_dir(&self.shared.environment, &cwd), stamp);
        let state = State { model_name: new.model, mode, title: new.title, ..State::default() };
        let session =
            Session::new(id.clone(), cwd.clone(), Arc::clone(&self.shared), &settings, transcript, state);
        *session.git.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::spawn(git::read(cwd)));
        self.open().insert(id.clone(), session);
        Ok(id)
    }

    pub fn sessions(
        &self,
        cursor: Option<&str>,
        limit: Option<usize>,
        query: Option<&str>,
    ) -> Result<SessionPage, AgentError> {
        store::page(&self.shared, cursor, limit, query)
    }

    /// Opens a session from disk, or shows the one that is open.
    pub fn resume(&self, id: &SessionId, strategy: Option<Strategy>) -> Result<Resumed, AgentError> {
        if let Some(session) = self.open().get(id) {
            return Ok(Resumed {
                id: id.clone(),
                strategy: Strategy::Full,
                messages: report::shown_messages(&session.state().thread),
                repairs: Vec::new(),
            });
        }
        let (session, resumed) = store::open(&self.shared, id, strategy, |cwd| self.stamp(id, cwd))?;
        self.open().insert(id.clone(), session);
        Ok(resumed)
    }

    /// Starts a turn, or queues the prompt behind the one that runs. The user's words are on disk when this returns.
    pub fn prompt(self: &Arc<Self>, id: &SessionId, prompt: Prompt) -> Result<Accepted, AgentError> {
        let session = self.session(id)?;
        let blocks = attachments::content(&prompt)?;
        let turn: TurnId = Uuid::now_v7().to_string();
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
        session.append_user(blocks);
        self.spawn_turn(session, turn.clone(), prompt, cancel);
        Ok(Accepted { turn, queued: false })
    }

    pub fn cancel(&self, id: &SessionId) -> Result<(), AgentError> {
        self.session(id)?.cancel();
        Ok(())
    }

    pub fn rename(&self, id: &SessionId, title: &str) -> Result<(), AgentError> {
        let title = title.trim();
        if title.is_empty() {
            return Err(AgentError::Invalid("the title is empty".to_owned()));
        }
        let open = self.open().get(id).cloned();
        match open {
            Some(session) => {
                session.state().title = Some(title.to_owned());
                // A session without a message has no file yet; its title is written with the first prompt.
                if !session.state().thread.is_empty() {
                    session.record(&Record::Title(title.to_owned()));
                }
                session.emit(None, AgentEvent::Title { title: title.to_owned() });
                Ok(())
            }
            None => store::rename(&self.shared, id, title, |cwd| self.stamp(id, cwd)),
        }
    }

    /// Stops the session and moves its files to the trash folder beside the transcripts.
    pub fn delete(&self, id: &SessionId) -> Result<(), AgentError> {
        let open = self.open().remove(id);
        let stamp = self.stamp(id, &self.default_folder());
        let Some(session) = open else {
            return store::trash(&self.shared, id, stamp, OpenHere::No);
        };
        session.cancel();
        let shell = Arc::clone(&session.shell);
        self.turns.spawn(async move { shell.kill_all().await });
        match store::trash(&self.shared, id, stamp, OpenHere::Yes) {
            // It had no message yet, hence no file.
            Err(AgentError::UnknownSession(_)) => Ok(()),
            outcome => outcome,
        }
    }

    pub fn context_report(&self, id: &SessionId) -> Result<ContextReport, AgentError> {
        report::context(&*self.session(id)?)
    }

    pub fn models(&self) -> Vec<ModelInfo> {
        report::models(&self.shared, &self.default_folder())
    }

    pub fn settings(&self) -> Vec<SettingValue> {
        report::settings(&self.shared, &self.default_folder())
    }

    pub fn doctor(&self) -> Vec<Check> {
        crate::doctor::checks(&self.shared, &self.default_folder())
    }

    /// Cancels every turn, ends every child and syncs every transcript, within [`SHUTDOWN`].
    pub async fn shutdown(&self) {
        let sessions: Vec<Arc<Session>> = self.open().drain().map(|(_, session)| session).collect();
        for session in &sessions {
            session.cancel();
        }
        self.turns.close();
        let killed = futures_util::future::join_all(sessions.iter().map(|session| session.shell.kill_all()));
        let drained = tokio::time::timeout(SHUTDOWN, async { tokio::join!(killed, self.turns.wait()) });
        if drained.await.is_err() {
            tracing::warn!("some turns did not end in time");
        }
        let synced = tokio::task::spawn_blocking(move || {
            for session in sessions {
                if let Err(error) = session.transcript.sync().and_then(|()| session.transcript.release()) {
                    tracing::warn!(session = %session.id, %error, "the transcript could not be synced");
                }
            }
        });
        if synced.await.is_err() {
            tracing::error!("syncing the transcripts panicked");
        }
    }

    fn spawn_turn(
        self: &Arc<Self>,
        session: Arc<Session>,
        turn: TurnId,
        prompt: Prompt,
        cancel: CancellationToken,
    ) {
        let agent = Arc::clone(self);
        self.turns.spawn(async move {
            // On a task of its own: a panic ends this turn, with words, and nothing else.
            let running = tokio::spawn(run_turn(Arc::clone(&session), turn.clone(), prompt, cancel));
            let end = running.await.unwrap_or_else(|error| {
                tracing::error!(%error, session = %session.id, "a turn panicked");
                let message = "Reverie failed inside; this is a bug, and its log has the details".to_owned();
                let error = Some(("internal".to_owned(), message));
                TurnEnd { stop: TurnStop::Error, usage: conversation::Usage::default(), error }
            });
            agent.finish_turn(&session, turn, end);
        });
    }

    /// Ends the turn and those that joined it, and starts the next in the queue.
    fn finish_turn(self: &Arc<Self>, session: &Arc<Session>, turn: TurnId, end: TurnEnd) {
        session.record_read_files();
        session.sync_in_background();
        let (joined, dropped, next) = {
            let mut state = session.state();
            let joined = std::mem::take(&mut state.joined);
            let dropped = std::mem::take(&mut state.dropped);
            let next = state.queue.pop_front();
            let cancel = CancellationToken::new();
            state.running = next.as_ref().map(|_| cancel.clone());
            (joined, dropped, next.map(|next| (next, cancel)))
        };
        for turn in std::iter::once(turn).chain(joined) {
            session.emit(Some(&turn), AgentEvent::TurnEnd(end.clone()));
        }
        for turn in dropped {
            session.record(&Record::Dequeued { turn: turn.clone() });
            let end =
                TurnEnd { stop: TurnStop::Cancelled, usage: conversation::Usage::default(), error: None };
            session.emit(Some(&turn), AgentEvent::TurnEnd(end));
        }
        if let Some((Queued { turn, prompt }, cancel)) = next {
            session.record(&Record::Dequeued { turn: turn.clone() });
            // Was checked when it was queued.
            if let Ok(blocks) = attachments::content(&prompt) {
                session.append_user(blocks);
            }
            self.spawn_turn(Arc::clone(session), turn, prompt, cancel);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, AgentError> {
        self.open().get(id).cloned().ok_or_else(|| AgentError::UnknownSession(id.to_string()))
    }

    fn session_folder(&self, asked: Option<PathBuf>) -> Result<PathBuf, AgentError> {
        let folder = asked.unwrap_or_else(|| self.default_folder());
        if !folder.is_absolute() {
            return Err(AgentError::Invalid(format!(
                "cwd must be an absolute path, not {}",
                folder.display()
            )));
        }
        match std::fs::read_dir(&folder) {
            Ok(_) => Ok(folder),
            Err(error) => {
                Err(AgentError::Invalid(format!("the folder {} cannot be used: {error}", folder.display())))
            }
        }
    }

    /// Bypassing all questions is the user's own decision: it comes from their settings or flags, never from a request.
    fn checked_mode(&self, name: &str) -> Result<Mode, AgentError> {
        match Mode::parse(name) {
            Some(Mode::Bypass) => {
                let message = "bypass mode can only be set in the user's settings or on the command line";
                Err(AgentError::Invalid(message.to_owned()))
            }
            Some(mode) => Ok(mode),
            None => {
                Err(AgentError::Invalid(format!("there is no mode {name}; use default, acceptEdits or plan")))
            }
        }
    }

    fn default_folder(&self) -> PathBuf {
        self.shared.workspace.roots().into_iter().next().unwrap_or_else(|| PathBuf::from("/"))
    }

    fn stamp(&self, id: &SessionId, cwd: &Path) -> Stamp {
        Stamp {
            session: id.clone(),
            cwd: cwd.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_branch: git::branch(cwd),
        }
    }
}

async fn run_turn(session: Arc<Session>, id: TurnId, prompt: Prompt, cancel: CancellationToken) -> TurnEnd {
    name_session(&session, &id, &prompt);
    let begin = async {
        attachments::attach(&session, prompt).await;
        Turn::begin(Arc::clone(&session), id, cancel.clone()).await
    };
    match cancel.run_until_cancelled(begin).await {
        Some(Ok(mut turn)) => query_loop::run(&mut turn).await,
        Some(Err(end)) => end,
        None => TurnEnd { stop: TurnStop::Cancelled, usage: conversation::Usage::default(), error: None },
    }
}

/// The first prompt names a session that has no name.
fn name_session(session: &Session, turn: &TurnId, prompt: &Prompt) {
    let first = session.state().thread.len() == 1;
    let given = session.state().title.clone();
    if !first {
        return;
    }
    let mode = session.state().mode;
    if let Some(mode) = mode {
        session.record(&Record::Mode(mode.as_str().to_owned()));
    }
    if let Some(title) = given {
        session.record(&Record::Title(title));
        return;
    }
    let words = prompt.parts.iter().find_map(|part| match part {
        PromptPart::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()),
        _ => None,
    });
    if let Some(words) = words {
        let title: String = words.chars().take(TITLE_CHARS).collect();
        session.state().title = Some(title.clone());
        session.emit(Some(turn), AgentEvent::Title { title });
    }
}
