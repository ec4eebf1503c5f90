//! `reverie-trust.json` in the configuration folder: what the user has said about each folder. For the user alone to
//! read, changed under a lock and replaced at once, so that no process sees half of it and none loses another's words.

use std::{
    collections::BTreeMap,
    fmt::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    Environment, directories,
    file::{self, Privacy},
};

const VERSION: u32 = 1;
/// From here on, folders that are gone are forgotten.
const LARGE: usize = 1024 * 1024;

#[derive(Debug, Error)]
pub(crate) enum StoreError {
    /// Nothing is trusted and nothing is written: it is not ours to guess what it said.
    #[error("{file} {why}; remove it, and what it had will be asked again")]
    Damaged { file: String, why: String },
    #[error("{file} cannot be written: {error}")]
    Disk { file: String, error: std::io::Error },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Store {
    version: u32,
    folders: BTreeMap<String, Entry>,
    /// Of versions to come.
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    /// Absent where only rules were decided about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trusted: Option<bool>,
    /// Digests of what was trusted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) items: BTreeMap<String, String>,
    /// Rules that the user has allowed always, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Default for Store {
    fn default() -> Self {
        Self { version: VERSION, folders: BTreeMap::new(), other: Map::new() }
    }
}

impl Store {
    /// What was said about this very folder, which must be a real path.
    pub(crate) fn get(&self, folder: &Path) -> Option<&Entry> {
        self.folders.get(&key(folder))
    }

    pub(crate) fn entry(&mut self, folder: &Path) -> &mut Entry {
        self.folders.entry(key(folder)).or_default()
    }
}

pub(crate) fn path(environment: &Environment) -> PathBuf {
    directories::config_home(environment).join("reverie-trust.json")
}

pub(crate) fn read(environment: &Environment) -> Result<Store, StoreError> {
    let path = path(environment);
    let damaged = |why: String| StoreError::Damaged { file: path.display().to_string(), why };
    let Some(text) = file::read_text(&path).map_err(damaged)? else { return Ok(Store::default()) };
    let store: Store = serde_json::from_str(&text)
        .map_err(|error| damaged(format!("does not say which folders are trusted: {error}")))?;
    if store.version != VERSION {
        return Err(damaged("was written by another version".to_owned()));
    }
    Ok(store)
}

/// Changes the store.
pub(crate) fn update<T>(
    environment: &Environment,
    change: impl FnOnce(&mut Store) -> T,
) -> Result<T, StoreError> {
    locked(environment, || {
        let path = path(environment);
        let mut store = read(environment)?;
        let before = text(&store);
        let changed = change(&mut store);
        let mut after = text(&store);
        if after.len() > LARGE {
            store.folders.retain(|key, _| !key.starts_with('/') || Path::new(key).is_dir());
            after = text(&store);
        }
        if before != after {
            file::replace(&path, after.as_bytes(), Privacy::Private)
                .map_err(|error| StoreError::Disk { file: path.display().to_string(), error })?;
        }
        Ok(changed)
    })?
}

/// Runs with other threads and processes that change what the user has said kept out; waits for those that do.
pub(crate) fn locked<T>(environment: &Environment, run: impl FnOnce() -> T) -> Result<T, StoreError> {
    // A lock of the system's keeps out other processes; this one's threads need not wait by trying.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = path(environment);
    let _lock = file::create_private_folder(path.parent().unwrap_or(&path))
        .and_then(|()| file::lock(&path.with_extension("lock")))
        .map_err(|error| StoreError::Disk { file: path.display().to_string(), error })?;
    Ok(run())
}

fn text(store: &Store) -> String {
    serde_json::to_string_pretty(store).unwrap_or_default() + "\n"
}

/// A name that is no text must not be confused with one that looks like it.
fn key(folder: &Path) -> String {
    match folder.to_str() {
        Some(text) => text.to_owned(),
        None => folder.as_os_str().as_bytes().iter().fold("bytes:".to_owned(), |mut key, byte| {
            write!(key, "{byte:02x}").unwrap_or_default();
            key
        }),
    }
}
