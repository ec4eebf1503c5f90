//! One conversation: its thread, its transcript, what its tools remember, and the turn that may be running.
//!
//! State changes under one lock that is never held across an `.await`. A message enters the thread and the
//! transcript in the same step, so what is on disk is always a prefix of what is in memory.

use std::{
    collections::{HashSet, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use context::estimate;
use conversation::{
    Attachment, Block, Body, CostState, Flags, Message, Prefix, Record, SessionId, Transcript,
};
use jiff::Timestamp;
use model::{Provider, SystemBlock, ToolDefinition, catalogue::ModelSpec};
use permissions::{Mode, Rule};
use settings::Settings;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tools::{ReadState, Shell, Todos};
use uuid::Uuid;

use crate::{
    event::{AgentEvent, NoticeLevel, SessionEvent, TurnId},
    git::GitState,
    shared::Shared,
    types::{LedgerEntry, Prompt},
};

pub(crate) struct Session {
    pub id: SessionId,
    pub cwd: PathBuf,
    /// `None` where memory is switched off.
    pub memory_dir: Option<PathBuf>,
    pub shared: Arc<Shared>,
    pub transcript: Transcript,
    pub reads: Arc<ReadState>,
    pub shell: Arc<Shell>,
    pub todos: Arc<Todos>,
    /// Read while the user still types; taken by the first turn.
    pub git: Mutex<Option<JoinHandle<Option<GitState>>>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub thread: Vec<Arc<Message>>,
    /// The start of every request: rendered with the first turn, or brought back from the transcript.
    pub rendered: Option<Rendered>,
    pub model_name: Option<String>,
    pub mode: Option<Mode>,
    pub granted: Vec<Rule>,
    pub cost: CostState,
    pub title: Option<String>,
    /// Cancels the turn that runs.
    pub running: Option<CancellationToken>,
    pub queue: VecDeque<Queued>,
    /// Turns whose prompts joined the running one; they end with it.
    pub joined: Vec<TurnId>,
    /// Turns that were cancelled while they waited; they end with the running one.
    pub dropped: Vec<TurnId>,
    pub ledger: Vec<LedgerEntry>,
    /// What was wrong with the settings and was said already.
    pub told: HashSet<String>,
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
}

/// The start of a request and who answers it.
#[derive(Clone)]
pub(crate) struct Opening {
    pub rendered: Rendered,
    pub spec: ModelSpec,
    pub provider: Arc<dyn Provider>,
}

impl Rendered {
    /// `None` when the transcript's opening is not of this release: a tool it offers is gone.
    pub fn of(prefix: &Prefix) -> Option<Self> {
        let system: Vec<SystemBlock> = serde_json::from_value(prefix.system.clone()).ok()?;
        let tools: Vec<ToolDefinition> = serde_json::from_value(prefix.tools.clone()).ok()?;
        if tools.iter().any(|tool| tools::find(&tool.name).is_none()) {
            return None;
        }
        Some(Self {
            model: prefix.model.clone(),
            system: system.into(),
            tools: tools.into(),
            context: prefix.context.clone().into(),
        })
    }

    /// The size of the context with this in front of the thread.
    pub fn context_tokens(&self, thread: &[Arc<Message>]) -> u64 {
        estimate::context_tokens_with_prefix(thread, || {
            let system = self.system.iter().map(|block| block.text.as_str());
            estimate::prefix_tokens(system, &&*self.tools, &self.context)
        })
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
    ) -> Arc<Self> {
        let variables =
            std::env::vars_os().chain(settings.env.iter().map(|(name, value)| (name.into(), value.into())));
        let memory = settings.auto_memory(&shared.environment);
        Arc::new(Self {
            id,
            shell: Shell::with_environment(cwd.clone(), variables.collect()),
            memory_dir: memory.then(|| settings.memory_dir(&shared.environment, &cwd)),
            cwd,
            shared,
            transcript,
            reads: ReadState::new(),
            todos: Todos::new(),
            git: Mutex::new(None),
            state: Mutex::new(state),
        })
    }

    /// A panic elsewhere must not take the session with it: every change under the lock is complete in itself.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn emit(&self, turn: Option<&TurnId>, event: AgentEvent) {
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
                parent: state.thread.last().map(|message| message.uuid),
                timestamp: Timestamp::now(),
                flags,
                body,
            });
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
        match self.transcript.append(record) {
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

    /// Flushes the transcript to the medium, off the turn's path.
    pub fn sync_in_background(self: &Arc<Self>) {
        let session = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = session.transcript.sync() {
                tracing::warn!(session = %session.id, %error, "the transcript could not be synced");
            }
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
