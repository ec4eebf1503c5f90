//! What all sessions of a server share, and the settings as they are right now.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak, atomic::AtomicBool},
};

use checkpoints::{Store, Tracker};
use conversation::{Hit, Query, SearchIndex};
use model::Models;
use permissions::Rule;
use serde_json::Value;
use settings::{Environment, Settings, Sources, directories};
use skills::Library;
use tokio_util::task::TaskTracker;
use workspace::Workspace;

use crate::{
    background::{Dreams, Jobs},
    extensions::Extensions,
    faults::Faults,
    frontend::Frontend,
    memories::Memories,
    session::Session,
    spend::Spend,
    store,
    types::{Dependencies, Reach},
};

/// The workspace's, and what was asked for besides.
const KEPT_INDEXES: usize = 3;

/// What keeps files as they were before they were touched.
#[derive(Clone)]
pub(crate) struct Keeper {
    pub store: Arc<Store>,
    pub tracker: Arc<Tracker>,
}

pub(crate) struct Shared {
    pub environment: Environment,
    pub workspace: Workspace,
    pub frontend: Arc<dyn Frontend>,
    pub faults: Faults,
    pub spend: Spend,
    pub extensions: Extensions,
    /// What runs by itself.
    pub jobs: Arc<Jobs>,
    pub dreams: Dreams,
    /// What is being learnt: an orderly shutdown waits for it.
    pub learning: TaskTracker,
    /// Nobody is there to see what happens.
    pub non_interactive: AtomicBool,
    /// What ends with the server: it waits for it.
    pub work: TaskTracker,
    /// Those that are open, for whoever counts something over all of them.
    sessions: Mutex<Vec<Weak<Session>>>,
    /// By the project dirs they were opened for, the one that was asked last behind the others.
    search: Mutex<Vec<(Vec<PathBuf>, Arc<SearchIndex>)>>,
    /// Questions that were asked already, whatever the answer.
    asked: Mutex<HashSet<String>>,
    /// By where they keep it, and the folders they watch.
    keepers: Mutex<HashMap<(PathBuf, Vec<PathBuf>), Keeper>>,
    /// By their directories.
    memories: Mutex<HashMap<PathBuf, Arc<Memories>>>,
    command_line_settings: Option<Value>,
    editor_settings: Mutex<Option<Value>>,
    /// Keeps the last good text of each file in force while it is torn.
    pub settings_files: settings::Cache,
    /// The providers of the settings they were made from: HTTP connections outlive a turn.
    models: Mutex<Option<(Settings, Arc<Models>)>>,
}

impl Shared {
    pub fn new(dependencies: Dependencies) -> Self {
        let Dependencies { environment, workspace, frontend, command_line_settings, faults } = dependencies;
        Self {
            spend: Spend::new(directories::config_home(&environment)),
            extensions: Extensions::default(),
            jobs: Arc::default(),
            dreams: Dreams::default(),
            learning: TaskTracker::new(),
            non_interactive: AtomicBool::new(false),
            work: TaskTracker::new(),
            sessions: Mutex::default(),
            search: Mutex::default(),
            asked: Mutex::default(),
            keepers: Mutex::default(),
            memories: Mutex::default(),
            settings_files: settings::Cache::default(),
            faults,
            environment,
            workspace,
            frontend,
            command_line_settings,
            editor_settings: Mutex::new(None),
            models: Mutex::new(None),
        }
    }

    pub fn set_editor_settings(&self, configuration: Value) {
        *self.editor_settings.lock().unwrap_or_else(PoisonError::into_inner) = Some(configuration);
    }

    /// The model that the command line asks for: it holds for resumed sessions too.
    pub fn command_line_model(&self) -> Option<String> {
        self.command_line_settings.as_ref()?.get("model")?.as_str().map(str::to_owned)
    }

    /// What the command line allows: said by the user for this very run, it holds before trust too.
    pub fn command_line_rules(&self) -> Vec<Rule> {
        let allow =
            self.command_line_settings.as_ref().and_then(|settings| settings.pointer("/permissions/allow"));
        let rules = allow.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        rules.filter_map(|rule| Rule::parse(rule).ok()).collect()
    }

