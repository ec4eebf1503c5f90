//! Where a program's name leads: to folders that only the system's owner writes, whatever `PATH` says.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// In this order; on most systems the second is a link to the first.
const FOLDERS: &[&str] = &["/usr/bin", "/bin", "/usr/local/bin"];

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub enum Trusted {
    /// In the system's folders, and only if it is there.
    Installed,
    /// Likewise, but a program that is not installed is judged as if it were.
    Assumed,
    /// In this folder, whatever is there: for tests, which put their own programs in place of the real ones.
    Folder(PathBuf),
}

impl Trusted {
    /// The program's path, for a name or a path that names a trusted folder.
    pub(super) fn find(&self, program: &str) -> Result<PathBuf, String> {
        let (folder, name) = match program.rsplit_once('/') {
            None => (None, program),
            Some((folder, name)) => (Some(folder), name),
        };
        if let Some(folder) = folder
            && !FOLDERS.contains(&folder)
        {
            return Err(format!("`{program}` is not a program of the system's folders"));
        }
        if let Self::Folder(folder) = self {
            return Ok(folder.join(name));
        }
        let folders = FOLDERS.iter().filter(|candidate| folder.is_none_or(|folder| folder == **candidate));
        let found = folders.map(|folder| Path::new(folder).join(name)).find(|path| is_trusted(path));
        match (found, self) {
            (Some(path), _) => Ok(path),
            (None, Self::Assumed) => Ok(Path::new(folder.unwrap_or("/usr/bin")).join(name)),
            (None, _) => Err(format!("`{name}` is not installed in {}", FOLDERS.join(", "))),
        }
    }
}

/// Whether only root could have put it there.
fn is_trusted(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let only_root_writes = |path: &Path| {
        fs::metadata(path).is_ok_and(|metadata| metadata.uid() == 0 && metadata.mode() & 0o022 == 0)
    };
    let is_program =
        fs::metadata(&real).is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0);
    // The links on the way lie in folders that are checked with the path they are in.
    is_program
        && only_root_writes(&real)
        && [path.parent(), real.parent()].into_iter().flatten().all(only_root_writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_the_systems_folders_only() {
        assert!(Trusted::Installed.find("ls").unwrap().starts_with("/"));
        assert_eq!(Trusted::Assumed.find("no-such-program").unwrap(), Path::new("/usr/bin/no-such-program"));
        assert!(Trusted::Installed.find("no-such-program").is_err());
        assert_eq!(Trusted::Folder("/x".into()).find("/bin/ls").unwrap(), Path::new("/x/ls"));
        for program in
            ["./ls", "/tmp/ls", "bin/ls", "/bin/../tmp/ls", "/usr/bin/../ls", "//bin/ls", "/proc/self/cwd/ls"]
        {
            assert!(Trusted::Assumed.find(program).is_err(), "{program}");
        }
    }

    #[test]
    fn what_others_may_write_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ls");
        fs::write(&program, "").unwrap();
        assert!(!is_trusted(&program));
        assert!(!is_trusted(&folder.path().join("missing")));
    }
}
