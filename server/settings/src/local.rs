//! The one setting that Reverie writes by itself: a rule that the user chose to allow always, in this folder.
//!
//! It is written twice. The folder's local file is where it is seen and changed; but a checkout can contain such a
//! file too, so what is in it counts only as far as the user's own record, outside the folder, has it as well.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    Environment,
    directories::project_dir,
    file::{self, Privacy},
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

/// Adds the rule to `permissions.allow` of the folder's `.claude/settings.local.json`, and to the user's record of
/// what was granted here. Everything else in the file stays; a file with comments is left to its author, because a
/// rewrite would lose them. Waits for other processes that do the same, at most two seconds.
pub fn add_allow_rule(environment: &Environment, folder: &Path, rule: &str) -> Result<(), LocalError> {
    // A lock of the system's keeps out other processes; this one's threads need not wait by trying.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let record = record_path(environment, folder);
    let own_folder = record.parent().unwrap_or(&record);
    let lock = file::create_private_folder(own_folder)
        .and_then(|()| file::lock(&record.with_extension("lock")))
        .map_err(|error| disk(&record, error))?;
    // The record first: a rule that then has to be added to the local file by hand counts when it is.
    record_rule(&record, rule)?;
    write_rule(&folder.join(".claude/settings.local.json"), rule)?;
    drop(lock);
    Ok(())
}

/// The rules that the user has granted in this folder.
pub(crate) fn granted(environment: &Environment, folder: &Path) -> Result<Vec<String>, LocalError> {
    read_record(&record_path(environment, folder))
}

fn record_path(environment: &Environment, folder: &Path) -> PathBuf {
    project_dir(environment, folder).join("reverie-allowed.json")
}

fn read_record(path: &Path) -> Result<Vec<String>, LocalError> {
    let damaged = |why: String| LocalError::Damaged { file: path.display().to_string(), why };
    match file::read_text(path).map_err(damaged)? {
        Some(text) => {
            serde_json::from_str(&text).map_err(|error| damaged(format!("is not a list of rules: {error}")))
        }
        None => Ok(Vec::new()),
    }
}

fn record_rule(path: &Path, rule: &str) -> Result<(), LocalError> {
    let mut rules = read_record(path)?;
    if rules.iter().any(|known| known == rule) {
        return Ok(());
    }
    rules.push(rule.to_owned());
    replace(path, &rules.into_iter().map(Value::from).collect(), Privacy::Private)
}

fn write_rule(path: &Path, rule: &str) -> Result<(), LocalError> {
    let by_hand = |why: &str| LocalError::ByHand {
        file: path.display().to_string(),
        why: why.to_owned(),
        rule: rule.to_owned(),
    };
    let text = file::read_text(path).map_err(|why| by_hand(&format!("it {why}")))?;
    let mut settings: Map<String, Value> = match text {
        Some(text) => serde_json::from_str(&text).map_err(|_| by_hand("it is not plain JSON"))?,
        None => Map::new(),
    };
    let permissions = settings.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
    let allow = permissions
        .as_object_mut()
        .ok_or_else(|| by_hand("permissions is not an object"))?
        .entry("allow")
        .or_insert_with(|| Value::Array(Vec::new()))
        .as_array_mut()
        .ok_or_else(|| by_hand("permissions.allow is not a list"))?;
    if allow.iter().any(|known| known == rule) {
        return Ok(());
    }
    allow.push(Value::from(rule));
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(|error| disk(path, error))?;
    replace(path, &Value::Object(settings), Privacy::Unchanged)
}

fn replace(path: &Path, value: &Value, privacy: Privacy) -> Result<(), LocalError> {
    let text = format!("{value:#}\n");
    file::replace(path, text.as_bytes(), privacy).map_err(|error| disk(path, error))
}

fn disk(path: &Path, error: io::Error) -> LocalError {
    LocalError::Disk { file: path.display().to_string(), error }
}

#[cfg(test)]
mod tests;
