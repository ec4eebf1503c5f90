//! What comes to mind while a turn runs: memories that have to do with the user's message.
//!
//! The local ranker answers within a millisecond or two, and what it is sure of goes with the first request. A model may
//! then select among the rest; its choice joins at the next round boundary, and is dropped where the turn has ended by
//! then. Nothing here keeps a request waiting longer than [`FIRST`].

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use context::fragment;
use conversation::{Attachment, Body, Message};
use jiff::Timestamp;
use memory::{
    Memory,
    recall::{self, Candidate, Decision},
    store::Use,
};
use model::{QuerySource, catalogue::ANTHROPIC, side_query, side_query::SideQuery};
use settings::RecallModel;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    event::{MemoryActor, MemoryEvent, MemoryEventKind, MemoryFile, TurnId},
    memories::Memories,
    session::Session,
    types::{RecallReport, Recalled},
};

/// The kind of the attachments.
pub(crate) const KIND: &str = "memory";

/// How long the first request waits for the local ranker, which mostly is there before it.
const FIRST: Duration = Duration::from_millis(10);

/// "After 2 s the ranker's order fills the places."
const SELECTION: Duration = Duration::from_secs(2);

/// What `explain` can still tell about.
const REPORTS: usize = 20;

const RECENT_TOOLS: usize = 10;

/// Room for the wrapper and the title beside what is shown of a file.
const REMINDER_BYTES: usize = 2 * recall::BYTES + 2_000;

/// One message's recall, under way. Dropping it ends it.
pub(crate) struct Recall {
    first: Option<oneshot::Receiver<Vec<Picked>>>,
    rest: Option<oneshot::Receiver<Vec<Picked>>>,
    _task: AbortOnDropHandle<()>,
}

/// A memory that is to be shown, rendered.
struct Picked {
    memory: Memory,
    text: String,
    reason: String,
}

/// Who selects what the ranker is not sure of, if anybody.
pub(crate) struct Selector {
    pub spec: model::ModelSpec,
    pub provider: Arc<dyn model::Provider>,
}

/// Begins to think about a message of the user. `None` where there is nothing to think with or about.
pub(crate) fn begin(session: &Arc<Session>, turn: &TurnId, message: &str) -> Option<Recall> {
    let memories = session.memories()?;
    let settings = session.shared.settings(&session.cwd).settings;
    if !settings.features(&session.shared.environment).recall || !recall::is_worth_it(message) {
        return None;
    }
    if injected(&session.state().thread) >= recall::SESSION_BYTES {
        return None;
    }
    let (first, first_ready) = oneshot::channel();
    let (rest, rest_ready) = oneshot::channel();
    let thinking = Thinking {
        session: Arc::clone(session),
        memories,
        turn: turn.clone(),
        query: message.to_owned(),
        selector: selector(session, &settings),
    };
    let task = tokio::spawn(thinking.run(first, rest));
    Some(Recall { first: Some(first_ready), rest: Some(rest_ready), _task: AbortOnDropHandle::new(task) })
}

impl Recall {
    /// Attaches what is ready at this round boundary.
    pub async fn attach(&mut self, session: &Arc<Session>, turn: &TurnId) {
        if let Some(first) = self.first.take() {
            let waiting = &mut Some(first);
            let ready = match waiting {
                Some(first) => tokio::time::timeout(session.shared.faults.patience(FIRST), first).await,
                None => return,
            };
            match ready {
                Ok(picked) => show(session, turn, picked.unwrap_or_default()),
                // Next time.
                Err(_elapsed) => self.first = waiting.take(),
            }
        }
        if let Some(mut rest) = self.rest.take() {
            match rest.try_recv() {
                Ok(picked) => show(session, turn, picked),
                Err(oneshot::error::TryRecvError::Empty) => self.rest = Some(rest),
                Err(oneshot::error::TryRecvError::Closed) => {}
            }
        }
    }
}

/// Appends what was picked to the thread, as far as the session's budget goes, and tells of it.
fn show(session: &Arc<Session>, turn: &TurnId, picked: Vec<Picked>) {
    let Some(memories) = session.memories() else { return };
    let is_known = known(session, &memories);
    let mut files = Vec::new();
    for Picked { memory, text, reason } in picked {
        let path = memories.store.directory().join(&memory.path);
        if is_known(&memory.path) {
            continue;
        }
        if injected(&session.state().thread) >= recall::SESSION_BYTES {
            note(session, turn, &path, Decision::OverBudget, "this session has shown enough memories");
            continue;
        }
        session.attach(KIND, fragment::reminder(&text, REMINDER_BYTES));
        note(session, turn, &path, Decision::Recalled, &reason);
        files.push(MemoryFile {
            path,
            name: memory.name,
            kind: memory.kind,
            reason,
            change: None,
            diff: None,
        });
    }
    if files.is_empty() {
        return;
    }
    memories.count(session, &files, Use::Recalled);
    session.shared.frontend.memory_event(MemoryEvent {
        kind: MemoryEventKind::Recalled,
        session: Some(session.id.clone()),
        turn: Some(turn.clone()),
        by: MemoryActor::Recall,
        files,
    });
}

