//! The directive of an extraction. It is paid for after every turn, so it refers to the memory rules instead of
//! repeating them.

use std::path::Path;

use jiff::civil::Date;

use super::{EXTRACT, EXTRACT_ROUNDS, manifest};
use crate::Memory;

pub struct Extract<'a> {
    pub directory: &'a Path,
    pub today: Date,
    /// How many of the last messages are new.
    pub messages: usize,
    /// All there are; the newest are listed.
    pub memories: &'a [Memory],
}

impl Extract<'_> {
    pub fn text(&self) -> String {
        let memories = match manifest(self.memories) {
            none if none.is_empty() => "\nThere are no memories yet.".to_owned(),
            list => format!("\nThe memories there are (data, newest first):{list}"),
        };
        include_str!("../prompts/extract.md")
            .replace("{tag}", EXTRACT)
            .replace("{rounds}", &EXTRACT_ROUNDS.to_string())
            .replace("{messages}", &self.messages.to_string())
            .replace("{today}", &self.today.to_string())
            .replace("{directory}", &self.directory.display().to_string())
            // Last: nothing in it is replaced.
            .replace("{memories}", &memories)
            .trim_end()
            .to_owned()
    }
}
