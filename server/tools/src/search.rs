//! What Grep and Glob share: where to look, the walk, the newest finds first, names a model can read.
//!
//! Knows nothing of patterns inside files; that is `grep.rs`.

mod finds;
mod ignore_files;
mod names;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ignore::{DirEntry, WalkBuilder, WalkState, types::Types};
use workspace::Workspace;

use self::ignore_files::are_harmless;
pub(crate) use self::{
    finds::{Find, Finds, Totals},
    names::{Above, depth, shown, split_literal_prefix},
};
use crate::{
    shell::text::with_commas,
    tool::{MayRead, ToolContext, ToolFailure},
};

/// After this a search ends with what it has.
const WALL_LIMIT: Duration = Duration::from_secs(20);

/// How long a search may then take to show what it has found, and to notice that it should not even do that.
const SHOWING: Duration = Duration::from_secs(2);
const STOPPING: Duration = Duration::from_millis(500);

/// Folders of the kernel, where reading a file may never end. Only searched when named.
const VIRTUAL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Tells a search to look no further, and then to end even what it has found so far.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    looking: Arc<AtomicBool>,
    everything: Arc<AtomicBool>,
}

impl Stop {
    /// Whether to search no more files.
    pub(crate) fn looking(&self) -> bool {
        self.looking.load(Ordering::Relaxed)
    }

    /// Whether to return at once.
    pub(crate) fn everything(&self) -> bool {
        self.everything.load(Ordering::Relaxed)
    }

    fn stop_looking(&self) {
        self.looking.store(true, Ordering::Relaxed);
    }

    fn stop_everything(&self) {
        self.stop_looking();
        self.everything.store(true, Ordering::Relaxed);
    }
}

/// What a walk calls for each file and folder.
pub(crate) type Visitor<'a> = Box<dyn FnMut(Result<DirEntry, ignore::Error>) -> WalkState + Send + 'a>;

/// Folders whose ignore files must not be read, by their depth.
type Harmful = Arc<Mutex<BTreeMap<usize, Vec<PathBuf>>>>;

/// Where to look.
pub(crate) struct Scope {
    pub(crate) base: PathBuf,
    pub(crate) hidden: Hidden,
    pub(crate) types: Option<Types>,
    pub(crate) max_depth: Option<usize>,
}

/// Whether names that begin with a dot are looked at. `.git` never is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    Skip,
    Include,
}

impl Hidden {
    /// A pattern that spells out a leading dot asks for hidden files.
    pub(crate) fn asked_by(pattern: &str) -> Self {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let asked =
            pattern.starts_with('.') || ["/.", "{.", ",.", "!."].iter().any(|dot| pattern.contains(dot));
        if asked { Self::Include } else { Self::Skip }
    }
}

impl Scope {
    /// Shows every file and folder to the visitors, one of which is made for each thread. The folder must exist.
    ///
    /// A folder whose ignore files cannot be read without harm is searched as if neither it nor what is below had any.
    pub(crate) fn walk<'a>(&self, mut visitor: impl FnMut() -> Visitor<'a>) {
        let real = self.base.canonicalize();
        let harmful_above =
            real.as_deref().unwrap_or(&self.base).ancestors().any(|folder| !are_harmless(folder));
        let harmful = Harmful::default();
        // The slash lets a link that was named be followed; none below it is.
        let mut builder = WalkBuilder::new(self.base.join(""));
        self.configure(&mut builder, 0, (!harmful_above).then(|| Arc::clone(&harmful)));
        builder.build_parallel().run(&mut visitor);
        let harmful = std::mem::take(&mut *harmful.lock().unwrap_or_else(PoisonError::into_inner));
        for (depth, folders) in harmful {
            let mut folders = folders.into_iter();
            let Some(first) = folders.next() else { continue };
            let mut builder = WalkBuilder::new(first);
            for folder in folders {
                builder.add(folder);
            }
            self.configure(&mut builder, depth, None);
            builder.build_parallel().run(&mut visitor);
        }
    }

    /// For a walk from folders so deep below the base. With a place for the folders that it must leave to another
    /// walk, it respects ignore files.
    fn configure(&self, builder: &mut WalkBuilder, depth: usize, harmful: Option<Harmful>) {
        builder.standard_filters(harmful.is_some());
        if harmful.is_some() {
            // Outside a repository `.gitignore` files count as well, but not those above the folder: a home may have
            // one that ignores everything.
            let in_repository = self.base.ancestors().any(|folder| folder.join(".git").exists());
            builder.require_git(false).parents(in_repository);
        }
        builder
            .hidden(self.hidden == Hidden::Skip)
            .max_depth(self.max_depth.map(|most| most.saturating_sub(depth)))
            .follow_links(false);
        if let Some(types) = &self.types {
            builder.types(types.clone());
        }
        let at_root = self.base == Path::new("/");
        builder.filter_entry(move |entry| {
            if entry.depth() == 0 {
                return true;
            }
            let virtual_folder = at_root && VIRTUAL.iter().any(|folder| entry.path() == Path::new(folder));
            if entry.file_name() == ".git" || virtual_folder {
                return false;
            }
            // This is asked before the walk enters the folder and reads its ignore files.
            if let Some(harmful) = &harmful
                && entry.file_type().is_some_and(|kind| kind.is_dir())
                && !are_harmless(entry.path())
            {
                let mut harmful = harmful.lock().unwrap_or_else(PoisonError::into_inner);
                harmful.entry(entry.depth()).or_default().push(entry.path().to_owned());
                return false;
            }
            true
        });
    }
}

