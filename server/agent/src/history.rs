//! What the session's calls changed in files, and the way back.
//!
//! A write of one file is looked at before and after; a command, which may touch anything, is watched over the whole
//! workspace. Each change is kept in the transcript, tied to the message after which it happened. Going back to a
//! message undoes, for each file, all that came after it: the first thing that was there is put back.

pub(crate) mod review;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use checkpoints::{Before, Blob, Change, Clash, Entry, Observed, Plan, Running, State, Store, Tracker};
use conversation::{Block, Body, Message, Record};
use permissions::Access;
use uuid::Uuid;
use workspace::{Basis, Workspace};

use crate::{
    event::{NoticeLevel, TurnId},
    session::Session,
    shared::Keeper,
    store,
    types::{AgentError, Rewound},
};

/// How long the first command may be kept waiting while the workspace is copied.
const SNAPSHOT_LIMIT: Duration = Duration::from_secs(2);

/// Files that a notice names; the rest is counted.
const NAMED: usize = 5;

/// Compactions that are gone through, the newest first, for a message that is not in the conversation any more.
const MOST_COMPACTIONS: usize = 100;

const BYTE_ORDER_MARK: &str = "\u{feff}";

pub(crate) struct History {
    store: Arc<Store>,
    tracker: Arc<Tracker>,
    workspace: Workspace,
    /// Oldest first.
    entries: Mutex<Vec<Entry>>,
    /// Commands that go on in the background.
    background: Mutex<Vec<Running>>,
    /// Held while the user's word on a change is carried out.
    reviewing: tokio::sync::Mutex<()>,
}

/// What a call is about to touch, as it was before.
pub(crate) enum Watched {
    Nothing,
    Write {
        before: Before,
        /// The text in the editor, where the file is open there.
        buffer: Option<String>,
    },
    Command {
        running: Running,
        /// It goes on when the call is over.
        stays: bool,
    },
}

impl History {
    pub fn new(keeper: Keeper, workspace: Workspace, entries: Vec<Entry>) -> Self {
        let Keeper { store, tracker } = keeper;
        Self {
            store,
            tracker,
            workspace,
            entries: Mutex::new(entries),
            background: Mutex::default(),
            reviewing: tokio::sync::Mutex::default(),
        }
    }

    /// A command may be about to run: copies the workspace while the user still reads the question.
    pub fn expect(&self, access: &Access) {
        if may_touch_anything(access) {
            self.tracker.start();
        }
    }

    /// Looks at what the call may change. Whatever cannot be kept does not keep the call from running.
    pub async fn before(&self, session: &Arc<Session>, access: &Access, stays: bool) -> Watched {
        if may_touch_anything(access) {
            // What has ended meanwhile is not to count as this one's work.
            self.settle(session, None).await;
            let tracker = Arc::clone(&self.tracker);
            let running = tokio::task::spawn_blocking(move || tracker.before_command(SNAPSHOT_LIMIT)).await;
            return match running {
                Ok(running) => {
                    if running.coverage.untracked_roots > 0 && session.shared.ask_once("untracked roots") {
                        let text = "what commands change in the home folder or in / cannot be taken back";
                        session.notice(None, NoticeLevel::Warning, text);
                    }
                    Watched::Command { running, stays }
                }
                Err(error) => {
                    tracing::error!(%error, "the workspace could not be looked at");
                    Watched::Nothing
                }
            };
        }
        let Access::Write { path, .. } = access else { return Watched::Nothing };
        let (store, path) = (Arc::clone(&self.store), path.clone());
        let buffer = self.workspace.document_text(&path);
        match tokio::task::spawn_blocking(move || store.before_write(&path)).await {
            Ok(Ok(before)) => Watched::Write { before, buffer },
            Ok(Err(error)) => {
                tracing::warn!(%error, "a file cannot be kept before it is changed");
                Watched::Nothing
            }
            Err(error) => {
                tracing::error!(%error, "a file could not be looked at");
                Watched::Nothing
            }
        }
    }

