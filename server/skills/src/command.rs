//! A command file: a prompt with places for arguments.

use std::{io, path::PathBuf};

use markdown::{file, frontmatter};

use crate::{LARGEST, Source};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Without the slash: `commit`, or `git:commit` for one in a sub-folder.
    pub name: String,
    /// One line.
    pub description: String,
    pub argument_hint: Option<String>,
    pub source: Source,
    pub path: PathBuf,
    /// From a folder that the user has not trusted.
    pub untrusted: bool,
    /// The folder that the file may not lead out of.
    pub root: PathBuf,
}

impl Command {
    /// The prompt: `$ARGUMENTS` becomes all that was typed, `$1` to `$9` its words. If the file has a place for
    /// neither, what was typed follows at the end. `@file` and lines with `!` stay as they are.
    pub fn expand(&self, arguments: &str) -> io::Result<String> {
        let text = file::read_below(&self.path, &self.root, LARGEST).map_err(io::Error::other)?;
        Ok(fill(frontmatter::parse(&text).body.trim(), arguments.trim()))
    }
}

const ALL: &str = "$ARGUMENTS";

/// In one pass: what an argument says is never expanded again.
fn fill(body: &str, arguments: &str) -> String {
    let words = words(arguments);
    let mut filled = String::with_capacity(body.len() + arguments.len());
    let mut has_place = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        let (before, place) = rest.split_at(at);
        filled.push_str(before);
        if let Some(after) = place.strip_prefix(ALL) {
            filled.push_str(arguments);
            has_place = true;
            rest = after;
        } else if let Some((number, after)) = numbered(place) {
            filled.push_str(words.get(number - 1).map_or("", String::as_str));
            has_place = true;
            rest = after;
        } else {
            filled.push('$');
            rest = place.strip_prefix('$').unwrap_or_default();
        }
    }
    filled.push_str(rest);
    if !has_place && !arguments.is_empty() {
        filled.push_str("\n\n");
        filled.push_str(arguments);
    }
    filled
}

/// `$3` and what follows it. `$30` is an amount of money, or another language's variable.
fn numbered(place: &str) -> Option<(usize, &str)> {
    let mut characters = place.strip_prefix('$')?.chars();
    let number = characters.next()?.to_digit(10).filter(|number| *number > 0)?;
    let after = characters.as_str();
    let whole = !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    whole.then_some((number as usize, after))
}

/// Split at blanks; quotes of either kind hold words together. A quote that is never closed, or within a word, is
/// an apostrophe.
fn words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = arguments.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '\'')
            .then(|| rest.get(1..)?.split_once(first))
            .flatten()
            .filter(|(_, after)| after.is_empty() || after.starts_with(char::is_whitespace));
        let (word, after) = match quoted {
            Some(found) => found,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once() {
        assert_eq!(fill("Fix $1 in $2: $ARGUMENTS.", "12 src"), "Fix 12 in src: 12 src.");
        assert_eq!(fill("a $1 b", "$ARGUMENTS $2"), "a $ARGUMENTS b");
        assert_eq!(fill("$1$2|$3", "x y"), "xy|");
    }

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(fill("[$1][$2][$3]", "\"two words\" it's 'a b'"), "[two words][it's][a b]");
        assert_eq!(fill("[$1][$2]", "'never closed"), "['never][closed]");
        assert_eq!(fill("[$1][$2]", "\"\" x"), "[][x]");
    }

    #[test]
    fn without_a_place_arguments_follow() {
        assert_eq!(fill("Do it.", "now please"), "Do it.\n\nnow please");
        assert_eq!(fill("Do it.", ""), "Do it.");
        assert_eq!(fill("It costs $30, $HOME and $0.", "x"), "It costs $30, $HOME and $0.\n\nx");
        assert_eq!(fill("ends with $", "x"), "ends with $\n\nx");
    }

    #[test]
    fn lines_that_other_programs_would_run_stay_text() {
        assert_eq!(fill("!`rm -rf /`\n@src/main.rs $1", "x"), "!`rm -rf /`\n@src/main.rs x");
    }
}
