//! What an unquoted pattern becomes: looked up on the disk here, so that nothing is left for the shell to look up.
//!
//! As bash does it in the locale C.UTF-8 with its usual options: `**` is `*`, a name that begins with a dot is matched by a
//! dot alone, ranges go by the characters' numbers, and what is found comes in the order of its bytes. Where shells or
//! locales could differ, such as over names that are no text, the pattern is refused.

use std::{fs, path::Path};

use super::word::{Piece, Word};

/// Parts of a path with a wildcard in them; each multiplies.
const MOST_WILD_PARTS: usize = 3;

/// Names looked at before a pattern is given up as too wide.
const MOST_NAMES: usize = 20_000;

const MOST_MATCHES: usize = 1_000;

/// Of all names that one pattern becomes.
const MOST_BYTES: usize = 64 * 1024;

/// One part of a path, between slashes.
pub(super) type Part = Vec<Piece>;

/// The words that the pattern becomes, never none: where nothing matches, the shell passes on the pattern itself.
pub(super) fn expand(word: &Word, cwd: &Path) -> Result<Vec<String>, String> {
    let spelled = word.spelled();
    // Of several slashes, some are lost on the way, but not always.
    if spelled.contains("//") {
        return Err("it has a pattern with two slashes in a row".to_owned());
    }
    let parts = parts(word);
    if parts.iter().filter(|part| is_wild(part)).count() > MOST_WILD_PARTS {
        return Err("it has a pattern with too many wildcards".to_owned());
    }
    let mut found = vec![if spelled.starts_with('/') { "/".to_owned() } else { String::new() }];
    let mut looked_at = 0;
    for (index, part) in parts.iter().enumerate() {
        let mut next = Vec::new();
        for folder in &found {
            let slash = if index == 0 { "" } else { "/" };
            match part.as_slice() {
                [Piece::Literal(name)] => next.push(format!("{folder}{slash}{name}")),
                _ => names_in(&cwd.join(folder), part, &mut looked_at, |name| {
                    next.push(format!("{folder}{slash}{name}"));
                })?,
            }
        }
        if next.len() > MOST_MATCHES || next.iter().map(String::len).sum::<usize>() > MOST_BYTES {
            return Err("it has a pattern that matches too many files".to_owned());
        }
        found = next;
    }
    // `*/` is folders only.
    if spelled.ends_with('/') {
        found.iter_mut().for_each(|path| path.push('/'));
    }
    // A plain name behind a wildcard need not be there.
    found.retain(|path| cwd.join(path).symlink_metadata().is_ok());
    found.sort_unstable();
    Ok(if found.is_empty() { vec![spelled] } else { found })
}

