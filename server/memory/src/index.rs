//! MEMORY.md: the index of the memory directory, one line an entry, `- [Title](file.md) — hook`.

use std::{borrow::Cow, ops::Range};

/// The file's name, in the memory directory and in `team/`.
pub const NAME: &str = "MEMORY.md";

/// Those that are read, by their paths in the memory directory.
pub const PATHS: [&str; 2] = [NAME, "team/MEMORY.md"];

/// "Loaded up to 200 lines and 25,000 bytes (cut at a line)."
pub const LINES: usize = 200;
pub const BYTES: usize = 25_000;

/// A line should not be longer; one beyond [`LONG_LINE`] is a finding.
pub const LINE_CHARS: usize = 150;
pub const LONG_LINE: usize = 200;

/// Whether this is the path of an index, at the top or in a folder.
pub fn is_index(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(NAME))
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// From 0.
    pub line: usize,
    pub title: &'a str,
    /// As it is written, relative to the index.
    pub target: &'a str,
    pub hook: &'a str,
    /// Of the target in the text, in bytes.
    pub target_range: Range<usize>,
}

/// The entries, in their order; other lines are the user's.
pub fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut offset = 0;
    for (line, whole) in text.split_inclusive('\n').enumerate() {
        entries.extend(entry(whole.trim_end(), line, offset));
        offset += whole.len();
    }
    entries
}

fn entry(text: &str, line: usize, offset: usize) -> Option<Entry<'_>> {
    // The first line may begin with the mark of its encoding.
    let item = text.trim_start_matches('\u{feff}').trim_start();
    let rest = item.strip_prefix("- ").or_else(|| item.strip_prefix("* "))?.trim_start().strip_prefix('[')?;
    let (title, rest) = rest.split_once("](")?;
    let (target, hook) = target_and_hook(rest)?;
    // One sign stands between them; a second belongs to what is said: `— --no-verify is forbidden`.
    let hook = hook.trim_start();
    let hook = hook.strip_prefix(['—', '–', '-', ':']).unwrap_or(hook).trim();
    let start = offset + (target.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(Entry { line, title, target, hook, target_range: start..start + target.len() })
}

/// As Markdown ends a link: at the parenthesis that closes it, or after `>`.
fn target_and_hook(rest: &str) -> Option<(&str, &str)> {
    if let Some(bracketed) = rest.strip_prefix('<') {
        return bracketed.split_once(">)");
    }
    let mut open = 0_usize;
    let closing = rest.char_indices().find(|(_, character)| match character {
        '(' => {
            open += 1;
            false
        }
        ')' if open > 0 => {
            open -= 1;
            false
        }
        character => *character == ')',
    });
    let (at, _) = closing?;
    let target = rest.get(..at)?;
    // `[A](a.md "what is shown of it")`
    let titled = target.split_once(' ').filter(|(_, title)| title.trim_start().starts_with(['"', '\'']));
    Some((titled.map_or(target, |(target, _)| target), rest.get(at + 1..)?))
}

/// What is loaded of an index, with a line at its end that says which limit was met and what to do.
pub fn cut(text: &str) -> Cow<'_, str> {
    let lines = text.lines().count();
    if lines <= LINES && text.len() <= BYTES {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n').take(LINES) {
        if kept.len() + line.len() > BYTES {
            break;
        }
        kept.push_str(line);
    }
    let which = match (lines > LINES, text.len() > BYTES) {
        (true, true) => format!("{lines} lines and {} bytes; {LINES} lines and {BYTES} bytes", text.len()),
        (true, false) => format!("{lines} lines; {LINES}"),
        (false, _) => format!("{} bytes; {BYTES}", text.len()),
    };
    if !kept.is_empty() && !kept.ends_with('\n') {
        kept.push('\n');
    }
    kept.push_str(&format!(
        "WARNING: this index has {which} are loaded, and the rest is not. Keep one line of at most {LINE_CHARS} characters \
         an entry, move details into the topic files, merge topics and drop entries that no longer hold.\n"
    ));
    Cow::Owned(kept)
}

/// The index with the entry at its end, after the user's last line.
pub fn with_entry(text: &str, line: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let separator = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    format!("{text}{separator}{line}{newline}")
}

/// The index without the entries of a file.
pub fn without_target(text: &str, target: &str) -> String {
    without_entries(text, |entry| same_target(entry.target, target))
}

