//! What comes back behind a summary: the files that were read last, the skills that were invoked.

use std::path::PathBuf;

use conversation::Attachment;

use crate::{
    fragment::neutralised,
    measure::{Fitting, Tokens, fitting, tokens_of_text},
};

const MOST_FILES: usize = 5;
const FILE_TOKENS: u64 = 5_000;
const ALL_FILES_TOKENS: u64 = 50_000;
const SKILL_TOKENS: u64 = 5_000;
const ALL_SKILLS_TOKENS: u64 = 25_000;

const READ_BEFORE: &str = "You read this file before the summary: ";

/// The files that were read last: the newest come first, and first to their share.
pub fn restored(files: Vec<(PathBuf, String)>, tokens: Tokens<'_>) -> Vec<Attachment> {
    let mut share = Share { left: ALL_FILES_TOKENS, each: FILE_TOKENS, tokens };
    let files = files.into_iter().take(MOST_FILES);
    let restored = files.filter_map(|(path, text)| {
        let path = path.display();
        let (text, note) = match share.of(&text) {
            Fitting::Whole(text) => (text, String::new()),
            Fitting::Head(head) => {
                let next = head.lines().count() + 1;
                (head, format!("\n[cut here: Read shows the rest of the file, from line {next} on]"))
            }
            Fitting::Nothing => return None,
        };
        Some(attachment("file", &format!("{READ_BEFORE}{path}\n\n{text}{note}")))
    });
    restored.collect()
}

/// The file that such an attachment shows.
pub fn restored_path(attachment: &Attachment) -> Option<&str> {
    attachment.text.lines().take(2).find_map(|line| line.strip_prefix(READ_BEFORE))
}

/// Name and text of each; the newest come first.
pub fn restored_skills(skills: Vec<(String, String)>, tokens: Tokens<'_>) -> Vec<Attachment> {
    let mut share = Share { left: ALL_SKILLS_TOKENS, each: SKILL_TOKENS, tokens };
    let restored = skills.into_iter().filter_map(|(name, text)| {
        let (text, note) = match share.of(&text) {
            Fitting::Whole(text) => (text, ""),
            Fitting::Head(head) => (head, "\n[cut here: invoke the skill again to see the rest of it]"),
            Fitting::Nothing => return None,
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

impl Share<'_> {
    fn of<'t>(&mut self, text: &'t str) -> Fitting<'t> {
        let fitting = fitting(text, self.each.min(self.left), self.tokens);
        if let Fitting::Whole(taken) | Fitting::Head(taken) = fitting {
            self.left = self.left.saturating_sub(tokens_of_text(taken, self.tokens));
        }
        fitting
    }
}

fn attachment(kind: &str, body: &str) -> Attachment {
    let text = format!("<system-reminder>\n{}\n</system-reminder>", neutralised(body).trim_end());
    Attachment { kind: kind.to_owned(), text }
}