    /// The settings for a folder, read anew: a few small files, so that a change applies with the next turn.
    pub fn settings(&self, folder: &Path) -> settings::Loaded {
        let editor = self.editor_settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.settings_files.load(&Sources {
            environment: &self.environment,
            folder: Some(folder),
            editor: editor.as_ref(),
            command_line: self.command_line_settings.as_ref(),
        })
    }

    /// A session is open until the last who has it lets go of it.
    pub fn opened(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    pub fn open_sessions(&self) -> Vec<Arc<Session>> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// What keeps the files of a project as they were; one for all its sessions in the same folders.
    pub fn checkpoints(&self, folder: &Path) -> Keeper {
        let project = directories::canonical_git_root(folder).unwrap_or_else(|| folder.to_owned());
        let kept = directories::project_dir(&self.environment, &project).join("checkpoints");
        let mut roots = self.workspace.roots();
        if !roots.iter().any(|root| folder.starts_with(root)) {
            roots.push(folder.to_owned());
        }
        roots.sort();
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        let keeper = keepers.entry((kept.clone(), roots.clone())).or_insert_with(|| {
            let store = Arc::new(Store::new(kept));
            let config = checkpoints::Config {
                roots,
                exclude: vec![directories::config_home(&self.environment)],
                never: vec![self.environment.home().to_owned()],
                ..checkpoints::Config::default()
            };
            Keeper { tracker: Arc::new(Tracker::new(Arc::clone(&store), config)), store }
        });
        keeper.clone()
    }

    /// What is remembered in a directory; one for all sessions that share it.
    pub fn memories(&self, directory: &Path) -> Arc<Memories> {
        let mut known = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let memories = known.entry(directory.to_owned());
        Arc::clone(memories.or_insert_with(|| Arc::new(Memories::new(directory.to_owned()))))
    }

    /// Searches as many sessions as it should. The index is brought up to date first: only what was said since the
    /// last time is read.
    pub fn search(&self, query: &Query, reach: Reach) -> Vec<Hit> {
        let index = self.search_index(store::searched_dirs(self, query.session.as_ref(), reach));
        if let Err(error) = index.refresh(&|| false) {
            tracing::warn!(%error, "the search index could not be brought up to date");
        }
        index.search(query)
    }

    pub fn search_index(&self, directories: Vec<PathBuf>) -> Arc<SearchIndex> {
        let mut kept = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(of, _)| *of == directories).map(|at| kept.remove(at).1);
        let index = known.unwrap_or_else(|| Arc::new(SearchIndex::open(&self.cache_dir(), &directories)));
        kept.push((directories, Arc::clone(&index)));
        if kept.len() > KEPT_INDEXES {
            kept.remove(0);
        }
        index
    }

    /// What can be made again.
    pub fn cache_dir(&self) -> PathBuf {
        directories::config_home(&self.environment).join("cache")
    }

    /// The skills and command files for a folder, read anew: someone may just have written one.
    pub fn library(&self, folder: &Path) -> Library {
        skills::discover(&self.environment, folder, self.is_trusted(folder))
    }

    /// Whether this was not asked yet; from now on it was.
    pub fn ask_once(&self, question: &str) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(question.to_owned())
    }

    /// What goes before a program that must not outlive us; nothing where this process is not `reverie` itself.
    pub fn outlived_by_none(&self) -> Vec<OsString> {
        let launch = sandbox::Launch::ending_with_this_process();
        tools::shell::Containment::of_this_process()
            .reverie
            .map(|reverie| sandbox::wrap(&reverie, &launch))
            .unwrap_or_default()
    }

    pub fn is_trusted(&self, folder: &Path) -> bool {
        self.settings(folder).trust.is_trusted()
    }

    pub fn models(&self, settings: &Settings) -> Arc<Models> {
        let mut kept = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_from, models)) = kept.as_ref()
            && made_from == settings
        {
            return Arc::clone(models);
        }
        let models = Arc::new(Models::new(&self.environment, settings));
        *kept = Some((settings.clone(), Arc::clone(&models)));
        models
    }
}
