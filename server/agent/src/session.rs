//! One conversation: its thread, its transcript, what its tools remember, and the turn that may be running.
//!
//! State changes under one lock that is never held across an `.await`. A message enters the thread and the
//! transcript in the same step, so what is on disk is always a prefix of what is in memory.

use std::{
    collections::{HashSet, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use checkpoints::Entry;
use conversation::{
    Attachment, Block, Body, CostState, Flags, Loaded, Message, Prefix, Record, SessionId, Transcript,
    TranscriptError, Usage,
};
use jiff::Timestamp;
use model::{Provider, QuerySource, SystemBlock, ToolDefinition, catalogue::ModelSpec};
use permissions::{Mode, Rule};
use sandbox::{Network, Walls};
use serde_json::Value;
use settings::Settings;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tools::{
    ReadState, Shell, Todos, Toolbox,
    shell::{Containment, Surroundings},
};
use uuid::Uuid;

use crate::{
    background::{Learning, notes::Keeping},
    event::{AgentEvent, NoticeLevel, SessionEvent, TurnId},
    git::GitState,
    history::History,
    instructions::{self, Sheet},
    memories::Memories,
    project_state,
    repeats::Repeats,
    shared::Shared,
    spend, store,
    types::{AgentError, Prompt, RecallReport},
    web_search,
    window::Window,
};

pub(crate) struct Session {
    pub id: SessionId,
    pub cwd: PathBuf,
    /// Nobody talks in it: nothing of it is shown or kept.
    pub is_ephemeral: bool,
    /// `None` where memory is switched off.
    pub memory_dir: Option<PathBuf>,
    memories: Option<Arc<Memories>>,
    pub shared: Arc<Shared>,
    pub transcript: Transcript,
    pub reads: Arc<ReadState>,
    pub repeats: Repeats,
    pub shell: Arc<Shell>,
    pub todos: Arc<Todos>,
    pub history: History,
    instructions: Mutex<Sheet>,
    /// Held while instructions are looked for.
    pub touching: Mutex<()>,
    /// Read while the user still types; taken by the first turn.
    pub git: Mutex<Option<JoinHandle<Option<GitState>>>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub thread: Vec<Arc<Message>>,
    /// What the next message follows: the last of the thread, unless a compaction kept messages and nothing was said
    /// since.
    pub tip: Option<Uuid>,
    /// What was decided about the context.
    pub window: Window,
    /// The start of every request: rendered with the first turn, or brought back from the transcript.
    pub rendered: Option<Rendered>,
    pub model_name: Option<String>,
    pub mode: Option<Mode>,
    pub granted: Vec<Rule>,
    pub cost: CostState,
    pub title: Option<String>,
    /// By the user.
    pub title_is_given: bool,
    /// How far the session's notes have come.
    pub notes: Keeping,
    /// Cancels the turn that runs.
    pub running: Option<CancellationToken>,
    /// The turn that runs; what else keeps the session busy is none.
    pub turn: Option<TurnId>,
    pub queue: VecDeque<Queued>,
    /// Turns whose prompts joined the running one; they end with it.
    pub joined: Vec<TurnId>,
    /// Turns that were cancelled while they waited; they end with the running one.
    pub dropped: Vec<TurnId>,
    /// What was thought about the latest messages, oldest first.
    pub recalls: VecDeque<RecallReport>,
    /// What the next request is to tell the model, as kind and text: a turn that runs takes it at its next round.
    pub reminders: Vec<(&'static str, String)>,
    /// Files that the user has mentioned, for which instructions may wait.
    pub mentioned: Vec<PathBuf>,
    /// What was wrong with the settings and was said already.
    pub told: HashSet<String>,
    /// The transcript's opening could not be used by this release.
    pub opening_is_stale: bool,
    /// What the turn that runs has cost, searches included.
    pub turn_cost_usd: f64,
    pub learning: Learning,
    /// See [`Session::is_ephemeral`].
    pub is_ephemeral: bool,
    pub transcript_failing: bool,
}

/// What every request of the session begins with, byte for byte.
#[derive(Clone)]
pub(crate) struct Rendered {
    /// The model it was rendered for, as `provider/model`.
    pub model: String,
    pub system: Arc<[SystemBlock]>,
    pub tools: Arc<[ToolDefinition]>,
    pub context: Arc<[Block]>,
    /// The compaction it was rendered for.
    pub boundary: Option<Uuid>,
}

/// The start of a request and who answers it.
#[derive(Clone)]
pub(crate) struct Opening {
    pub rendered: Rendered,
    pub spec: ModelSpec,
    pub provider: Arc<dyn Provider>,
    /// All that can be called.
    pub toolbox: Toolbox,
}

impl Rendered {
    /// `None` when the transcript's opening is not of this release: a tool it offers is gone.
    pub fn of(prefix: &Prefix) -> Option<Self> {
        let system: Vec<SystemBlock> = serde_json::from_value(prefix.system.clone()).ok()?;
        let tools: Vec<ToolDefinition> = serde_json::from_value(prefix.tools.clone()).ok()?;
        let ours = Toolbox::builtin();
        let is_known =
            |name: &str| name.starts_with("mcp__") || name == web_search::NAME || ours.find(name).is_some();
        if !tools.iter().all(|tool| is_known(&tool.name)) {
            return None;
        }
        Some(Self {
            model: prefix.model.clone(),
            system: system.into(),
            tools: tools.into(),
            context: prefix.context.clone().into(),
            boundary: prefix.boundary,
        })
    }

    pub fn to_prefix(&self, instructions: Value) -> Prefix {
        Prefix {
            instructions,
            model: self.model.clone(),
            system: serde_json::to_value(&*self.system).unwrap_or_default(),
            tools: serde_json::to_value(&*self.tools).unwrap_or_default(),
            context: self.context.to_vec(),
            boundary: self.boundary,
        }
    }
}

/// What the session's commands find around them, as the settings are now.
pub(crate) fn surroundings(shared: &Shared, settings: &Settings, id: &SessionId, cwd: &Path) -> Surroundings {
    let set = settings.env.iter().map(|(name, value)| (name.into(), value.into()));
    let temporary = settings.sandbox.main_bash.then(|| temporary_folder(id, cwd));
    let places = temporary.iter().flat_map(|folder| ["TMPDIR", "TMP", "TEMP"].map(|name| (name, folder)));
    let places = places.map(|(name, folder)| (name.into(), folder.into()));
    let own: Vec<_> = match temporary {
        Some(_) => sandbox::workbench_environment(std::env::vars_os()).collect(),
        None => std::env::vars_os().collect(),
    };
    let environment = own.into_iter().chain(set).chain(places).collect();
    let containment = containment(shared, settings, cwd, temporary);
    Surroundings { environment, containment, ..Surroundings::default() }
}

/// For walled-in commands: beside it are the files of others.
fn temporary_folder(id: &SessionId, cwd: &Path) -> PathBuf {
    sandbox::private_folder(&std::env::temp_dir(), id.as_str()).unwrap_or_else(|error| {
        tracing::warn!(%error, "commands keep temporary files in the session's folder");
        cwd.to_owned()
    })
}

/// How the session's commands are held.
fn containment(shared: &Shared, settings: &Settings, cwd: &Path, temporary: Option<PathBuf>) -> Containment {
    let main_walls = temporary.map(|temporary| {
        let mut folders = shared.workspace.roots();
        folders.push(cwd.to_owned());
        let memory = settings.auto_memory(&shared.environment);
        let memory = memory.then(|| settings.memory_dir(&shared.environment, cwd));
        // A setting may name any folder, and the walls are there to leave most of them out.
        folders
            .extend(memory.filter(|folder| sandbox::too_wide(folder, shared.environment.home()).is_none()));
        let network = if settings.sandbox.network { Network::Open } else { Network::Unix };
        Walls::workbench(folders, temporary, network)
    });
    Containment { main_walls, ..Containment::of_this_process() }
}

pub(crate) fn default_mode(settings: &Settings) -> Mode {
    Mode::parse(settings.permissions.default_mode.as_str()).unwrap_or(Mode::Default)
}

/// Bypassing all questions is the user's own decision: it comes from their settings or flags, never from a request.
pub(crate) fn checked_mode(name: &str) -> Result<Mode, AgentError> {
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

/// Where a shortened thread goes on.
enum Rewound {
    /// Behind this message.
    Tip(Option<Uuid>),
    /// A part of what a compaction kept is gone: as if there had been none, behind this message.
    Before(Option<Uuid>),
}

impl Rewound {
    fn of(thread: &[Arc<Message>], left: &[Arc<Message>]) -> Self {
        let Some(last) = left.last().map(|message| message.uuid) else { return Self::Tip(None) };
        let last = Some(last);
        let Some(kept) = thread.first().and_then(|first| first.compaction()?.preserved_segment) else {
            return Self::Tip(last);
        };
        if last == Some(kept.tail_uuid) {
            return Self::Tip(Some(kept.anchor_uuid));
        }
        if left.iter().any(|message| message.uuid == kept.tail_uuid) {
            return Self::Tip(last);
        }
        match left.iter().position(|message| message.uuid == kept.head_uuid) {
            Some(_) => Self::Before(last),
            None => {
                let head = thread.iter().find(|message| message.uuid == kept.head_uuid);
                Self::Before(head.and_then(|head| head.parent))
            }
        }
    }
}

pub(crate) struct Queued {
    pub turn: TurnId,
    pub prompt: Prompt,
}

impl Session {
    pub fn new(
        id: SessionId,
        cwd: PathBuf,
        shared: Arc<Shared>,
        settings: &Settings,
        transcript: Transcript,
        state: State,
        checkpoints: Vec<Entry>,
    ) -> Arc<Self> {
        let memory_dir =
            settings.auto_memory(&shared.environment).then(|| settings.memory_dir(&shared.environment, &cwd));
        let history = History::new(shared.checkpoints(&cwd), shared.workspace.clone(), checkpoints);
        let session = Arc::new(Self {
            shell: Shell::within(cwd.clone(), surroundings(&shared, settings, &id, &cwd)),
            is_ephemeral: state.is_ephemeral,
            id,
            memories: memory_dir.as_deref().map(|directory| shared.memories(directory)),
            memory_dir,
            cwd,
            shared,
            transcript,
            reads: ReadState::new(),
            repeats: Repeats::default(),
            todos: Todos::new(),
            history,
            instructions: Mutex::default(),
            touching: Mutex::default(),
            git: Mutex::new(None),
            state: Mutex::new(state),
        });
        session.shared.opened(&session);
        session
    }

    /// What is remembered of the project; `None` where memory is switched off.
    pub fn memories(&self) -> Option<Arc<Memories>> {
        self.memories.clone()
    }

    /// Which files of instructions it goes by.
    pub fn instructions(&self) -> MutexGuard<'_, Sheet> {
        self.instructions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the opening down anew, because more instructions have come into force.
    pub fn keep_opening(&self) {
        let sheet = self.instructions().to_value();
        let rendered = self.state().rendered.clone();
        if let Some(rendered) = rendered {
            self.record(&Record::Prefix(rendered.to_prefix(sheet)));
        }
    }

    /// How far tools may go without asking.
    pub fn mode(&self) -> Mode {
        let chosen = self.state().mode;
        chosen.unwrap_or_else(|| default_mode(&self.shared.settings(&self.cwd).settings))
    }

    pub fn set_mode(&self, mode: Mode) {
        let begun = {
            let mut state = self.state();
            state.mode = Some(mode);
            !state.thread.is_empty()
        };
        // A session without a message has no file yet; its mode is written with the first prompt.
        if begun {
            self.record(&Record::Mode(mode.as_str().to_owned()));
        }
    }

    /// Another model from the next turn on, another mode at once.
    pub fn configure(&self, model: Option<&str>, mode: Option<&str>) -> Result<(), AgentError> {
        let mode = mode.map(checked_mode).transpose()?;
        if let Some(name) = model {
            let settings = self.shared.settings(&self.cwd).settings;
            let models = self.shared.models(&settings);
            models.resolve(Some(name)).map_err(|error| AgentError::Invalid(error.to_string()))?;
            let begun = {
                let mut state = self.state();
                state.model_name = Some(name.to_owned());
                !state.thread.is_empty()
            };
            if begun {
                self.record(&Record::ModelChoice(name.to_owned()));
            }
        }
        if let Some(mode) = mode {
            self.set_mode(mode);
        }
        Ok(())
    }

    /// Takes the conversation back to the first `keep` messages of a thread, as it is or as it was before a compaction;
    /// the rest stays in the transcript as a branch. May read the transcript.
    pub fn rewind_to(&self, thread: &[Arc<Message>], keep: usize) {
        let Some(left) = thread.get(..keep) else { return };
        if left == self.state().thread {
            return;
        }
        match Rewound::of(thread, left) {
            Rewound::Tip(tip) => self.go_on_with(left.to_vec(), tip, Vec::new()),
            Rewound::Before(None) => self.go_on_with(Vec::new(), None, Vec::new()),
            Rewound::Before(Some(message)) => match store::read(&self.shared, &self.id, Some(message)) {
                Ok(loaded) => self.go_on_from(loaded),
                Err(error) => {
                    let text = format!("what was said before the compaction cannot be read: {error}");
                    self.notice(None, NoticeLevel::Error, text);
                }
            },
        }
    }

    /// Goes on with what was read from the transcript, opening and all.
    pub fn go_on_from(&self, loaded: Loaded) {
        let prefix = loaded.prefix.as_ref();
        let other = prefix.filter(|prefix| {
            self.state().rendered.as_ref().is_some_and(|current| current.boundary != prefix.boundary)
        });
        if let Some((prefix, rendered)) = other.and_then(|prefix| Some((prefix, Rendered::of(prefix)?))) {
            self.state().rendered = Some(rendered);
            *self.instructions() = Sheet::of(&prefix.instructions);
        }
        self.go_on_with(loaded.thread, loaded.tip, loaded.new_messages);
    }

    /// Goes on with another thread of the transcript; `added` are those of its messages that are not in it yet.
    fn go_on_with(&self, thread: Vec<Arc<Message>>, tip: Option<Uuid>, added: Vec<Arc<Message>>) {
        for message in added {
            self.record(&Record::Message(message));
        }
        let (written, is_other) = {
            let mut state = self.state();
            let head = Record::Head { uuid: tip };
            (state.thread, state.tip) = (thread, tip);
            let thread = state.thread.clone();
            state.window.replay(&thread);
            // What the opening was rendered for may be gone.
            let is_gone = |boundary: &mut Uuid| !thread.iter().any(|message| message.uuid == *boundary);
            let boundary = state.rendered.as_mut().and_then(|rendered| rendered.boundary.take_if(is_gone));
            (self.write(&mut state, &head), boundary.is_some())
        };
        self.report_write(written);
        // The watch on the cache knows of it now, after a resume too.
        self.keep_window();
        self.recall_todos();
        instructions::settle(self);
        if is_other {
            self.keep_opening();
        }
    }

    /// The list of things to do, as the thread has it, or as it was when the thread was compacted.
    pub fn recall_todos(&self) {
        let (said, kept) = {
            let state = self.state();
            (store::last_todos(&state.thread), state.window.todos.clone())
        };
        self.todos.set(said.or(kept.filter(|_| self.is_compacted())).unwrap_or_default());
    }

    /// Whether something stands in for the beginning of the conversation.
    pub fn is_compacted(&self) -> bool {
        self.state().thread.first().is_some_and(|first| first.compaction().is_some())
    }

    /// Adds to what the session has used, and writes it down. `fee`: US dollars besides what the tokens cost.
    pub fn book(&self, spec: &ModelSpec, source: &QuerySource, usage: Usage, fee: f64) {
        if usage == Usage::default() && fee == 0.0 {
            return;
        }
        let cost = spec.cost_usd(&usage) + fee;
        let total = {
            let mut state = self.state();
            let CostState { models, sources } = &mut state.cost;
            let accounts = [
                models.entry(spec.id()).or_default(),
                sources.entry(source.as_str().to_owned()).or_default(),
            ];
            for account in accounts {
                account.usage += usage;
                account.cost_usd += cost;
            }
            if !source.is_by_itself() {
                state.turn_cost_usd += cost;
            }
            state.cost.clone()
        };
        self.record(&Record::Cost(total));
        if cost > 0.0 {
            let (spend, faults) = (self.shared.spend.clone(), self.shared.faults.clone());
            tokio::task::spawn_blocking(move || {
                faults.reach("spend");
                if let Err(error) = spend.add(spend::today(), cost) {
                    tracing::warn!(%error, "what was spent today could not be written down");
                }
            });
        }
    }

    /// A panic elsewhere must not take the session with it: every change under the lock is complete in itself.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn emit(&self, turn: Option<&TurnId>, event: AgentEvent) {
        if self.is_ephemeral {
            return;
        }
        self.shared.frontend.event(SessionEvent { session: self.id.clone(), turn: turn.cloned(), event });
    }

    pub fn notice(&self, turn: Option<&TurnId>, level: NoticeLevel, text: impl Into<String>) {
        self.emit(turn, AgentEvent::Notice { level, text: text.into() });
    }

    /// Adds a message to the thread; durable when it returns, as far as a kill is concerned.
    pub fn append(&self, body: Body, flags: Flags) -> Arc<Message> {
        let (message, written) = {
            let mut state = self.state();
            let message = Arc::new(Message {
                uuid: Uuid::now_v7(),
                parent: state.tip,
                timestamp: Timestamp::now(),
                flags,
                body,
            });
            state.tip = Some(message.uuid);
            state.thread.push(Arc::clone(&message));
            let written = self.write(&mut state, &Record::Message(Arc::clone(&message)));
            (message, written)
        };
        self.report_write(written);
        message
    }

    pub fn append_user(&self, content: Vec<Block>) -> Arc<Message> {
        self.append(Body::User { content }, Flags::default())
    }

    pub fn append_meta(&self, text: &str) {
        let flags = Flags { meta: true, ..Flags::default() };
        self.append(Body::User { content: vec![Block::text(text)] }, flags);
    }

    pub fn attach(&self, kind: &str, text: String) {
        let flags = Flags { meta: true, ..Flags::default() };
        self.append(Body::Attachment(Attachment { kind: kind.to_owned(), text }), flags);
    }

    /// Writes a record that is not a message.
    pub fn record(&self, record: &Record) {
        let written = self.write(&mut self.state(), record);
        self.report_write(written);
    }

    /// The conversation goes on in memory when the disk is full; the user hears of it once, and once more when
    /// everything that was held back is on disk.
    pub fn write(&self, state: &mut State, record: &Record) -> Option<(NoticeLevel, String)> {
        if self.is_ephemeral {
            return None;
        }
        let appended = self.transcript.append(record);
        self.written(state, appended)
    }

    /// Several records in one write.
    pub fn write_all(&self, state: &mut State, records: &[Record]) -> Option<(NoticeLevel, String)> {
        if self.is_ephemeral {
            return None;
        }
        let appended = self.transcript.append_all(records);
        self.written(state, appended)
    }

    fn written(
        &self,
        state: &mut State,
        appended: Result<(), TranscriptError>,
    ) -> Option<(NoticeLevel, String)> {
        if let Some(incident) = self.transcript.take_incident() {
            return Some((NoticeLevel::Warning, incident.to_string()));
        }
        match appended {
            Ok(()) if state.transcript_failing => {
                state.transcript_failing = false;
                let lost = match self.transcript.lost() {
                    0 => "nothing was lost".to_owned(),
                    records => format!("{records} records did not fit into memory meanwhile and are lost"),
                };
                Some((NoticeLevel::Info, format!("the transcript is being written again; {lost}")))
            }
            Ok(()) => None,
            Err(_) if state.transcript_failing => None,
            Err(error) => {
                state.transcript_failing = true;
                let text =
                    format!("the transcript cannot be written ({error}); it is kept in memory until it can");
                Some((NoticeLevel::Error, text))
            }
        }
    }

    pub fn report_write(&self, outcome: Option<(NoticeLevel, String)>) {
        if let Some((level, text)) = outcome {
            self.notice(None, level, text);
        }
    }

    /// Flushes the transcript to the medium and keeps the project's state beside it, off the turn's path.
    pub fn sync_in_background(self: &Arc<Self>) {
        let session = Arc::clone(self);
        self.shared.work.spawn_blocking(move || {
            session.shared.faults.reach("sync");
            session.history.sync();
            if let Err(error) = session.transcript.sync() {
                tracing::warn!(session = %session.id, %error, "the transcript could not be synced");
            }
            project_state::keep(&session);
        });
    }

    /// Stops whatever runs and what waited behind it; the turn ends itself in order. Prompts that come later run.
    pub fn cancel(&self) {
        let mut state = self.state();
        if let Some(running) = &state.running {
            running.cancel();
            let waiting: Vec<TurnId> = state.queue.drain(..).map(|queued| queued.turn).collect();
            state.dropped.extend(waiting);
        }
    }

    pub fn project_dir(&self) -> PathBuf {
        settings::directories::project_dir(&self.shared.environment, &self.cwd)
    }

    /// Keeps what was read, so that a resumed session may edit without reading again.
    pub fn record_read_files(&self) {
        if let Some(files) = self.reads.changes() {
            self.record(&Record::ReadFiles(files));
        }
    }
}
