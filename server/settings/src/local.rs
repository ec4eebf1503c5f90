//! The one setting that Reverie writes by itself: a rule that the user chose to allow always, in this folder.
//!
//! It is written twice. The folder's local file is where it is seen and changed; but a checkout can contain such a
//! file too, so what is in it counts only as far as the user's own record, outside the folder, has it as well, or the
//! folder as a whole is trusted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use thiserror::Error;

use crate::{
    Environment, Seen,
    directories::{self, project_dir},
    file::{self, Privacy},
    json,
    load::local_file,
    restrict,
    trust::{self, Checkout, Entry, StoreError},
};

#[derive(Debug, Error)]
pub enum LocalError {
    /// Show it; the rule holds for the session all the same.
    #[error("{file} cannot be changed by a program ({why}); add {rule} to its permissions.allow by hand")]
    ByHand { file: String, why: String, rule: String },
    /// Likewise: the record of what was granted is not ours to repair.
    #[error("{file} {why}; remove it, and what it had will be asked again")]
    Damaged { file: String, why: String },
    #[error("{file} cannot be written: {error}")]
    Disk { file: String, error: io::Error },
}

impl From<StoreError> for LocalError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Damaged { file, why } => Self::Damaged { file, why },
            StoreError::Disk { file, error } => Self::Disk { file, error },
        }
    }
}

/// Adds the rule to `permissions.allow` of the folder's `.claude/settings.local.json`, and to the user's record of
/// what was granted here. Everything else in the file stays as it is written, comments and layout included. Waits for
/// other processes that do the same, at most ten seconds.
pub fn add_allow_rule(environment: &Environment, folder: &Path, rule: &str) -> Result<(), LocalError> {
    let real = directories::canonical(folder);
    let earlier = earlier_rules(environment, &real)?;
    // The record first: a rule that then has to be added to the local file by hand counts when it is.
    trust::update(environment, |store| {
        let rules = &mut store.entry(&real).rules;
        for rule in earlier.iter().map(String::as_str).chain([rule]) {
            if !rules.iter().any(|known| known == rule) {
                rules.push(rule.to_owned());
            }
        }
    })?;
    trust::locked(environment, || write_rule(environment, folder, rule))?
}

/// The rules that the user has granted in this folder, which must be a real path.
pub(crate) fn granted(
    environment: &Environment,
    folder: &Path,
    entry: Option<&Entry>,
    seen: &mut Seen,
) -> Result<Vec<String>, LocalError> {
    seen.look(&earlier_record(environment, folder));
    let mut rules = entry.map(|entry| entry.rules.clone()).unwrap_or_default();
    rules.extend(earlier_rules(environment, folder)?);
    Ok(rules)
}

/// What earlier versions recorded, in a file for each folder.
fn earlier_rules(environment: &Environment, folder: &Path) -> Result<Vec<String>, LocalError> {
    let path = earlier_record(environment, folder);
    let damaged = |why: String| LocalError::Damaged { file: path.display().to_string(), why };
    match file::read_text(&path).map_err(damaged)? {
        Some(text) => {
            serde_json::from_str(&text).map_err(|error| damaged(format!("is not a list of rules: {error}")))
        }
        None => Ok(Vec::new()),
    }
}

fn earlier_record(environment: &Environment, folder: &Path) -> PathBuf {
    project_dir(environment, folder).join("reverie-allowed.json")
}

fn write_rule(environment: &Environment, folder: &Path, rule: &str) -> Result<(), LocalError> {
    let path = &local_file(folder);
    let by_hand = |why: &str| LocalError::ByHand {
        file: path.display().to_string(),
        why: why.to_owned(),
        rule: rule.to_owned(),
    };
    let mut seen = Seen::default();
    let checkout = Checkout::of(folder, &mut seen);
    let inside = checkout.holds(path) && checkout.holds(&folder.join(".claude"));
    if !inside && !directories::holds_config_home(environment, folder, &mut seen) {
        return Err(by_hand("it leads out of the folder"));
    }
    let text = file::read_text(path).map_err(|why| by_hand(&format!("it {why}")))?.unwrap_or_default();
    let document =
        json::parse(&text).map_err(|error| by_hand(&format!("it is not JSON: {}", error.message)))?;
    let known = restrict::get(&document.root, restrict::ALLOW).and_then(Value::as_array);
    if known.is_some_and(|rules| rules.iter().any(|known| known == rule)) {
        return Ok(());
    }
    let changed = json::insert(&text, &["permissions", "allow"], rule)
        .ok_or_else(|| by_hand("its permissions.allow is not a list"))?;
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(|error| disk(path, error))?;
    file::replace(path, changed.as_bytes(), Privacy::Unchanged).map_err(|error| disk(path, error))
}

fn disk(path: &Path, error: io::Error) -> LocalError {
    LocalError::Disk { file: path.display().to_string(), error }
}

#[cfg(test)]
mod tests;
