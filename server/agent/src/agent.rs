//! The agent as its server sees it: sessions by id, and one method per thing that can be asked of them.
//!
//! Every method here but `shutdown` returns at once or after disk reads. Prompts, their queue and what needs a quiet
//! session are in `turns.rs`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use conversation::{
    Format as ExportFormat, Hit, Query, Record, Repair as Repaired, SessionId, Stamp, Strategy, Transcript,
};
use serde_json::Value;
use settings::{Trust, directories};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::{
    background, cleaner, commands,
    doctor::{self, Repair},
    event::AgentEvent,
    files, git, layout, meter, opening, original, query_loop, report,
    session::{Session, State, checked_mode},
    shared::Shared,
    store::{self, OpenHere},
    types::{
        AgentError, Check, ContextReport, Dependencies, Earlier, InstructionFile, ModelInfo, NewSession,
        Original, Reach, Resumed, SessionPage, SettingValue, SlashCommand, Standing,
    },
};

/// How long running turns may take to end when the server goes.
const SHUTDOWN: Duration = Duration::from_millis(1_200);

pub struct Agent {
    pub(crate) shared: Arc<Shared>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Turns, and whatever else ends with the server.
    pub(crate) turns: tokio_util::task::TaskTracker,
    /// Started with the first session.
    cleaner: OnceLock<AbortOnDropHandle<()>>,
}

impl Agent {
    pub fn new(dependencies: Dependencies) -> Arc<Self> {
        let shared = Arc::new(Shared::new(dependencies));
        Arc::new(Self {
            turns: shared.work.clone(),
            sessions: Mutex::new(HashMap::new()),
            cleaner: OnceLock::new(),
            shared,
        })
    }

    pub fn set_editor_settings(&self, configuration: Value) {
        self.shared.set_editor_settings(configuration);
    }

    /// The settings files as they are in force, for whoever judges what is being written in them.
    pub fn settings_files(&self) -> settings::Cache {
        self.shared.settings_files.clone()
    }

