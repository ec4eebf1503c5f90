//! A folder for one session's temporary files, where files of everybody are: commands behind walls may write there, and
//! to nothing that lies beside it.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};

/// Finds or makes `reverie-USER/NAME` in `base`, for nobody but the user. An error if someone else was there first:
/// a link in its place would open whatever it leads to.
pub fn private_folder(base: &Path, name: &str) -> io::Result<PathBuf> {
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let user = rustix::process::getuid().as_raw();
    let of_user = base.join(format!("reverie-{user}"));
    let folder = of_user.join(name);
    for folder in [&of_user, &folder] {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
            let message = format!("{} is not a folder of this user alone", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn it_is_made_once_and_for_the_user_alone() {
        let base = tempfile::tempdir().unwrap();
        let folder = private_folder(base.path(), "session").unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private_folder(base.path(), "session").unwrap(), folder);
        for name in ["", "..", "a/b", "/a"] {
            assert!(private_folder(base.path(), name).is_err(), "{name}");
        }
    }

    #[test]
    fn whoever_was_there_first_is_not_trusted() {
        let base = tempfile::tempdir().unwrap();
        let folder = private_folder(base.path(), "session").unwrap();
        let of_user = folder.parent().unwrap();
        symlink(base.path(), of_user.join("link")).unwrap();
        assert!(private_folder(base.path(), "link").is_err());
        fs::write(of_user.join("file"), "").unwrap();
        assert!(private_folder(base.path(), "file").is_err());
        fs::set_permissions(of_user, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private_folder(base.path(), "session").is_err());
    }
}
