//! How often each memory was recalled, and cited by the model: `.history/usage.json`.

use std::{
    collections::BTreeMap,
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

const LARGEST: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Recalled,
    Cited,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    #[serde(default)]
    pub recalled: u32,
    #[serde(default)]
    pub cited: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// The session of the last use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Whatever cannot be read counts as nothing.
pub(super) fn read(directory: &Path) -> BTreeMap<String, Counts> {
    let Ok((file, _)) = markdown::file::open_regular(&directory.join(".history/usage.json")) else {
        return BTreeMap::new();
    };
    let mut text = String::new();
    match file.take(LARGEST).read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => BTreeMap::new(),
    }
}

pub(super) fn add(
    directory: &Path,
    used: &[(String, Use)],
    session: Option<&str>,
    now: Timestamp,
) -> io::Result<()> {
    let folder = directory.join(".history");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join("usage.lock"))?;
    lock.lock()?;
    let mut counts = read(directory);
    for (path, how) in used {
        let entry = counts.entry(path.clone()).or_default();
        match how {
            Use::Recalled => entry.recalled = entry.recalled.saturating_add(1),
            Use::Cited => entry.cited = entry.cited.saturating_add(1),
        }
        entry.last = Some(now);
        entry.session = session.map(str::to_owned);
    }
    counts.retain(|path, _| directory.join(path).exists());
    let mut new = tempfile::NamedTempFile::new_in(&folder)?;
    serde_json::to_writer(&mut new, &counts)?;
    new.flush()?;
    new.persist(folder.join("usage.json"))?;
    Ok(())
}
