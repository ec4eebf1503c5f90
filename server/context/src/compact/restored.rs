//! What comes back behind a summary: the files that were read last, the skills that were invoked.

use std::path::PathBuf;

use conversation::Attachment;

use crate::{
    fragment::neutralised,
    measure::{Tokens, head_within, tokens_of_text},
};

const MOST_FILES: usize = 5;
const FILE_TOKENS: u64 = 5_000;
const ALL_FILES_TOKENS: u64 = 50_000;
const SKILL_TOKENS: u64 = 5_000;
const ALL_SKILLS_TOKENS: u64 = 25_000;

/// The files that were read last: the newest come first, and first to their share.
pub fn restored(files: Vec<(PathBuf, String)>, tokens: Tokens<'_>) -> Vec<Attachment> {
    let mut share = Share { left: ALL_FILES_TOKENS, each: FILE_TOKENS, tokens };
    let files = files.into_iter().take(MOST_FILES);
    let restored = files.filter_map(|(path, text)| {
        let path = path.display();
        let (text, note) = match share.of(&text)? {
            Part::Whole(text) => (text, String::new()),
            Part::Head(head) => {
                let next = head.lines().count() + 1;
                (head, format!("\n[cut here: Read shows the rest of the file, from line {next} on]"))
            }
        };
        Some(attachment("file", &format!("You read this file before the summary: {path}\n\n{text}{note}")))
    });
    restored.collect()
}

/// Name and text of each; the newest come first.
pub fn restored_skills(skills: Vec<(String, String)>, tokens: Tokens<'_>) -> Vec<Attachment> {
    let mut share = Share { left: ALL_SKILLS_TOKENS, each: SKILL_TOKENS, tokens };
    let restored = skills.into_iter().filter_map(|(name, text)| {
        let (text, note) = match share.of(&text)? {
            Part::Whole(text) => (text, ""),
            Part::Head(head) => (head, "\n[cut here: invoke the skill again to see the rest of it]"),
        };
        Some(attachment("skill", &format!("The skill {name} is in use in this session:\n\n{text}{note}")))
    });
    restored.collect()
}

struct Share<'a> {
    left: u64,
    each: u64,
    tokens: Tokens<'a>,
}

enum Part<'t> {
    Whole(&'t str),
    Head(&'t str),
}

impl Share<'_> {
    /// As much of the text as it may have; `None` once nothing is left.
    fn of<'t>(&mut self, text: &'t str) -> Option<Part<'t>> {
        let part = match head_within(text, self.each.min(self.left), self.tokens) {
            None => Part::Whole(text),
            Some("") => return None,
            Some(head) => Part::Head(head),
        };
        let (Part::Whole(taken) | Part::Head(taken)) = part;
        self.left = self.left.saturating_sub(tokens_of_text(taken, self.tokens));
        Some(part)
    }
}

fn attachment(kind: &str, body: &str) -> Attachment {
    let text = format!("<system-reminder>\n{}\n</system-reminder>", neutralised(body).trim_end());
    Attachment { kind: kind.to_owned(), text }
}