/// Which files below the root of a search may be shown.
///
/// A folder that may not be shown unasked was asked about by name before its search began, and the answer holds for
/// what lies in it, but for what is denied. Anywhere else, what is found must be free to show by itself.
pub(crate) fn may_read_below(root: &Path, context: &ToolContext) -> MayRead {
    let was_asked = |path: &Path| !(context.may_read)(path);
    // Permissions look through links, so the question was about what the folder really is.
    if was_asked(root) || root.canonicalize().is_ok_and(|real| was_asked(&real)) {
        Arc::clone(&context.not_denied)
    } else {
        Arc::clone(&context.may_read)
    }
}

/// The texts that differ from the disk: open in the editor and not saved.
pub(crate) fn unsaved_below(base: &Path, workspace: &Workspace) -> HashMap<PathBuf, String> {
    let documents = workspace.documents().into_iter().filter(|document| document.path.starts_with(base));
    let unsaved = documents.filter(|document| {
        // An editor may also open a file with changes that it kept from the last time.
        let on_disk = || std::fs::metadata(&document.path).map(|metadata| metadata.len());
        document.dirty || on_disk().ok() != Some(document.bytes as u64)
    });
    unsaved
        .filter_map(|document| Some((document.path.clone(), workspace.document_text(&document.path)?)))
        .collect()
}

/// Runs a search on a thread of its own, so that one that hangs in the kernel holds up neither the caller nor
/// the end of the server. `work` gets what tells it to stop: at the limit, then its partial result is returned.
pub(crate) async fn on_own_thread<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Stop) -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let (sender, mut receiver) = tokio::sync::oneshot::channel();
    let stop = Stop::default();
    let stop_for_work = stop.clone();
    let spawned = std::thread::Builder::new().name("search".to_owned()).spawn(move || {
        if sender.send(work(&stop_for_work)).is_err() {
            tracing::debug!("a search ended after its caller had gone");
        }
    });
    if let Err(error) = spawned {
        return Err(ToolFailure(format!("the search could not be started: {error}")));
    }
    // Also stops it when this future is dropped.
    let _stop_at_the_end = StopOnDrop(stop.clone());
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(ToolFailure("the search was cancelled".to_owned())),
        result = &mut receiver => return received(result),
        () = tokio::time::sleep(WALL_LIMIT) => stop.stop_looking(),
    }
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(ToolFailure("the search was cancelled".to_owned())),
        result = &mut receiver => return received(result),
        () = tokio::time::sleep(SHOWING) => stop.stop_everything(),
    }
    match tokio::time::timeout(STOPPING, receiver).await {
        Ok(result) => received(result),
        Err(_) => {
            Err(ToolFailure("the search hangs in a file that cannot be read; narrow the path".to_owned()))
        }
    }
}

fn received<T>(
    result: Result<Result<T, ToolFailure>, tokio::sync::oneshot::error::RecvError>,
) -> Result<T, ToolFailure> {
    result.unwrap_or_else(|_| {
        Err(ToolFailure(
            "the search failed inside; this is a fault of the server, not of the call".to_owned(),
        ))
    })
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop_everything();
    }
}

/// Why nothing can be searched at a path.
pub(crate) fn cannot_search(path: &Path, error: &std::io::Error, context: &ToolContext) -> ToolFailure {
    let name = shown(path, Path::new(""));
    ToolFailure(match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{name} does not exist; the working folder is {}", shown(&context.cwd, Path::new("")))
        }
        std::io::ErrorKind::PermissionDenied => format!("{name} may not be read"),
        _ => format!("{name} cannot be read: {error}"),
    })
}

/// What a reader should know beside the finds, each in brackets.
pub(crate) fn notes(totals: Totals, stop: &Stop) -> Vec<String> {
    let mut notes = Vec::new();
    if stop.looking() {
        let seconds = WALL_LIMIT.as_secs();
        notes.push(format!("[stopped after {seconds} s: not all files were searched; narrow the path]"));
    }
    if totals.unreadable > 0 {
        notes.push(format!("[could not be read: {} files or folders]", with_commas(totals.unreadable)));
    }
    if totals.too_long > 0 {
        notes.push(format!("[skipped, too long to search: {} files]", with_commas(totals.too_long)));
    }
    if totals.withheld > 0 {
        let files = if totals.withheld == 1 { "file" } else { "files" };
        notes.push(format!("[left out by permission rules: {} {files}]", with_commas(totals.withheld)));
    }
    notes
}
