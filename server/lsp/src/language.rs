//! Memory in the text: what LSP's own requests show of what the agent knows, in the files that are written for the agent
//! and in those that memories speak of.
//!
//! `language` the crate knows what there is to show; here is what it is shown of: the text as the editor has it, and
//! what is remembered as one value that is made when it is first asked for and kept up to date by [`keeper`]. A request
//! looks at the value as it is and never waits for the next one.

mod actions;
mod convert;
mod documents;
mod edits;
mod keeper;
mod marks;
mod moves;
mod navigation;
mod pulled;
mod pushed;
mod registration;
mod watch;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::{Agent, Faults, MemoryLookup};
use jiff::{Timestamp, civil::Date};
use language::{Facts, Files, INDEX_PATHS, Knowledge, Page, Places, Role};
use settings::{Environment, Inline, directories};
use tower_lsp::jsonrpc::{self, Error};
use workspace::{Measured, Workspace};

use crate::{frontend::EditorFrontend, uri};
pub(crate) use keeper::observe;
pub(crate) use registration::{Offered, announced};

/// What is not open and larger is not read.
const LARGEST: u64 = 1 << 20;

pub(crate) struct Language {
    agent: Arc<Agent>,
    workspace: Workspace,
    frontend: Arc<EditorFrontend>,
    environment: Environment,
    faults: Faults,
    state: Mutex<State>,
    /// Held by whoever reads the whole directory.
    reading: Mutex<()>,
    keeper: keeper::Keeper,
    registered: registration::Registered,
    pushed: pushed::Pushed,
}

#[derive(Default)]
struct State {
    /// `None` until somebody asks.
    knowledge: Option<Arc<Knowledge>>,
    files: Arc<Files>,
    /// Somebody has asked: from now on changes count, also while the first reading goes on.
    is_asked: bool,
    /// The versions of open memories that the knowledge has.
    versions: HashMap<String, i32>,
    /// Memories that name files which are not there, as they were last told.
    stale: BTreeMap<String, Vec<String>>,
    outlines: HashMap<PathBuf, marks::Outlined>,
    /// Moves whose edits the editor has been given.
    foretold: Vec<(PathBuf, PathBuf)>,
}

/// The text of a file that is open.
type OpenText = dyn Fn(&Path) -> Option<String> + Send + Sync;

/// Everything at one moment.
#[derive(Clone)]
pub(crate) struct View {
    knowledge: Arc<Knowledge>,
    files: Arc<Files>,
    places: Places,
    memory: Arc<MemoryLookup>,
    open: Arc<OpenText>,
    home: PathBuf,
    now: Timestamp,
    today: Date,
}

/// The file that a request is about.
pub(crate) struct Opened {
    pub path: PathBuf,
    pub role: Role,
    pub text: String,
    pub measured: Measured,
    /// Of a document that is open.
    pub version: Option<i32>,
}

/// Which files a feature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// Those that are written for the agent.
    Ours,
    Source,
    Both,
}

impl Language {
    pub(crate) fn new(
        agent: Arc<Agent>,
        workspace: Workspace,
        frontend: Arc<EditorFrontend>,
        environment: Environment,
        faults: Faults,
    ) -> Arc<Self> {
        Arc::new(Self {
            agent,
            workspace,
            frontend,
            environment,
            faults,
            state: Mutex::default(),
            reading: Mutex::default(),
            keeper: keeper::Keeper::default(),
            registered: registration::Registered::default(),
            pushed: pushed::Pushed::default(),
        })
    }

