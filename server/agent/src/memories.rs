//! The memory directory of a project: its store, the record of its changes, and what is told of them.
//!
//! A change by a tool is looked at before and after, and recorded with who made it and why. Whatever else changes on disk
//! is the user's: the watcher sees it, or the next look does.

mod deed;
mod language;
mod requests;
mod save;
mod watch;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use conversation::{Block, Body, Message};
use jiff::Timestamp;
use memory::{
    Store, Topic, compose,
    history::{Author, By, Change, History},
    index::is_index,
    store::Use,
};
use permissions::Access;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, RwLockReadGuard};
use uuid::Uuid;

pub(crate) use save::{note, save};

pub use deed::Remembered;
pub use language::{MemoryEdit, MemoryLookup, MemoryReading};
pub use requests::{HistoryEntry, HistoryQuery, ListedMemories, MemoryHit, UndoneMemories};

use crate::{
    event::{MemoryActor, MemoryEvent, MemoryEventKind, MemoryFile, TurnId},
    frontend::Frontend,
    session::Session,
};

/// A memory is never longer, and the history keeps no more: what is, is nobody's to read in part and write back.
const LARGEST: u64 = 8 << 20;

/// How much of a prompt or a command is quoted as the reason of a change.
const REASON_CHARS: usize = 80;

pub(crate) struct Memories {
    pub store: Store,
    /// Held by whoever writes until it is recorded, so that nobody takes the change for somebody else's.
    writing: Arc<RwLock<()>>,
    /// Held by whoever reads, thinks and writes: of two at once, one would lose what the other wrote.
    editing: Mutex<()>,
    watch: Mutex<Option<watch::Watch>>,
}

/// What a call is about to change, as it was before.
pub(crate) enum Watched {
    Nothing,
    File {
        path: String,
        before: Option<Vec<u8>>,
        _writing: OwnedRwLockReadGuard<()>,
    },
    /// A command, which may touch anything, and may take so long that nobody can wait for it: what somebody else sees of
    /// its work before it ends counts as the user's.
    Command(String),
}

impl Memories {
    pub fn new(directory: PathBuf) -> Self {
        Self {
            store: Store::new(directory),
            writing: Arc::default(),
            editing: Mutex::default(),
            watch: Mutex::default(),
        }
    }

    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// The path below the directory, of one that is in it.
    pub fn relative(&self, path: impl AsRef<Path>) -> Option<String> {
        let path = path.as_ref();
        let below = path.strip_prefix(self.directory()).ok().map(Path::to_owned).or_else(|| {
            // By another name of the same folder.
            let directory = self.directory().canonicalize().ok()?;
            let folder = path.parent()?.canonicalize().ok()?;
            Some(folder.strip_prefix(directory).ok()?.join(path.file_name()?))
        })?;
        below.to_str().filter(|path| !path.is_empty()).map(str::to_owned)
    }

    /// For a session that begins or goes on: reads what there is before the first message wants it, and watches it.
    pub fn wake(self: &Arc<Self>, frontend: &Arc<dyn Frontend>) {
        let (memories, frontend) = (Arc::clone(self), Arc::clone(frontend));
        tokio::task::spawn_blocking(move || {
            if memories.directory().is_dir() {
                memories.keep_watching(&frontend);
            }
            // A word, so that the ranker has its own lists at hand, too.
            memories.store.rank("memory", 1, Timestamp::now());
        });
    }

    /// Keeps others from writing until it is dropped. Not on the runtime's own threads.
    pub fn edit(&self) -> (MutexGuard<'_, ()>, RwLockReadGuard<'_, ()>) {
        (self.editing.lock().unwrap_or_else(PoisonError::into_inner), self.writing.blocking_read())
    }

    /// Sees from now on what changes on disk. May be called often; the directory must exist.
    pub fn keep_watching(self: &Arc<Self>, frontend: &Arc<dyn Frontend>) {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.is_none() {
            *watch = Some(watch::begin(self, frontend));
        }
    }

