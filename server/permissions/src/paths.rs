//! Paths as permissions see them: cleaned by their letters, then followed through the links that exist.

use std::{
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

/// As the kernel counts them.
const MOST_LINKS: usize = 40;

/// Removes `.` and `..` by their letters alone; no file is looked at. `..` at the root stays at the root.
pub fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// A path by its letters, and where it really leads.
pub(crate) struct Place {
    pub(crate) written: PathBuf,
    /// `None` when a link in it leads nowhere, or elsewhere for every process: then nobody can say where a write would
    /// end up.
    pub(crate) real: Option<PathBuf>,
    /// What it is for this process, if that may differ for others: restrictions hold for that, too, permissions do not.
    here: Option<PathBuf>,
}

impl Place {
    pub(crate) fn of(path: &Path) -> Self {
        let written = clean(path);
        let real = follow(&written);
        Self::new(written, real)
    }

    /// Where `path` led to when that was looked up.
    pub(crate) fn seen(path: &Path, real: Option<&Path>) -> Self {
        Self::new(clean(path), real.map(Path::to_owned))
    }

    /// A clean path, and where it leads.
    pub(crate) fn new(written: PathBuf, real: Option<PathBuf>) -> Self {
        let here = if real.is_none() { followed_here(&written) } else { None };
        Self { written, real, here }
    }

    /// Whether it really lies in one of the folders, whatever the links on the way.
    pub(crate) fn is_inside(&self, folders: &[PathBuf]) -> bool {
        folders.iter().any(|folder| self.below(folder).is_some())
    }

    /// The rest of the real path below `folder`.
    pub(crate) fn below(&self, folder: &Path) -> Option<&Path> {
        self.real.as_deref()?.strip_prefix(follow(&clean(folder))?).ok()
    }

    /// The path as written and, if they differ, as it really is or as it is here.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &Path> {
        let real = self.real.as_deref().filter(|real| *real != self.written);
        std::iter::once(self.written.as_path()).chain(real).chain(self.here.as_deref())
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// The longest part that exists with its links followed, then the rest.
    To(PathBuf),
    /// Through a dangling link or a loop: a write would create its target.
    Nowhere,
    /// Through a link that the kernel makes up for whoever looks, such as `/proc/self` and `/dev/fd`: what it is for us
    /// says nothing about what it is for a command.
    ByProcess,
}

pub(crate) fn follow(path: &Path) -> Option<PathBuf> {
    match lead(path) {
        Lead::To(real) => Some(real),
        Lead::Nowhere | Lead::ByProcess => None,
    }
}

/// Link by link, because each has to be looked at before it is followed.
pub(crate) fn lead(path: &Path) -> Lead {
    let Ok(absolute) = std::path::absolute(path) else { return Lead::Nowhere };
    let mut real = PathBuf::new();
    let mut links = 0;
    // The next name comes last, with whether it stood in a link.
    let mut ahead = Vec::new();
    push(&absolute, false, &mut ahead);
    while let Some((name, in_link)) = ahead.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        match next.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                if is_made_up_in(&real) {
                    return Lead::ByProcess;
                }
                links += 1;
                let Some(target) = next.read_link().ok().filter(|_| links <= MOST_LINKS) else {
                    return Lead::Nowhere;
                };
                push(&target, true, &mut ahead);
            }
            Ok(_) => real = next,
            Err(_) if in_link => return Lead::Nowhere,
            Err(_) => {
                // Nobody goes up from what is not there.
                if ahead.iter().any(|(name, _)| name == "..") {
                    return Lead::Nowhere;
                }
                return Lead::To(ahead.iter().rev().fold(next, |path, (name, _)| path.join(name)));
            }
        }
    }
    Lead::To(real)
}

/// As much of the path as exists, with its links followed as they are for this process, and the rest.
fn followed_here(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|existing| {
        let real = existing.canonicalize().ok()?;
        path.strip_prefix(existing).ok().map(|rest| real.join(rest))
    })
}

fn push(path: &Path, in_link: bool, ahead: &mut Vec<(OsString, bool)>) {
    let names = path.components().filter(|component| *component != Component::CurDir);
    ahead.extend(names.rev().map(|component| (component.as_os_str().to_owned(), in_link)));
}

/// Whether the links in this folder are those of the kernel's view of processes.
#[cfg(target_os = "linux")]
fn is_made_up_in(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_made_up_in(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_is_by_letters() {
        let cases = [
            ("/a/./b//c", "/a/b/c"),
            ("/a/b/../c", "/a/c"),
            ("/../../a", "/a"),
            ("/a/b/..", "/a"),
            ("/", "/"),
            ("/a/", "/a"),
        ];
        for (given, expected) in cases {
            assert_eq!(clean(Path::new(given)), Path::new(expected), "{given}");
        }
    }

    #[test]
    fn links_are_followed_as_far_as_they_exist() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", base.join("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();

        assert_eq!(follow(&base.join("link/new/file")), Some(base.join("real/new/file")));
        assert_eq!(follow(&base.join("real/file")), Some(base.join("real/file")));
        assert_eq!(follow(&base.join("dangling")), None);
        assert_eq!(follow(&base.join("dangling/file")), None);
        assert_eq!(follow(&base.join("loop/file")), None);
    }

    #[test]
    fn links_in_chains_and_upwards_are_followed_as_the_system_does() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/deep")).unwrap();
        std::fs::write(base.join("a/file"), "").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, base.join(name)).unwrap();
        link("a/./deep/../deep", "one");
        link("one", "two");
        link(&base.join("two/..").display().to_string(), "three");
        link("a/missing/deep", "dangling");
        for name in ["one", "two", "three", "three/file", "two/../file", "one/../../a"] {
            assert_eq!(follow(&base.join(name)), base.join(name).canonicalize().ok(), "{name}");
        }
        assert_eq!(lead(&base.join("dangling")), Lead::Nowhere);
        assert_eq!(lead(&base.join("three/new/file")), Lead::To(base.join("a/new/file")));
        assert_eq!(lead(&base.join("new/../file")), Lead::Nowhere);
        assert_eq!(lead(Path::new("/")), Lead::To("/".into()));
        assert_eq!(lead(Path::new("/../usr")), Lead::To("/usr".into()));
    }

    /// `/proc/self/cwd` is our folder here, and the command's when it runs.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_differs_from_process_to_process_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, base.join(name)).unwrap();
        link("/proc/self", "p");
        link("p/cwd", "here");
        link("/dev/fd", "fd");
        link("/proc", "kernel");
        for path in [
            "/proc/self",
            "/proc/self/cwd",
            "/proc/thread-self/root/etc",
            "/proc/mounts",
            "/proc/1/cwd/x",
            "/dev/fd/0",
            "/dev/stdin",
        ] {
            assert_eq!(lead(Path::new(path)), Lead::ByProcess, "{path}");
        }
        for path in ["p", "p/cwd/s", "here/s", "fd/0", "kernel/self/environ"] {
            assert_eq!(lead(&base.join(path)), Lead::ByProcess, "{path}");
            assert!(Place::of(&base.join(path)).real.is_none(), "{path}");
        }
        assert_eq!(lead(&base.join("kernel/../proc/self/cwd")), Lead::ByProcess);
        assert_eq!(lead(&base.join("kernel/cpuinfo")), Lead::To("/proc/cpuinfo".into()));
    }
}
