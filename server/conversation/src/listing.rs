//! The sessions of some directories, newest first, without parsing their transcripts: only the beginning and the
//! end of each file is read.

mod head;
pub(crate) mod tail;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    excerpt::one_line,
    message::SessionId,
    record::{ForkedFrom, Record, decode},
};
use head::Head;
pub(crate) use head::prompt;
use tail::Tail;

const TITLE_CHARS: usize = 80;
const PROMPT_CHARS: usize = 300;
const UNTITLED: &str = "Untitled session";
/// Fewer files are not worth a second thread.
const SHARE: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub session: SessionId,
    /// Given, else generated, else the first prompt's beginning; never empty.
    pub title: String,
    /// Empty if there is none near the beginning of the file.
    pub first_prompt: String,
    pub updated_at: Timestamp,
    pub bytes: u64,
    /// `None` for sessions that another program ran.
    pub cost_usd: Option<f64>,
    pub cwd: Option<PathBuf>,
    /// As far as the end of the file tells: 1 for a session that another program branched and none of ours opened.
    pub branches: usize,
    pub forked_from: Option<ForkedFrom>,
    /// The transcript.
    pub path: PathBuf,
}

/// What cannot be read is left out; a damaged transcript is listed, for it can be resumed.
pub fn list(directories: &[PathBuf]) -> Vec<Summary> {
    let files: Vec<(SessionId, PathBuf)> =
        directories.iter().flat_map(|directory| transcripts(directory)).collect();
    let mut summaries = if files.len() < 2 * SHARE {
        files.iter().filter_map(|(session, path)| summarise(session, path).ok().flatten()).collect()
    } else {
        summarise_all(&files)
    };
    summaries.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.session.cmp(&b.session)));
    summaries
}

/// The transcripts of a directory, in no order.
pub(crate) fn transcripts(directory: &Path) -> Vec<(SessionId, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let named = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        // Side chains have other names.
        let session = SessionId::parse(name.to_str()?.strip_suffix(".jsonl")?)?;
        // Opening a pipe would wait for its writer.
        let kind = entry.file_type().ok()?;
        let is_file = kind.is_file() || (kind.is_symlink() && entry.path().is_file());
        is_file.then(|| (session, entry.path()))
    });
    named.collect()
}

fn summarise_all(files: &[(SessionId, PathBuf)]) -> Vec<Summary> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut summaries = Vec::new();
        while let Some((session, path)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            summaries.extend(summarise(session, path).ok().flatten());
        }
        summaries
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut summaries = work();
        summaries.extend(other.join().unwrap_or_default());
        summaries
    })
}

/// `None` if there is nothing in the file that anybody said.
fn summarise(session: &SessionId, path: &Path) -> io::Result<Option<Summary>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.len() == 0 {
        return Ok(None);
    }
    let bytes = metadata.len();
    let head = Head::read(&mut file)?;
    if head.is_whole && !head.has_messages {
        return Ok(None);
    }
    let tail = Tail::read(&mut file, bytes)?;
    let first_prompt = one_line(head.prompt.as_deref().unwrap_or_default(), PROMPT_CHARS);
    let custom = tail.custom_title.and_then(|(line, _)| title(&line)).or(head.custom_title);
    let generated = tail
        .generated_title
        .map(|(line, _)| line)
        .or(tail.summary)
        .and_then(|line| title(&line))
        .or(head.generated_title);
    let given =
        custom.or(generated).map(|title| one_line(&title, TITLE_CHARS)).filter(|title| !title.is_empty());
    let title = given.unwrap_or_else(|| match first_prompt.is_empty() {
        true => UNTITLED.to_owned(),
        false => one_line(&first_prompt, TITLE_CHARS),
    });
    let now = Timestamp::now();
    let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    Ok(Some(Summary {
        session: session.clone(),
        title,
        first_prompt,
        // A clock that was wrong once must not keep a session on top for years.
        updated_at: tail.timestamp.or(modified).unwrap_or_default().min(now),
        bytes,
        cost_usd: tail.cost.and_then(|(line, _)| cost_usd(&line)).or(head.cost_usd),
        cwd: head.cwd.map(PathBuf::from),
        branches: tail.branches.and_then(|(line, _)| branches(&line)).unwrap_or(1),
        forked_from: head.forked_from,
        path: path.to_owned(),
    }))
}

fn title(line: &[u8]) -> Option<String> {
    match decode(line).ok()? {
        Record::Title(title) | Record::GeneratedTitle(title) => Some(title),
        Record::Unknown(value) => value.get("summary")?.as_str().map(str::to_owned),
        _ => None,
    }
    .filter(|title| !title.trim().is_empty())
}

fn cost_usd(line: &[u8]) -> Option<f64> {
    match decode(line).ok()? {
        Record::Cost(cost) => Some(cost.cost_usd()),
        _ => None,
    }
}

fn branches(line: &[u8]) -> Option<usize> {
    match decode(line).ok()? {
        Record::Branches(count) => usize::try_from(count).ok().filter(|count| *count > 0),
        _ => None,
    }
}

/// The text of a summary record that speaks of a message among `bytes`.
fn own_summary(line: &[u8], bytes: &[u8]) -> bool {
    let Ok(Record::Unknown(value)) = decode(line) else { return false };
    let Some(leaf) = value.get("leafUuid").and_then(Value::as_str) else { return false };
    let needle = format!("\"uuid\":\"{leaf}\"");
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[cfg(test)]
mod tests;
