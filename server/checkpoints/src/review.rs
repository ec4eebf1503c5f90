//! What the agent changed and the user has neither kept nor taken back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::entry::{Entry, State};

/// By path, what each file is to be compared with: what it was before the agent first touched it, or as far as the user
/// has come since; `None`: there was nothing. A file may be as it was again.
///
/// What may be somebody else's work is not the user's to look through.
pub fn unreviewed(entries: &[Entry]) -> BTreeMap<PathBuf, Option<State>> {
    let mut pending = BTreeMap::new();
    for entry in entries {
        for change in entry.changes.iter().filter(|_| !entry.uncertain) {
            pending.entry(change.path.clone()).or_insert_with(|| change.before.clone());
        }
        for reviewed in &entry.reviewed {
            match &reviewed.rest {
                Some(rest) => pending.insert(reviewed.path.clone(), Some(rest.clone())),
                None => pending.remove(&reviewed.path),
            };
        }
    }
    pending
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::Blob;
    use crate::entry::{Change, Reviewed};

    fn file(text: &str) -> Option<State> {
        Some(State::File { blob: Blob::of(text.as_bytes()), mode: 0o644, len: text.len() as u64 })
    }

    fn changed(path: &str, before: Option<State>) -> Entry {
        let change = Change { path: path.into(), before, after: file("after") };
        Entry { changes: vec![change], ..Entry::default() }
    }

    fn reviewed(path: &str, rest: Option<State>) -> Entry {
        Entry { reviewed: vec![Reviewed { path: path.into(), rest }], ..Entry::default() }
    }

    fn pending(entries: &[Entry]) -> Vec<(String, Option<State>)> {
        unreviewed(entries).into_iter().map(|(path, state)| (path.display().to_string(), state)).collect()
    }

    #[test]
    fn a_file_is_compared_with_what_it_was_first() {
        let entries = [changed("/b", None), changed("/a", file("1")), changed("/a", file("2"))];
        assert_eq!(pending(&entries), [("/a".to_owned(), file("1")), ("/b".to_owned(), None)]);
    }

    #[test]
    fn what_was_kept_is_not_shown_again_and_what_comes_later_is() {
        let mut entries = vec![changed("/a", file("1")), reviewed("/a", file("1 and a hunk"))];
        assert_eq!(pending(&entries), [("/a".to_owned(), file("1 and a hunk"))]);
        entries.push(reviewed("/a", None));
        assert_eq!(pending(&entries), []);
        entries.push(changed("/a", file("3")));
        assert_eq!(pending(&entries), [("/a".to_owned(), file("3"))]);
    }

    #[test]
    fn what_may_be_the_work_of_others_is_left_out() {
        let entry = Entry { uncertain: true, ..changed("/a", file("1")) };
        assert_eq!(pending(&[entry]), []);
    }
}
