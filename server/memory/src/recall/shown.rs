//! How a recalled memory looks in the conversation: rendered once, then frozen, age and all.

use std::path::Path;

use jiff::Timestamp;

/// "≤ 200 lines and 4,096 bytes each, cut with a note how to read the rest."
pub const LINES: usize = 200;
pub const BYTES: usize = 4_096;

const DAY: i64 = 24 * 60 * 60;

/// The body of the reminder.
pub fn show(path: &Path, text: &str, modified: Timestamp, now: Timestamp) -> String {
    // "Whole 24-hour periods since mtime, negative counts as 0."
    let days = now.as_second().saturating_sub(modified.as_second()).max(0) / DAY;
    let path = path.display();
    let title = match days {
        0 => format!("Memory (saved today): {path}:"),
        1 => format!("Memory (saved yesterday): {path}:"),
        days => format!(
            "This memory is {days} days old and says what was true then. What it claims about code, files or people may \
             have changed: check it against what is there now before you rely on it.\n\nMemory: {path}:"
        ),
    };
    format!("{title}\n\n{}", cut(text, &path.to_string()))
}

/// The path that a rendered memory names.
pub fn shown_path(rendered: &str) -> Option<&str> {
    let line = rendered.lines().find(|line| line.starts_with("Memory"))?;
    let (_, path) = line.split_once(": ")?;
    path.strip_suffix(':')
}

fn cut(text: &str, path: &str) -> String {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(LINES) {
        if end + line.len() > BYTES {
            break;
        }
        end += line.len();
    }
    if end == text.len() {
        return text.trim_end().to_owned();
    }
    // A first line longer than all is cut inside, or nothing would be left of it.
    let end = if end == 0 { text.floor_char_boundary(BYTES) } else { end };
    let kept = text.get(..end).unwrap_or_default();
    let lines = kept.lines().count();
    format!(
        "{}\n\n[{lines} of {} lines are shown; the rest is in {path}: use Read]",
        kept.trim_end(),
        text.lines().count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn ages_are_whole_days_and_old_memories_warn() {
        let path = Path::new("/m/a.md");
        let title = |modified: &str| {
            let text = show(path, "x", at(modified), at("2026-03-10T12:00:00Z"));
            text.lines().next().unwrap().chars().take(40).collect::<String>()
        };
        assert_eq!(title("2026-03-09T12:00:01Z"), "Memory (saved today): /m/a.md:");
        assert_eq!(title("2026-03-09T12:00:00Z"), "Memory (saved yesterday): /m/a.md:");
        assert_eq!(title("2027-01-01T00:00:00Z"), "Memory (saved today): /m/a.md:");
        assert_eq!(title("2026-03-08T12:00:00Z"), "This memory is 2 days old and says what ");
        let old = show(path, "x", at("2026-01-22T12:00:00Z"), at("2026-03-10T12:00:00Z"));
        assert!(old.contains("47 days") && old.contains("\n\nMemory: /m/a.md:\n"), "{old}");
        assert_eq!(shown_path(&old), Some("/m/a.md"));
        assert_eq!(
            shown_path(&show(path, "x", at("2026-03-10T11:00:00Z"), at("2026-03-10T12:00:00Z"))),
            Some("/m/a.md")
        );
    }

    #[test]
    fn at_the_limit_it_is_whole_and_beyond_it_says_how_to_read_the_rest() {
        let whole = "l\n".repeat(LINES);
        assert!(!cut(&whole, "p").contains("use Read"));
        assert!(
            cut(&format!("{whole}l\n"), "p")
                .ends_with("[200 of 201 lines are shown; the rest is in p: use Read]")
        );
        let bytes = format!("{}\n", "b".repeat(1_023)).repeat(4);
        assert_eq!((bytes.len(), cut(&bytes, "p").contains("use Read")), (BYTES, false));
        assert!(cut(&format!("{bytes}c"), "p").contains("[4 of 5 lines are shown"));
        let line = "é".repeat(BYTES);
        assert!(cut(&line, "p").len() < BYTES + 100);
    }
}
