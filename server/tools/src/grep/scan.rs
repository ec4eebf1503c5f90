//! The first pass: which files match, and how often.

use std::{collections::HashMap, io, path::Path, path::PathBuf};

use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};
use ignore::WalkState;

use super::{
    OutputMode, Query,
    engine::{open, searcher},
};
use crate::{
    search::{Find, Finds, Scope, Stop},
    tool::MayRead,
};

pub(super) struct Scan<'a> {
    pub(super) query: &'a Query,
    pub(super) matcher: &'a RegexMatcher,
    pub(super) unsaved: &'a HashMap<PathBuf, String>,
    pub(super) may_read: &'a MayRead,
    pub(super) stop: &'a Stop,
}

impl Scan<'_> {
    pub(super) fn folder(&self, scope: &Scope, keep: usize) -> Finds {
        let finds = Finds::keeping(keep);
        scope.walk(|| {
            let mut searcher = searcher(self.query, self.matcher, None);
            let matcher = self.matcher.clone();
            let finds = &finds;
            Box::new(move |entry| {
                if self.stop.looking() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => {
                        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                        if is_file && self.query.filter.passes(entry.path()) {
                            self.search_if_permitted(&mut searcher, &matcher, entry.path(), finds);
                        }
                    }
                    Err(error) => finds.add_error(error.io_error()),
                }
                WalkState::Continue
            })
        });
        self.add_new_buffers(scope, &finds);
        finds
    }

    /// The one file that was named, and whether it is binary. The call itself was decided by its name.
    pub(super) fn file(&self) -> (Finds, bool) {
        let finds = Finds::keeping(1);
        let mut searcher = searcher(self.query, self.matcher, None);
        let binary = self.search(&mut searcher, self.matcher, &self.query.base, &finds);
        (finds, binary)
    }

    /// Documents that are in the editor but not on disk yet.
    fn add_new_buffers(&self, scope: &Scope, finds: &Finds) {
        let mut searcher = searcher(self.query, self.matcher, None);
        for path in self.unsaved.keys().filter(|path| !path.exists()) {
            let wrong_type = scope.types.as_ref().is_some_and(|types| types.matched(path, false).is_ignore());
            if !wrong_type && self.query.filter.passes(path) {
                self.search_if_permitted(&mut searcher, self.matcher, path, finds);
            }
        }
    }

    /// Asks before it searches: if only files that match were asked about, the count of those left out would tell
    /// what is in them.
    fn search_if_permitted(
        &self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: &Path,
        finds: &Finds,
    ) {
        if (self.may_read)(path) {
            self.search(searcher, matcher, path, finds);
        } else {
            finds.add_withheld();
        }
    }

    fn search(&self, searcher: &mut Searcher, matcher: &RegexMatcher, path: &Path, finds: &Finds) -> bool {
        let mut tally =
            Tally { first_only: self.query.mode == OutputMode::FilesWithMatches, ..Tally::default() };
        let buffer = self.unsaved.get(path);
        let result = match buffer {
            Some(text) => searcher.search_slice(matcher, text.as_bytes(), &mut tally),
            None => open(path, Stop::looking, self.stop)
                .and_then(|file| searcher.search_reader(matcher, file, &mut tally)),
        };
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Other => finds.add_too_long(),
            Err(error) => finds.add_error(Some(&error)),
        }
        if tally.matches > 0 {
            finds.add(match buffer {
                Some(_) => Find::in_buffer(path, tally.matches),
                None => Find::on_disk(path, tally.matches),
            });
        }
        tally.binary
    }
}

#[derive(Default)]
struct Tally {
    first_only: bool,
    matches: u64,
    binary: bool,
}

impl Sink for Tally {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, _found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matches += 1;
        Ok(!self.first_only)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
