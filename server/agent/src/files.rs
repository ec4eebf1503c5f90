//! The few things the agent does to the disk itself.

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt, path::Path};

/// Creates the folder and its parents, readable by the user alone.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
