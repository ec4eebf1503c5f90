//! The smallest line-based change from one text to another.
//!
//! The old text is raw (its line ends as they are), the new one a view (`\n` only). What the change does not touch
//! keeps its bytes, the line end behind the last changed line included; a new line gets the end of the line whose
//! place it takes, or the end that most lines have. The same hunks make the new content of a file and the edits sent to an editor.

use std::ops::Range;
use std::time::{Duration, Instant};

use ropey::Rope;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use crate::editor::{self, Encoding, TextEdit};
use crate::position::position_of_byte;

/// After this long the rest of a text is replaced as one piece: still right, only less small.
const DIFF_LIMIT: Duration = Duration::from_millis(200);

/// Bytes of the old text and what takes their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: Range<usize>,
    pub(crate) new: String,
}

/// The hunks from `raw` to a text that reads as `view`, in order, none touching the next.
pub(crate) fn hunks(raw: &str, view: &str) -> Vec<Hunk> {
    let old = lines(raw);
    let new = lines(view);
    let usual_end = usual_end(&old);
    let mut hunks = Hunks::default();
    // Cut by hand and not left to the diff, which may shift an insertion among equal lines: lines before the first
    // and after the last change must keep their own ends.
    let before = old.iter().zip(&new).take_while(|(old, new)| old.text == new.text).count();
    let left = old.len().min(new.len()) - before;
    let after = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(left)
        .take_while(|(old, new)| old.text == new.text)
        .count();
    hunks.keep(part(&old, 0..before), part(&new, 0..before), usual_end);
    let old_middle = part(&old, before..old.len() - after);
    let new_middle = part(&new, before..new.len() - after);
    let old_texts: Vec<&str> = old_middle.iter().map(|line| line.text).collect();
    let new_texts: Vec<&str> = new_middle.iter().map(|line| line.text).collect();
    let deadline = Instant::now().checked_add(DIFF_LIMIT);
    for operation in capture_diff_slices_deadline(Algorithm::Myers, &old_texts, &new_texts, deadline) {
        let (tag, old_range, new_range) = operation.as_tag_tuple();
        let at = old_middle.get(old_range.start).map_or_else(
            || old_middle.last().map_or_else(|| end_of(part(&old, 0..before)), |line| line.bytes.end),
            |line| line.bytes.start,
        );
        let (old_lines, new_lines) = (part(old_middle, old_range), part(new_middle, new_range));
        match tag {
            DiffTag::Equal => hunks.keep(old_lines, new_lines, usual_end),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                hunks.replace(at, old_lines, new_lines, usual_end);
            }
        }
    }
    hunks.keep(part(&old, old.len() - after..old.len()), part(&new, new.len() - after..new.len()), usual_end);
    hunks.done
}

/// `raw` with `hunks` applied.
pub(crate) fn apply(raw: &str, hunks: &[Hunk]) -> String {
    let mut result =
        String::with_capacity(raw.len() + hunks.iter().map(|hunk| hunk.new.len()).sum::<usize>());
    let mut done = 0;
    for hunk in hunks {
        result.push_str(raw.get(done..hunk.old.start).unwrap_or_default());
        result.push_str(&hunk.new);
        done = hunk.old.end;
    }
    result.push_str(raw.get(done..).unwrap_or_default());
    result
}

/// `hunks`, counted from byte `offset` of `rope`, as edits for an editor.
pub(crate) fn text_edits(rope: &Rope, offset: usize, hunks: Vec<Hunk>, encoding: Encoding) -> Vec<TextEdit> {
    let position = |byte: usize| position_of_byte(rope, byte + offset, encoding);
    hunks
        .into_iter()
        .map(|hunk| TextEdit {
            range: editor::Range { start: position(hunk.old.start), end: position(hunk.old.end) },
            new_text: hunk.new,
        })
        .collect()
}

#[derive(Clone, Debug)]
struct Line<'a> {
    text: &'a str,
    /// `""` only for a last line without one.
    end: &'a str,
    /// Text and end in the whole.
    bytes: Range<usize>,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (text, from_end) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let end_length = if from_end.starts_with("\r\n") { 2 } else { from_end.len().min(1) };
        let next = start + length + end_length;
        lines.push(Line { text, end: from_end.get(..end_length).unwrap_or_default(), bytes: start..next });
        start = next;
    }
    lines
}

/// The end that most lines have; of equals the simplest.
fn usual_end(lines: &[Line<'_>]) -> &'static str {
    let count = |end: &str| lines.iter().filter(|line| line.end == end).count();
    let (lf, crlf, cr) = (count("\n"), count("\r\n"), count("\r"));
    if lf >= crlf && lf >= cr {
        "\n"
    } else if crlf >= cr {
        "\r\n"
    } else {
        "\r"
    }
}

fn part<'s, 'a>(lines: &'s [Line<'a>], range: Range<usize>) -> &'s [Line<'a>] {
    lines.get(range).unwrap_or_default()
}

fn end_of(lines: &[Line<'_>]) -> usize {
    lines.last().map_or(0, |line| line.bytes.end)
}

/// Hunks as they grow, from the first line to the last.
#[derive(Default)]
struct Hunks {
    done: Vec<Hunk>,
    /// Whether the new text so far ends with a lone `\r`. An empty line ending in `\n` that comes next would
    /// complete it to one `\r\n` and be lost.
    after_cr: bool,
}

impl Hunks {
    /// Lines with the same text stay; only whether the last one has an end can differ.
    fn keep(&mut self, old: &[Line<'_>], new: &[Line<'_>], usual_end: &str) {
        for (old, new) in old.iter().zip(new) {
            let end = match (old.end.is_empty(), new.end.is_empty()) {
                (true, false) => {
                    self.push(old.bytes.end..old.bytes.end, usual_end);
                    usual_end
                }
                (false, true) => {
                    self.push(old.bytes.end - old.end.len()..old.bytes.end, "");
                    ""
                }
                (true, true) | (false, false) => old.end,
            };
            if self.after_cr && old.text.is_empty() && end == "\n" {
                self.push(old.bytes.start..old.bytes.start, "\r");
            }
            self.after_cr = end == "\r";
        }
    }

    /// The lines `old`, or the place `at` if there are none, become `new`.
    fn replace(&mut self, at: usize, old: &[Line<'_>], new: &[Line<'_>], usual_end: &str) {
        let mut text = String::new();
        for (index, line) in new.iter().enumerate() {
            // The end behind the change is not part of it.
            let replaced = if index + 1 == new.len() { old.last() } else { old.get(index) };
            let own_end = replaced.map(|line| line.end).filter(|end| !end.is_empty());
            let end = match own_end.unwrap_or(usual_end) {
                _ if line.end.is_empty() => "",
                "\n" if self.after_cr && line.text.is_empty() => "\r\n",
                end => end,
            };
            text.push_str(line.text);
            text.push_str(end);
            self.after_cr = end == "\r";
        }
        self.push(at..old.last().map_or(at, |line| line.bytes.end), &text);
    }

    fn push(&mut self, old: Range<usize>, new: &str) {
        match self.done.last_mut() {
            Some(last) if last.old.end == old.start => {
                last.old.end = old.end;
                last.new.push_str(new);
            }
            _ => self.done.push(Hunk { old, new: new.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests;
