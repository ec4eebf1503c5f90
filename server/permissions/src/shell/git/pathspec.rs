//! Wildcards that git itself looks up: `'*.rs'`, `':(exclude)docs/*'`. They match any path of the repository, names that
//! begin with a dot and slashes too, so they must not be a way to write the name of a file with credentials.
//!
//! What plainly stands for many files is accepted, as no pathspec at all is: `*`, `src/**`, `*.json`.

use super::super::{operand::secret_in, pattern, word::Piece};
use crate::secrets;

const WILDCARDS: [char; 4] = ['*', '?', '[', '\\'];

/// Each star may be tried at each place of a name.
const MOST_STARS: usize = 4;

pub(super) fn check(text: &str) -> Result<(), String> {
    if !text.contains(WILDCARDS) {
        return Ok(());
    }
    // Magic before it may make capitals and small letters one.
    let text = text.to_lowercase();
    for part in text.split([':', ')', '/']).filter(|part| part.contains(WILDCARDS)) {
        let pieces = pieces(part);
        if pieces.iter().filter(|piece| **piece == Piece::Star).count() > MOST_STARS {
            return Err(format!("`{part}` has too many wildcards"));
        }
        if let Some(name) = secret_matched(&pieces) {
            return Err(format!("`{part}` also matches files with credentials (`{name}`)"));
        }
    }
    Ok(())
}

fn secret_matched(pieces: &[Piece]) -> Option<&'static str> {
    if let [Piece::Literal(name)] = pieces {
        return secret_in(name);
    }
    if let Some(ending) = ending_matched(pieces) {
        return Some(ending);
    }
    // A star also stands for folders, so that a name may begin with any of them.
    let starts = pieces.iter().enumerate().filter(|(index, piece)| *index == 0 || **piece == Piece::Star);
    starts.filter_map(|(index, _)| pieces.get(index..)).find_map(|pieces| match pieces {
        stars if stars.iter().all(|piece| *piece == Piece::Star) => None,
        [Piece::Star, Piece::Literal(ending)] if ending.starts_with('.') => secret_in(ending),
        pieces => secrets::examples().find(|name| pattern::fits(pieces, name)),
    })
}

/// The ending of secrets that what comes after the last star may be.
fn ending_matched(pieces: &[Piece]) -> Option<&'static str> {
    let last = pieces.rsplit(|piece| *piece == Piece::Star).next().unwrap_or_default();
    let fits_at_the_end = |ending: &&&str| {
        let Some(before) = length(last).checked_sub(ending.chars().count()) else { return false };
        pattern::fits(&without_start(last, before), ending)
    };
    secrets::ENDINGS.iter().find(fits_at_the_end).copied()
}

/// In characters, without stars.
fn length(pieces: &[Piece]) -> usize {
    let of_one = |piece: &Piece| match piece {
        Piece::Literal(text) => text.chars().count(),
        Piece::Star | Piece::Question | Piece::Bracket(_) => 1,
    };
    pieces.iter().map(of_one).sum()
}

fn without_start(pieces: &[Piece], mut count: usize) -> Vec<Piece> {
    let mut rest = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => {
                let skipped = count.min(text.chars().count());
                count -= skipped;
                let text: String = text.chars().skip(skipped).collect();
                rest.extend(Some(text).filter(|text| !text.is_empty()).map(Piece::Literal));
            }
            _ if count > 0 => count -= 1,
            other => rest.push(other.clone()),
        }
    }
    rest
}

fn pieces(part: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = part;
    while let Some(character) = rest.chars().next() {
        let behind = rest.get(character.len_utf8()..).unwrap_or_default();
        rest = behind;
        let literal = match character {
            '*' => {
                if pieces.last() != Some(&Piece::Star) {
                    pieces.push(Piece::Star);
                }
                continue;
            }
            '?' => {
                pieces.push(Piece::Question);
                continue;
            }
            '[' => {
                let piece;
                (piece, rest) = bracket(behind);
                pieces.push(piece);
                continue;
            }
            '\\' => {
                let mut escaped = behind.chars();
                let Some(escaped_character) = escaped.next() else { continue };
                rest = escaped.as_str();
                escaped_character
            }
            other => other,
        };
        match pieces.last_mut() {
            Some(Piece::Literal(text)) => text.push(literal),
            _ => pieces.push(Piece::Literal(literal.to_string())),
        }
    }
    pieces
}

/// Behind a `[`: `ch]` is one of these letters; a range, a class or an escape is taken for anything.
fn bracket(behind: &str) -> (Piece, &str) {
    let letters = behind.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
    if let Some(rest) = letters.strip_prefix(']')
        && letters.len() < behind.len()
    {
        let set = behind.get(..behind.len() - rest.len()).unwrap_or(behind);
        return (Piece::Bracket(format!("[{set}")), rest);
    }
    // The first character is part of the set, even if it is the one that ends it.
    let mut after_first = behind.chars();
    after_first.next();
    let rest = after_first.as_str().split_once(']').map_or(behind, |(_, rest)| rest);
    (Piece::Question, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_many_files_is_accepted() {
        for text in [
            "HEAD",
            "*",
            "**",
            "*.rs",
            "*.json",
            "src/**/*.ts",
            "src/*",
            ".github/*",
            ".github/**/*.yml",
            "*.[ch]",
            "*test*",
            "test_?.py",
            ":(exclude)*.lock",
            ":!package-lock.json",
            ":(glob)src/**",
            ":(top,icase)*.MD",
            "foo\\|bar",
            "^fix(\\[a\\])*",
            ":/fix.*bug",
            "HEAD^{/fix.*}",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not() {
        for text in [
            ".en?",
            ".e*",
            ".*",
            "?env",
            "*env",
            "*.env",
            "src*env",
            "[.]env",
            ".[e]nv",
            ".[[:alpha:]]nv",
            ".[]e]nv",
            ".[a-z]nv",
            ".[Z-e]nv",
            ".[!a]nv",
            ".\\env",
            "\\.env",
            ":(glob).en?",
            ":(top,glob)**/.en?",
            ":(icase).EN?",
            ":/.en?",
            ":!.en?",
            "sub/.s?h/x",
            "*.pem",
            "*.pe?",
            "master.k?y",
            "m[a]ster.key",
            "*.??y",
            "serv*key",
            "id_r*a",
            "id_*",
            "*rsa",
            "a*b*c*d*e*f",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