    /// Writes down what the call changed.
    pub async fn after(&self, session: &Arc<Session>, turn: &TurnId, watched: Watched) {
        let observed = match watched {
            Watched::Nothing => return,
            Watched::Write { before, buffer } => {
                let (store, workspace) = (Arc::clone(&self.store), self.workspace.clone());
                tokio::task::spawn_blocking(move || written(&store, &workspace, before, buffer)).await
            }
            Watched::Command { running, stays: false } => {
                tokio::task::spawn_blocking(move || running.finish()).await
            }
            Watched::Command { running, stays: true } => {
                lock(&self.background).push(running);
                return;
            }
        };
        match observed {
            Ok(observed) => self.keep(session, Some(turn), observed),
            Err(error) => tracing::error!(%error, "the workspace could not be looked at"),
        }
    }

    /// What commands in the background have done so far.
    pub async fn settle(&self, session: &Arc<Session>, turn: Option<&TurnId>) {
        let running = std::mem::take(&mut *lock(&self.background));
        if running.is_empty() {
            return;
        }
        let ended = session.shell.jobs().iter().all(|job| job.status != tools::JobStatus::Running);
        let faults = session.shared.faults.clone();
        let looked = tokio::task::spawn_blocking(move || {
            faults.reach("background changes");
            let mut observed = Vec::new();
            let mut going_on = Vec::new();
            for running in running {
                if ended {
                    observed.push(running.finish());
                } else {
                    observed.push(running.observe());
                    going_on.push(running);
                }
            }
            (observed, going_on)
        });
        match looked.await {
            Ok((observed, going_on)) => {
                for observed in observed {
                    self.keep(session, turn, observed);
                }
                lock(&self.background).extend(going_on);
            }
            Err(error) => tracing::error!(%error, "the workspace could not be looked at"),
        }
    }

    fn keep(&self, session: &Arc<Session>, turn: Option<&TurnId>, observed: Observed) {
        if observed.is_empty() {
            return;
        }
        if let Some(text) = cannot_be_undone(&observed) {
            session.notice(turn, NoticeLevel::Warning, text);
        }
        self.record(session, observed.into_entry(anchor(session)));
    }

    /// Flushes the copies to the medium. Waits for the disk.
    pub fn sync(&self) {
        if let Err(error) = self.store.sync() {
            tracing::warn!(%error, "copies of changed files are not synced");
        }
    }

    /// Takes over what another session did while it said what this one has said.
    pub fn adopt(&self, session: &Session, checkpoints: Vec<serde_json::Value>) {
        let said: HashSet<String> =
            session.state().thread.iter().map(|message| message.uuid.to_string()).collect();
        let entries = checkpoints.into_iter().filter_map(|it| serde_json::from_value::<Entry>(it).ok());
        for entry in entries.filter(|entry| said.contains(&entry.message)) {
            self.record(session, entry);
        }
    }

    fn record(&self, session: &Session, entry: Entry) {
        match serde_json::to_value(&entry) {
            Ok(value) => session.record(&Record::Checkpoint(value)),
            Err(error) => tracing::error!(%error, "a checkpoint cannot be written as JSON"),
        }
        lock(&self.entries).push(entry);
    }

