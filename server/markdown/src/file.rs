//! Reading one file of unknown origin: a regular file of a sane size, never waiting for anybody.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::fd::OwnedFd,
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

/// The text without a byte order mark. Errors are words that follow the path.
///
/// The file must be below `root` after all links are followed, also those on the way to `root`: a repository cannot
/// have the model read what lies elsewhere by linking to it.
pub fn read_below(path: &Path, root: &Path, largest: u64) -> Result<String, String> {
    let real = fs::canonicalize(path).map_err(unreadable)?;
    if !real.starts_with(root) {
        return Err("is a link to a place outside its folder".to_owned());
    }
    let (file, metadata) = open_regular(&real).map_err(unreadable)?;
    if metadata.len() > largest {
        return Err(format!("is larger than {} KB", largest / 1024));
    }
    let mut bytes = Vec::new();
    file.take(largest).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

/// A regular file at a path whose links are resolved: one anywhere in it is refused, so that what is read is what was
/// judged, also when a folder on the way was swapped meanwhile. Opening a pipe does not wait for its other end.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open_unlinked(path, flags)?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok((file, metadata))
}

#[cfg(target_os = "linux")]
fn open_unlinked(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags, Mode::empty(), resolve) {
        // Kernels before 5.6, and some containers.
        Err(Errno::NOSYS) => rustix::fs::open(path, flags, Mode::empty()),
        opened => opened,
    }
}

/// Only a link at the end is refused.
#[cfg(not(target_os = "linux"))]
fn open_unlinked(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, flags, Mode::empty())
}

fn unreadable(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput => error.to_string(),
        _ => format!("cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    #[test]
    fn only_a_regular_file_without_links_on_the_way_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file"), "x").unwrap();
        symlink("real/file", root.join("link")).unwrap();
        symlink("real", root.join("linked")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), Mode::RWXU).unwrap();
        let _listener = UnixListener::bind(root.join("socket")).unwrap();

        assert!(open_regular(&root.join("real/file")).is_ok());
        for path in ["link", "linked/file", "real", "pipe", "socket", "missing"] {
            assert!(open_regular(&root.join(path)).is_err(), "{path}");
        }
        assert!(open_regular(Path::new("/dev/zero")).is_err());
    }
}
