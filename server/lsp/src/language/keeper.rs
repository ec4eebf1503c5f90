//! Keeps what is known up to date: when memories change, when files that they name come and go. One task, which runs when
//! there is something to do.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use agent::{MemoryActor, MemoryEvent, MemoryEventKind, MemoryFile};
use language::{Files, Knowledge, Role};
use protocol::{MemoryInlineParams, MemoryPlace, Notification as _, method::MemoryInline};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::{Language, Opened, View, watch::Watch};
use crate::{convert, server::Server, uri};

/// Changes come in flocks: git removes many files at once.
const DEBOUNCE: Duration = Duration::from_millis(80);
/// Files that are looked at one by one.
const MOST_CAME: usize = 256;
/// Places that one event is shown at.
const MOST_PLACES: usize = 50;

#[derive(Default)]
pub(super) struct Keeper {
    changed: Arc<Notify>,
    pending: Arc<Mutex<Pending>>,
    running: OnceLock<AbortOnDropHandle<()>>,
    watch: Mutex<Watch>,
}

/// What there is to do.
#[derive(Default)]
struct Pending {
    /// They are to be read again.
    memories: bool,
    /// How often they are recalled is another number.
    counts: bool,
    files: Came,
    /// With what was known when they happened: what is forgotten is shown where it was.
    events: Vec<(MemoryEvent, Option<Arc<Knowledge>>)>,
}

/// Files that came or went.
#[derive(Default)]
enum Came {
    #[default]
    None,
    These(Vec<PathBuf>),
    Any,
}

impl Came {
    fn add(&mut self, places: &[PathBuf]) {
        match self {
            _ if places.is_empty() => *self = Self::Any,
            Self::None => *self = Self::These(places.to_owned()),
            Self::These(all) if all.len() >= MOST_CAME => *self = Self::Any,
            Self::These(all) => all.extend_from_slice(places),
            Self::Any => {}
        }
    }
}