/// What an answer cites of what it was shown counts as used.
pub(crate) fn count_citations(session: &Arc<Session>, answer: &str) {
    let Some(memories) = session.memories() else { return };
    let shown = shown_paths(&session.state().thread);
    let cited: HashSet<String> = shown
        .into_iter()
        .filter_map(|path| memories.relative(&path))
        .filter(|path| answer.contains(path.as_str()))
        .collect();
    memories.count_paths(session, cited, Use::Cited);
}

struct Thinking {
    session: Arc<Session>,
    memories: Arc<Memories>,
    turn: TurnId,
    query: String,
    selector: Option<Selector>,
}

impl Thinking {
    async fn run(self, first: oneshot::Sender<Vec<Picked>>, rest: oneshot::Sender<Vec<Picked>>) {
        let this = Arc::new(self);
        let looked = {
            let this = Arc::clone(&this);
            tokio::task::spawn_blocking(move || {
                this.session.shared.faults.reach("recall");
                let (candidates, sure) = this.look();
                let picked = this.read(&candidates, &sure, None);
                (candidates, sure, picked)
            })
        };
        let Ok((candidates, sure, picked)) = looked.await else {
            tracing::error!("recall panicked");
            return;
        };
        this.report(&candidates);
        // Nobody waits any more: the turn has ended.
        drop(first.send(picked));
        let Some(selector) = &this.selector else { return };
        let Some(selection) =
            recall::selection(&this.query, &candidates, &sure, &recent_tools(&this.session))
        else {
            return;
        };
        let answer = tokio::time::timeout(SELECTION, this.ask(selector, selection)).await.ok().flatten();
        let chosen = answer.and_then(|answer| recall::selected(&answer, &candidates));
        let by_model = chosen.is_some();
        let mut places = chosen.unwrap_or_else(|| recall::likely(&candidates));
        places.retain(|place| !sure.contains(place));
        places.truncate(recall::PICKED.saturating_sub(sure.len()));
        let reading = Arc::clone(&this);
        let reason = by_model.then_some("the selector model named it for this message");
        let read = tokio::task::spawn_blocking(move || reading.read(&candidates, &places, reason));
        if let Ok(picked) = read.await {
            drop(rest.send(picked));
        }
    }

    /// What there is, and what the ranker would show by itself: what it is sure of, or all that is likely where nobody
    /// else selects.
    fn look(&self) -> (Vec<Candidate>, Vec<usize>) {
        let ranked = self.memories.store.rank(&self.query, recall::CANDIDATES, Timestamp::now());
        let candidates = recall::candidates(ranked, known(&self.session, &self.memories));
        let picked = match self.selector {
            Some(_) => recall::sure(&candidates),
            None => recall::likely(&candidates),
        };
        (candidates, picked)
    }

    fn read(&self, candidates: &[Candidate], places: &[usize], reason: Option<&str>) -> Vec<Picked> {
        let store = &self.memories.store;
        let now = Timestamp::now();
        let picked = places.iter().filter_map(|place| candidates.get(*place)).filter_map(|candidate| {
            let memory = candidate.memory.clone();
            let text = store.read(&memory.path).ok()?;
            let text = markdown::hidden::shown(&text).into_owned();
            let text = recall::show(&store.directory().join(&memory.path), &text, memory.modified, now);
            let by_rank = candidate.hit.as_ref().map(recall::ranked_reason);
            let reason = match (reason, by_rank) {
                (Some(reason), _) => reason.to_owned(),
                (None, Some(reason)) => reason,
                (None, None) => "it fits the message".to_owned(),
            };
            Some(Picked { memory, text, reason })
        });
        picked.collect()
    }

    async fn ask(&self, selector: &Selector, selection: recall::Selection) -> Option<String> {
        let query = SideQuery {
            model: selector.spec.name.clone(),
            system: selection.system.to_owned(),
            message: selection.message,
            schema: Some(selection.schema),
            max_tokens: recall::ANSWER_TOKENS,
            source: QuerySource::Recall,
        };
        match side_query::ask(&*selector.provider, query).await {
            Ok((answer, usage)) => {
                self.session.book(&selector.spec, &QuerySource::Recall, usage, 0.0);
                Some(answer)
            }
            Err(error) => {
                tracing::info!(%error, "the selector model did not answer; the local ranker's order is taken");
                None
            }
        }
    }