    /// Brings the files back to what they were before all that happened after the messages in `removed`.
    async fn restore(
        &self,
        session: &Arc<Session>,
        removed: &HashSet<String>,
        force: bool,
    ) -> Result<Rewound, AgentError> {
        let entries: Vec<Entry> = {
            let entries = lock(&self.entries);
            let since = entries.iter().position(|entry| removed.contains(&entry.message));
            since.map(|since| entries.get(since..).unwrap_or_default().to_vec()).unwrap_or_default()
        };
        let mut rewound = Rewound::default();
        let (in_editor, on_disk) = self.apart(entries.clone()).await;
        let (store, message) = (Arc::clone(&self.store), anchor(session));
        let planned = tokio::task::spawn_blocking(move || {
            let mut plan = store.plan(&on_disk);
            if force {
                plan.force();
            }
            let prepared = store.prepare(&plan, message)?;
            Ok::<_, std::io::Error>((plan, prepared))
        });
        let (plan, prepared) = planned
            .await
            .map_err(|_| AgentError::Unavailable("the files could not be looked at".to_owned()))?
            .map_err(|error| AgentError::Unavailable(format!("the files cannot be restored: {error}")))?;
        // From here on nothing fails as a whole: what cannot be restored is named.
        for (path, changes) in in_editor {
            if !force && checkpoints::is_uncertain(&entries, &path) {
                rewound.kept.push((path, Clash::Uncertain.to_string()));
                continue;
            }
            match self.restore_in_editor(&path, &changes, force).await {
                Ok(None) => {}
                Ok(Some(change)) => {
                    let entry = Entry { message: anchor(session), changes: vec![change], ..Entry::default() };
                    self.record(session, entry);
                    rewound.restored.push(path);
                }
                Err(why) => rewound.kept.push((path, why)),
            }
        }
        if !prepared.entry.changes.is_empty() {
            self.record(session, prepared.entry.clone());
        }
        let store = Arc::clone(&self.store);
        let restored = tokio::task::spawn_blocking(move || store.apply(prepared))
            .await
            .map_err(|_| AgentError::Unavailable("the files could not be restored".to_owned()))?;
        rewound.restored.extend(restored.paths);
        rewound.kept.extend(left_alone(plan));
        rewound.kept.extend(restored.failures.into_iter().map(|failure| (failure.path, failure.why)));
        rewound.restored.sort();
        self.look_no_more(session, &rewound.restored);
        Ok(rewound)
    }

    /// The changes of files whose text in the editor is another than it was, by file; and the entries without them. A
    /// document that still has the old text needs none, but its file does.
    async fn apart(&self, mut entries: Vec<Entry>) -> (Vec<(PathBuf, Vec<Change>)>, Vec<Entry>) {
        let mut in_editor: Vec<(PathBuf, Vec<Change>)> = Vec::new();
        for document in self.workspace.documents() {
            let changes = entries.iter().flat_map(|entry| &entry.changes);
            let changes: Vec<Change> =
                changes.filter(|change| change.path == document.path).cloned().collect();
            // A file that is to vanish vanishes from the disk; the editor says so itself.
            let Some(Some(before @ State::File { .. })) = changes.first().map(|first| first.before.clone())
            else {
                continue;
            };
            let present = self.workspace.document_text(&document.path);
            let wanted = self.text(before).await.ok();
            if present.as_deref().map(without_mark) != wanted.as_deref().map(without_mark) {
                in_editor.push((document.path, changes));
            }
        }
        for entry in &mut entries {
            entry.changes.retain(|change| !in_editor.iter().any(|(path, _)| *path == change.path));
        }
        (in_editor, entries)
    }

    async fn text(&self, state: State) -> Result<String, String> {
        let store = Arc::clone(&self.store);
        let bytes = tokio::task::spawn_blocking(move || store.content(&state))
            .await
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("its copy cannot be read: {error}"))?;
        String::from_utf8(bytes).map_err(|_| "it was no text before".to_owned())
    }

    /// What it changed, `None` if there was nothing to do; or why it is left alone.
    async fn restore_in_editor(
        &self,
        path: &Path,
        changes: &[Change],
        force: bool,
    ) -> Result<Option<Change>, String> {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(None) };
        let Some(before) = &first.before else { return Ok(None) };
        let wanted = self.text(before.clone()).await?;
        let wanted = without_mark(&wanted);
        let present = self.workspace.document_text(path).ok_or("it was closed meanwhile")?;
        if !force && !is_text_of(&present, last.after.as_ref()) {
            return Err(Clash::ChangedSince.to_string());
        }
        let kept = self.put(&present).await?;
        let seen = self.workspace.fingerprint(path).map_err(|error| error.to_string())?;
        self.workspace
            .write(path, wanted, Basis::Unchanged(seen), "Reverie: rewind")
            .await
            .map_err(|error| error.to_string())?;
        Ok(Some(Change { path: path.to_owned(), before: Some(kept), after: first.before.clone() }))
    }

    async fn put(&self, text: &str) -> Result<State, String> {
        let (store, bytes) = (Arc::clone(&self.store), text.as_bytes().to_vec());
        let len = bytes.len() as u64;
        let blob = tokio::task::spawn_blocking(move || store.put(&bytes))
            .await
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        Ok(State::File { blob, mode: BUFFER_MODE, len })
    }
}

