//! Long tool results: they go to a file of the session, and the conversation has their beginning and where the rest is.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use context::{Entry, Event, Shelf, event::layer, result_store};
use conversation::ResultContent;

use crate::{event::NoticeLevel, files, session::Session, turn::TurnHandle};

/// Nothing is larger than 100,000 tokens; for texts of tools that bound themselves, in characters.
const LARGEST_RESULT_CHARS: usize = 300_000;

/// So few characters are below the limit of tokens in any writing.
const SURELY_SMALL_CHARS: usize = 25_000;

/// Results whose calls have the same id.
const MOST_NAMESAKES: usize = 10_000;

/// Where long results are kept whole: `<project dir>/<session>/tool-results/<call>.txt`.
pub(crate) struct ResultFiles<'a> {
    pub session: &'a Session,
}

impl Shelf for ResultFiles<'_> {
    fn keep(&mut self, tool_use_id: &str, content: &ResultContent) -> Option<PathBuf> {
        let (bytes, extension) = match content {
            ResultContent::Text(text) => (text.as_bytes().to_vec(), "txt"),
            ResultContent::Blocks(blocks) => (serde_json::to_vec(blocks).ok()?, "json"),
        };
        let folder = self.session.results_dir();
        match write_once(&folder, &file_name(tool_use_id), extension, &bytes) {
            Ok(path) => Some(path),
            Err(error) => {
                let text =
                    format!("a long tool result could not be put aside ({}: {error})", folder.display());
                if self.session.state().told.insert(text.clone()) {
                    self.session.notice(None, NoticeLevel::Warning, text);
                }
                None
            }
        }
    }
}

/// Ids come from models and servers; a name must not lead anywhere.
pub(crate) fn file_name(tool_use_id: &str) -> String {
    let safe = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String = tool_use_id.chars().map(|it| if safe(it) { it } else { '_' }).take(120).collect();
    if name.is_empty() { "result".to_owned() } else { name }
}

/// Whole or not at all. What is there already is used again if it is the same: some servers number the calls of each
/// response anew, and then another name is found.
fn write_once(folder: &Path, name: &str, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    files::create_private_dir(folder)?;
    let mut file = tempfile::Builder::new().prefix(".result").tempfile_in(folder)?;
    file.write_all(bytes)?;
    for number in 1..=MOST_NAMESAKES {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let path = folder.join(format!("{name}.{extension}"));
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error),
            Err(_) if holds(&path, bytes) => return Ok(path),
            Err(error) => file = error.file,
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many results of this name"))
}

/// What cannot be read, or would have to be waited for, holds something else.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let is_as_long = |metadata: fs::Metadata| metadata.is_file() && metadata.len() == bytes.len() as u64;
    fs::symlink_metadata(path).is_ok_and(is_as_long) && fs::read(path).is_ok_and(|known| known == bytes)
}

/// What a session has put aside at this path, links and pipes excepted.
pub(crate) fn read(path: &Path) -> Option<String> {
    let folder = path.parent()?.canonicalize().ok()?;
    let (mut file, _) = markdown::file::open_regular(&folder.join(path.file_name()?)).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// One result, as it goes into the conversation: whole, or its beginning and where the rest is.
pub(crate) fn shelved(handle: &TurnHandle, tool: &str, id: &str, content: ResultContent) -> ResultContent {
    let (session, features) = (&handle.session, handle.features());
    let own = features.tool_result_limits.get(tool).copied();
    // What bounds itself is still held to what any result may be.
    let limit = result_store::limit_of(tool, own).unwrap_or(LARGEST_RESULT_CHARS);
    let length = result_store::length_of(&content);
    // No text has more tokens than bytes.
    if length <= limit.min(SURELY_SMALL_CHARS) {
        return content;
    }
    let tokens = handle.tokens();
    if length <= limit && result_store::largest_result(&content, &tokens).is_none() {
        return content;
    }
    let kept = if features.tool_result_storage { (ResultFiles { session }).keep(id, &content) } else { None };
    let Some(path) = kept else { return result_store::shortened(content, limit) };
    let instead = ResultContent::Text(result_store::replacement(&content, &path));
    let entry = Entry {
        layer: layer::STORAGE.to_owned(),
        detail: format!("a large result of {tool} went to the disk"),
        messages: 1,
        tokens_freed: result_store::tokens_of(&content, &tokens)
            .saturating_sub(result_store::tokens_of(&instead, &tokens)),
        cache_kept: true,
        original: Some(path.display().to_string()),
    };
    // The conversation never has it whole: there is nothing for the projection to do.
    session.decide(Some(&handle.id), Event::Remark, Some(entry));
    instead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_written_once_and_another_one_of_the_same_name_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| write_once(folder.path(), "call_0", "txt", text.as_bytes()).unwrap();
        let first = write("one");
        assert_eq!(write("one"), first);
        let second = write("two");
        assert_eq!(second.file_name().unwrap(), "call_0-2.txt");
        assert_eq!((fs::read(first).unwrap(), fs::read(second).unwrap()), (b"one".to_vec(), b"two".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn nobody_waits_for_what_lies_where_a_result_should_go() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("call_0.txt");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let written = write_once(folder.path(), "call_0", "txt", b"one").unwrap();
        assert_eq!(written.file_name().unwrap(), "call_0-2.txt");
        assert_eq!((read(&pipe), read(&written).as_deref()), (None, Some("one")));
    }

    #[test]
    fn names_lead_nowhere() {
        assert_eq!(file_name("../../etc/passwd"), "______etc_passwd");
        assert_eq!(file_name(""), "result");
        assert_eq!(file_name("toolu_01-a"), "toolu_01-a");
    }
}
