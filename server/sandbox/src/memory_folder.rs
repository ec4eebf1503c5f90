//! What a memory folder must be before anyone may write there unwatched: a folder of its own, and nothing in it that is
//! also something elsewhere. Walls go by paths, so a second name of an outside file would be a door.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};

/// Of a memory folder that is looked through before each command; a larger one is none.
const MOST_ENTRIES: usize = 50_000;

/// Folders that are nobody's notes, with all below them.
const OF_THE_SYSTEM: &[&str] =
    &["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];

/// In which every user has a folder.
const HOMES: &[&str] = &["/home", "/Users"];

/// Why the folder is too much to be written to by whoever has a memory, in words that follow its name.
pub fn too_wide(folder: &Path, home: &Path) -> Option<&'static str> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (folder, home) = (real(folder), real(home));
    let depth = folder.components().filter(|part| matches!(part, Component::Normal(_))).count();
    if depth < 2 {
        return Some("is too near to the root of the file system to be a memory folder");
    }
    if home.starts_with(&folder) || folder.parent().is_some_and(|above| is_one_of(above, HOMES)) {
        return Some("holds a home and is no memory folder");
    }
    if folder.ancestors().any(|above| is_one_of(above, OF_THE_SYSTEM)) {
        return Some("belongs to the system and is no memory folder");
    }
    None
}

/// Something in the folder that is also elsewhere: a file with a name outside, or a device.
pub(crate) fn door(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    // By device and number: how many more names there must be, and one of them.
    let mut names: HashMap<(u64, u64), (u64, PathBuf)> = HashMap::new();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(io::Error::other(format!("it holds more than {MOST_ENTRIES} files")));
            }
            // Of the link, not of where it leads: walls go by that.
            let found = entry.metadata()?;
            if found.is_dir() {
                folders.push(entry.path());
            } else if found.file_type().is_char_device() || found.file_type().is_block_device() {
                return Ok(Some(entry.path()));
            } else if found.is_file() && found.nlink() > 1 {
                let missing =
                    names.entry((found.dev(), found.ino())).or_insert_with(|| (found.nlink(), entry.path()));
                missing.0 = missing.0.saturating_sub(1);
            }
        }
    }
    Ok(names.into_values().find(|(missing, _)| *missing > 0).map(|(_, path)| path))
}

fn is_one_of(folder: &Path, list: &[&str]) -> bool {
    list.iter().any(|known| folder == Path::new(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_folders_are_no_memory() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().join("users/ada");
        fs::create_dir_all(home.join("notes")).unwrap();
        let is_wide = |folder: &Path| too_wide(folder, &home).is_some();
        for folder in ["/", "/tmp", "/home", "/root", "/home/ada", "/usr/share", "/etc/ssh", "/var/../etc"] {
            assert!(is_wide(Path::new(folder)), "{folder}");
        }
        std::os::unix::fs::symlink("/", home.join("link")).unwrap();
        for folder in [home.clone(), home.join(".."), home.join("link"), home.join("notes/../..")] {
            assert!(is_wide(&folder), "{}", folder.display());
        }
        for folder in ["/home/ada/.claude/projects/x/memory", "/var/lib/notes"] {
            assert!(!is_wide(Path::new(folder)), "{folder}");
        }
        assert!(!is_wide(&home.join("notes")));
    }

    #[test]
    fn a_file_with_a_name_outside_is_a_door() {
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("memory");
        fs::create_dir_all(memory.join("topics")).unwrap();
        fs::write(memory.join("a.md"), "").unwrap();
        fs::write(folder.path().join("outside"), "").unwrap();
        std::os::unix::fs::symlink("../outside", memory.join("link")).unwrap();
        assert_eq!(door(&memory).unwrap(), None);
        // Two names of one file, both inside.
        fs::hard_link(memory.join("a.md"), memory.join("topics/b.md")).unwrap();
        assert_eq!(door(&memory).unwrap(), None);
        fs::hard_link(folder.path().join("outside"), memory.join("topics/door.md")).unwrap();
        assert_eq!(door(&memory).unwrap(), Some(memory.join("topics/door.md")));
        assert!(door(&memory.join("missing")).is_err());
    }
}