    /// Answers a request about a file, on a thread that may block; `None` for files that are nothing to this feature, and
    /// where it is switched off.
    async fn answer<T: Send + 'static>(
        self: &Arc<Self>,
        method: &'static str,
        uri: &str,
        wanted: For,
        switch: fn(&Inline) -> bool,
        answer: impl FnOnce(&Self, &View, &Opened) -> Option<T> + Send + 'static,
    ) -> jsonrpc::Result<Option<T>> {
        self.faults.reach(method);
        let Some(path) = uri::to_path(uri) else { return Ok(None) };
        // The text that the request is about: what is typed while it waits for a thread is another.
        let open = self.workspace.measured(&path);
        let language = Arc::clone(self);
        let answered = tokio::task::spawn_blocking(move || {
            let places = language.places();
            let role = places.role(&path)?;
            let fits = match wanted {
                For::Ours => role.is_ours(),
                For::Source => !role.is_ours(),
                For::Both => true,
            };
            if !fits || !switch(&language.agent.inline()) {
                return None;
            }
            language.start();
            let opened = match open {
                Some(open) => Opened::of(path, role, open),
                None => language.read_from_disk(path, role)?,
            };
            let view = language.view(places);
            answer(&language, &view, &opened)
        });
        answered.await.map_err(|panic| {
            tracing::error!(%panic, method, "a language feature panicked");
            Error::internal_error()
        })
    }

    fn places(&self) -> Places {
        Places {
            memory: self.agent.memory_directory(),
            config_home: directories::config_home(&self.environment),
            managed: self.environment.managed().to_owned(),
            roots: self.workspace.roots(),
        }
    }

    fn open(&self, path: PathBuf, role: Role) -> Option<Opened> {
        match self.workspace.measured(&path) {
            Some(open) => Some(Opened::of(path, role, open)),
            None => self.read_from_disk(path, role),
        }
    }

    fn read_from_disk(&self, path: PathBuf, role: Role) -> Option<Opened> {
        let text = self.text_on_disk(&path)?;
        let measured = Measured::new(&text, self.workspace.encoding());
        Some(Opened { path, role, text, measured, version: None })
    }

    /// The text of a file, as the editor has it or as it is on disk.
    fn measured(&self, path: &Path) -> Option<Measured> {
        let open = self.workspace.measured(path).map(|(measured, _)| measured);
        open.or_else(|| Some(Measured::new(&self.text_on_disk(path)?, self.workspace.encoding())))
    }

    fn text_on_disk(&self, path: &Path) -> Option<String> {
        fs::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST)?;
        String::from_utf8(fs::read(path).ok()?).ok()
    }

    /// What is known now. The first who asks reads it all.
    fn view(&self, places: Places) -> View {
        let known = {
            let state = self.state();
            // Without a directory nothing is known, and that has none either.
            let directory = places.memory.as_deref().unwrap_or(Path::new(""));
            let fits = |knowledge: &&Arc<Knowledge>| knowledge.directory() == directory;
            let knowledge = state.knowledge.as_ref().filter(fits).cloned();
            knowledge.filter(|_| state.files.roots() == places.roots).map(|it| (it, Arc::clone(&state.files)))
        };
        let (knowledge, files) = known.unwrap_or_else(|| self.read(&places));
        let knowledge = self.with_open_memories(knowledge, &files, &places);
        let now = self.faults.clock().now();
        let workspace = self.workspace.clone();
        View {
            knowledge,
            files,
            places,
            memory: self.agent.memory_lookup().into(),
            open: Arc::new(move |path: &Path| workspace.document_text(path)),
            home: self.environment.home().to_owned(),
            now: now.timestamp(),
            today: now.date(),
        }
    }

    /// Everything as it is at this moment: an edit of a file that is not open must not go by what was remembered of it.
    fn view_anew(&self, places: Places) -> View {
        self.read(&places);
        self.view(places)
    }

    /// The same with the indexes as they are at this moment: they are few, and actions in a memory edit them.
    fn with_indexes_as_they_are(&self, view: &View) -> View {
        let mut knowledge = Arc::clone(&view.knowledge);
        for relative in INDEX_PATHS {
            let path = knowledge.directory().join(relative);
            let text = self.workspace.document_text(&path).or_else(|| self.text_on_disk(&path));
            if knowledge.document(relative).map(|known| &known.document.text) != text.as_ref() {
                knowledge = Arc::new(knowledge.replaced(relative, text, &view.files));
            }
        }
        View { knowledge, ..view.clone() }
    }

    /// Reads the whole directory and takes it for what is known. Not where somebody types.
    fn read(&self, places: &Places) -> (Arc<Knowledge>, Arc<Files>) {
        let _alone = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, files) = {
            let mut state = self.state();
            state.is_asked = true;
            (state.knowledge.clone(), Arc::clone(&state.files))
        };
        let has_same_roots = files.roots() == places.roots;
        let files = if has_same_roots { files } else { Arc::new(Files::new(places.roots.clone())) };
        let versions = self.open_memories(places);
        let knowledge = match self.agent.memory_reading() {
            Ok(reading) => {
                // What a memory speaks of was found in these folders, and its path is of that directory.
                let reusable = before.as_deref();
                let reusable = reusable.filter(|it| has_same_roots && it.directory() == reading.directory);
                Knowledge::of(reading.directory, reading.documents, reading.changes, &files, reusable)
            }
            Err(error) => {
                tracing::debug!(%error, "nothing is remembered");
                Knowledge::default()
            }
        };
        let knowledge = Arc::new(knowledge);
        {
            let mut state = self.state();
            state.knowledge = Some(Arc::clone(&knowledge));
            state.files = Arc::clone(&files);
            state.versions = versions.into_iter().map(|(relative, _, version)| (relative, version)).collect();
        }
        if before.is_none_or(|before| before.directory() != knowledge.directory()) {
            // First the watch, then the look, so that nothing goes in between.
            self.keeper.watch(&knowledge, &files);
            self.state().stale = knowledge.stale(&files);
        }
        (knowledge, files)
    }

    /// What the user is typing in memories counts at once.
    fn with_open_memories(
        &self,
        mut knowledge: Arc<Knowledge>,
        files: &Files,
        places: &Places,
    ) -> Arc<Knowledge> {
        for (relative, path, version) in self.open_memories(places) {
            if self.state().versions.get(&relative) == Some(&version) {
                continue;
            }
            let Some(text) = self.workspace.document_text(&path) else { continue };
            let new = Arc::new(knowledge.replaced(&relative, Some(text), files));
            let mut state = self.state();
            // Unless all was read anew meanwhile.
            if state.knowledge.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &knowledge)) {
                state.versions.insert(relative, version);
                state.knowledge = Some(Arc::clone(&new));
            }
            knowledge = new;
        }
        knowledge
    }

    fn open_memories(&self, places: &Places) -> Vec<(String, PathBuf, i32)> {
        let documents = self.workspace.documents().into_iter();
        let memories = documents.filter_map(|document| {
            let relative = places.memory_path(&document.path)?;
            let is_memory = matches!(places.role(&document.path), Some(Role::Memory | Role::Index));
            (is_memory && document.bytes as u64 <= LARGEST).then_some((
                relative,
                document.path,
                document.version,
            ))
        });
        memories.collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl View {
    /// The text of a memory as it is known.
    fn text(&self, path: &Path) -> Option<&str> {
        let known = self.knowledge.document(&self.places.memory_path(path)?)?;
        Some(&known.document.text)
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            knowledge: &self.knowledge,
            places: &self.places,
            files: &self.files,
            memory: &*self.memory,
            open: &*self.open,
            home: &self.home,
            now: self.now,
            today: self.today,
        }
    }
}

impl Opened {
    fn of(path: PathBuf, role: Role, (measured, version): (Measured, i32)) -> Self {
        Self { path, role, text: measured.text(), measured, version: Some(version) }
    }

    fn page(&self) -> Page<'_> {
        Page { path: &self.path, text: &self.text, role: self.role }
    }
}

#[cfg(test)]
mod tests;
