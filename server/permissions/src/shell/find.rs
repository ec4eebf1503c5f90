//! `find`: starting points, then tests and actions. Only actions that print are on the list.

use std::path::Path;

use super::{
    Effects, format,
    operand::{self, Dashes, Use, is_root},
    word::Word,
};
use crate::access::Reach;

/// Tests, options and actions without an argument.
const ALONE: &[&str] = &[
    "-true",
    "-false",
    "-empty",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-prune",
    "-print",
    "-print0",
    "-ls",
    "-quit",
    "-depth",
    "-mount",
    "-xdev",
    "-daystart",
    "-noleaf",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-follow",
    "-warn",
    "-nowarn",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "!",
    "(",
    ")",
    ",",
];

/// With an argument that is text.
const WITH_TEXT: &[&str] = &[
    "-type",
    "-xtype",
    "-size",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-used",
    "-maxdepth",
    "-mindepth",
    "-regextype",
    "-fstype",
    "-printf",
];

/// With a pattern of names.
const WITH_NAMES: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
];

/// With a file that is looked at.
const WITH_FILE: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

/// How deep a search from the root of the file system may go, or one through links that nobody is asked about.
const DEEPEST: u32 = 3;

pub(super) fn judge(words: &[Word], cwd: &Path, effects: &mut Effects) -> Result<(), String> {
    let mut words = words.iter().peekable();
    let mut follows = false;
    while let Some(word) = words.next_if(|word| matches!(word.literal(), Some("-H" | "-L" | "-P"))) {
        follows |= word.literal() == Some("-L");
    }
    let mut starts = Vec::new();
    while let Some(word) = words.next_if(|word| is_start(word)) {
        if word.is_home {
            return Err("searches of the home are not on the list".to_owned());
        }
        if word.is_pattern() && word.literal_start().is_empty() {
            return Err("it has a pattern that may become an option; begin it with ./".to_owned());
        }
        starts.extend(operand::files(word, cwd, Use::Named, Dashes::Refused)?);
    }
    if starts.is_empty() {
        starts.push(cwd.to_owned());
    }
    let mut deepest = None;
    while let Some(word) = words.next() {
        let Some(test) = word.literal() else {
            return Err("it has a pattern among the tests of `find` that is not quoted".to_owned());
        };
        follows |= test == "-follow";
        if ALONE.contains(&test) {
            continue;
        }
        let is_newer = test.strip_prefix("-newer").is_some_and(is_newer_kind);
        if !(WITH_TEXT.contains(&test) || WITH_NAMES.contains(&test) || WITH_FILE.contains(&test) || is_newer)
        {
            return Err(format!("`find {test}` is not on the list"));
        }
        let Some(argument) = words.next() else { return Err(format!("`find {test}` needs an argument")) };
        let Some(argument) = argument.literal().filter(|_| !argument.is_home) else {
            return Err("it has a pattern among the tests of `find` that is not quoted".to_owned());
        };
        if WITH_FILE.contains(&test) || (is_newer && !test.ends_with('t')) {
            effects.reads.push(operand::file(argument, cwd, Use::Named)?);
        }
        if is_newer && test.ends_with('t') && format::names_time_zone(argument) {
            return Err(format!("`find {test}` with a time zone is not on the list"));
        }
        if test == "-printf" && !format::widths_are_small(argument) {
            return Err("`find -printf` with so wide a field is not on the list".to_owned());
        }
        if WITH_NAMES.contains(&test)
            && let Some(name) = operand::secret_in(argument)
        {
            return Err(format!("it looks for credentials (`{name}`)"));
        }
        if test == "-maxdepth" {
            deepest = argument.parse::<u32>().ok();
        }
    }
    let is_deep = deepest.is_none_or(|depth| depth > DEEPEST);
    if starts.iter().any(|start| is_root(start)) && is_deep {
        return Err(format!("it searches the whole file system; add -maxdepth {DEEPEST}"));
    }
    if follows {
        effects.reach = Reach::ThroughLinks;
        effects.follows = is_deep;
    }
    effects.reads.append(&mut starts);
    Ok(())
}

fn is_start(word: &Word) -> bool {
    let start = word.literal_start();
    !start.starts_with('-')
        && !matches!(word.literal(), Some("(" | ")" | "!" | ","))
        && !start.starts_with(['(', '!'])
}

/// `-newerXY`: which time of the file is compared with which of the other, or with a time.
fn is_newer_kind(letters: &str) -> bool {
    let mut letters = letters.chars();
    matches!(letters.next(), Some('a' | 'B' | 'c' | 'm'))
        && matches!(letters.next(), Some('a' | 'B' | 'c' | 'm' | 't'))
        && letters.next().is_none()
}