impl Keeper {
    /// Sees what becomes of the files that memories name.
    pub(super) fn watch(&self, knowledge: &Knowledge, files: &Files) {
        let (pending, changed) = (Arc::clone(&self.pending), Arc::clone(&self.changed));
        let tell = move |places: &[PathBuf]| {
            lock(&pending).files.add(places);
            changed.notify_one();
        };
        lock(&self.watch).turn_to(knowledge, files, tell);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Language {
    /// Memories have changed.
    pub(crate) fn memories_changed(self: &Arc<Self>) {
        if self.state().is_asked {
            self.note(|pending| pending.memories = true);
        }
    }

    /// They say the same, but were recalled.
    pub(crate) fn memories_counted(self: &Arc<Self>) {
        if self.state().is_asked {
            self.note(|pending| pending.counts = true);
        }
    }

    /// Something happened to memories that may be shown where they are spoken of.
    pub(crate) fn happened(self: &Arc<Self>, event: &MemoryEvent) {
        if self.frontend.client.get().is_some_and(|client| client.reverie.inline_memory) {
            let known = self.state().knowledge.clone();
            self.note(|pending| pending.events.push((event.clone(), known)));
        }
    }

    fn files_came_or_went(self: &Arc<Self>, places: &[PathBuf]) {
        if self.state().is_asked && !places.is_empty() {
            self.note(|pending| pending.files.add(places));
        }
    }

    /// Whether a memory names a path that this place is on.
    fn names_a_part_of(&self, place: &Path) -> bool {
        let name = place.file_name().and_then(|name| name.to_str());
        let state = self.state();
        name.zip(state.knowledge.as_ref()).is_some_and(|(name, knowledge)| knowledge.names_part(name))
    }

    fn note(self: &Arc<Self>, note: impl FnOnce(&mut Pending)) {
        note(&mut lock(&self.keeper.pending));
        self.start();
        self.keeper.changed.notify_one();
    }

    pub(super) fn start(self: &Arc<Self>) {
        self.keeper.running.get_or_init(|| {
            let (language, changed) = (Arc::downgrade(self), Arc::clone(&self.keeper.changed));
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    changed.notified().await;
                    tokio::time::sleep(DEBOUNCE).await;
                    let Some(language) = language.upgrade() else { return };
                    let done = tokio::task::spawn_blocking(move || language.bring_up_to_date()).await;
                    if let Err(panic) = done {
                        tracing::error!(%panic, "keeping up with memories panicked");
                    }
                }
            }))
        });
    }

    fn bring_up_to_date(self: &Arc<Self>) {
        self.faults.reach("language keeper");
        let Pending { memories, counts, files, events } = std::mem::take(&mut *lock(&self.keeper.pending));
        let places = self.places();
        let is_listed_anew = self.list_again_after(&files);
        let mut is_other = memories || is_listed_anew;
        if memories || !matches!(files, Came::None) {
            if memories {
                self.read(&places);
            }
            let View { knowledge, files, .. } = self.view(places.clone());
            self.keeper.watch(&knowledge, &files);
            is_other |= self.tell_stale(&knowledge, &files);
        }
        if !events.is_empty() && self.agent.inline().notifications {
            let view = self.view(places);
            for (event, known) in events {
                let before = View { knowledge: known.unwrap_or_default(), ..view.clone() };
                self.tell_inline(&before, &view, &event);
            }
        }
        if is_other {
            self.refresh();
        } else if counts {
            self.refresh_lenses();
        }
    }

    /// A file that was written anew is where it was: then no folder is read.
    fn list_again_after(&self, came: &Came) -> bool {
        let files = Arc::clone(&self.state().files);
        let is_old = match came {
            Came::None => false,
            Came::These(places) => places.iter().any(|place| !files.is_as_listed(place)),
            Came::Any => true,
        };
        if is_old {
            files.list_again();
        }
        is_old
    }

    /// "Marks the memory stale": what has gone since it was last looked at. Whether anything has, or has come back.
    fn tell_stale(&self, knowledge: &Knowledge, files: &Files) -> bool {
        let now = knowledge.stale(files);
        let before = std::mem::replace(&mut self.state().stale, now.clone());
        let mut gone: Vec<MemoryFile> = Vec::new();
        let counted = self.agent.memory_lookup();
        for (relative, paths) in &now {
            let known = before.get(relative);
            let new: Vec<&str> = paths
                .iter()
                .filter(|path| known.is_none_or(|known| !known.contains(path)))
                // What was never there has not gone.
                .filter(|path| files.last_found(path).is_some())
                .map(String::as_str)
                .collect();
            let Some(memory) = knowledge.document(relative).filter(|_| !new.is_empty()) else { continue };
            gone.push(MemoryFile {
                path: memory.document.path.clone(),
                name: memory.name.clone(),
                kind: counted(relative).and_then(|memory| memory.kind),
                reason: format!("{} {} gone", new.join(", "), if new.len() == 1 { "is" } else { "are" }),
                change: None,
                diff: None,
            });
        }
        if !gone.is_empty() {
            let (kind, by) = (MemoryEventKind::Stale, MemoryActor::User);
            self.frontend.tell_memory_event(MemoryEvent { kind, session: None, turn: None, by, files: gone });
        }
        now != before
    }

    /// At the places of open documents that the memories speak of, and at the memories themselves.
    fn tell_inline(self: &Arc<Self>, before: &View, view: &View, event: &MemoryEvent) {
        let mut places = Vec::new();
        for document in self.workspace.documents() {
            let Some(role) = view.places.role(&document.path) else { continue };
            let Some(opened) = self.open(document.path, role) else { continue };
            places.extend(self.places_of(before, view, &opened, event));
            if places.len() >= MOST_PLACES {
                break;
            }
        }
        places.truncate(MOST_PLACES);
        if places.is_empty() {
            return;
        }
        let told = convert::memory_event(MemoryEvent { files: Vec::new(), ..event.clone() });
        let params = MemoryInlineParams { kind: told.kind, by: told.by, places };
        match serde_json::to_value(params) {
            Ok(params) => self.frontend.outbound.notify(MemoryInline::NAME, params),
            Err(error) => tracing::error!(%error, "places of memories cannot be written as JSON"),
        }
    }

    fn places_of(
        self: &Arc<Self>,
        before: &View,
        view: &View,
        opened: &Opened,
        event: &MemoryEvent,
    ) -> Vec<MemoryPlace> {
        let place = |range: &std::ops::Range<usize>, file: &MemoryFile| {
            let range = opened.measured.range(range);
            let position =
                |at: workspace::Position| protocol::Position { line: at.line, character: at.character };
            MemoryPlace {
                uri: self.frontend.documents.uri(&opened.path),
                range: protocol::Range { start: position(range.start), end: position(range.end) },
                text: words(event, file),
                path: convert::path_text(&file.path),
                change_id: file.change.clone(),
            }
        };
        if opened.role != Role::Source {
            let own = event.files.iter().find(|file| file.path == opened.path);
            return own.map(|file| place(&(0..0), file)).into_iter().collect();
        }
        let (still, gone): (Vec<&MemoryFile>, Vec<&MemoryFile>) =
            event.files.iter().partition(|file| view.text(&file.path).is_some());
        let mut places = Vec::new();
        for (view, files) in [(view, still), (before, gone)] {
            let marks = if files.is_empty() { Vec::new() } else { self.marks(view, opened) };
            for mark in marks {
                let here = |file: &&&MemoryFile| {
                    mark.memories.iter().any(|marked| marked.known.document.path == file.path)
                };
                places.extend(files.iter().filter(here).map(|file| place(&mark.range, file)));
            }
        }
        places
    }
}

