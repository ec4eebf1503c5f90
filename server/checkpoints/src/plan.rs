//! What a rewind has to do: from the entries since a message, and what is on disk now, to a list of actions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::blob::Blob;
use crate::entry::{Change, Entry, Fate, State, Uncaptured};
use crate::present::{looks, state};
use crate::store::Store;

/// The caller may take single actions out and do them itself, e.g. for a document that is open in the editor
/// ([`Store::content`] has the bytes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// By path.
    pub actions: Vec<Action>,
    /// What would undo somebody else's work; left alone unless forced.
    pub conflicts: Vec<Conflict>,
    /// What cannot be brought back.
    pub failures: Vec<Failure>,
    /// What was touched in these entries and never captured.
    pub uncaptured: Vec<Uncaptured>,
    /// How many more of these were not named.
    pub unnamed: usize,
}

impl Plan {
    /// Turns all conflicts into actions: the work of others is undone as well.
    pub fn force(&mut self) {
        self.actions.extend(self.conflicts.drain(..).map(|conflict| conflict.action));
        self.actions.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub path: PathBuf,
    /// What is there at present.
    pub now: Option<State>,
    /// What was there, and will be again.
    pub to: Option<State>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub action: Action,
    pub why: Clash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    #[error("changed by someone else since")]
    ChangedSince,
    #[error("changed by someone else in between")]
    ChangedBetween,
    #[error("changed while a command ran in the background or beside another; it may not be its work")]
    Uncertain,
}

/// A path that could not be brought back, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub path: PathBuf,
    pub why: String,
}

impl Store {
    /// How to get back to before `entries`: all since the chosen point, oldest first.
    ///
    /// A path in an uncertain entry is a conflict, unless others account for all that happened to it: a command in the
    /// background sees every edit made beside it, and must not keep those from being undone.
    pub fn plan(&self, entries: &[Entry]) -> Plan {
        let mut plan = Plan::default();
        for (path, history) in histories(entries) {
            let fail = |why: String| Failure { path: path.to_owned(), why };
            let now = match state(path, |bytes| Ok(Blob::of(bytes))) {
                Ok(now) => now,
                Err(error) => {
                    plan.failures.push(fail(error.to_string()));
                    continue;
                }
            };
            let uncertain = history.is_uncertain();
            let history = if uncertain { history.all } else { history.certain };
            let (Some(first), Some(last)) = (history.first(), history.last()) else { continue };
            if now == first.before {
                continue;
            }
            match &first.before {
                Some(State::File { blob, .. }) if !self.has(*blob) => {
                    plan.failures.push(fail("its copy is gone".to_owned()));
                    continue;
                }
                Some(State::Unread { .. }) => {
                    plan.failures.push(fail("no copy was kept".to_owned()));
                    continue;
                }
                _ => {}
            }
            let action = Action { path: path.to_owned(), to: first.before.clone(), now };
            if uncertain {
                plan.conflicts.push(Conflict { action, why: Clash::Uncertain });
            } else if !is_expected(&action, last.after.as_ref()) {
                plan.conflicts.push(Conflict { action, why: Clash::ChangedSince });
            } else if changed_between(&history) {
                plan.conflicts.push(Conflict { action, why: Clash::ChangedBetween });
            } else {
                plan.actions.push(action);
            }
        }
        plan.uncaptured = lost(entries);
        plan.unnamed = entries.iter().map(|entry| entry.unnamed).sum();
        plan
    }
}

/// Whether a plan of these entries calls what happened to `path` [`Clash::Uncertain`]: for who brings it back without a
/// plan.
pub fn is_uncertain(entries: &[Entry], path: &Path) -> bool {
    histories(entries).get(path).is_some_and(History::is_uncertain)
}

/// The changes of a path in their order.
#[derive(Default)]
struct History<'a> {
    all: Vec<&'a Change>,
    /// Those of them that are surely ours.
    certain: Vec<&'a Change>,
    uncertain: Vec<&'a Change>,
}

impl History<'_> {
    /// Whether something happened that our own changes do not account for.
    fn is_uncertain(&self) -> bool {
        self.uncertain.iter().any(|seen| {
            let mut since = self.certain.iter().skip_while(|ours| ours.before != seen.before);
            !since.any(|ours| ours.after == seen.after)
        })
    }
}

/// Parents before children.
fn histories(entries: &[Entry]) -> BTreeMap<&Path, History<'_>> {
    let mut histories = BTreeMap::<&Path, History<'_>>::new();
    for entry in entries {
        for change in &entry.changes {
            let history = histories.entry(&change.path).or_default();
            history.all.push(change);
            if entry.uncertain { &mut history.uncertain } else { &mut history.certain }.push(change);
        }
    }
    histories
}

/// What was not read when it was written down is known again by its looks.
fn is_expected(action: &Action, after: Option<&State>) -> bool {
    match after {
        Some(State::Unread { .. }) => looks(&action.path).as_ref() == after,
        _ => action.now.as_ref() == after,
    }
}

/// Whether a change began at a state that none before it knew. It need not be the latest: an edit that is made while a
/// command runs is written down before what the command did, whichever came first.
fn changed_between(history: &[&Change]) -> bool {
    history.iter().enumerate().skip(1).any(|(position, change)| {
        let mut known = history.iter().take(position).flat_map(|earlier| [&earlier.before, &earlier.after]);
        !known.any(|state| *state == change.before)
    })
}

/// What was created without our knowledge stays, which harms nobody; the rest is worth a word.
fn lost(entries: &[Entry]) -> Vec<Uncaptured> {
    let all = entries.iter().flat_map(|entry| &entry.uncaptured);
    let lost = all.filter(|uncaptured| uncaptured.fate != Fate::Created);
    let by_path: BTreeMap<&Path, &Uncaptured> = lost.map(|lost| (lost.path.as_path(), lost)).collect();
    by_path.into_values().cloned().collect()
}
