//! What a fork of a conversation is told when it is to learn ([`Extract`]) or to put the memories in order ([`Dream`]):
//! the texts, and how the embedded model reads them back ([`Asked`]).
//!
//! Values in, text out. Whatever comes from files stands in lists of one line an entry, with a limit.

mod asked;
mod dream;
mod extract;

pub use asked::{Asked, Known};
pub use dream::Dream;
pub use extract::Extract;

use crate::{Memory, recall::manifest_line};

/// The first line of the directive for extraction.
pub const EXTRACT: &str = "<reverie-fork kind=\"extraction\">";
/// The first line of the directive for a dream.
pub const DREAM: &str = "<reverie-fork kind=\"dream\">";

/// Rounds that an extraction may take.
pub const EXTRACT_ROUNDS: u32 = 5;

/// Memories that are listed: more than that nobody reads in one go.
const MOST_MEMORIES: usize = 200;

const MEMORIES: &str = "memories";
const LOGS: &str = "logs";
const SESSIONS: &str = "sessions";
const FINDINGS: &str = "findings";

/// The memories there are, newest first.
fn manifest(memories: &[Memory]) -> String {
    let mut newest: Vec<&Memory> = memories.iter().collect();
    newest.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| one.path.cmp(&other.path)));
    let lines: Vec<String> = newest.into_iter().map(manifest_line).collect();
    list(MEMORIES, &lines, MOST_MEMORIES)
}

/// Lines between tags, the first of them up to a limit; nothing if there are none.
fn list(tag: &str, lines: &[String], most: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n<{tag}>\n");
    for line in lines.iter().take(most) {
        // What a file says of itself cannot end the list.
        text.push_str(&line.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "&lt;"));
        text.push('\n');
    }
    if let Some(more) = lines.len().checked_sub(most).filter(|more| *more > 0) {
        text.push_str(&format!("and {more} more\n"));
    }
    text.push_str(&format!("</{tag}>\n"));
    text
}

#[cfg(test)]
mod tests;
