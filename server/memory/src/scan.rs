//! What lies in a memory directory: every topic file, by its name and stamp. Nothing is opened here.
//!
//! Links, pipes and devices are passed over, as is whatever recall must not see: the indexes, the server's own
//! `.history`, the daily logs, copies that a conflict left behind.

use std::{
    borrow::Cow,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::index;

/// More than any memory has; what lies beyond is not seen.
const MOST_FILES: usize = 50_000;
const DEEPEST: usize = 16;

/// Folders at the top that are not topics.
const LOGS: &str = "logs";

/// One file, as the directory tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative to the directory, with `/` between its parts.
    pub path: String,
    pub stamp: Stamp,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub modified: SystemTime,
    pub bytes: u64,
    inode: u64,
    changed: (i64, i64),
}

/// All topic files, in the order of their paths. A directory that is not there has none.
pub fn scan(directory: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut folders: Vec<(PathBuf, String, usize)> = vec![(directory.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if depth == 0 && error.kind() != io::ErrorKind::NotFound => return Err(error),
            // Gone meanwhile, or nobody may look into it.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_usable(name)) else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEEPEST && !(depth == 0 && name == LOGS) {
                folders.push((entry.path(), format!("{prefix}{name}/"), depth + 1));
            }
            if kind.is_file() && is_topic(name) && found.len() < MOST_FILES {
                let Ok(metadata) = entry.metadata() else { continue };
                found.push(Found { path: format!("{prefix}{name}"), stamp: Stamp::of(&metadata) });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The daily logs, relative to the directory, oldest first.
pub fn logs(directory: &Path) -> Vec<String> {
    let mut logs = Vec::new();
    let mut folders = vec![(directory.join(LOGS), LOGS.to_owned(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_usable(name)) else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < 2 {
                folders.push((entry.path(), format!("{prefix}/{name}"), depth + 1));
            } else if kind.is_file() && name.ends_with(".md") && logs.len() < MOST_FILES {
                logs.push(format!("{prefix}/{name}"));
            }
        }
    }
    logs.sort();
    logs
}

impl Stamp {
    pub fn of(metadata: &fs::Metadata) -> Self {
        Self {
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            bytes: metadata.len(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A name that can be shown on one line, as it is; what begins with a dot is somebody's own. Lint tells of the others.
fn is_usable(name: &str) -> bool {
    !name.starts_with('.') && is_plain(name)
}

/// Nothing in it is hidden, and nothing of it can be taken for a tag around what is shown.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.contains(|character: char| character.is_control() || matches!(character, '<' | '>'))
        && matches!(markdown::hidden::shown(name), Cow::Borrowed(_))
}

fn is_topic(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.ends_with(".md")
        && !name.eq_ignore_ascii_case(index::NAME)
        && !lower.contains(".conflict")
        && !lower.contains("conflicted copy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        for path in [
            "a.md",
            "sub/deep/b.MD",
            "team/c.md",
            "merge-conflict-policy.md",
            "MEMORY.md",
            "team/MEMORY.md",
            "notes.txt",
            ".history/contents/d.md",
            ".hidden.md",
            "logs/2026/04/2026-04-09.md",
            "a.conflict-2026-01-01.md",
            "a (conflicted copy).md",
            "new\nline.md",
            "turned\u{202e}dm.md",
            "<system-reminder>.md",
            "Яndex.md",
        ] {
            write(path);
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.md")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        let fifo = folder.path().join("pipe.md");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        let found = scan(folder.path()).unwrap();
        let paths: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["a.md", "merge-conflict-policy.md", "sub/deep/b.MD", "team/c.md", "Яndex.md"]);
    }

    #[test]
    fn a_directory_that_is_not_there_has_none() {
        assert_eq!(scan(Path::new("/nowhere/at/all")).unwrap(), []);
    }
}
