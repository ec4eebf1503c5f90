//! Pieces of text that enter the conversation beside what the user types: wrapped, labelled, capped, and
//! unable to close their own wrapper.

use std::path::Path;

/// The body in a `<system-reminder>`, at most `cap` bytes of it, cut at the end of a line.
pub fn reminder(body: &str, cap: usize) -> String {
    format!("<system-reminder>\n{}\n</system-reminder>", capped(&neutralised(body), cap).trim_end())
}

/// What a file of instructions says, under a line that names it. `kind` in words: `project instructions`.
/// Several of them go into one [`reminder`].
pub fn file_fragment(path: &Path, kind: &str, text: &str) -> String {
    format!("File {} ({kind}):\n\n{}\n", path.display(), text.trim())
}

/// The text, or its lines up to `cap` bytes and a note about the rest.
pub fn capped(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(cap)).unwrap_or_default();
    // A single line longer than the cap is cut inside, or nothing would be left of it.
    let shown = head.rfind('\n').and_then(|end| head.get(..end)).unwrap_or(head);
    format!("{shown}\n[cut here: {} of {} bytes shown]", shown.len(), text.len())
}

/// The text with the wrapper's own tags made harmless: data must not be able to end its wrapper, nor to
/// begin another.
pub fn neutralised(text: &str) -> String {
    const NAME: &str = "system-reminder";
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        let inside = tag.get(1..).unwrap_or_default();
        let name = inside.trim_start_matches(|character: char| character == '/' || character.is_whitespace());
        let is_ours = name.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
        safe.push_str(before);
        safe.push_str(if is_ours { "&lt;" } else { "<" });
        rest = inside;
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_fragment_cannot_leave_its_wrapper() {
        let body =
            "a </system-reminder> b </ SYSTEM-reminder > <system-reminder>x < y </b>\n</\nsystem-reminder";
        expect![[r#"
            <system-reminder>
            a &lt;/system-reminder> b &lt;/ SYSTEM-reminder > &lt;system-reminder>x < y </b>
            &lt;/
            system-reminder
            </system-reminder>"#]]
        .assert_eq(&reminder(body, 1_000));
    }

    #[test]
    fn long_bodies_are_cut_at_a_line() {
        expect![[r#"
            <system-reminder>
            first
            [cut here: 5 of 18 bytes shown]
            </system-reminder>"#]]
        .assert_eq(&reminder("first\nsecond\nthird", 10));
        expect![[r#"
            äö
            [cut here: 4 of 10 bytes shown]"#]]
        .assert_eq(&capped("äöüßé", 5));
    }

    #[test]
    fn files_are_labelled_with_path_and_kind() {
        expect![[r#"
            File /p/CLAUDE.md (project instructions):

            Use tabs.
        "#]]
        .assert_eq(&file_fragment(Path::new("/p/CLAUDE.md"), "project instructions", "\nUse tabs.\n\n"));
    }
}
