//! The specifier of a `Bash` rule: `prefix:*`, an exact line, or one with `*` in it (`\*` is a star itself).
//!
//! No shell is parsed here. A line that is more than one plain command is never permitted by a pattern, only by
//! its exact text; and a restriction looks at every piece of the line, over-matching rather than missing one.

use crate::programs::{file_name, runs_others};

#[derive(Clone, Debug)]
pub(super) enum CommandPattern {
    /// These words, then anything.
    Prefix(String),
    Exact(String),
    /// Pieces between the stars; there are at least two.
    Wildcard(Vec<String>),
}

/// What joins, nests or redirects commands. `$(` and `${` are looked for apart.
const JOINTS: &[char] = &[';', '&', '|', '`', '\n', '\r', '>', '<', '\0'];

/// Words of the shell that a command follows.
const KEYWORDS: &[&str] = &["then", "do", "else", "elif", "if", "while", "until", "!"];

impl CommandPattern {
    pub(super) fn parse(specifier: &str) -> Self {
        let (prefix, pieces) = match specifier.strip_suffix(":*") {
            Some(prefix) => (Some(prefix), split_at_stars(prefix)),
            None => {
                // `git log *` is how some write `git log:*`.
                let prefix = specifier.strip_suffix(" *").filter(|rest| split_at_stars(rest).len() == 1);
                (prefix, split_at_stars(specifier))
            }
        };
        match (prefix, pieces.as_slice()) {
            (Some(prefix), _) if split_at_stars(prefix).len() == 1 => {
                Self::Prefix(split_at_stars(prefix).concat().trim().to_owned())
            }
            (Some(_), _) => Self::Wildcard(split_at_stars(&specifier.replacen(":*", "*", 1))),
            (None, [only]) => Self::Exact(only.clone()),
            (None, _) => Self::Wildcard(pieces),
        }
    }

    pub(super) fn permits(&self, command: &str) -> bool {
        match self {
            Self::Exact(exact) => command.trim() == exact,
            Self::Prefix(_) | Self::Wildcard(_) => is_plain(command) && self.fits(command.trim()),
        }
    }

    pub(super) fn restricts(&self, command: &str) -> bool {
        if self.fits(command.trim()) {
            return true;
        }
        // A line may be continued in the middle of a word, and `$'…'` is a way to quote.
        let command = command.replace("\\\n", "").replace("$'", "'").replace("$\"", "\"");
        let nested = |character: char| JOINTS.contains(&character) || "(){}".contains(character);
        command.split(nested).any(|piece| self.fits(piece.trim()) || self.fits_words(piece))
    }

    fn fits(&self, command: &str) -> bool {
        match self {
            Self::Exact(exact) => command == exact,
            Self::Prefix(prefix) => match command.strip_prefix(prefix.as_str()) {
                Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with([' ', '\t']),
                None => false,
            },
            Self::Wildcard(pieces) => fits_pieces(pieces, command),
        }
    }

    /// Tries the piece with quotes, assignments, folders and wrapping commands taken off.
    fn fits_words(&self, piece: &str) -> bool {
        let bare: String = piece.chars().filter(|character| !"'\"\\".contains(*character)).collect();
        let words: Vec<&str> = bare.split_whitespace().skip_while(|word| is_assignment(word)).collect();
        let mut wrapped = false;
        for (index, word) in words.iter().enumerate() {
            let program = file_name(word);
            let rest = words.get(index + 1..).unwrap_or_default();
            let line = |first: &str| {
                std::iter::once(first).chain(rest.iter().copied()).collect::<Vec<_>>().join(" ")
            };
            if self.fits(&line(word)) || self.fits(&line(program)) {
                return true;
            }
            wrapped = wrapped || KEYWORDS.contains(&program) || runs_others(program, rest.first().copied());
            if !wrapped {
                return false;
            }
        }
        false
    }
}

/// One command with its arguments: nothing joined, nested, redirected or computed by another command.
pub(crate) fn is_plain(command: &str) -> bool {
    !command.contains(JOINTS) && !command.contains("$(") && !command.contains("${")
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

/// Splits at `*`; `\*` and `\\` stand for the characters themselves.
fn split_at_stars(pattern: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped =
            characters.peek().copied().filter(|next| character == '\\' && matches!(next, '*' | '\\'));
        match (escaped, character) {
            (None, '*') => pieces.push(String::new()),
            (escaped, _) => {
                if escaped.is_some() {
                    characters.next();
                }
                if let Some(piece) = pieces.last_mut() {
                    piece.push(escaped.unwrap_or(character));
                }
            }
        }
    }
    pieces
}

fn fits_pieces(pieces: &[String], command: &str) -> bool {
    let [first, middle @ .., last] = pieces else { return false };
    let Some(mut rest) = command.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        match rest.split_once(piece.as_str()) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}
