//! Doing what a plan says.
//!
//! In two steps, so that a rewind can itself be undone even if it is killed half-way: [`Store::prepare`] keeps what is
//! there and gives the entry to write down, [`Store::apply`] then changes files. Every file is the old or the new one at
//! any moment (temporary file, sync, rename, sync of the folder); a rewind that was cut off is done again and goes on
//! where it stopped. Nothing is removed of which there is no copy.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::{Change, Entry, State};
use crate::folder::Place;
use crate::plan::{Action, Failure, Plan};
use crate::present::{Stamp, stamp_at, state};
use crate::store::Store;

mod disk;

use disk::Disk;

/// The mode of a folder that is not in the plan and yet needed.
const USUAL_FOLDER: u32 = 0o755;

/// A plan whose present state is kept.
#[derive(Debug)]
pub struct Prepared {
    /// What the restoring will have changed: planning with it alone undoes it. Write it down before [`Store::apply`].
    pub entry: Entry,
    actions: Vec<(Action, Option<Stamp>)>,
    failures: Vec<Failure>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// By path.
    pub paths: Vec<PathBuf>,
    /// What is as it was, and why.
    pub failures: Vec<Failure>,
}

impl Store {
    /// Keeps, durably, what the actions of the plan would change. Its conflicts are left out.
    pub fn prepare(&self, plan: &Plan, message: impl Into<String>) -> io::Result<Prepared> {
        let mut prepared = Prepared {
            entry: Entry { message: message.into(), ..Entry::default() },
            actions: Vec::new(),
            failures: Vec::new(),
        };
        let mut actions = missing_folders(&plan.actions);
        actions.extend(plan.actions.iter().cloned());
        // Parents before children.
        actions.sort_by(|one, other| one.path.cmp(&other.path));
        for action in actions {
            let stamp = Place::of(&action.path)
                .and_then(|place| stamp_at(&place.folder, &place.name))
                .unwrap_or_default();
            let now = state(&action.path, |bytes| self.put(bytes));
            let why = match now {
                Ok(now) if now != action.now => "changed by someone else just now".to_owned(),
                Ok(Some(State::Unread { .. })) => "no copy can be kept of what is there now".to_owned(),
                Ok(now) => {
                    let (path, after) = (action.path.clone(), action.to.clone());
                    prepared.entry.changes.push(Change { path, before: now, after });
                    prepared.actions.push((action, stamp));
                    continue;
                }
                Err(error) => error.to_string(),
            };
            prepared.failures.push(Failure { path: action.path, why });
        }
        self.sync()?;
        Ok(prepared)
    }

    /// Brings back what was prepared. What fails is told and does not keep the rest from being restored.
    pub fn apply(&self, prepared: Prepared) -> Restored {
        self.apply_on(prepared, &mut Disk::new(|| Ok(())))
    }

    /// Both steps, for who has nothing to write down.
    pub fn restore(&self, plan: &Plan, message: impl Into<String>) -> io::Result<(Restored, Entry)> {
        let prepared = self.prepare(plan, message)?;
        let entry = prepared.entry.clone();
        Ok((self.apply(prepared), entry))
    }

    fn apply_on(&self, prepared: Prepared, disk: &mut Disk<impl FnMut() -> io::Result<()>>) -> Restored {
        let Prepared { actions, failures, .. } = prepared;
        let mut failed: BTreeMap<PathBuf, String> =
            failures.into_iter().map(|failure| (failure.path, failure.why)).collect();
        disk.batch(actions.len());
        // What is in the way goes first, children before their folders.
        for (action, stamp) in actions.iter().rev() {
            let Some(now) = &action.now else { continue };
            let replaced = match (now, &action.to) {
                (State::Folder { .. }, Some(State::Folder { .. })) => continue,
                (State::Folder { .. }, _) | (_, None | Some(State::Folder { .. })) => {
                    disk.remove(action, *stamp)
                }
                // By a rename, below.
                _ => continue,
            };
            if let Err(error) = replaced {
                failed.insert(action.path.clone(), words(&error));
            }
        }
        let rest = |failed: &BTreeMap<PathBuf, String>| -> Vec<&(Action, Option<Stamp>)> {
            actions.iter().filter(|(action, _)| !failed.contains_key(&action.path)).collect()
        };
        for (action, _) in rest(&failed) {
            if let (Some(State::Folder { .. }), false) = (&action.to, is_folder(action.now.as_ref()))
                && let Err(error) = disk.make_folder(&action.path)
            {
                failed.insert(action.path.clone(), words(&error));
            }
        }
        for (action, stamp) in rest(&failed) {
            let put = match &action.to {
                Some(to @ State::File { mode, .. }) => {
                    self.content(to).and_then(|bytes| disk.write_file(action, *stamp, &bytes, *mode))
                }
                Some(State::Symlink { target }) => disk.write_link(action, *stamp, target),
                _ => continue,
            };
            if let Err(error) = put {
                failed.insert(action.path.clone(), words(&error));
            }
        }
        failed.extend(disk.place_all().into_iter().map(|(path, error)| (path, words(&error))));
        for (action, _) in rest(&failed).into_iter().rev() {
            if let Some(State::Folder { mode }) = action.to
                && let Err(error) = disk.set_folder_mode(&action.path, mode)
            {
                failed.insert(action.path.clone(), words(&error));
            }
        }
        disk.finish();
        let paths = rest(&failed).into_iter().map(|(action, _)| action.path.clone()).collect();
        let failures = failed.into_iter().map(|(path, why)| Failure { path, why }).collect();
        Restored { paths, failures }
    }
}

/// The folders that the actions need and that neither exist nor are in the plan, outermost first: somebody else
/// removed them.
fn missing_folders(actions: &[Action]) -> Vec<Action> {
    let planned: BTreeSet<&Path> = actions.iter().map(|action| action.path.as_path()).collect();
    let mut missing = BTreeSet::new();
    for action in actions.iter().filter(|action| action.to.is_some()) {
        let above = action.path.ancestors().skip(1).filter(|folder| !planned.contains(folder));
        let absent = above.take_while(|folder| folder.symlink_metadata().is_err());
        missing.extend(absent.map(Path::to_owned));
    }
    let to = Some(State::Folder { mode: USUAL_FOLDER });
    missing.into_iter().map(|path| Action { path, now: None, to: to.clone() }).collect()
}

fn is_folder(state: Option<&State>) -> bool {
    matches!(state, Some(State::Folder { .. }))
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => "the folder has other files in it".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
