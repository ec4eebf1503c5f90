//! What a search has found so far: the newest files, and counts of all.

use std::{
    cmp::Reverse,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Find {
    pub(crate) path: PathBuf,
    pub(crate) modified: SystemTime,
    /// How many lines match; 1 where that was not counted.
    pub(crate) matches: u64,
}

/// Shared by the threads of one search. Keeps no more than it was told to, however much is found.
pub(crate) struct Finds {
    keep: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    newest: Vec<Find>,
    totals: Totals,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) files: u64,
    pub(crate) matches: u64,
    /// Files and folders that could not be read.
    pub(crate) unreadable: u64,
    /// Files with a line, or for a search across lines a whole, that is too long to search.
    pub(crate) too_long: u64,
    /// Files that the permission rules keep from the model.
    pub(crate) withheld: u64,
}

impl Finds {
    pub(crate) fn keeping(keep: usize) -> Self {
        Self { keep, inner: Mutex::default() }
    }

    pub(crate) fn add(&self, find: Find) {
        let mut inner = self.lock();
        inner.totals.files += 1;
        inner.totals.matches += find.matches;
        inner.newest.push(find);
        if inner.newest.len() >= self.keep.saturating_mul(2).max(1024) {
            newest_first(&mut inner.newest);
            inner.newest.truncate(self.keep);
        }
    }

    /// Counts what could not be read; what is gone meanwhile was no file of this search.
    pub(crate) fn add_error(&self, error: Option<&io::Error>) {
        match error.map(io::Error::kind) {
            Some(io::ErrorKind::NotFound) => {}
            _ => self.lock().totals.unreadable += 1,
        }
    }

    pub(crate) fn add_too_long(&self) {
        self.lock().totals.too_long += 1;
    }

    pub(crate) fn add_withheld(&self) {
        self.lock().totals.withheld += 1;
    }

    /// The newest files first, those of the same time by name.
    pub(crate) fn take(self) -> (Vec<Find>, Totals) {
        let Inner { mut newest, totals } = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        newest_first(&mut newest);
        newest.truncate(self.keep);
        (newest, totals)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Find {
    pub(crate) fn on_disk(path: &Path, matches: u64) -> Self {
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
        Self { path: path.to_owned(), modified: modified.unwrap_or(SystemTime::UNIX_EPOCH), matches }
    }

    pub(crate) fn in_buffer(path: &Path, matches: u64) -> Self {
        Self { path: path.to_owned(), modified: SystemTime::now(), matches }
    }
}

fn newest_first(finds: &mut [Find]) {
    finds.sort_unstable_by(|left, right| {
        (Reverse(left.modified), &left.path).cmp(&(Reverse(right.modified), &right.path))
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_are_kept_and_all_are_counted() {
        let finds = Finds::keeping(3);
        for number in 0..5000_u64 {
            // Pairs share a time, and come in no order.
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(number * 7 % 5000 / 2);
            let path = PathBuf::from(format!("{:04}", number * 7 % 5000));
            finds.add(Find { path, modified, matches: 2 });
        }
        let (newest, totals) = finds.take();
        let names: Vec<_> = newest.iter().map(|find| find.path.to_str().unwrap()).collect();
        assert_eq!(names, ["4998", "4999", "4996"]);
        assert_eq!(totals, Totals { files: 5000, matches: 10_000, ..Totals::default() });
    }
}
