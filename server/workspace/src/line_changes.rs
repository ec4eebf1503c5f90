//! Which lines differ between two texts.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// After this long the rest counts as one change: still right, only coarse.
const LIMIT: Duration = Duration::from_millis(200);

/// Lines, from 0, of which at least one side has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineChange {
    pub before: Range<usize>,
    pub after: Range<usize>,
}

/// The changes from one text to another, in order, with at least one equal line between two of them.
pub fn line_changes(before: &str, after: &str) -> Vec<LineChange> {
    let before: Vec<&str> = before.split_inclusive('\n').collect();
    let after: Vec<&str> = after.split_inclusive('\n').collect();
    let deadline = Instant::now().checked_add(LIMIT);
    let mut changes: Vec<LineChange> = Vec::new();
    for operation in capture_diff_slices_deadline(Algorithm::Myers, &before, &after, deadline) {
        let (tag, before, after) = operation.as_tag_tuple();
        match (tag, changes.last_mut()) {
            (DiffTag::Equal, _) => {}
            (_, Some(last)) if last.before.end == before.start && last.after.end == after.start => {
                last.before.end = before.end;
                last.after.end = after.end;
            }
            _ => changes.push(LineChange { before, after }),
        }
    }
    changes
}

/// `text` with its lines `lines` replaced by the lines `taken` of `from`.
pub fn splice_lines(text: &str, lines: Range<usize>, from: &str, taken: Range<usize>) -> String {
    let head = text.split_inclusive('\n').take(lines.start);
    let middle = from.split_inclusive('\n').skip(taken.start).take(taken.len());
    let tail = text.split_inclusive('\n').skip(lines.end);
    head.chain(middle).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(before: &str, after: &str, expected: &[(Range<usize>, Range<usize>)]) {
        let changes = line_changes(before, after);
        let ranges: Vec<_> = changes.into_iter().map(|change| (change.before, change.after)).collect();
        assert_eq!(ranges, expected);
    }

    #[test]
    fn changes_are_apart_by_equal_lines() {
        check("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n", &[(1..2, 1..2), (4..4, 4..5)]);
        check("a\n", "a\n", &[]);
        check("", "a\nb", &[(0..0, 0..2)]);
        check("a\nb", "", &[(0..2, 0..0)]);
        check("a\nb", "a\nb\n", &[(1..2, 1..2)]);
    }

    proptest! {
        #[test]
        fn taking_every_change_back_gives_the_text_before(before in "([ab]\n?){0,12}", after in "([ab]\n?){0,12}") {
            let mut text = after.clone();
            for change in line_changes(&before, &after).into_iter().rev() {
                text = splice_lines(&text, change.after, &before, change.before);
            }
            prop_assert_eq!(&text, &before);
            for change in line_changes(&before, &after).into_iter().rev() {
                text = splice_lines(&text, change.before, &after, change.after);
            }
            prop_assert_eq!(text, after);
        }
    }
}