    /// Nothing reaches the disk before the first prompt.
    pub fn new_session(self: &Arc<Self>, new: NewSession) -> Result<SessionId, AgentError> {
        let cwd = self.session_folder(new.cwd)?;
        let mode = match new.mode.as_deref() {
            None => None,
            Some(name) => Some(checked_mode(name)?),
        };
        let loaded = self.shared.settings(&cwd);
        let settings = &loaded.settings;
        let models = self.shared.models(settings);
        if let Some(name) = &new.model {
            models.resolve(Some(name)).map_err(|error| AgentError::Invalid(error.to_string()))?;
        }
        models.warm_up();
        let id = SessionId::random();
        let stamp = self.stamp(&id, &cwd);
        let transcript = Transcript::create(&directories::project_dir(&self.shared.environment, &cwd), stamp);
        let title_is_given = new.title.is_some();
        let state =
            State { model_name: new.model, mode, title: new.title, title_is_given, ..State::default() };
        let session = Session::new(
            id.clone(),
            cwd.clone(),
            Arc::clone(&self.shared),
            settings,
            transcript,
            state,
            Vec::new(),
        );
        let (faults, trusted) = (self.shared.faults.clone(), loaded.trust.is_trusted());
        let reading = git::read(cwd.clone(), trusted);
        *session.git.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::spawn(async move {
            faults.reach("git");
            reading.await
        }));
        self.shared.extensions.keep(&self.shared, &cwd, &loaded);
        self.keep_open(session);
        Ok(id)
    }

    pub fn sessions(
        &self,
        cursor: Option<&str>,
        limit: Option<usize>,
        query: Option<&str>,
        reach: Reach,
    ) -> Result<SessionPage, AgentError> {
        store::page(&self.shared, cursor, limit, query, reach)
    }

    /// Opens a session from disk, or shows the one that is open.
    pub fn resume(
        self: &Arc<Self>,
        id: &SessionId,
        strategy: Option<Strategy>,
        branch: Option<Uuid>,
    ) -> Result<Resumed, AgentError> {
        let open = self.open().get(id).cloned();
        if let Some(session) = open {
            return self.show(&session, branch);
        }
        let (session, resumed) = store::open(&self.shared, id, strategy, branch, |cwd| self.stamp(id, cwd))?;
        self.shared.extensions.keep(&self.shared, &session.cwd, &self.shared.settings(&session.cwd));
        self.keep_open(session);
        Ok(resumed)
    }

    /// An open session as it is, or on another of its branches.
    fn show(self: &Arc<Self>, session: &Arc<Session>, branch: Option<Uuid>) -> Result<Resumed, AgentError> {
        // On another branch nothing may begin meanwhile.
        let alone = branch.map(|_| self.alone_in(session)).transpose()?;
        let mut branches = match store::read(&self.shared, &session.id, branch) {
            Ok(mut loaded) => {
                let branches = std::mem::take(&mut loaded.branches);
                if alone.is_some() {
                    session.go_on_from(loaded);
                }
                branches
            }
            // Nothing of it is on disk yet.
            Err(AgentError::UnknownSession(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        drop(alone);
        if branches.len() < 2 {
            branches.clear();
        }
        let thread = session.state().thread.clone();
        Ok(Resumed {
            id: session.id.clone(),
            strategy: Strategy::Full,
            messages: report::shown_messages(&thread),
            repairs: Vec::new(),
            branches,
            before: store::before(&thread),
        })
    }

    /// What was said up to a message that a compaction has left out. Reads the transcript.
    pub fn earlier(&self, id: &SessionId, last: Uuid) -> Result<Earlier, AgentError> {
        let thread = store::read(&self.shared, id, Some(last))?.thread;
        if thread.last().is_none_or(|message| message.uuid != last) {
            return Err(AgentError::Invalid(format!("there is no message {last} in the session")));
        }
        Ok(Earlier { before: store::before(&thread), messages: report::shown_messages(&thread) })
    }

    pub fn standing(&self, id: &SessionId) -> Result<Standing, AgentError> {
        Ok(report::standing(&*self.session(id)?))
    }

    /// The full text behind a call, a message, or a line of the ledger. May read the transcript.
    pub fn original(&self, id: &SessionId, piece: &str) -> Result<Original, AgentError> {
        original::find(&*self.session(id)?, piece)
    }

    /// The next request of a session, one line per item.
    pub async fn layout(&self, id: &SessionId) -> Result<Vec<String>, AgentError> {
        let session = self.session(id)?;
        let settings = self.shared.settings(&session.cwd).settings;
        let opening = opening::current(&session, &settings)
            .await
            .map_err(|error| AgentError::Invalid(error.to_string()))?;
        let request = query_loop::request(&session, &opening, &settings);
        Ok(layout::lines(&request, |blocks| meter::of_blocks(&session, &opening.spec, blocks)))
    }

    /// A new session with the past of this one, open.
    pub fn fork(self: &Arc<Self>, id: &SessionId, at: Option<Uuid>) -> Result<SessionId, AgentError> {
        let source = self.open().get(id).map(|session| session.cwd.clone());
        let cwd =
            source.or_else(|| store::folder_of(&self.shared, id)).unwrap_or_else(|| self.default_folder());
        let fork = SessionId::random();
        store::fork(&self.shared, id, at, &self.stamp(&fork, &cwd))?;
        self.resume(&fork, None, None)?;
        // What the shared past did to files can be taken back from here too.
        if let Some(session) = self.open().get(&fork) {
            session.history.adopt(session, store::read(&self.shared, id, at)?.checkpoints);
        }
        Ok(fork)
    }

    /// Writes the session to a file that must not exist, or returns it. May be open elsewhere.
    pub fn export(
        &self,
        id: &SessionId,
        format: ExportFormat,
        to: Option<&Path>,
    ) -> Result<String, AgentError> {
        let text = store::export(&self.shared, id, format)?;
        let Some(path) = to else { return Ok(text) };
        if !path.is_absolute() {
            return Err(AgentError::Invalid(format!("path must be absolute, not {}", path.display())));
        }
        files::write_new(path, text.as_bytes()).map_err(|error| {
            AgentError::Unavailable(format!("{} cannot be written: {error}", path.display()))
        })?;
        Ok(String::new())
    }

    /// All that was said in these sessions and has these words. A session that is named is searched wherever it is.
    pub fn search(&self, query: &Query, reach: Reach) -> Vec<Hit> {
        self.shared.search(query, reach)
    }

    /// Whether a folder's own files may run programs, and what they would run.
    pub fn trust(&self, folder: Option<PathBuf>) -> Result<Trust, AgentError> {
        let folder = self.session_folder(folder)?;
        Ok(settings::trust::state(&self.shared.environment, &folder))
    }

    /// `shown`: the digest of what the user has seen.
    pub fn set_trust(
        &self,
        folder: Option<PathBuf>,
        trusted: bool,
        shown: Option<&str>,
    ) -> Result<Trust, AgentError> {
        let folder = self.session_folder(folder)?;
        let environment = &self.shared.environment;
        let set = match shown {
            Some(shown) if trusted => {
                let now = settings::trust::state(environment, &folder);
                if now.digest() != shown {
                    let words = "what the folder would run has changed meanwhile; look at it again";
                    return Err(AgentError::Invalid(words.to_owned()));
                }
                settings::trust::accept(environment, &now)
            }
            _ => settings::trust::set(environment, &folder, trusted),
        };
        set.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => AgentError::Invalid(error.to_string()),
            _ => AgentError::Unavailable(format!("the trust could not be written down: {error}")),
        })
    }

    /// Another model from the next turn on, another permission mode at once.
    pub fn configure(
        &self,
        id: &SessionId,
        model: Option<&str>,
        mode: Option<&str>,
    ) -> Result<(), AgentError> {
        self.session(id)?.configure(model, mode)
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
                {
                    let mut state = session.state();
                    (state.title, state.title_is_given) = (Some(title.to_owned()), true);
                }
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
        self.shared.jobs.stop_all(|job| job.session.as_ref() == Some(id));
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

    /// Reads CLAUDE.md files and the index of memories anew, for the next request.
    pub fn reload_instructions(self: &Arc<Self>, id: &SessionId) -> Result<Vec<InstructionFile>, AgentError> {
        let session = self.session(id)?;
        let _alone = self.alone_in(&session)?;
        Ok(opening::reload(&session))
    }

    /// What a prompt may begin with.
    pub fn commands(&self) -> Vec<SlashCommand> {
        commands::list(&self.shared, &self.default_folder())
    }

    pub fn models(&self) -> Vec<ModelInfo> {
        report::models(&self.shared, &self.default_folder())
    }

    pub fn settings(&self) -> Vec<SettingValue> {
        report::settings(&self.shared, &self.default_folder())
    }

    /// `repair`: also what changes more than caches, indexes and totals.
    pub fn doctor(&self, repair: bool) -> Vec<Check> {
        let repair = if repair { Repair::All } else { Repair::Lossless };
        self.examine(&self.default_folder(), repair)
    }

    pub(crate) fn examine(&self, folder: &Path, repair: Repair) -> Vec<Check> {
        let mut checks = doctor::checks(&self.shared, folder, repair);
        checks.push(doctor::background(self.background(), self.dream_status()));
        checks
    }

    /// What the doctor has put right, or tried to, newest first.
    pub fn repairs(&self) -> Vec<Repaired> {
        doctor::repairs(&self.shared)
    }

    /// Cancels every turn, ends every child and syncs every transcript, within [`SHUTDOWN`].
    pub async fn shutdown(&self) {
        let sessions: Vec<Arc<Session>> = self.open().drain().map(|(_, session)| session).collect();
        for session in &sessions {
            session.cancel();
        }
        self.shared.jobs.close();
        self.shared.learning.close();
        self.turns.close();
        let killed = futures_util::future::join_all(sessions.iter().map(|session| session.shell.kill_all()));
        let extensions = self.shared.extensions.shutdown();
        let learning = self.shared.learning.wait();
        let drained = async { tokio::join!(killed, extensions, self.turns.wait(), learning) };
        let drained = tokio::time::timeout(SHUTDOWN, drained);
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

    fn keep_open(self: &Arc<Self>, session: Arc<Session>) {
        if let Some(memories) = session.memories() {
            memories.wake(&self.shared.frontend);
        }
        self.open().insert(session.id.clone(), Arc::clone(&session));
        background::opened(&session);
        let agent = Arc::downgrade(self);
        self.cleaner.get_or_init(|| AbortOnDropHandle::new(tokio::spawn(cleaner::run(agent))));
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sessions_here(&self) -> Vec<Arc<Session>> {
        self.open().values().cloned().collect()
    }

    pub(crate) fn session(&self, id: &SessionId) -> Result<Arc<Session>, AgentError> {
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

    pub(crate) fn default_folder(&self) -> PathBuf {
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
