//! What a memory says is in a file: `login()` in `src/auth.rs`.
//!
//! Only where the two stand side by side with a word that ties them, and the line denies nothing: what is told to stay out
//! of a file is rightly not in it.

use std::{
    fs,
    io::Read as _,
    ops::Range,
    path::{Path, PathBuf},
};

use super::{Files, Mention, Place};

/// Of one memory; each is looked up in files.
const MOST: usize = 20;
/// Who names more on one line lists something.
const MOST_ON_A_LINE: usize = 8;
/// A larger file may have anything.
const LARGEST: u64 = 1 << 19;

const TIES: [&str; 6] = ["in", "of", "from", "at", "inside", "within"];
/// What may stand with them.
const FILLS: [&str; 7] = ["is", "lives", "defined", "the", "file", "function", "method"];
const DENIES: [&str; 15] = [
    "never", "not", "no", "none", "nor", "without", "avoid", "instead", "removed", "deleted", "gone", "was",
    "were", "formerly", "cannot",
];

/// A symbol that should be in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// With all its parts.
    pub symbol: String,
    /// Of the symbol's mention.
    pub range: Range<usize>,
    pub file: String,
    /// Files that the line names, too: it may have moved there.
    pub others: Vec<String>,
}

/// What the text that has these mentions says of files.
pub fn said(text: &str, mentions: &[Mention], files: &Files) -> Vec<Said> {
    let mut spans = mentions.iter().filter(|mention| mention.place == Place::Code).peekable();
    let mut found = Vec::new();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let mut on_line: Vec<&Mention> = Vec::new();
        while let Some(span) = spans.next_if(|span| span.range.start < end) {
            on_line.push(span);
        }
        if (2..=MOST_ON_A_LINE).contains(&on_line.len()) && !denies(line) {
            on_one_line(text, &on_line, files, &mut found);
        }
        if found.len() >= MOST {
            break;
        }
    }
    found.truncate(MOST);
    found
}

impl Said {
    /// As a text has it.
    pub fn word(&self) -> &str {
        self.symbol.rsplit([':', '.']).next().unwrap_or(&self.symbol)
    }

    /// Whether none of the files has it. Of one that cannot be looked into nobody knows.
    pub fn is_in_none<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p str>,
        files: &Files,
        open: &dyn Fn(&Path) -> Option<String>,
    ) -> bool {
        paths.into_iter().all(|path| match files.find(path) {
            Some(place) => {
                let text = open(&place).or_else(|| on_disk(&place));
                text.is_some_and(|text| !has_word(&text, self.word()))
            }
            None => files.is_gone(path, Place::Code),
        })
    }
}

/// Whether a text has the word as a whole.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, word)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn on_one_line(text: &str, on_line: &[&Mention], files: &Files, found: &mut Vec<Said>) {
    let path = |mention: &Mention| mention.file(files).map(|named| named.path.to_owned());
    let named: Vec<(&Mention, String)> =
        on_line.iter().filter_map(|mention| Some((*mention, path(mention)?))).collect();
    for mention in on_line.iter().filter(|mention| path(mention).is_none()) {
        let Some(symbol) = mention.symbol() else { continue };
        let between = |range: Range<usize>| text.get(range);
        let tied = named.iter().find(|(file, _)| {
            let before = between(mention.range.end..file.range.start).is_some_and(ties_to_file);
            before || between(file.range.end..mention.range.start).is_some_and(ties_to_symbol)
        });
        if let Some((_, file)) = tied {
            let others = named.iter().map(|(_, other)| other.clone()).filter(|other| other != file);
            found.push(Said {
                symbol: symbol.to_owned(),
                range: mention.range.clone(),
                file: file.clone(),
                others: others.collect(),
            });
        }
    }
}

/// `login()` is defined in `src/auth.rs`
fn ties_to_file(between: &str) -> bool {
    let words: Vec<&str> = between.split([' ', '(', ',']).filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| TIES.contains(word))
        && words.iter().all(|word| TIES.contains(word) || FILLS.contains(word))
}

/// `src/auth.rs` has `login()`
fn ties_to_symbol(between: &str) -> bool {
    matches!(between.trim(), ":" | "'s" | "’s" | "(" | "has" | "defines")
}

fn denies(line: &str) -> bool {
    let lower = line.to_lowercase();
    let mut words =
        lower.split(|character: char| !character.is_alphanumeric() && !matches!(character, '\'' | '’'));
    words.any(|word| DENIES.contains(&word) || word.ends_with("n't") || word.ends_with("n’t"))
}

fn on_disk(place: &PathBuf) -> Option<String> {
    fs::metadata(place).ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST)?;
    let mut text = String::new();
    fs::File::open(place).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mentions;

    #[test]
    fn a_symbol_is_said_of_the_file_that_it_is_tied_to() {
        let files = Files::new(vec![PathBuf::from("/nowhere")]);
        let of = |text: &str| -> Vec<String> {
            let found = said(text, &mentions::find(text), &files);
            found
                .iter()
                .map(|said| format!("{} {} {}", said.symbol, said.file, said.others.join(",")))
                .collect()
        };
        assert_eq!(of("About `login()` in `src/a.rs`.\n"), ["login src/a.rs "]);
        assert_eq!(of("`S::login` is defined in the file `a.rs:3`; see `b.rs`\n"), ["S::login a.rs b.rs"]);
        assert_eq!(
            of("`src/a.rs`: `login()`\n`src/a.rs` has `x.y()`\n"),
            ["login src/a.rs ", "x.y src/a.rs "]
        );
        for other in [
            "Never call `unwrap()` in `src/a.rs`",
            "Don't call `unwrap()` in `src/a.rs`",
            "`src/a.rs` uses `retry()`",
            "`login()`, not `src/a.rs`",
            "Call `login()`. In `src/a.rs` …",
            "`login()` in\n`src/a.rs`",
        ] {
            assert_eq!(of(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn a_word_is_found_as_a_whole() {
        assert!(has_word("fn login() {}", "login"));
        assert!(!has_word("fn relogin() { login_all(); }", "login"));
        assert!(has_word("üb login", "login") && has_word("login", "login"));
    }
}