/// Of a text that has no file of its own.
const BUFFER_MODE: u32 = 0o644;

/// Goes back to before a prompt, or to right after any other message. The session must be quiet.
pub(crate) async fn rewind(
    session: &Arc<Session>,
    message: Uuid,
    restore_files: bool,
    force: bool,
) -> Result<Rewound, AgentError> {
    session.history.settle(session, None).await;
    let looking = Arc::clone(session);
    let found = tokio::task::spawn_blocking(move || Place::of(&looking, message)).await;
    let Place { thread, index, since } = found
        .map_err(|_| AgentError::Unavailable("the conversation could not be looked at".to_owned()))??;
    let keep = match thread.get(index) {
        Some(target) if is_prompt(target) => index,
        _ => end_of_round(&thread, index),
    };
    let removed = thread.get(keep..).unwrap_or_default();
    let prompt = removed.iter().find(|message| is_prompt(message)).map(|message| text_of(message));
    let names = removed.iter().chain(&since).map(|message| message.uuid.to_string()).collect();
    let mut rewound = match restore_files {
        true => session.history.restore(session, &names, force).await?,
        false => Rewound::default(),
    };
    // Counts the branches of the transcript.
    let shortened = Arc::clone(session);
    if let Err(error) = tokio::task::spawn_blocking(move || shortened.rewind_to(&thread, keep)).await {
        tracing::error!(%error, "a conversation could not be shortened");
        return Err(AgentError::Unavailable(
            "the conversation could not be taken back; its files were".to_owned(),
        ));
    }
    rewound.prompt = prompt.unwrap_or_default();
    Ok(rewound)
}

/// Where a message is: in the conversation as it is, or as it was before a compaction.
struct Place {
    thread: Vec<Arc<Message>>,
    index: usize,
    /// What stands for the thread now, and what was said since.
    since: Vec<Arc<Message>>,
}

impl Place {
    /// May read the transcript.
    fn of(session: &Session, message: Uuid) -> Result<Self, AgentError> {
        let mut thread = session.state().thread.clone();
        let mut since = Vec::new();
        for _ in 0..MOST_COMPACTIONS {
            if let Some(index) = thread.iter().position(|known| known.uuid == message) {
                return Ok(Self { thread, index, since });
            }
            let Some(before) = store::before(&thread) else { break };
            since.extend(thread);
            thread = store::read(&session.shared, &session.id, Some(before))?.thread;
        }
        Err(AgentError::Invalid(format!(
            "message {message} is not in the conversation as it is now; resume the branch that has it first"
        )))
    }
}

/// What a call did to a file: on disk, or where that stayed as it was, in the editor.
fn written(store: &Store, workspace: &Workspace, before: Before, buffer: Option<String>) -> Observed {
    let path = before.path.clone();
    let mut observed = store.after_write(before).unwrap_or_else(|error| {
        tracing::warn!(%error, "a changed file cannot be looked at");
        Observed::default()
    });
    if let (true, Some(old), Some(new)) = (observed.is_empty(), buffer, workspace.document_text(&path))
        && old != new
    {
        let state = |blob, text: &str| State::File { blob, mode: BUFFER_MODE, len: text.len() as u64 };
        match store.put(old.as_bytes()) {
            Ok(blob) => observed.changes.push(Change {
                path,
                before: Some(state(blob, &old)),
                after: Some(state(Blob::of(new.as_bytes()), &new)),
            }),
            Err(error) => tracing::warn!(%error, "an edited text cannot be kept"),
        }
    }
    observed
}

