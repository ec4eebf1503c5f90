//! The text of one file of unknown origin: a regular file, and no more of it than anybody wants to read.

use std::{
    io::{self, Read},
    path::Path,
};

use markdown::file::open_regular;

/// Of one file; the rest is cut off.
pub(super) const LARGEST: usize = 1 << 20;

pub(super) struct Text {
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// The path has its links resolved. Errors are words that follow it.
pub(super) fn read(real: &Path) -> Result<Text, String> {
    let (file, _) = open_regular(real).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.contains(&0) {
        return Err("is not text".to_owned());
    }
    let is_cut = bytes.len() > LARGEST;
    if is_cut {
        bytes.truncate(end_of_text(&bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    Ok(Text { text, is_cut })
}

/// At the end of a line, unless that would drop most of it, and not inside a character.
fn end_of_text(bytes: &[u8]) -> usize {
    let newline = bytes.iter().rposition(|byte| *byte == b'\n').filter(|newline| *newline > LARGEST / 2);
    let mut before = (0..=LARGEST).rev();
    let is_boundary = |end: &usize| bytes.get(*end).is_none_or(|byte| byte & 0xc0 != 0x80);
    newline.or_else(|| before.find(is_boundary)).unwrap_or_default()
}

fn unreadable(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput => error.to_string(),
        _ => format!("cannot be read: {error}"),
    }
}

/// Most of what looks like an include is none: a user's name, a package.
pub(super) fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput)
}
