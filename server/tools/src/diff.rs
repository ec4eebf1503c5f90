//! A change of a file, for people (unified diff) and for the model (the new lines, numbered).

use std::{fmt::Write, ops::Range, time::Duration};

use similar::{DiffTag, TextDiff};

/// Comparing two long and very different texts gives up after this and shows one coarse change.
const TIMEOUT: Duration = Duration::from_millis(200);
/// More than this nobody reads in a chat; the file itself shows the rest.
const MAX_DIFF_BYTES: usize = 100_000;
const CONTEXT_LINES: usize = 3;
const MAX_SNIPPET_LINES: usize = 40;
/// A line longer than this is cut where it is shown.
const MAX_LINE_CHARS: usize = 400;

/// The unified diff from `old` to `new`; `name` stands in its header.
pub(crate) fn unified(name: &str, old: &str, new: &str) -> String {
    let diff = compare(old, new);
    let text = diff.unified_diff().context_radius(CONTEXT_LINES).header(name, name).to_string();
    match text.char_indices().find(|(at, _)| *at >= MAX_DIFF_BYTES) {
        None => text,
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            let whole_lines = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
            format!("{whole_lines}\n… the diff goes on; {} bytes in all\n", text.len())
        }
    }
}

/// How many lines were added and removed.
pub(crate) fn counts(old: &str, new: &str) -> (usize, usize) {
    let diff = compare(old, new);
    diff.ops()
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .fold((0, 0), |(added, removed), op| (added + op.new_range().len(), removed + op.old_range().len()))
}

/// The lines of `new` around what differs from `old`, numbered as Read numbers them.
pub(crate) fn changed_lines(old: &str, new: &str) -> String {
    let diff = compare(old, new);
    let lines: Vec<&str> = new.lines().collect();
    let mut snippet = String::new();
    let mut shown = 0;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = first.new_range().start..last.new_range().end;
        if !snippet.is_empty() {
            snippet.push_str("   ...\n");
        }
        let room = MAX_SNIPPET_LINES.saturating_sub(shown);
        number_lines(&mut snippet, &lines, range.start..range.end.min(range.start + room));
        shown += range.len();
        if shown > MAX_SNIPPET_LINES {
            snippet.push_str("   ... (more changed lines are not shown)\n");
            break;
        }
    }
    snippet
}

/// Appends the lines of `range` (from 0) with their numbers (from 1).
pub(crate) fn number_lines(text: &mut String, lines: &[&str], range: Range<usize>) {
    for (index, line) in lines.iter().enumerate().take(range.end).skip(range.start) {
        push_numbered(text, index + 1, &shorten(line));
    }
}

/// Appends one line as `cat -n` shows it.
pub(crate) fn push_numbered(text: &mut String, number: usize, line: &str) {
    // Writing to a String cannot fail.
    if writeln!(text, "{number:6}\t{line}").is_err() {
        text.push('\n');
    }
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
    }
}

fn compare<'t>(old: &'t str, new: &'t str) -> TextDiff<'t, 't, str> {
    TextDiff::configure().timeout(TIMEOUT).diff_lines(old, new)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_change_is_shown_to_people_and_to_the_model() {
        let old: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        let new = old.replace("line 5\n", "line five\nand more\n").replace("line 25\n", "");
        expect![[r#"
            --- src/x
            +++ src/x
            @@ -2,7 +2,8 @@
             line 2
             line 3
             line 4
            -line 5
            +line five
            +and more
             line 6
             line 7
             line 8
            @@ -22,7 +23,6 @@
             line 22
             line 23
             line 24
            -line 25
             line 26
             line 27
             line 28
        "#]]
        .assert_eq(&unified("src/x", &old, &new));
        expect![[r#"
            lines:
                 2	line 2
                 3	line 3
                 4	line 4
                 5	line five
                 6	and more
                 7	line 6
                 8	line 7
                 9	line 8
               ...
                23	line 22
                24	line 23
                25	line 24
                26	line 26
                27	line 27
                28	line 28
        "#]]
        .assert_eq(&format!("lines:\n{}", changed_lines(&old, &new)));
        assert_eq!(counts(&old, &new), (2, 2));
    }

    #[test]
    fn a_new_file_is_all_additions() {
        expect![[r#"
            --- src/x
            +++ src/x
            @@ -0,0 +1,2 @@
            +one
            +two
            \ No newline at end of file
        "#]]
        .assert_eq(&unified("src/x", "", "one\ntwo"));
        assert_eq!(counts("", "one\ntwo"), (2, 0));
    }

    #[test]
    fn long_changes_are_cut_with_a_word() {
        let new: String = (1..=20_000).map(|number| format!("line {number}\n")).collect();
        let diff = unified("x", "", &new);
        assert!(diff.len() < MAX_DIFF_BYTES + 100);
        assert!(diff.ends_with("bytes in all\n"), "{diff}");
        assert_eq!(changed_lines("", &new).lines().count(), MAX_SNIPPET_LINES + 1);
    }
}
