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
    index, scan,
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
    /// Why not all of it was written.
    pub error: Option<io::Error>,
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
        let all = scan::scan(&self.dir)?.len();
        let gone = self.drafts().filter(|(path, draft)| !is_index(path) && draft.after.is_none()).count();
        if gone * 2 > all {
            return Ok(Some(format!("it would delete {gone} of {all} memories, more than half")));
        }
        let index = self.current(index::NAME)?.unwrap_or_default();
        let lines = String::from_utf8_lossy(&index).lines().count();
        let over = lines > index::LINES || index.len() > index::BYTES;
        Ok(over.then(|| {
            let bytes = index.len();
            format!(
                "it would leave {} with {lines} lines and {bytes} bytes; {} lines and {} bytes are loaded",
                index::NAME,
                index::LINES,
                index::BYTES
            )
        }))
    }

    /// Makes the changes and writes them down in the history. `fence` is asked before each one: who may no longer write
    /// gets an error there, and nothing more is written. The desk is empty then.
    pub fn commit(
        &mut self,
        author: impl Fn(&str) -> Author,
        fence: impl Fn() -> io::Result<()>,
    ) -> Committed {
        let mut drafts: Vec<(String, Draft)> = std::mem::take(&mut self.drafts).into_iter().collect();
        drafts.retain(|(_, draft)| draft.before != draft.after);
        drafts.sort_by_key(|(path, draft)| (draft.after.is_none(), is_index(path)));
        let mut committed = Committed::default();
        for (path, draft) in drafts {
            let made = fence().and_then(|()| self.make(&path, draft, &author(&path), &mut committed));
            if let Err(error) = made {
                committed.error = Some(error);
                break;
            }
        }
        committed
    }

    fn make(&self, path: &str, draft: Draft, author: &Author, committed: &mut Committed) -> io::Result<()> {
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
        match &after {
            Some(bytes) => self.beneath.write(&place, bytes)?,
            None => self.beneath.remove(&place)?,
        }
        let history = History::open(&self.dir)?;
        committed.changes.extend(history.record(path, now.as_deref(), after.as_deref(), author)?);
        Ok(())
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

fn is_index(path: &str) -> bool {
    path.rsplit('/').next() == Some(index::NAME)
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
mod tests {
    use std::fs;

    use super::*;
    use crate::history::{By, Target};

    fn author(_: &str) -> Author {
        Author { group: Some("d1".to_owned()), ..Author::new(By::Dream, "merged") }
    }

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write(folder.path().join(path), text).unwrap();
        }
        folder
    }

    fn read(folder: &tempfile::TempDir, path: &str) -> Option<String> {
        fs::read_to_string(folder.path().join(path)).ok()
    }

    #[test]
    fn nothing_is_on_disk_before_the_commit_and_all_of_it_can_be_undone() {
        let folder = folder(&[("a.md", "a"), ("b.md", "b"), ("MEMORY.md", "- [A](a.md) — a\n")]);
        let mut desk = Desk::open(folder.path()).unwrap();
        desk.put("a.md", Some(b"a and b".to_vec())).unwrap();
        desk.put("b.md", None).unwrap();
        desk.put("sub/c.md", Some(b"c".to_vec())).unwrap();
        assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a".into()), Some("b".into())));
        assert_eq!(desk.current("a.md").unwrap(), Some(b"a and b".to_vec()));
        assert_eq!(desk.current("b.md").unwrap(), None);

        let committed = desk.commit(author, || Ok(()));
        assert!(committed.error.is_none() && committed.kept.is_empty());
        assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a and b".into()), None));
        assert_eq!(read(&folder, "sub/c.md"), Some("c".into()));
        assert_eq!(desk.drafts().count(), 0);

        let history = History::open(folder.path()).unwrap();
        history.undo(&Target::Group("d1".to_owned()), &Author::new(By::User, "back")).unwrap();
        assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a".into()), Some("b".into())));
        assert_eq!(read(&folder, "sub/c.md"), None);
    }

    #[test]
    fn what_others_changed_meanwhile_stays_and_both_indexes_count() {
        let folder =
            folder(&[("a.md", "a"), ("b.md", "b"), ("MEMORY.md", "- [A](a.md) — a\n- [B](b.md) — b\n")]);
        let mut desk = Desk::open(folder.path()).unwrap();
        desk.put("a.md", Some(b"ours".to_vec())).unwrap();
        desk.put("b.md", None).unwrap();
        desk.put("MEMORY.md", Some(b"# Mine\n- [A](a.md) \xe2\x80\x94 better\n".to_vec())).unwrap();
        fs::write(folder.path().join("a.md"), "theirs").unwrap();
        fs::write(folder.path().join("MEMORY.md"), "- [A](a.md) — a\n- [B](b.md) — b\n- [C](c.md) — c\n")
            .unwrap();
        let committed = desk.commit(author, || Ok(()));
        assert_eq!(committed.kept.len(), 1);
        assert_eq!(read(&folder, "a.md").unwrap(), "theirs");
        assert_eq!(read(&folder, "b.md"), None);
        assert_eq!(read(&folder, "MEMORY.md").unwrap(), "# Mine\n- [A](a.md) — better\n- [C](c.md) — c\n");
    }

    #[test]
    fn whoever_may_no_longer_write_writes_nothing_more() {
        let folder = folder(&[]);
        let mut desk = Desk::open(folder.path()).unwrap();
        for name in ["a.md", "b.md", "c.md"] {
            desk.put(name, Some(b"x".to_vec())).unwrap();
        }
        let left = std::cell::Cell::new(1);
        let committed = desk.commit(author, || match left.replace(left.get() - 1) {
            0 => Err(io::Error::other("lost")),
            _ => Ok(()),
        });
        assert_eq!(committed.changes.len(), 1);
        assert!(committed.error.is_some());
        assert_eq!((read(&folder, "a.md").is_some(), read(&folder, "b.md").is_some()), (true, false));
    }

    #[test]
    fn more_than_half_must_not_go_and_the_index_must_stay_loadable() {
        let folder = folder(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c"), ("d.md", "d")]);
        let mut desk = Desk::open(folder.path()).unwrap();
        desk.put("a.md", None).unwrap();
        desk.put("b.md", None).unwrap();
        assert_eq!(desk.objection().unwrap(), None);
        desk.put("c.md", None).unwrap();
        assert_eq!(
            desk.objection().unwrap().as_deref(),
            Some("it would delete 3 of 4 memories, more than half")
        );
        desk.put("c.md", Some(b"c".to_vec())).unwrap();
        desk.put("MEMORY.md", Some("x\n".repeat(201).into_bytes())).unwrap();
        assert!(desk.objection().unwrap().unwrap().contains("201 lines"));
    }

    #[test]
    fn names_that_an_agent_may_not_use_are_refused() {
        let folder = folder(&[]);
        let desk = Desk::open(folder.path()).unwrap();
        let root = folder.path();
        for path in [".history/log.md", ".consolidate-lock", "../x.md", "a.sh", "CLAUDE.md"] {
            assert!(desk.place(&root.join(path)).is_err(), "{path}");
        }
        assert_eq!(desk.place(&root.join("sub/a.md")).unwrap(), "sub/a.md");
    }
}
