//! Whether the user lets a folder's own files run programs and loosen settings.
//!
//! A folder is untrusted until the user says otherwise, once. What was said is kept in the user's own configuration
//! folder, by the folder's real path, and bound to the content of what would run or loosen (`items`): when that
//! changes or something is added, the folder counts as untrusted until the user says so again.
//! A worktree is another checkout and a folder of its own. A folder inside a repository that has nothing of its own to
//! run is as trusted as the nearest folder above it, in the same checkout, that the user has decided about.

mod digest;
mod items;
mod store;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Diagnostic, Environment, Seen, directories, load, load::Layer, local, restrict::TRUSTED};
pub use items::LEFT_BEHIND;
use store::Store;
pub(crate) use store::{Entry, StoreError, locked, update};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// With links resolved.
    pub folder: PathBuf,
    pub status: TrustState,
    /// What would run programs or loosen settings if the folder is trusted, as it is now.
    pub items: Vec<TrustItem>,
    /// Of a changed folder: what changed, in words.
    pub changes: Vec<String>,
    /// Why the folder cannot be trusted at all, in words.
    pub cannot: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustState {
    Trusted,
    #[default]
    Untrusted,
    /// It was trusted, and what would run is not what it was then. Counts as untrusted.
    Changed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    /// A settings key, `mcp`, `command`, `skill` or `agent`.
    pub kind: String,
    /// Absolute.
    pub path: PathBuf,
    /// What it would do, in words. Safe to print: without control characters, whatever the file holds.
    pub detail: String,
    /// Of its content.
    pub digest: String,
}

impl Trust {
    pub fn is_trusted(&self) -> bool {
        self.status == TrustState::Trusted
    }

    /// Names all that would run, as it is now.
    pub fn digest(&self) -> String {
        let parts: Vec<String> =
            self.items.iter().flat_map(|item| [item.key(), item.digest.clone()]).collect();
        digest::of_parts(parts.iter().map(String::as_str))
    }
}

impl TrustItem {
    /// What the store calls it.
    fn key(&self) -> String {
        format!("{} {}", self.path.to_string_lossy(), self.kind)
    }

    /// For people: relative to the folder, where it is below it.
    fn name(&self, folder: &Path) -> String {
        let path = self.path.strip_prefix(folder).unwrap_or(&self.path);
        let path = items::shown(&path.to_string_lossy(), 200);
        if TRUSTED.contains(&self.kind.as_str()) {
            format!("`{}` in `{path}`", self.kind)
        } else {
            format!("`{path}`")
        }
    }
}

/// Says that the editor itself does not trust what it has open: then no folder is trusted, whatever was said before.
const RESTRICTED: &str = "REVERIE_RESTRICTED";

/// What the user has said about the folder, checked against what is in it now.
pub fn state(environment: &Environment, folder: &Path) -> Trust {
    load::trust_of(environment, folder)
}

/// Trusts the folder as it is now, or takes that back. Fails with words for the user.
pub fn set(environment: &Environment, folder: &Path, trusted: bool) -> io::Result<Trust> {
    if trusted {
        return accept(environment, &state(environment, folder));
    }
    let folder = directories::canonical(folder);
    let revoke = |store: &mut Store| {
        let entry = store.entry(&folder);
        entry.trusted = Some(false);
        entry.items.clear();
    };
    update(environment, revoke).map_err(io::Error::other)?;
    Ok(state(environment, &folder))
}

/// Trusts what was shown to the user: if it has changed meanwhile, the folder is not trusted.
pub fn accept(environment: &Environment, shown: &Trust) -> io::Result<Trust> {
    if let Some(why) = &shown.cannot {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why.clone()));
    }
    let items: BTreeMap<String, String> =
        shown.items.iter().map(|item| (item.key(), item.digest.clone())).collect();
    let trust = |store: &mut Store| {
        let entry = store.entry(&shown.folder);
        entry.trusted = Some(true);
        entry.items = items;
    };
    update(environment, trust).map_err(io::Error::other)?;
    Ok(state(environment, &shown.folder))
}

/// Whether the path, with all links resolved, is in the folder or at least in the same checkout: nothing else that a
/// checkout can name is read for it.
pub fn stays_inside(folder: &Path, path: &Path, seen: &mut Seen) -> bool {
    Checkout::of(folder, seen).holds(path)
}

