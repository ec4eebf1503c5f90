//! Where a background agent's changes lie until they are made: nothing is on disk before [`Desk::commit`], and then all
//! of it in an order of which every beginning is sound: topics, then the index, then what goes.
//!
//! A file that somebody else has changed since it was taken to the desk stays as they left it; of the index, their lines
//! and ours are both kept.

use std::{
    collections::{BTreeMap, HashSet},
    io,
    path::{Path, PathBuf},
};

use workspace::{Beneath, Refusal, Relative};

use crate::{
    history::{Author, Change, History, diff},
    index::{self, is_index},
    scan,
};

/// More than any memory has.
const LARGEST: u64 = 1 << 20;

pub struct Desk {
    dir: PathBuf,
    beneath: Beneath,
    drafts: BTreeMap<String, Draft>,
}

/// One file, as it was taken and as it is to be; `None` is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

impl Draft {
    /// As a unified diff.
    pub fn diff(&self, path: &str) -> String {
        diff::unified(path, self.before.as_deref(), self.after.as_deref())
    }
}

/// What became of the drafts.
#[derive(Debug, Default)]
pub struct Committed {
    pub changes: Vec<Change>,
    /// Left alone, and why, in words that follow the path.
    pub kept: Vec<(String, String)>,
    /// Why not all of it was written. What was is put back then, and `changes` has only what could not be.
    pub error: Option<io::Error>,
    /// The files that could not be put back, or that it is no longer ours to touch.
    pub left: Vec<String>,
}

/// A change that was made, or begun.
struct Made {
    path: String,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    change: Option<Change>,
}

