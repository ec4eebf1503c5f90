//! When two names in a path are one: some file systems ignore case, invisible characters, dots and spaces at the end,
//! and give a long name a short one beside it.
//!
//! Whatever holds anywhere holds here: a name that is taken for another costs a question, one that is not costs more.

use std::{borrow::Cow, ops::RangeInclusive, path::Path};

/// What Unicode lets a file system ignore.
const INVISIBLE: &[RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fff8}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// The letters of a short name that are the long one's; a number follows, or four hexadecimal digits and a number.
const SHORT_START: usize = 6;
const SHORTER_START: usize = 2;

/// The names in a path as they are compared, in lower case.
pub(crate) fn folded(path: &Path) -> Vec<Cow<'_, str>> {
    path.iter().filter_map(|part| part.to_str()).map(fold).collect()
}

/// Whether a folded name is this one, which is in lower case.
pub(crate) fn is(part: &str, name: &str) -> bool {
    part == name || is_short_for(part, name)
}

/// Whether the names of a path such as `.config/gh` come right after each other somewhere.
pub(crate) fn contains(names: &[Cow<'_, str>], path: &str) -> bool {
    (0..names.len()).any(|start| names.get(start..).is_some_and(|names| starts_with(names, path)))
}

pub(crate) fn starts_with(names: &[Cow<'_, str>], path: &str) -> bool {
    let mut names = names.iter();
    path.split('/').all(|name| names.next().is_some_and(|part| is(part, name)))
}

fn fold(part: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b':';
    if part.bytes().all(is_plain) && !part.ends_with(['.', ' ']) {
        return Cow::Borrowed(part);
    }
    // `.git:x` is a part of `.git` where files have streams.
    let part = part.split(':').next().unwrap_or(part);
    let is_invisible = |character: char| INVISIBLE.iter().any(|range| range.contains(&character));
    let visible = part.replace(is_invisible, "");
    // Upper case first: it also unites letters that have one upper case and two lower ones, such as `s` and `ſ`.
    Cow::Owned(visible.trim_end_matches(['.', ' ']).to_uppercase().to_lowercase())
}

/// `git~1` for `.git`, `gi7eba~1` for `.gitmodules`.
fn is_short_for(part: &str, name: &str) -> bool {
    let Some((start, number)) = part.split_once('~') else { return false };
    let number = number.split('.').next().unwrap_or(number);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let name = name.trim_start_matches('.');
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace('.', "");
    let begins = |length: usize| name.get(..length).unwrap_or(&name);
    let is_hashed = || {
        let digits = start.strip_prefix(begins(SHORTER_START));
        digits.is_some_and(|digits| {
            digits.len() == SHORT_START - SHORTER_START && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    start == begins(SHORT_START) || is_hashed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_file_system_takes_for_another() {
        for (path, name) in [
            (".GIT", ".git"),
            (".g\u{200c}it", ".git"),
            (".git\u{ad}", ".git"),
            (".git.", ".git"),
            (".git . .", ".git"),
            (".git::$INDEX_ALLOCATION", ".git"),
            ("GIT~1", ".git"),
            ("GITMOD~2", ".gitmodules"),
            ("GI7EBA~1", ".gitmodules"),
            ("SETTIN~1.JSO", "settings.json"),
            ("MCP~1.JSO", ".mcp.json"),
            (".v\u{17f}code", ".vscode"),
            (".hus\u{212a}y", ".husky"),
        ] {
            let names = folded(Path::new(path));
            assert!(names.iter().any(|part| is(part, name)), "{path}");
        }
        for (path, name) in [
            ("git", ".git"),
            (".gitignore", ".git"),
            ("..git", ".git"),
            (".git~", ".git"),
            ("git~x", ".git"),
            ("gitter~1", ".git"),
            ("file.txt.~1~", "file.txt"),
            ("...", ".git"),
        ] {
            let names = folded(Path::new(path));
            assert!(!names.iter().any(|part| is(part, name)), "{path}");
        }
    }

    #[test]
    fn names_after_each_other() {
        let names = folded(Path::new("/home/ada/.Config/gh/hosts"));
        assert!(contains(&names, ".config/gh"));
        assert!(!contains(&names, ".config/git"));
        assert!(!contains(&names, "ada/gh"));
        assert!(!starts_with(&names, ".config/gh"));
        assert!(!contains(&names, "hosts/x"));
    }
}
