//! Reading what the tools answer: lines with numbers, places of matches, lists of paths.

use super::situation::Call;

/// A matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) text: String,
}

/// Matches, both as `path:12:text` and as `12:text` below a line with the path. Context lines, separators and
/// notes are skipped.
pub(super) fn hits(call: &Call) -> Vec<Hit> {
    let mut hits = Vec::new();
    if call.failed {
        return hits;
    }
    let mut heading: Option<&str> = None;
    for line in call.output.lines() {
        if line.is_empty() {
            heading = None;
        } else if let (Some(path), Some((number, text))) = (heading, numbered_match(line)) {
            hits.push(Hit { path: path.to_owned(), line: number, text: text.to_owned() });
        } else if let Some(hit) = full_hit(line) {
            hits.push(hit);
        } else if heading.is_none() {
            heading = Some(line);
        }
    }
    hits
}

/// `12:text`.
fn numbered_match(line: &str) -> Option<(usize, &str)> {
    let (number, text) = line.split_once(':')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((number.parse().ok()?, text))
}

/// `path:12:text`. Paths may contain colons; the first one that is followed by a number and a colon ends it.
fn full_hit(line: &str) -> Option<Hit> {
    line.match_indices(':').find_map(|(at, _)| {
        let (number, text) = numbered_match(line.get(at + 1..)?)?;
        let path = line.get(..at).filter(|path| !path.is_empty())?;
        Some(Hit { path: path.to_owned(), line: number, text: text.to_owned() })
    })
}

/// The numbered lines of a Read: `   12→text`, or with a tab.
pub(super) fn numbered_lines(call: &Call) -> Vec<(usize, String)> {
    if call.failed {
        return Vec::new();
    }
    call.output.lines().filter_map(numbered_line).collect()
}

/// The file that a Read has shown, if it has shown all of it.
pub(super) fn whole_text(call: &Call) -> Option<String> {
    if call.failed {
        return None;
    }
    let mut text = String::new();
    let mut is_empty = false;
    for line in call.output.lines() {
        match numbered_line(line) {
            Some((_, content)) if content.ends_with("… [line cut]") => return None,
            Some((_, content)) => {
                text.push_str(&content);
                text.push('\n');
            }
            None if line.contains("goes on") => return None,
            None => is_empty |= line.ends_with("exists but is empty)"),
        }
    }
    (is_empty || !text.is_empty()).then_some(text)
}

fn numbered_line(line: &str) -> Option<(usize, String)> {
    let trimmed = line.trim_start();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let number = trimmed.get(..digits)?.parse().ok()?;
    let rest = trimmed.get(digits..)?;
    let mut characters = rest.chars();
    match characters.next() {
        None => Some((number, String::new())),
        Some('→' | '\t' | '|') => Some((number, characters.as_str().to_owned())),
        Some(_) => None,
    }
}

/// One path a line; sentences and notes in brackets are not paths.
pub(super) fn paths(call: &Call) -> Vec<String> {
    if call.failed {
        return Vec::new();
    }
    let is_path =
        |line: &&str| !line.is_empty() && !line.starts_with('[') && !line.ends_with(['.', ':', ')']);
    call.output.lines().map(str::trim).filter(is_path).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn call(output: &str) -> Call {
        let output = output.to_owned();
        Call { id: String::new(), tool: String::new(), input: Value::Null, output, failed: false }
    }

    fn check(output: &str, expected: &[&str]) {
        let found = hits(&call(output));
        let shown: Vec<String> =
            found.iter().map(|hit| format!("{}|{}|{}", hit.path, hit.line, hit.text)).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn matches_are_found_among_other_lines() {
        check(
            "Found 2 lines\nsrc/a.rs:12:let x = y::z(\"1:2:\");\n/w/b:c.txt:3:\n[cut]\n:5:x",
            &["src/a.rs|12|let x = y::z(\"1:2:\");", "/w/b:c.txt|3|"],
        );
        check("No matches found.", &[]);
    }

    #[test]
    fn matches_below_their_path_are_found() {
        check(
            "src/a.rs\n3:let a:1:b\n4-context\n--\n9:x\n\nsrc/b.rs\n1:y\n\n[4 of 9 matching lines]",
            &["src/a.rs|3|let a:1:b", "src/a.rs|9|x", "src/b.rs|1|y"],
        );
    }

    #[test]
    fn notes_are_no_paths() {
        assert_eq!(paths(&call("a/b.rs\nMy File.txt\n[2 of 9 files]\n")), ["a/b.rs", "My File.txt"]);
        assert_eq!(paths(&call("No files match.\n[`x` looks in one folder only]")), [""; 0]);
    }

    #[test]
    fn numbered_lines_lose_their_numbers() {
        let lines = numbered_lines(&call("     1→# Title\n     2→\n    30\tx = 1\nnote: 5 more lines"));
        assert_eq!(lines, [(1, "# Title".to_owned()), (2, String::new()), (30, "x = 1".to_owned())]);
    }

    #[test]
    fn what_was_not_shown_whole_is_not_known() {
        assert_eq!(whole_text(&call("     1→a\n     2→\n")).as_deref(), Some("a\n\n"));
        assert_eq!(whole_text(&call("(a.md exists but is empty)")).as_deref(), Some(""));
        assert_eq!(whole_text(&call("     1→a\n(lines 1 to 1 of 9; the file goes on, read it)")), None);
        assert_eq!(whole_text(&call("     1→aaa… [line cut]\n(1 long line was cut)")), None);
        assert_eq!(whole_text(&call("(nothing has changed: look there)")), None);
    }
}
