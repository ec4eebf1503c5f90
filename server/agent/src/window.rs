//! What was decided about the context of a session: events in the transcript, folded into what is sent.
//!
//! Nothing is dropped in the dark: every decision is written down, shown as an update, and stays in the ledger.

use std::{path::PathBuf, sync::Arc};

use context::{Calibration, Entry, Event, Projection, Recorded, event::CompactionRecord, ledger::History};
use conversation::{Block, Body, Message, Record};
use jiff::Timestamp;
use model::{CacheWatch, Field};
use serde_json::{Value, json};
use tools::Todo;
use uuid::Uuid;

use crate::{
    event::{AgentEvent, TurnId},
    instructions::Sheet,
    loops::Refills,
    session::{Rendered, Session, State},
    store,
};

/// The layer of what undoes a compaction.
const UNCOMPACT: &str = "uncompact";
/// The layer of a cache that was broken by nobody we know of.
pub(crate) const CACHE: &str = "cache";

/// What else is kept with the session's decisions.
const WATCH: &str = "cacheWatch";
const CALIBRATION: &str = "calibration";
const TODOS: &str = "todos";

#[derive(Default)]
pub(crate) struct Window {
    events: Vec<Recorded>,
    /// What the events make of the thread.
    pub projection: Projection,
    pub calibration: Calibration,
    /// What the cache should know, and whether it does.
    pub watch: CacheWatch,
    /// What the provider has refused to do for this session.
    pub refused: Vec<Field>,
    /// Automatic compactions that failed, in a row.
    pub failures: u32,
    /// Whether compactions help.
    pub refills: Refills,
    /// The way back from the last compaction, until the next request.
    pub undo: Option<Undo>,
    /// A summary that was shown, and not taken yet.
    pub preview: Option<crate::compaction::Preview>,
    /// There was a pause of more than an hour.
    pub is_cold: bool,
    /// The list of things to do when the conversation was last compacted.
    pub todos: Option<Vec<Todo>>,
    /// The session was brought back from its transcript.
    pub resumed: bool,
}

/// The conversation as it was before a compaction.
#[derive(Clone)]
pub(crate) struct Undo {
    pub thread: Vec<Arc<Message>>,
    pub tip: Option<Uuid>,
    pub rendered: Option<Rendered>,
    pub sheet: Sheet,
}

impl Window {
    /// From what the transcript keeps, whatever branch it was decided on.
    pub fn restore(kept: Vec<Value>, thread: &[Arc<Message>]) -> Self {
        let mut window = Self { resumed: true, ..Self::default() };
        for mut value in kept {
            if let Some(watch) = value.get_mut(WATCH) {
                window.watch = CacheWatch::restore(watch.take());
            } else if let Some(calibration) = value.get_mut(CALIBRATION) {
                window.calibration = serde_json::from_value(calibration.take()).unwrap_or_default();
            } else if let Some(Value::Array(listed)) = value.get(TODOS) {
                window.todos = Some(store::todos(listed));
            } else if let Ok(event) = serde_json::from_value::<Recorded>(value) {
                // Between turns the watch is not written again.
                if event.entry.as_ref().is_some_and(breaks_on_purpose) {
                    window.watch.announce();
                }
                window.events.push(event);
            }
        }
        window.projection = Projection::replay(&window.events, thread);
        window
    }

    /// The thread has become another one, on purpose.
    pub fn replay(&mut self, thread: &[Arc<Message>]) {
        self.projection = Projection::replay(&self.events, thread);
        self.watch.announce();
        self.undo = None;
        self.preview = None;
    }

    pub fn push(&mut self, recorded: Recorded) {
        self.projection.apply(&recorded);
        self.events.push(recorded);
    }

    /// What holds about the messages that stay, to be decided once more after this one.
    pub fn carried(&self, thread: &[Arc<Message>], kept: &[Arc<Message>], after: Uuid) -> Vec<Recorded> {
        context::event::carried(&self.events, thread, kept, after)
    }

    /// Every change so far, oldest first.
    pub fn ledger(&self) -> Vec<(Timestamp, Entry)> {
        self.events.iter().filter_map(|it| Some((it.at, it.entry.clone()?))).collect()
    }

    /// The compactions that were not taken back.
    pub fn history(&self) -> History {
        let mut compactions: Vec<CompactionRecord> = Vec::new();
        for recorded in &self.events {
            match &recorded.event {
                Event::Compacted(compaction) => compactions.push(compaction.clone()),
                Event::Remark if recorded.entry.as_ref().is_some_and(|entry| entry.layer == UNCOMPACT) => {
                    compactions.pop();
                }
                _ => {}
            }
        }
        History::of(&compactions)
    }