    fn report(&self, candidates: &[Candidate]) {
        let candidates = candidates
            .iter()
            .map(|candidate| explained(self.memories.store.directory(), candidate))
            .collect();
        let report = RecallReport { turn: self.turn.clone(), query: self.query.clone(), candidates };
        let mut state = self.session.state();
        while state.recalls.len() >= REPORTS {
            state.recalls.pop_front();
        }
        state.recalls.push_back(report);
    }
}

pub(crate) fn explained(directory: &Path, candidate: &Candidate) -> Recalled {
    let mut reason = candidate.reason.clone();
    if let Some(hit) = &candidate.hit {
        reason.push_str(&format!("; score {}", hit.parts.words()));
    }
    Recalled {
        path: directory.join(&candidate.memory.path),
        score: candidate.hit.as_ref().map_or(0.0, |hit| f64::from(hit.score)),
        decision: candidate.decision,
        reason,
    }
}

/// Corrects what the report of this turn says of a memory.
fn note(session: &Session, turn: &TurnId, path: &Path, decision: Decision, reason: &str) {
    let mut state = session.state();
    let Some(report) = state.recalls.iter_mut().rev().find(|report| report.turn == *turn) else { return };
    if let Some(entry) = report.candidates.iter_mut().find(|entry| entry.path == path) {
        let score = entry.reason.split_once("; score ").map(|(_, score)| format!("; score {score}"));
        entry.decision = decision;
        entry.reason = format!("{reason}{}", score.unwrap_or_default());
    }
}

/// Whether the session has a memory before it: shown, or read by the model itself.
pub(crate) fn known(session: &Session, memories: &Memories) -> impl Fn(&str) -> bool {
    let shown = shown_paths(&session.state().thread);
    let shown: HashSet<String> = shown.iter().filter_map(|path| memories.relative(path)).collect();
    let directory = memories.store.directory();
    move |path| shown.contains(path) || session.reads.get(&directory.join(path)).is_some()
}

/// The paths of recalled memories in the thread: what was compacted or rewound away may come to mind again.
fn shown_paths(thread: &[Arc<Message>]) -> Vec<String> {
    attached(thread).filter_map(|text| Some(recall::shown_path(text)?.to_owned())).collect()
}

/// The memory that an attachment shows, if it shows one.
pub(crate) fn attached_path(attachment: &Attachment) -> Option<PathBuf> {
    let text = Some(&attachment.text).filter(|_| attachment.kind == KIND)?;
    recall::shown_path(text).map(PathBuf::from)
}

/// How much was injected so far, in bytes.
fn injected(thread: &[Arc<Message>]) -> usize {
    attached(thread).map(str::len).sum()
}

fn attached(thread: &[Arc<Message>]) -> impl Iterator<Item = &str> {
    thread.iter().filter_map(|message| match &message.body {
        Body::Attachment(attachment) if attachment.kind == KIND => Some(attachment.text.as_str()),
        _ => None,
    })
}

fn recent_tools(session: &Session) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for message in session.state().thread.iter().rev().take(40) {
        let Body::Assistant { content, .. } = &message.body else { continue };
        for block in content {
            if let conversation::Block::ToolUse { name, .. } = block
                && !tools.contains(name)
                && tools.len() < RECENT_TOOLS
            {
                tools.push(name.clone());
            }
        }
    }
    tools
}

/// `recallModel`: "auto" is a small model of the provider that answers anyway; without one the local ranker decides.
fn selector(session: &Session, settings: &settings::Settings) -> Option<Selector> {
    let models = session.shared.models(settings);
    let name = match &settings.features(&session.shared.environment).recall_model {
        RecallModel::Local => return None,
        RecallModel::Model(name) => name.clone(),
        RecallModel::Auto => {
            let wanted = {
                let state = session.state();
                state.model_name.clone().or_else(|| session.shared.command_line_model())
            };
            let (main, _) = models.resolve(wanted.as_deref()).ok()?;
            let chosen = settings.selector_model_name(&session.shared.environment);
            let usual = (main.provider == ANTHROPIC).then(|| "sonnet".to_owned());
            chosen.or(usual)?
        }
    };
    let (spec, provider) = models.resolve(Some(&name)).ok()?;
    Some(Selector { spec, provider })
}