/// A folder and the root of the repository that it is in.
pub(crate) struct Checkout {
    pub(crate) folder: PathBuf,
    root: PathBuf,
}

impl Checkout {
    pub(crate) fn of(folder: &Path, seen: &mut Seen) -> Self {
        let folder = seen.canonical(folder);
        let root = seen.git_root(&folder).unwrap_or_else(|| folder.clone());
        Self { folder, root }
    }

    pub(crate) fn holds(&self, path: &Path) -> bool {
        match fs::canonicalize(path) {
            Ok(path) => path.starts_with(&self.folder) || path.starts_with(&self.root),
            // A link to something that is missing could be made to lead anywhere by the time it is read; what is not
            // there yet leads nowhere.
            Err(_) => !path.is_symlink(),
        }
    }

    /// The folder and those above it, up to the root.
    fn levels(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|level| level.starts_with(&self.root))
    }
}

/// The state of a folder whose settings files were read already, and the rules that were granted in it one by one.
pub(crate) fn of_layers(
    environment: &Environment,
    folder: &Path,
    layers: &[Layer],
    seen: &mut Seen,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Trust, Vec<String>) {
    seen.look(&store::path(environment));
    let store = store::read(environment).unwrap_or_else(|error| {
        let message = format!("{error}; until then, no folder is trusted");
        diagnostics.push(Layer::empty(&store::path(environment), load::Author::Owner).error(message));
        Store::default()
    });
    let checkout = Checkout::of(folder, seen);
    let real = checkout.folder.clone();
    let granted = local::granted(environment, &real, store.get(&real), seen).unwrap_or_else(|error| {
        diagnostics
            .push(Layer::empty(&load::local_file(folder), load::Author::Local).error(error.to_string()));
        Vec::new()
    });
    let found = items::collect(environment, &checkout, layers, &granted, seen);
    let mut trust = Trust { folder: real, items: found.items, ..Trust::default() };
    trust.cannot = never(environment, &trust.folder, seen).or(found.too_much);
    if trust.cannot.is_some() {
        return (trust, granted);
    }
    match store.get(&trust.folder).filter(|entry| entry.trusted.is_some()) {
        Some(entry) => compare(&mut trust, entry),
        None => inherit(&store, &checkout, &mut trust),
    }
    (trust, granted)
}

fn compare(trust: &mut Trust, entry: &Entry) {
    if entry.trusted != Some(true) {
        return;
    }
    let changed = trust.items.iter().filter_map(|item| {
        let what = item.name(&trust.folder);
        match entry.items.get(&item.key()) {
            Some(digest) if *digest == item.digest => None,
            Some(_) => Some(format!("{what} changed since you trusted it")),
            None => Some(format!("{what} is new since you trusted the folder")),
        }
    });
    trust.changes = changed.collect();
    trust.status = if trust.changes.is_empty() { TrustState::Trusted } else { TrustState::Changed };
}

/// A folder follows the nearest one above it, in the same checkout, that was decided about; but what it has of its own
/// has never been shown to the user, so then it is a folder like any other.
fn inherit(store: &Store, checkout: &Checkout, trust: &mut Trust) {
    let mut above = checkout.levels().skip(1);
    let Some(entry) = above.find_map(|above| store.get(above).filter(|entry| entry.trusted.is_some())) else {
        return;
    };
    if trust.items.iter().all(|item| entry.items.contains_key(&item.key())) {
        compare(trust, entry);
    }
}

/// Too much would come along.
fn never(environment: &Environment, folder: &Path, seen: &mut Seen) -> Option<String> {
    if environment.switch(RESTRICTED) == Some(true) {
        return Some("the editor is in its restricted mode; trust the workspace there first".to_owned());
    }
    let home = seen.canonical(environment.home());
    let config_home = seen.canonical(&directories::config_home(environment));
    let why = if folder.parent().is_none() {
        "the whole machine cannot be trusted"
    } else if home.starts_with(folder) && !environment.home().as_os_str().is_empty() {
        "the home folder cannot be trusted, because everything you download comes with it"
    } else if folder.starts_with(&config_home) || config_home.starts_with(folder) {
        "the folder of your own settings cannot be trusted as a project"
    } else if !seen.is_folder(folder) {
        "there is no such folder"
    } else {
        return None;
    };
    Some(format!("{why}; open a project's folder instead"))
}

#[cfg(test)]
mod tests;