fn may_touch_anything(access: &Access) -> bool {
    match access {
        Access::Command { judged, .. } => judged.is_none(),
        Access::External { read_only, .. } => !read_only,
        Access::Session
        | Access::Read { .. }
        | Access::Write { .. }
        | Access::Fetch { .. }
        | Access::Search { .. } => false,
    }
}

/// A mark may be in the file and not in the editor, or the other way round.
fn is_text_of(text: &str, state: Option<&State>) -> bool {
    let Some(State::File { blob, .. }) = state else { return false };
    let bare = without_mark(text);
    Blob::of(bare.as_bytes()) == *blob || Blob::of(format!("{BYTE_ORDER_MARK}{bare}").as_bytes()) == *blob
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The message after which something happens now.
fn anchor(session: &Session) -> String {
    session.state().thread.last().map(|message| message.uuid.to_string()).unwrap_or_default()
}

pub(crate) fn is_prompt(message: &Message) -> bool {
    let Body::User { content } = &message.body else { return false };
    !message.flags.meta && content.iter().any(|block| !matches!(block, Block::ToolResult { .. }))
}

/// Behind the results of the calls that the message at `index` belongs to, so that no call is left without its own.
fn end_of_round(thread: &[Arc<Message>], index: usize) -> usize {
    let before = thread.get(..=index).unwrap_or_default();
    let calls: HashSet<&str> = before.iter().rev().find_map(|message| calls_of(message)).unwrap_or_default();
    let is_result = |message: &Arc<Message>| {
        match &message.body {
        Body::User { content } => content.iter().any(
            |block| matches!(block, Block::ToolResult { tool_use_id, .. } if calls.contains(tool_use_id.as_str())),
        ),
        _ => false,
    }
    };
    let last = thread.iter().rposition(is_result).unwrap_or(index);
    index.max(last) + 1
}

/// The calls of a response; `None` for any other message.
fn calls_of(message: &Message) -> Option<HashSet<&str>> {
    let Body::Assistant { content, .. } = &message.body else { return None };
    let ids = content.iter().filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    });
    Some(ids.collect())
}

pub(crate) fn text_of(message: &Message) -> String {
    let Body::User { content } = &message.body else { return String::new() };
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn left_alone(plan: Plan) -> Vec<(PathBuf, String)> {
    let conflicts = plan.conflicts.into_iter().map(|it| (it.action.path, it.why.to_string()));
    let failures = plan.failures.into_iter().map(|it| (it.path, it.why));
    let uncaptured = plan.uncaptured.into_iter().map(|it| (it.path, format!("no copy was kept: {}", it.why)));
    conflicts.chain(failures).chain(uncaptured).collect()
}

/// What the user should know now rather than when they want to go back.
fn cannot_be_undone(observed: &Observed) -> Option<String> {
    let lost: Vec<String> = observed
        .uncaptured
        .iter()
        // What is ignored can be made again, and builds touch it all the time.
        .filter(|it| it.fate != checkpoints::Fate::Created && it.why != checkpoints::Why::Ignored)
        .map(|it| format!("{} ({})", it.path.display(), it.why))
        .collect();
    let more = lost.len().saturating_sub(NAMED) + observed.unnamed;
    if lost.is_empty() {
        return observed.cut.then(|| {
            "the workspace is too large to be looked at in time: not all that the command changed can be undone"
                .to_owned()
        });
    }
    let named = lost.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("a rewind cannot bring back what the command did to {named}{more}"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
