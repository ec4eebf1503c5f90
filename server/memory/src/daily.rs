//! The log of a day: in daily-log mode what is worth keeping is a line in it, and a dream makes memories of the lines.

use jiff::civil::{Date, Time};

use crate::compose::Draft;

/// Where it is in the memory directory. The pattern, never the date: what is told stays the same over midnight.
pub const PATTERN: &str = "logs/YYYY/MM/YYYY-MM-DD.md";

/// What the line of the prompt begins with that names the pattern, below the one with the memory directory.
pub const LEAD: &str = "Daily log:";

/// Relative to the memory directory.
pub fn path(day: Date) -> String {
    format!("logs/{:04}/{:02}/{day}.md", day.year(), day.month())
}

pub fn is_log(path: &str) -> bool {
    path.starts_with("logs/")
}

/// One thing, on a line of its own: the time, if it is known, the kind, and what was said.
pub fn line(at: Option<Time>, memory: &Draft) -> String {
    let time = at.map(|at| at.strftime("%H:%M ").to_string()).unwrap_or_default();
    format!("- {time}{}: {}", memory.kind.as_str(), memory.statement)
}

/// The log with a line more; what was there stays as it was.
pub fn appended(before: &str, line: &str) -> String {
    let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    format!("{before}{end}{line}\n")
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};

    use super::*;

    #[test]
    fn each_day_has_its_own_log_by_the_pattern() {
        let day = date(2026, 3, 1);
        assert_eq!(path(day), "logs/2026/03/2026-03-01.md");
        let by_pattern = PATTERN.replace("YYYY", "2026").replace("MM", "03").replace("DD", "01");
        assert_eq!(path(day), by_pattern);
        assert!(is_log(&path(day)) && !is_log("logs.md"));
    }

    #[test]
    fn a_line_is_added_behind_what_is_there() {
        let memory = Draft::of("always write\ntests first ");
        assert_eq!(line(None, &memory), "- feedback: Always write tests first");
        let log = appended("", &line(Some(time(9, 5, 0, 0)), &memory));
        assert_eq!(log, "- 09:05 feedback: Always write tests first\n");
        assert_eq!(appended("no end", "- more"), "no end\n- more\n");
        assert_eq!(appended(&log, "- more"), format!("{log}- more\n"));
    }
}
