//! Commands may touch anything, so the workspace is looked at before and after each.
//!
//! A [`Tracker`] holds what the workspace looked like and a copy of every file, within [`Limits`]. The first look takes
//! a while and is best begun in the background ([`Tracker::start`]); each later one takes milliseconds, as only what
//! changed is read. What is ignored, too large or too much is not copied, and is named if it is touched. A folder that
//! is far more than a project, such as a home, is not looked at at all.
//!
//! Only what changes while a command runs is anybody's work; each look before a command that runs alone forgets what
//! others changed since the last, such as the user between two turns.
//!
//! All of this waits for the disk: not for a thread that serves others.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::entry::{Observed, Why};
use crate::store::Store;
use crate::write::resolve;

mod commands;
mod compare;
mod copy;
mod index;
mod rules;
mod staging;
mod walk;

use commands::{Commands, Number};
use index::{Content, Index, Kind, Listing};
use rules::Outside;
use staging::Staging;
use walk::{Root, Walked};

/// How long a look may take after a command.
const AFTER: Duration = Duration::from_secs(10);
/// How long a look before a command may take at least, also where the first one used up the time.
const GRACE: Duration = Duration::from_millis(500);
/// Copies that nobody needs any more are cleared away when they are more than the others and this.
const SPARE: u64 = 32 << 20;
/// The disk is the bottleneck beyond that.
const THREADS: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The folders of the workspace.
    pub roots: Vec<PathBuf>,
    /// Folders and files in them that are never looked at, e.g. our own.
    pub exclude: Vec<PathBuf>,
    /// Folders that are far more than a project, e.g. the user's home: a root that is or contains one is not tracked,
    /// nor is `/`, nor one that contains the store. Roots within them are.
    pub never: Vec<PathBuf>,
    /// More files of rules like `.gitignore`, e.g. the user's own; weaker than those in the workspace.
    pub ignore_files: Vec<PathBuf>,
    pub limits: Limits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many files and folders are looked at.
    pub files: usize,
    /// How much is copied in all.
    pub bytes: u64,
    /// How large a file may be to be copied.
    pub file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 50_000, bytes: 256 << 20, file_bytes: 8 << 20 }
    }
}

impl Config {
    fn threads(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from).min(THREADS)
    }
}

/// One for a workspace; all its sessions may share it.
#[derive(Debug)]
pub struct Tracker {
    shared: Arc<Shared>,
}

/// What a rewind could bring back, in counts of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub copied: usize,
    pub bytes: u64,
    pub too_large: usize,
    /// Files and folders beyond the limits.
    pub over_budget: usize,
    /// Files and folders there was no time for.
    pub not_ready: usize,
    pub unreadable: usize,
    /// Not counting what is in ignored folders.
    pub ignored: usize,
    /// Roots that are not tracked at all, see [`Config::never`]: nothing that a command does in them is seen.
    pub untracked_roots: usize,
}

