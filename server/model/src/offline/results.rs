//! Reading what the tools answer: lines with numbers, places of matches, lists of paths.

use super::situation::Call;

/// A matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) text: String,
}

/// `path:12:text` lines; whatever else the tool says is skipped.
pub(super) fn hits(call: &Call) -> Vec<Hit> {
    if call.failed {
        return Vec::new();
    }
    call.output.lines().filter_map(hit).collect()
}

fn hit(line: &str) -> Option<Hit> {
    // The first `:digits:` ends the path: paths may contain colons, line numbers nothing else.
    let mut from = 0;
    while let Some(offset) = line.get(from..)?.find(':') {
        let at = from + offset;
        let rest = line.get(at + 1..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && rest.as_bytes().get(digits) == Some(&b':') {
            return Some(Hit {
                path: line.get(..at).filter(|path| !path.is_empty())?.to_owned(),
                line: rest.get(..digits)?.parse().ok()?,
                text: rest.get(digits + 1..)?.to_owned(),
            });
        }
        from = at + 1;
    }
    None
}

/// The numbered lines of a Read: `   12→text`, or with a tab.
pub(super) fn numbered_lines(call: &Call) -> Vec<(usize, String)> {
    if call.failed {
        return Vec::new();
    }
    call.output.lines().filter_map(numbered_line).collect()
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
    let is_path = |line: &&str| !line.is_empty() && !line.starts_with('[') && !line.ends_with(['.', ':', ')']);
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

    #[test]
    fn matches_are_found_among_other_lines() {
        let found =
            hits(&call("Found 2 lines\nsrc/a.rs:12:let x = y::z(\"1:2:\");\n/w/b:c.txt:3:\n[cut]\n:5:x"));
        let shown: Vec<String> =
            found.iter().map(|hit| format!("{}|{}|{}", hit.path, hit.line, hit.text)).collect();
        assert_eq!(shown, ["src/a.rs|12|let x = y::z(\"1:2:\");", "/w/b:c.txt|3|"]);
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
}