pub(super) fn parts(word: &Word) -> Vec<Part> {
    let mut parts = vec![Part::new()];
    for piece in word.pieces() {
        let Piece::Literal(text) = piece else {
            if let Some(part) = parts.last_mut() {
                part.push(piece.clone());
            }
            continue;
        };
        for (index, text) in text.split('/').enumerate() {
            if index > 0 {
                parts.push(Part::new());
            }
            if let Some(part) = parts.last_mut().filter(|_| !text.is_empty()) {
                part.push(Piece::Literal(text.to_owned()));
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

pub(super) fn is_wild(part: &Part) -> bool {
    part.iter().any(|piece| !matches!(piece, Piece::Literal(_)))
}

pub(super) fn matches(part: &[Piece], name: &str) -> bool {
    if name.starts_with('.') && !matches!(part.first(), Some(Piece::Literal(text)) if text.starts_with('.')) {
        return false;
    }
    fits(part, name)
}

/// Likewise, but a dot at the beginning is a character like others.
pub(super) fn fits(part: &[Piece], name: &str) -> bool {
    let one_less = || {
        let mut characters = name.chars();
        characters.next().map(|_| characters.as_str())
    };
    match part.split_first() {
        None => name.is_empty(),
        Some((Piece::Literal(text), rest)) => {
            name.strip_prefix(text.as_str()).is_some_and(|name| fits(rest, name))
        }
        Some((Piece::Question, rest)) => one_less().is_some_and(|name| fits(rest, name)),
        Some((Piece::Bracket(set), rest)) => {
            name.chars().next().is_some_and(|character| is_in(set, character))
                && one_less().is_some_and(|name| fits(rest, name))
        }
        // Several stars in a row are one.
        Some((Piece::Star, rest)) if matches!(rest.first(), Some(Piece::Star)) => fits(rest, name),
        Some((Piece::Star, rest)) => fits(rest, name) || one_less().is_some_and(|name| fits(part, name)),
    }
}

/// Whether a character is in `[abc]`, `[a-z]`, `[!a]`.
fn is_in(bracket: &str, character: char) -> bool {
    let set = bracket.trim_start_matches('[').trim_end_matches(']');
    let (negated, set) = match set.strip_prefix(['!', '^']) {
        Some(set) => (true, set),
        None => (false, set),
    };
    let mut found = false;
    let mut rest = set.chars();
    while let Some(first) = rest.next() {
        let mut ahead = rest.clone();
        let last = match (ahead.next(), ahead.next()) {
            // A dash at the end stands for itself.
            (Some('-'), Some(last)) => {
                rest = ahead;
                last
            }
            _ => first,
        };
        found |= (first..=last).contains(&character);
    }
    found != negated
}

fn names_in(
    folder: &Path,
    part: &Part,
    looked_at: &mut usize,
    mut found: impl FnMut(&str),
) -> Result<(), String> {
    // Each star may be tried at each place of a name.
    if part.iter().filter(|piece| **piece == Piece::Star).count() > 4 {
        return Err("it has a pattern with too many wildcards".to_owned());
    }
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        *looked_at += 1;
        if *looked_at > MOST_NAMES {
            return Err("it has a pattern over too many files".to_owned());
        }
        match entry.file_name().to_str() {
            Some(name) if matches(part, name) => found(name),
            Some(_) => {}
            None => return Err("it has a pattern over a folder with a name that is no text".to_owned()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand_in(folder: &Path, source: &str) -> Result<Vec<String>, String> {
        expand(&Word::decode(source, None).unwrap(), folder)
    }

    #[test]
    fn patterns_find_what_a_shell_finds() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.md", "b.md", "c.txt", ".hidden.md", "sub/x.md", "sub/deep/y.md", "other/x.md"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let cases: &[(&str, &[&str])] = &[
            ("*.md", &["a.md", "b.md"]),
            ("?.md", &["a.md", "b.md"]),
            (".*", &[".hidden.md"]),
            ("./*.txt", &["./c.txt"]),
            ("sub/*", &["sub/deep", "sub/x.md"]),
            ("*/x.md", &["other/x.md", "sub/x.md"]),
            ("*/deep/*", &["sub/deep/y.md"]),
            ("**/*.md", &["other/x.md", "sub/x.md"]),
            ("[a-b].md", &["a.md", "b.md"]),
            ("[!a].*", &["b.md", "c.txt"]),
            ("[^ab-].*", &["c.txt"]),
            ("[!b-]hidden.md", &["[!b-]hidden.md"]),
            ("*/", &["other/", "sub/"]),
            ("./*/", &["./other/", "./sub/"]),
            ("*/../c.*", &["other/../c.txt", "sub/../c.txt"]),
            ("a*b", &["a*b"]),
            ("'*'.md*", &["*.md*"]),
        ];
        for (source, expected) in cases {
            assert_eq!(expand_in(folder.path(), source).unwrap(), *expected, "{source}");
        }
    }

    #[test]
    fn wide_patterns_are_given_up() {
        let folder = tempfile::tempdir().unwrap();
        for name in 0..1_100 {
            fs::write(folder.path().join(format!("{name}.md")), "").unwrap();
        }
        assert!(expand_in(folder.path(), "*.md").is_err());
        assert!(expand_in(folder.path(), "1?.md").is_ok());
        assert!(expand_in(folder.path(), "/usr/*/*/*/*").is_err());
        assert!(expand_in(folder.path(), "a*b*c*d*e*f").is_err());
        assert!(expand_in(folder.path(), ".//1?.md").is_err());
    }

    /// Whether `??` matches them depends on the locale.
    #[test]
    fn a_folder_with_a_name_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("u")).unwrap();
        let name = std::ffi::OsStr::from_bytes(b"\xe2\x82");
        if fs::write(folder.path().join("u").join(name), "").is_err() {
            // Some file systems have no such names.
            return;
        }
        for source in ["u/??", "u/*.md", "u/a?"] {
            assert!(expand_in(folder.path(), source).is_err(), "{source}");
        }
        assert!(expand_in(folder.path(), "?").is_ok());
    }
}