    /// Looks at what the call may change.
    pub async fn before(&self, access: &Access) -> Watched {
        let path = match access {
            Access::Write { path, .. } => path,
            Access::Command { command, judged: None } => return Watched::Command(command.clone()),
            _ => return Watched::Nothing,
        };
        let Some(path) = self.relative(path) else { return Watched::Nothing };
        let writing = Arc::clone(&self.writing).read_owned().await;
        // What cannot be kept is not recorded either: who takes it back would be left with nothing.
        let Ok(before) = self.bytes(&path) else { return Watched::Nothing };
        Watched::File { before, path, _writing: writing }
    }

    /// Records what the call changed, and tells of it.
    pub fn after(&self, session: &Session, turn: &TurnId, watched: Watched) {
        let author = |why: String| Author {
            by: By::Model,
            why,
            session: Some(session.id.to_string()),
            message: last_prompt(&session.state().thread).map(|(uuid, _)| uuid.to_string()),
            group: Some(turn.clone()),
        };
        let recorded = match watched {
            Watched::Nothing => return,
            Watched::File { path, before, _writing } => {
                let Ok(after) = self.bytes(&path) else { return };
                if before == after {
                    return;
                }
                let author = author(reason(session));
                let record =
                    |history: History| history.record(&path, before.as_deref(), after.as_deref(), &author);
                History::open(self.directory()).and_then(record).map(|change| change.into_iter().collect())
            }
            Watched::Command(line) => {
                let author = author(format!("the command `{}` changed it", head(&line)));
                History::open(self.directory()).and_then(|history| history.observe_as(&author))
            }
        };
        self.tell(&*session.shared.frontend, Some((session, turn)), recorded);
    }

    /// Tells of changes that were recorded, each kind in one event. The index is not a memory.
    pub fn tell(
        &self,
        frontend: &dyn Frontend,
        origin: Option<(&Session, &TurnId)>,
        recorded: io::Result<Vec<Change>>,
    ) {
        self.store.mark_stale();
        let changes = match recorded {
            Ok(changes) => changes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                tracing::warn!(%error, directory = %self.directory().display(), "a change of memory is not recorded");
                return;
            }
        };
        if !changes.is_empty() {
            frontend.memory_changed();
        }
        let kinds = [MemoryEventKind::Saved, MemoryEventKind::Updated, MemoryEventKind::Deleted];
        for kind in kinds {
            let of_kind: Vec<&Change> =
                changes.iter().filter(|change| kind_of(change) == kind && !is_index(&change.path)).collect();
            let Some(first) = of_kind.first() else { continue };
            frontend.memory_event(MemoryEvent {
                kind,
                session: origin.map(|(session, _)| session.id.clone()),
                turn: origin.map(|(_, turn)| turn.clone()),
                by: actor(first.by),
                files: of_kind.into_iter().map(|change| self.file(change)).collect(),
            });
        }
    }

    /// What the memories are called that these changes are about, each once. The index is none.
    pub fn names(&self, changes: &[Change]) -> Vec<String> {
        let mut names = Vec::new();
        for change in changes.iter().filter(|change| !is_index(&change.path)) {
            let name = self.file(change).name;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn file(&self, change: &Change) -> MemoryFile {
        let history = History::open(self.directory()).ok();
        let text = history.as_ref().and_then(|history| {
            let bytes = match change.after {
                Some(_) => history.after(change),
                None => history.before(change),
            };
            Some(String::from_utf8_lossy(&bytes.ok()??).into_owned())
        });
        let text = text.unwrap_or_default();
        let topic = Topic::parse(&text);
        MemoryFile {
            path: self.directory().join(&change.path),
            name: topic.name.unwrap_or_else(|| change.path.clone()),
            kind: topic.kind,
            reason: change.why.clone(),
            change: Some(change.id.clone()),
            diff: history.map(|history| history.diff(change)),
        }
    }

    /// All of a file, or an error with words for the user; `None` if there is no file, or a link or a pipe.
    fn bytes(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        use std::io::Read;
        let opened = self.directory().canonicalize().map(|directory| directory.join(path));
        let file = match opened.and_then(|path| markdown::file::open_regular(&path)) {
            Ok((file, _)) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(io::Error::new(error.kind(), format!("{path} cannot be read: {error}")));
            }
            Err(_) => return Ok(None),
        };
        let mut bytes = Vec::new();
        if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
            return Err(too_large(path));
        }
        Ok(Some(bytes))
    }

    /// Likewise, for whoever writes it back with a change.
    fn text(&self, path: &str) -> io::Result<Option<String>> {
        let text = self.bytes(path)?.map(String::from_utf8).transpose();
        text.map_err(|_error| {
            let words = format!("{path} is not UTF-8 text, and stays as it is");
            io::Error::new(io::ErrorKind::InvalidData, words)
        })
    }

    pub fn count(self: &Arc<Self>, session: &Session, files: &[MemoryFile], how: Use) {
        self.count_paths(session, files.iter().filter_map(|file| self.relative(&file.path)).collect(), how);
    }

    /// Off the path of whoever asks: it writes a file.
    pub fn count_paths(self: &Arc<Self>, session: &Session, paths: HashSet<String>, how: Use) {
        if paths.is_empty() {
            return;
        }
        let frontend = Arc::clone(&session.shared.frontend);
        let (memories, session) = (Arc::clone(self), session.id.to_string());
        tokio::task::spawn_blocking(move || {
            let used: Vec<(String, Use)> = paths.into_iter().map(|path| (path, how)).collect();
            memories.store.count(&used, Some(&session), Timestamp::now());
            frontend.memory_counted();
        });
    }
}