impl Tracker {
    pub fn new(store: Arc<Store>, mut config: Config) -> Self {
        config.never.extend([PathBuf::from("/"), store.folder().to_owned()]);
        config.never =
            config.never.into_iter().map(|path| resolve(&path).map_or(path, |(real, _)| real)).collect();
        let canonical = |path: &PathBuf| path.canonicalize().ok();
        let mut roots: Vec<PathBuf> = config.roots.iter().filter_map(canonical).collect();
        roots.sort();
        roots.dedup();
        let all = roots.len();
        roots.retain(|root| !config.never.iter().any(|never| never.starts_with(root)));
        let untracked_roots = all - roots.len();
        if untracked_roots > 0 {
            tracing::info!(roots = ?config.roots, untracked_roots, "some folders of the workspace are not tracked");
        }
        // One within another comes after it.
        roots.dedup_by(|inner, outer| inner.starts_with(outer));
        config.roots = roots;
        config.exclude = config.exclude.iter().filter_map(|path| Some(resolve(path).ok()?.0)).collect();
        let desk = Desk { snapshot: Some(Snapshot::default()), commands: Commands::default() };
        let (desk, returned) = (Mutex::new(desk), Condvar::new());
        let (begun, hurry) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { store, config, untracked_roots, desk, returned, begun, hurry }) }
    }

    /// Begins to copy the workspace, on a thread of its own; does nothing if that has begun, here or by a command.
    pub fn start(&self) {
        if self.shared.config.roots.is_empty() || self.shared.begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let spawned = std::thread::Builder::new().name("checkpoints".to_owned()).spawn(move || {
            let mut loan = shared.borrow(None);
            // A command may have been faster. While it runs is not the time to look.
            if loan.snapshot.staging.is_none() {
                let clock = Clock { deadline: None, hurry: &shared.hurry };
                shared.look(&mut loan, &clock, Wish::Forget);
            }
        });
        if let Err(error) = spawned {
            self.shared.begun.store(false, Ordering::Relaxed);
            tracing::warn!(%error, "the workspace is not copied in the background");
        }
    }

    /// Brings the copies up to date before a command, for at most about `wait`. The command may run when this returns,
    /// whatever was not ready then.
    ///
    /// What has changed since the last look is forgotten, as it is somebody else's work, unless a command runs: then it
    /// is held for that one.
    pub fn before_command(&self, wait: Duration) -> Running {
        let shared = Arc::clone(&self.shared);
        shared.begun.store(true, Ordering::Relaxed);
        let start = Instant::now();
        let deadline = start + wait;
        let mut loan = shared.borrow(Some(deadline));
        let clock =
            Clock { deadline: Some(deadline.max(Instant::now() + GRACE)), hurry: &AtomicBool::new(false) };
        let wish = if shared.desk().commands.any() { Wish::Hold } else { Wish::Forget };
        shared.look(&mut loan, &clock, wish);
        let coverage = Coverage { untracked_roots: shared.untracked_roots, ..loan.snapshot.coverage() };
        let number = shared.desk().commands.begin();
        drop(loan);
        tracing::debug!(elapsed = ?start.elapsed(), ?coverage, "looked at the workspace before a command");
        Running { shared, number, coverage }
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.shared.hurry.store(true, Ordering::Relaxed);
    }
}

/// A command that may run. What changes meanwhile counts as its work, whoever did it, and as uncertain where several run.
///
/// One that goes on in the background is observed at the end of each turn. It counts as running until it is finished or
/// dropped, so that should be soon after its end. What happens between the last look and a drop is lost to it; others
/// that run then get it, as uncertain.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    number: Number,
    pub coverage: Coverage,
}

impl Running {
    /// What has changed since it began or was last observed. The command goes on and others work beside it, so all of
    /// this is uncertain, and all that is seen later.
    pub fn observe(&self) -> Observed {
        self.look(Commands::tell)
    }

    /// Likewise, when the command has just ended, or was killed. Certain, unless it was observed before or something
    /// changed while others ran.
    pub fn finish(self) -> Observed {
        self.look(Commands::end)
    }

    fn look(&self, ask: impl FnOnce(&mut Commands, Number) -> Observed) -> Observed {
        let start = Instant::now();
        let mut loan = self.shared.borrow(None);
        let clock = Clock { deadline: Some(Instant::now() + AFTER), hurry: &AtomicBool::new(false) };
        self.shared.look(&mut loan, &clock, Wish::Hold);
        // Before the next look, which would count this one in.
        let observed = ask(&mut self.shared.desk().commands, self.number);
        drop(loan);
        tracing::debug!(elapsed = ?start.elapsed(), changes = observed.changes.len(), "looked at the workspace after a command");
        observed
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.desk().commands.part(self.number);
    }
}

#[derive(Debug)]
struct Shared {
    store: Arc<Store>,
    config: Config,
    untracked_roots: usize,
    desk: Mutex<Desk>,
    returned: Condvar,
    /// Whether somebody has set out to have the first look.
    begun: AtomicBool,
    /// Set to have a look in the background end soon.
    hurry: AtomicBool,
}

#[derive(Debug)]
struct Desk {
    /// `None` while somebody has it on loan.
    snapshot: Option<Snapshot>,
    commands: Commands,
}

