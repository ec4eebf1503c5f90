//! Folders of rules: which files are in them, which of those wait, and which have waited long enough.

use std::{
    fs, mem,
    path::{Path, PathBuf},
};

use super::{OUTSIDE, Origin, Reader};
use crate::instructions::{Reason, Rule, Source, Stamp, rules};

/// In one go: more than any honest project needs, and soon done.
const MOST_LISTED: usize = 5_000;
/// Folders of rules inside each other.
const DEEPEST_RULES: usize = 8;

impl Reader<'_> {
    /// The rules of a folder. `base` is what their globs are relative to, unless it is the session's folder.
    pub(in crate::instructions) fn rules(&mut self, folder: &Path, source: Source, base: Option<&Path>) {
        let base = base.unwrap_or(&self.workspace.folder).to_owned();
        for path in self.rule_files(folder, source) {
            if self.loaded.waiting.iter().any(|rule| rule.path == path) {
                continue;
            }
            let Some(found) = self.read(&path, source, Origin::Place) else { continue };
            let globs = found.document.globs.clone();
            for words in rules::objections(&globs) {
                self.problem(&path, Some(0), words);
            }
            if globs.is_empty() || rules::match_everything(&globs) {
                self.add(found, self.occasion.reason);
                continue;
            }
            let rule = Rule { path, source, base: base.clone(), globs };
            if self.occasion.touched.is_some_and(|touched| rule.matches(touched)) {
                self.add(found, Reason::PathGlobMatch);
            } else {
                self.loaded.waiting.push(rule.clone());
                self.out.waiting.push(rule);
            }
        }
    }

    /// The rules that waited for what is touched now.
    pub(in crate::instructions) fn wake(&mut self) {
        let Some(touched) = self.occasion.touched else { return };
        let all = mem::take(&mut self.loaded.waiting);
        let (woken, waiting): (Vec<_>, Vec<_>) = all.into_iter().partition(|rule| rule.matches(touched));
        self.loaded.waiting = waiting;
        for rule in woken {
            if let Some(found) = self.read(&rule.path, rule.source, Origin::Place) {
                self.add(found, Reason::PathGlobMatch);
            }
            self.loaded.woken.push(rule);
        }
    }

    /// All Markdown files below a folder, in the order of their paths.
    fn rule_files(&mut self, folder: &Path, source: Source) -> Vec<PathBuf> {
        let (mut files, mut known) = (Vec::new(), Vec::new());
        let mut folders = vec![(folder.to_owned(), 0)];
        let mut listed = 0;
        while let Some((folder, depth)) = folders.pop() {
            let Ok(real) = fs::canonicalize(&folder) else {
                self.stamps.insert(folder, Stamp::Missing);
                continue;
            };
            if listed > MOST_LISTED || depth > DEEPEST_RULES || known.contains(&real) {
                continue;
            }
            if !self.may_read(&folder, &real, source, Origin::Place) {
                self.complain(&folder, Origin::Place, OUTSIDE);
                continue;
            }
            known.push(real);
            let entries = rules::entries(&folder);
            listed += entries.len();
            self.stamps.insert(folder, Stamp::of_names(&entries));
            for path in entries {
                if path.is_dir() { folders.push((path, depth + 1)) } else { files.push(path) }
            }
        }
        files.sort();
        files
    }
}