fn words(event: &MemoryEvent, file: &MemoryFile) -> String {
    let by = match event.by {
        MemoryActor::Dream => " by a dream",
        MemoryActor::Extraction => " from the session",
        MemoryActor::Team => " by the team",
        MemoryActor::Recall | MemoryActor::Model | MemoryActor::User => "",
    };
    let done = match event.kind {
        MemoryEventKind::Recalled => "Recalled",
        MemoryEventKind::Saved => "Remembered",
        MemoryEventKind::Updated => "Updated",
        MemoryEventKind::Deleted => "Forgotten",
        MemoryEventKind::Undone => "Taken back",
        MemoryEventKind::Stale => "Stale",
    };
    format!("◆ {done}{by}: {}", file.name)
}

/// After a notification of the client has been applied: has it to do with what is known? Called for every keystroke.
pub(crate) fn observe(server: &Server, method: &str, params: Option<&RawValue>) {
    let language = server.language();
    match method {
        "textDocument/didChange" | "textDocument/didOpen" => {
            if language.is_pushing()
                && let Some(path) = document(params)
            {
                language.push_soon_of(path);
            }
        }
        "textDocument/didSave" | "textDocument/didClose" => {
            let Some(path) = document(params) else { return };
            language.forget_outline(&path);
            language.push_soon_of(path.clone());
            // A file that somebody just made may be the one that is meant.
            if method == "textDocument/didSave" && language.names_a_part_of(&path) {
                language.files_came_or_went(std::slice::from_ref(&path));
            }
            // What was typed and not saved is not there any more.
            if method == "textDocument/didClose" && path.extension().is_some_and(|ending| ending == "md") {
                language.memories_changed();
            }
        }
        "workspace/didRenameFiles" => renamed(language, params),
        "workspace/didChangeWatchedFiles" => language.files_came_or_went(&watched(language, params)),
        "workspace/didChangeWorkspaceFolders" => {
            language.settings_changed();
            language.memories_changed();
        }
        _ => {}
    }
}

fn document(params: Option<&RawValue>) -> Option<PathBuf> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        text_document: Identifier,
    }
    #[derive(Deserialize)]
    struct Identifier {
        uri: String,
    }
    let params: Params = serde_json::from_str(params?.get()).ok()?;
    uri::to_path(&params.text_document.uri)
}

/// Of what the client saw, what has to do with a file that is named.
fn watched(language: &Arc<Language>, params: Option<&RawValue>) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Params {
        changes: Vec<Change>,
    }
    #[derive(Deserialize)]
    struct Change {
        uri: String,
        #[serde(rename = "type")]
        kind: u8,
    }
    const CHANGED: u8 = 2;
    let Some(params) = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok()) else {
        return Vec::new();
    };
    let places = params.changes.iter().filter(|change| change.kind != CHANGED);
    let places = places.filter_map(|change| uri::to_path(&change.uri));
    places.filter(|place| language.names_a_part_of(place)).collect()
}

fn renamed(language: &Arc<Language>, params: Option<&RawValue>) {
    #[derive(Deserialize)]
    struct Params {
        files: Vec<Renamed>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Renamed {
        old_uri: String,
        new_uri: String,
    }
    let Some(params) = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok()) else { return };
    let moves: Vec<(PathBuf, PathBuf)> = params
        .files
        .iter()
        .filter_map(|file| Some((uri::to_path(&file.old_uri)?, uri::to_path(&file.new_uri)?)))
        .collect();
    for (old, new) in &moves {
        language.state().files.rename(old, new);
        language.files_came_or_went(&[old.clone(), new.clone()]);
    }
    language.follow(moves);
}
