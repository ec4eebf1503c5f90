//! Whether the files that say what to ignore can be read without harm: a walk reads them whole as it comes by, and a
//! pipe, a device or an endless file in their place would hold it up.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use super::VIRTUAL;

/// Far more than any list that a person keeps.
const LARGEST: u64 = 1_000_000;

/// For everything that a walk reads in this folder, or through its `.git`, before it looks at what else is there.
pub(super) fn are_harmless(folder: &Path) -> bool {
    is_harmless(&folder.join(".gitignore"))
        && is_harmless(&folder.join(".ignore"))
        && exclude_is_harmless(&folder.join(".git"))
}

/// What is not there, or is a folder, is not read.
fn is_harmless(file: &Path) -> bool {
    match fs::metadata(file) {
        Err(_) => true,
        Ok(metadata) if metadata.is_dir() => true,
        // Files of the kernel call themselves empty, and may never end.
        Ok(metadata) => metadata.is_file() && metadata.len() <= LARGEST && !leads_to_the_kernel(file),
    }
}

fn leads_to_the_kernel(file: &Path) -> bool {
    file.canonicalize().is_ok_and(|real| {
        VIRTUAL.iter().any(|folder| real.starts_with(folder)) && !real.starts_with("/dev/shm")
    })
}

/// `.git/info/exclude`, or where a worktree's `.git` says by way of two more files.
fn exclude_is_harmless(git: &Path) -> bool {
    match fs::metadata(git) {
        Ok(metadata) if metadata.is_dir() => is_harmless(&git.join("info/exclude")),
        Ok(metadata) if metadata.is_file() => {
            if !is_harmless(git) {
                return false;
            }
            let Some(git_dir) =
                first_line(git).and_then(|line| Some(PathBuf::from(line.strip_prefix("gitdir: ")?)))
            else {
                return true;
            };
            let named = git_dir.join("commondir");
            if !is_harmless(&named) {
                return false;
            }
            // A path that does not begin with a dot counts from the working folder, which joining would not do.
            first_line(&named).is_none_or(|line| {
                let common = if line.starts_with('.') { git_dir.join(line) } else { PathBuf::from(line) };
                is_harmless(&common.join("info/exclude"))
            })
        }
        _ => true,
    }
}

fn first_line(file: &Path) -> Option<String> {
    let line: Option<io::Result<String>> =
        BufReader::new(File::open(file).ok()?.take(LARGEST)).lines().next();
    line?.ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn pipe(path: &Path) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }

    #[test]
    fn usual_folders_are_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(are_harmless(path));
        fs::write(path.join(".gitignore"), "*.o\n").unwrap();
        symlink(".gitignore", path.join(".ignore")).unwrap();
        fs::create_dir_all(path.join(".git/info")).unwrap();
        fs::write(path.join(".git/info/exclude"), "").unwrap();
        assert!(are_harmless(path));
    }

    #[test]
    fn pipes_devices_and_huge_files_are_not() {
        let make: [fn(&Path); 4] = [
            pipe,
            |path| symlink("/dev/zero", path).unwrap(),
            |path| symlink("/proc/self/status", path).unwrap(),
            |path| File::create(path).unwrap().set_len(LARGEST + 1).unwrap(),
        ];
        for name in [".gitignore", ".ignore", ".git/info/exclude"] {
            for make in make {
                let folder = tempfile::tempdir().unwrap();
                fs::create_dir_all(folder.path().join(".git/info")).unwrap();
                make(&folder.path().join(name));
                assert!(!are_harmless(folder.path()), "{name}");
            }
        }
    }

    #[test]
    fn a_worktree_is_followed_to_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let git_dir = folder.path().join("repository/worktrees/one");
        fs::create_dir_all(&git_dir).unwrap();
        fs::create_dir_all(folder.path().join("repository/info")).unwrap();
        fs::write(folder.path().join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        assert!(are_harmless(folder.path()));
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        assert!(are_harmless(folder.path()));
        pipe(&folder.path().join("repository/info/exclude"));
        assert!(!are_harmless(folder.path()));
        fs::remove_file(git_dir.join("commondir")).unwrap();
        pipe(&git_dir.join("commondir"));
        assert!(!are_harmless(folder.path()));
    }
}