fn too_large(path: &str) -> io::Error {
    let words = format!("{path} is larger than {} MB, which is no memory, and stays as it is", LARGEST >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, words)
}

fn kind_of(change: &Change) -> MemoryEventKind {
    match (change.before, change.after) {
        (None, _) => MemoryEventKind::Saved,
        (Some(_), None) => MemoryEventKind::Deleted,
        (Some(_), Some(_)) => MemoryEventKind::Updated,
    }
}

pub(crate) fn actor(by: By) -> MemoryActor {
    match by {
        By::Model => MemoryActor::Model,
        By::Extraction => MemoryActor::Extraction,
        By::Dream => MemoryActor::Dream,
        By::User => MemoryActor::User,
        By::Team => MemoryActor::Team,
    }
}

/// Why the model writes something, in words for the user.
fn reason(session: &Session) -> String {
    let Some((_, prompt)) = last_prompt(&session.state().thread) else {
        return "the model saved it".to_owned();
    };
    let lower = prompt.trim_start().to_lowercase();
    let asked = ["remember", "please remember", "don't forget", "do not forget", "keep in mind", "note that"];
    if asked.iter().any(|start| lower.starts_with(start)) {
        return format!("you asked to remember it: “{}”", head(&prompt));
    }
    if lower.starts_with("forget") || lower.starts_with("please forget") {
        return format!("you asked to forget it: “{}”", head(&prompt));
    }
    format!("the model wrote it while it worked on “{}”", head(&prompt))
}

/// The last thing that the user said, and the message's id.
pub(crate) fn last_prompt(thread: &[Arc<Message>]) -> Option<(Uuid, String)> {
    thread.iter().rev().find_map(|message| match &message.body {
        Body::User { content } if !message.flags.meta => content.iter().find_map(|block| match block {
            Block::Text { text } => Some((message.uuid, text.clone())),
            _ => None,
        }),
        _ => None,
    })
}

pub(crate) fn head(text: &str) -> String {
    if compose::has_secret(text) {
        return "…".to_owned();
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REASON_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