/// What to do with what has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Forget,
    Hold,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the snapshot; from `patience` on whoever has it is told to come to an end.
    fn borrow(&self, patience: Option<Instant>) -> Loan<'_> {
        let mut desk = self.desk();
        loop {
            if let Some(snapshot) = desk.snapshot.take() {
                self.hurry.store(false, Ordering::Relaxed);
                return Loan { shared: self, snapshot };
            }
            let left = patience.map(|patience| patience.saturating_duration_since(Instant::now()));
            desk = match left {
                Some(left) if !left.is_zero() => {
                    self.returned.wait_timeout(desk, left).unwrap_or_else(PoisonError::into_inner).0
                }
                _ => {
                    if left.is_some() {
                        self.hurry.store(true, Ordering::Relaxed);
                    }
                    self.returned.wait(desk).unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    fn look(&self, loan: &mut Loan<'_>, clock: &Clock<'_>, wish: Wish) {
        let parted = self.desk().commands.parted();
        let looked = loan.snapshot.look(&self.config, &self.store, clock, wish);
        let observed = looked.unwrap_or_else(|error| {
            tracing::error!(%error, "the workspace cannot be copied");
            Observed { cut: true, ..Observed::default() }
        });
        let commands = &mut self.desk().commands;
        match wish {
            Wish::Forget => commands.forget(),
            Wish::Hold => commands.credit(observed, parted),
        }
    }
}

/// The snapshot, which goes back when this is dropped, even by a panic.
struct Loan<'a> {
    shared: &'a Shared,
    snapshot: Snapshot,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.shared.desk().snapshot = Some(std::mem::take(&mut self.snapshot));
        self.shared.returned.notify_all();
    }
}

#[derive(Debug, Default)]
struct Snapshot {
    index: Index,
    /// Made by the first look.
    staging: Option<Staging>,
    /// For each root.
    outside: Vec<Outside>,
}

impl Snapshot {
    /// What has changed, if that is wished. On an error all is as before.
    fn look(
        &mut self,
        config: &Config,
        store: &Store,
        clock: &Clock<'_>,
        wish: Wish,
    ) -> io::Result<Observed> {
        if config.roots.is_empty() {
            return Ok(Observed::default());
        }
        let staging = match self.staging.take() {
            Some(staging) => staging,
            None => Staging::create(store)?,
        };
        let staging = self.staging.insert(staging);
        self.outside.resize_with(config.roots.len(), Outside::default);
        let roots = config.roots.iter().zip(&mut self.outside).map(|(path, outside)| {
            let rules_changed = outside.refresh(path, &config.ignore_files);
            Root { path, rules: outside.rules.clone(), rules_changed }
        });
        let Walked { mut index, wanted, mut cut } = walk::walk(config, roots.collect(), &self.index, clock);
        cut |= !copy::copy(config, &mut index, wanted, staging, clock);
        let mut observed = match wish {
            Wish::Forget => Observed::default(),
            Wish::Hold => compare::compare(&config.roots, &self.index, &index, staging, store),
        };
        observed.cut = cut && wish == Wish::Hold;
        self.index = index;
        self.compact(store);
        Ok(observed)
    }

    fn compact(&mut self, store: &Store) {
        let Some(staging) = &self.staging else { return };
        let needed = self.index.kept_bytes();
        if staging.len() <= needed.saturating_mul(2).saturating_add(SPARE) {
            return;
        }
        let moved: io::Result<_> = (|| {
            let smaller = Staging::create(store)?;
            let mut regions: Vec<_> = self.index.regions_mut().collect();
            let moved = regions.iter().map(|region| smaller.put(&staging.get(**region)?));
            for (region, moved) in moved.collect::<io::Result<Vec<_>>>()?.into_iter().zip(&mut regions) {
                **moved = region;
            }
            Ok(smaller)
        })();
        match moved {
            Ok(smaller) => self.staging = Some(smaller),
            Err(error) => tracing::warn!(%error, "old copies of the workspace are not cleared away"),
        }
    }

    fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        for folder in self.index.folders.values() {
            if let Listing::Not(why) = folder.listing {
                coverage.count(why);
            }
            for child in &folder.children {
                match &child.kind {
                    Kind::File(Content::Kept(region)) => {
                        coverage.copied += 1;
                        coverage.bytes += region.len;
                    }
                    Kind::File(Content::Not(why)) => coverage.count(*why),
                    Kind::Ignored => coverage.ignored += 1,
                    Kind::Folder | Kind::Symlink(_) | Kind::Special => {}
                }
            }
        }
        coverage
    }
}

impl Coverage {
    fn count(&mut self, why: Why) {
        let counted = match why {
            Why::Ignored | Why::Special => &mut self.ignored,
            Why::TooLarge => &mut self.too_large,
            Why::OverBudget => &mut self.over_budget,
            Why::NotReady => &mut self.not_ready,
            Why::Unreadable => &mut self.unreadable,
        };
        *counted += 1;
    }
}

/// When a look has to come to its end.
struct Clock<'a> {
    deadline: Option<Instant>,
    hurry: &'a AtomicBool,
}

impl Clock<'_> {
    fn is_over(&self) -> bool {
        self.hurry.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Now, in nanoseconds since 1970, as files tell it.
    fn nanoseconds(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests;
