//! Reading one file of unknown origin: a regular file, inside its folder, of a sane size, in UTF-8.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use rustix::fs::{Mode, OFlags};

const LARGEST: u64 = 256 * 1024;

/// The text without a byte order mark. Errors are words that follow the path.
///
/// The file must be below `root` after all links are followed, also those on the way to `root`: a repository cannot
/// have the model read what lies elsewhere by linking to it.
pub(crate) fn read(path: &Path, root: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let real = fs::canonicalize(path).map_err(unreadable)?;
    if !real.starts_with(root) {
        return Err("is a link to a place outside its folder".to_owned());
    }
    // The resolved path has no links left, and opening a pipe this way does not wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        File::from(rustix::fs::open(&real, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("is larger than {} KB", LARGEST / 1024));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}