    /// The messages of a span that was collapsed or left out, by the first of them.
    pub fn span_at(&self, first: Uuid) -> Option<Vec<Uuid>> {
        self.events.iter().rev().find_map(|recorded| match &recorded.event {
            Event::Collapsed { first: begin, messages, .. } if *begin == first => Some(messages.clone()),
            Event::Snipped { removed, .. } if removed.first() == Some(&first) => Some(removed.clone()),
            _ => None,
        })
    }

    /// What a resumed session goes on with, for the transcript.
    pub fn kept(&self) -> [Value; 2] {
        [json!({ WATCH: self.watch.kept() }), json!({ CALIBRATION: self.calibration })]
    }
}

/// Whether the next request finds less in the cache because of it. That a request has found less says nothing about
/// the next one.
fn breaks_on_purpose(entry: &Entry) -> bool {
    !entry.cache_kept && entry.layer != CACHE
}

/// The list of things to do, in the form of who writes it.
pub(crate) fn kept_todos(todos: &[Todo]) -> Value {
    let todo = |todo: &Todo| json!({ "content": todo.content, "status": todo.status, "activeForm": todo.active_form });
    json!({ TODOS: todos.iter().map(todo).collect::<Vec<_>>() })
}

impl State {
    /// What an event of now looks like in the transcript.
    pub fn recorded(&self, event: Event, entry: Option<Entry>) -> Recorded {
        // A skill was invoked, whatever becomes of the message that did it.
        let after = if matches!(event, Event::Skill { .. }) { None } else { self.tip };
        Recorded { at: Timestamp::now(), after, event, entry }
    }
}

impl Session {
    /// Writes a decision down, and shows it.
    pub fn decide(&self, turn: Option<&TurnId>, event: Event, entry: Option<Entry>) {
        let written = {
            let mut state = self.state();
            let recorded = state.recorded(event, entry.clone());
            let record = Record::Context(serde_json::to_value(&recorded).unwrap_or_default());
            if entry.as_ref().is_some_and(breaks_on_purpose) {
                state.window.watch.announce();
            }
            state.window.push(recorded);
            // A session that has said nothing has no file yet.
            if state.thread.is_empty() { None } else { self.write(&mut state, &record) }
        };
        self.report_write(written);
        if let Some(entry) = entry {
            self.show_change(turn, &entry);
        }
    }

    pub fn show_change(&self, turn: Option<&TurnId>, entry: &Entry) {
        let Entry { layer, detail, tokens_freed, cache_kept, original, .. } = entry.clone();
        self.emit(turn, AgentEvent::Context { layer, detail, tokens_freed, cache_kept, original });
    }

    /// A line in the ledger and nothing else.
    pub fn remark(&self, turn: Option<&TurnId>, layer: &str, detail: String, cache_kept: bool) {
        let entry = Entry {
            layer: layer.to_owned(),
            detail,
            messages: 0,
            tokens_freed: 0,
            cache_kept,
            original: None,
        };
        self.decide(turn, Event::Remark, Some(entry));
    }

    /// The message, where the model still sees all of its results.
    pub fn in_sight(&self, message: Uuid) -> Option<Arc<Message>> {
        let state = self.state();
        let found = state.thread.iter().rev().find(|known| known.uuid == message)?;
        let Body::User { content } = &found.body else { return None };
        let is_changed = |block: &Block| match block {
            Block::ToolResult { tool_use_id, .. } => state.window.projection.is_changed(message, tool_use_id),
            _ => false,
        };
        (!content.iter().any(is_changed)).then(|| Arc::clone(found))
    }

    /// Where long tool results are kept whole.
    pub fn results_dir(&self) -> PathBuf {
        self.project_dir().join(self.id.as_str()).join("tool-results")
    }

    /// Keeps what a resumed session goes on with.
    pub fn keep_window(&self) {
        let kept = self.state().window.kept();
        for kept in kept {
            self.record(&Record::Context(kept));
        }
    }

    /// A skill is in use from now on, whatever becomes of the message that has it.
    pub fn uses_skill(&self, name: &str, text: &str) {
        self.decide(None, Event::Skill { name: name.to_owned(), text: text.to_owned() }, None);
    }

    /// Takes the last compaction back.
    pub fn uncompact(self: &Arc<Self>) -> bool {
        let Some(undo) = self.state().window.undo.take() else { return false };
        let written = {
            let mut state = self.state();
            state.thread = undo.thread;
            state.tip = undo.tip;
            state.rendered = undo.rendered;
            let thread = state.thread.clone();
            state.window.replay(&thread);
            self.write(&mut state, &Record::Head { uuid: undo.tip })
        };
        self.report_write(written);
        *self.instructions() = undo.sheet;
        self.remark(None, UNCOMPACT, "the last compaction was taken back".to_owned(), true);
        true
    }
}