pub fn without_entries(text: &str, is_gone: impl Fn(&Entry<'_>) -> bool) -> String {
    let gone: Vec<usize> =
        entries(text).iter().filter(|entry| is_gone(entry)).map(|entry| entry.line).collect();
    let lines = text.split_inclusive('\n').enumerate();
    lines.filter(|(line, _)| gone.binary_search(line).is_err()).map(|(_, text)| text).collect()
}

/// A path as Markdown takes it for one target.
pub fn written_target(path: &str) -> String {
    if path.contains([' ', '(', ')']) { format!("<{path}>") } else { path.to_owned() }
}

/// Whether two targets name one file: `./a.md` is `a.md`, and a blank may be written as `%20`.
pub fn same_target(one: &str, other: &str) -> bool {
    plain_target(one) == plain_target(other)
}

/// The one way to write a target that others are compared by.
pub fn plain_target(target: &str) -> String {
    target.trim_start_matches("./").replace("%20", " ")
}

/// How a file is called from a folder, which is empty or ends with a slash.
pub fn path_from(folder: &str, file: &str) -> String {
    let (mut base, mut up) = (folder, String::new());
    loop {
        if let Some(rest) = file.strip_prefix(base) {
            return format!("{up}{rest}");
        }
        let above = base.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1);
        base = base.get(..above).unwrap_or_default();
        up.push_str("../");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "# Memory\n\n- [Role](user_role.md) — a data scientist\n* [Plan](<sub/the plan.md>) - ships in May\nnot an entry\n- [Broken](x.md\n";

    #[test]
    fn entries_are_read_as_people_write_them() {
        let found = entries(INDEX);
        let shown: Vec<_> = found.iter().map(|it| (it.line, it.title, it.target, it.hook)).collect();
        assert_eq!(
            shown,
            [(2, "Role", "user_role.md", "a data scientist"), (3, "Plan", "sub/the plan.md", "ships in May")]
        );
        for entry in found {
            assert_eq!(&INDEX[entry.target_range.clone()], entry.target);
        }
    }

    #[test]
    fn the_mark_of_an_encoding_hides_no_entry() {
        let text = "\u{feff}- [A](a.md)\n- [B](b.md)\n";
        let found = entries(text);
        assert_eq!(
            found.iter().map(|it| &text[it.target_range.clone()]).collect::<Vec<_>>(),
            ["a.md", "b.md"]
        );
    }

    #[test]
    fn one_sign_stands_before_a_hook_and_the_next_belongs_to_it() {
        let text = "- [Flags](f.md) — --no-verify is forbidden\n- [Cold](c.md): -5 °C\n- [None](n.md)\n";
        let hooks: Vec<_> = entries(text).iter().map(|it| it.hook).collect();
        assert_eq!(hooks, ["--no-verify is forbidden", "-5 °C", ""]);
    }

    #[test]
    fn parentheses_that_match_belong_to_the_link() {
        let text = "- [A](notes(2).md) — (a)\n- [B](<b (3.md>) — b\n- [C](c.md) — c)\n- [D](d(.md) — d\n";
        let found = entries(text);
        let shown: Vec<_> = found.iter().map(|it| (it.target, it.hook)).collect();
        assert_eq!(shown, [("notes(2).md", "(a)"), ("b (3.md", "b"), ("c.md", "c)")]);
    }

    #[test]
    fn a_title_is_no_part_of_the_file() {
        let text = "- [A](a.md \"of (a)\") — hook\n- [B](the plan.md)\n";
        let found = entries(text);
        let shown: Vec<_> = found.iter().map(|it| (it.target, it.hook)).collect();
        assert_eq!(shown, [("a.md", "hook"), ("the plan.md", "")]);
    }

    #[test]
    fn at_the_limits_nothing_is_cut_and_beyond_them_it_says_so() {
        let at = "x\n".repeat(LINES);
        assert_eq!(cut(&at), at);
        let beyond = cut(&format!("{at}x\n")).into_owned();
        assert_eq!(beyond.lines().count(), LINES + 1);
        assert!(beyond.contains("WARNING: this index has 201 lines; 200 are loaded"), "{beyond}");

        let line = format!("{}\n", "y".repeat(249));
        let at = line.repeat(BYTES / 250);
        assert_eq!((at.len(), cut(&at).len()), (BYTES, BYTES));
        let beyond = cut(&format!("{at}z\n")).into_owned();
        assert!(beyond.starts_with(&at) && beyond.contains("25002 bytes; 25000 are loaded"), "{beyond}");

        let one_line = "w".repeat(BYTES + 1);
        assert!(cut(&one_line).starts_with("WARNING"));
    }

    #[test]
    fn an_entry_comes_and_goes_without_a_trace() {
        for before in ["", "- [A](a.md) — a\n", "# T\r\n- [A](a.md) — a\r\n"] {
            let with = with_entry(before, "- [B](b.md) — b");
            assert!(entries(&with).iter().any(|entry| entry.target == "b.md"));
            assert_eq!(without_target(&with, "./b.md"), before);
        }
    }

    #[test]
    fn a_file_is_called_by_the_shortest_way_to_it() {
        for (folder, file, expected) in [
            ("", "a.md", "a.md"),
            ("team/", "team/a.md", "a.md"),
            ("team/", "a.md", "../a.md"),
            ("a/b/", "a/c.md", "../c.md"),
            ("a/b/", "d/c.md", "../../d/c.md"),
        ] {
            assert_eq!(path_from(folder, file), expected, "{folder} {file}");
        }
    }
}