impl Desk {
    /// The directory must exist.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: dir.canonicalize()?, beneath: Beneath::open(dir)?, drafts: BTreeMap::new() })
    }

    /// The path below the directory, if a background agent may write there.
    pub fn place(&self, path: &Path) -> Result<String, Refusal> {
        let place = self.beneath.check(path)?;
        Ok(place.to_path().to_string_lossy().into_owned())
    }

    /// Another draft that would be the same file on systems that do not tell case apart.
    pub fn twin(&self, place: &str) -> Option<&str> {
        let folded = place.to_lowercase();
        let others = self.drafts().filter(|(path, draft)| *path != place && draft.after.is_some());
        others.map(|(path, _)| path).find(|path| path.to_lowercase() == folded)
    }

    /// What the file holds by now, as far as this desk is concerned.
    pub fn current(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self.drafts.get(path) {
            Some(draft) => Ok(draft.after.clone()),
            None => self.on_disk(path),
        }
    }

    /// `None` to have the file go.
    pub fn put(&mut self, path: &str, after: Option<Vec<u8>>) -> io::Result<()> {
        if let Some(draft) = self.drafts.get_mut(path) {
            draft.after = after;
            return Ok(());
        }
        let before = self.on_disk(path)?;
        self.drafts.insert(path.to_owned(), Draft { before, after });
        Ok(())
    }

    /// What would change, in the order of the paths.
    pub fn drafts(&self) -> impl Iterator<Item = (&str, &Draft)> {
        let drafts = self.drafts.iter().map(|(path, draft)| (path.as_str(), draft));
        drafts.filter(|(_, draft)| draft.before != draft.after)
    }

    /// Why these changes must not be made, if that is so: "a dream that would delete more than half of the memories, or
    /// leave the index over its limits".
    pub fn objection(&self) -> io::Result<Option<String>> {
        if self.drafts().next().is_none() {
            return Ok(None);
        }
        let all = scan::scan(&self.dir)?.len();
        let is_nothing = |after: &[u8]| after.trim_ascii().is_empty();
        let is_gone = |draft: &Draft| draft.after.as_deref().is_none_or(is_nothing) && draft.before.is_some();
        let gone = self.drafts().filter(|(path, draft)| !is_index(path) && is_gone(draft)).count();
        if gone * 2 > all {
            return Ok(Some(format!("it would delete {gone} of {all} memories, more than half")));
        }
        let indexes = self.drafts().map(|(path, _)| path).filter(|path| is_index(path)).chain([index::NAME]);
        for path in indexes {
            let index = self.current(path)?.unwrap_or_default();
            let (lines, bytes) = (String::from_utf8_lossy(&index).lines().count(), index.len());
            if lines > index::LINES || bytes > index::BYTES {
                let (most_lines, most_bytes) = (index::LINES, index::BYTES);
                return Ok(Some(format!(
                    "it would leave {path} with {lines} lines and {bytes} bytes; {most_lines} lines and {most_bytes} \
                     bytes are loaded"
                )));
            }
        }
        Ok(None)
    }

    /// Makes the changes and writes them down in the history, all or none of them: what was made before one that fails is
    /// put back, also when it `is_stopped` half-way. `fence` is asked before each step, forth and back: who may no longer
    /// write gets an error there, and nothing more is written. The desk is empty then.
    pub fn commit(
        &mut self,
        author: impl Fn(&str) -> Author,
        is_stopped: impl Fn() -> bool,
        fence: impl Fn() -> io::Result<()>,
    ) -> Committed {
        let mut drafts: Vec<(String, Draft)> = std::mem::take(&mut self.drafts).into_iter().collect();
        drafts.retain(|(_, draft)| draft.before != draft.after);
        drafts.sort_by_key(|(path, draft)| (draft.after.is_none(), is_index(path)));
        let (mut committed, mut made) = (Committed::default(), Vec::new());
        for (path, draft) in drafts {
            let author = author(&path);
            let goes_on = || if is_stopped() { Err(io::ErrorKind::Interrupted.into()) } else { fence() };
            let step = goes_on().and_then(|()| self.make(&path, draft, &author, &mut committed, &mut made));
            if let Err(error) = step {
                committed.error = Some(error);
                break;
            }
        }
        if committed.error.is_some() {
            // What came first goes back last: every step of the way is sound.
            let back = made.into_iter().rev();
            made =
                back.filter(|made| fence().is_err() || !self.puts_back(made, &author(&made.path))).collect();
            committed.left = made.iter().map(|made| made.path.clone()).collect();
        }
        committed.changes = made.into_iter().filter_map(|made| made.change).collect();
        committed
    }

    fn make(
        &self,
        path: &str,
        draft: Draft,
        author: &Author,
        committed: &mut Committed,
        made: &mut Vec<Made>,
    ) -> io::Result<()> {
        let Draft { before, mut after } = draft;
        let now = self.on_disk(path)?;
        if now != before {
            match (now.as_deref(), after.as_deref()) {
                (Some(now), Some(ours)) if is_index(path) => {
                    after = Some(joined(before.as_deref().unwrap_or_default(), now, ours));
                }
                (None, None) => return Ok(()),
                _ => {
                    let why = "was changed by somebody else meanwhile and left alone".to_owned();
                    committed.kept.push((path.to_owned(), why));
                    return Ok(());
                }
            }
        }
        let place = match self.checked(path) {
            Ok(place) => place,
            Err(refusal) => {
                committed.kept.push((path.to_owned(), refusal.to_string()));
                return Ok(());
            }
        };
        let history = History::open(&self.dir)?;
        made.push(Made { path: path.to_owned(), before: now, after, change: None });
        let Some(last) = made.last_mut() else { return Ok(()) };
        match &last.after {
            Some(bytes) => self.beneath.write(&place, bytes)?,
            None => self.beneath.remove(&place)?,
        }
        last.change = history.record(path, last.before.as_deref(), last.after.as_deref(), author)?;
        Ok(())
    }

    /// Whether the file is what it was before the change. What somebody else has made of it meanwhile stays.
    fn puts_back(&self, made: &Made, author: &Author) -> bool {
        let Made { path, before, after, change } = made;
        let put_back = || -> io::Result<()> {
            let now = self.on_disk(path)?;
            if now == *before || now != *after {
                return Ok(());
            }
            let place = self.checked(path).map_err(io::Error::other)?;
            match before {
                Some(bytes) => self.beneath.write(&place, bytes)?,
                None => self.beneath.remove(&place)?,
            }
            Ok(())
        };
        if let Err(error) = put_back() {
            tracing::error!(path, %error, "a change could not be taken back");
            return false;
        }
        if change.is_some() {
            let author = Author { why: "not all could be written: taken back".to_owned(), ..author.clone() };
            let recorded = History::open(&self.dir)
                .and_then(|history| history.record(path, after.as_deref(), before.as_deref(), &author));
            if let Err(error) = recorded {
                tracing::warn!(path, %error, "taking a change back could not be recorded");
            }
        }
        true
    }

    fn on_disk(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self.beneath.locate(&self.dir.join(path)) {
            Ok(place) => Ok(self.beneath.look_at(&place, LARGEST)?.map(|(bytes, _)| bytes)),
            Err(_) => Ok(None),
        }
    }

    /// Once more: what is on the path may have changed since the change was planned.
    fn checked(&self, path: &str) -> Result<Relative, Refusal> {
        self.beneath.check(&self.dir.join(path))
    }
}

/// Our index with what others did to it since: lines they added come last, lines they removed go.
fn joined(base: &[u8], theirs: &[u8], ours: &[u8]) -> Vec<u8> {
    let [base, theirs, ours] = [base, theirs, ours].map(String::from_utf8_lossy);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<HashSet<_>>();
    let (in_base, in_theirs, in_ours) = (lines(&base), lines(&theirs), lines(&ours));
    let is_removed = |line: &str| in_base.contains(line) && !in_theirs.contains(line);
    let mut text: String = ours.split_inclusive('\n').filter(|line| !is_removed(line.trim_end())).collect();
    for line in theirs.lines().filter(|line| !in_base.contains(*line) && !in_ours.contains(*line)) {
        text = index::with_entry(&text, line);
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests;
