//! The index as it should look: one entry a line, one blank line at most, nothing behind a line.

use memory::index;

use crate::{Page, Role};

/// The text as it should be; `None` where there is nothing to say about it.
pub fn format(page: &Page<'_>) -> Option<String> {
    if page.role != Role::Index || page.is_too_long() {
        return None;
    }
    let newline = if page.text.contains("\r\n") { "\r\n" } else { "\n" };
    let (mark, body) = page.text.strip_prefix('\u{feff}').map_or(("", page.text), |body| ("\u{feff}", body));
    let mut lines: Vec<String> = Vec::new();
    for line in body.lines() {
        let line = line.trim_end();
        if line.is_empty() && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        lines.push(entry(line).unwrap_or_else(|| line.to_owned()));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut text = format!("{mark}{}", lines.join(newline));
    if !lines.is_empty() {
        text.push_str(newline);
    }
    (text != page.text).then_some(text)
}

/// `- [Title](file.md) — hook`; the indentation of a list in a list stays.
fn entry(line: &str) -> Option<String> {
    let entry = index::entries(line).into_iter().next()?;
    // Behind a title, or with brackets in it, it cannot be written again from its parts.
    let behind = line.get(entry.target_range.end..)?;
    if !behind.starts_with([')', '>']) || entry.target.contains(['<', '>']) {
        return None;
    }
    let indentation = line.get(..line.len() - line.trim_start().len())?;
    let target = index::written_target(entry.target);
    let hook = if entry.hook.is_empty() { String::new() } else { format!(" — {}", entry.hook) };
    Some(format!("{indentation}- [{}]({target}){hook}", entry.title.trim()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let page = Page { path: Path::new("/m/MEMORY.md"), text, role: Role::Index };
        let formatted = format(&page).unwrap_or_else(|| text.to_owned());
        expected.assert_eq(&formatted);
        let again = Page { text: &formatted, ..page };
        assert_eq!(format(&again), None, "what is as it should be stays");
    }

    #[test]
    fn entries_get_one_shape_and_other_lines_are_left_alone() {
        check(
            "\n\n# Memory  \n\n\n* [Role](user.md) - a data scientist   \n- [Plan](<the plan.md>): May\n  words of the user\n\n",
            expect![[r#"
                # Memory

                - [Role](user.md) — a data scientist
                - [Plan](<the plan.md>) — May
                  words of the user
            "#]],
        );
    }

    #[test]
    fn line_ends_stay_what_they_are() {
        check("- [A](a.md) - x\r\n\r\n\r\n- [B](b.md)", expect![["- [A](a.md) — x\r\n\r\n- [B](b.md)\r\n"]]);
    }

    #[test]
    fn the_mark_of_an_encoding_stays() {
        check("\u{feff}* [A](a.md)\n", expect![["\u{feff}- [A](a.md)\n"]]);
    }

    #[test]
    fn half_typed_entries_are_not_touched() {
        check("- [A](a.md\n- [\n- [B]\n", expect![["- [A](a.md\n- [\n- [B]\n"]]);
    }

    #[test]
    fn what_cannot_be_written_from_its_parts_is_not_touched() {
        check("- [half](* [B](<b c.md>))\n", expect![["- [half](* [B](<b c.md>))\n"]]);
        check("* [A](a.md \"title\") - x\n", expect![["* [A](a.md \"title\") - x\n"]]);
    }
}
