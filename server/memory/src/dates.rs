//! Relative dates made absolute: "by Friday" means nothing next month.

use jiff::{ToSpan, civil::Date};

/// The first `2026-10-05` in the text.
pub fn find_date(text: &str) -> Option<Date> {
    text.as_bytes().windows(10).find_map(|window| {
        let window = std::str::from_utf8(window).ok()?;
        let shaped = window.char_indices().all(|(at, c)| match at {
            4 | 7 => c == '-',
            _ => c.is_ascii_digit(),
        });
        window.parse().ok().filter(|_| shaped)
    })
}

/// The same for a text of several lines: not in code, and not in a line that has its date already.
pub fn absolute_lines(text: &str, written: Date) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || find_date(line).is_some() {
            out.push_str(line);
            continue;
        }
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let pieces = line.split('`').enumerate();
        let pieces = pieces.map(|(at, piece)| match at % 2 {
            0 => absolute(piece, Some(written)),
            _ => piece.to_owned(),
        });
        out.push_str(&pieces.collect::<Vec<_>>().join("`"));
        out.push_str(end);
    }
    out
}

/// The text with "tomorrow", "next Monday", "in 3 weeks" and their like replaced by dates.
pub fn absolute(text: &str, today: Option<Date>) -> String {
    let Some(today) = today else { return text.to_owned() };
    let words: Vec<&str> = text.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next: Vec<String> = words.iter().skip(at).take(3).map(|word| bare(word)).collect();
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        let within = |span: String| match out.last().map(|last| last.to_lowercase()).as_deref() {
            Some("in" | "by" | "until" | "till" | "before" | "after" | "since" | "for" | "of") => span,
            _ => format!("in {span}"),
        };
        let (date, used) = match next.as_slice() {
            // "Today's" says "of our time" more often than of a day.
            [_, ..] if word.contains(['\'', '’']) => (None, 1),
            ["in", count, unit, ..] if days(count, unit).is_some() => {
                (days(count, unit).map(|days| format!("on {}", plus(today, days))), 3)
            }
            [count, unit, "ago", ..] => {
                (days(count, unit).map(|days| format!("on {}", plus(today, -days))), 3)
            }
            ["next", "week", ..] => (Some(within(format!("the week of {}", monday(today, 7)))), 2),
            ["last", "week", ..] => (Some(within(format!("the week of {}", monday(today, -7)))), 2),
            ["this", "week", ..] => (Some(within(format!("the week of {}", monday(today, 0)))), 2),
            [which @ ("next" | "last" | "this"), unit, ..] if span(today, which, unit).is_some() => {
                (span(today, which, unit).map(within), 2)
            }
            ["last", day, ..] if weekday(day).is_some() => (
                weekday(day).map(|day| {
                    let back = (weekday_of(today) - day).rem_euclid(7);
                    plus(today, -if back == 0 { 7 } else { back }).to_string()
                }),
                2,
            ),
            ["next" | "this", day, ..] if weekday(day).is_some() => {
                (weekday(day).map(|day| coming(today, day)), 2)
            }
            [lead @ ("on" | "by" | "until" | "before" | "after" | "since"), day, ..]
                if weekday(day).is_some() =>
            {
                (weekday(day).map(|day| format!("{lead} {}", coming(today, day))), 2)
            }
            ["this", "morning" | "afternoon" | "evening", ..] => (Some(format!("on {today}")), 2),
            ["today" | "tonight", ..] => (Some(today.to_string()), 1),
            ["tomorrow", ..] => (Some(plus(today, 1).to_string()), 1),
            ["yesterday", ..] => (Some(plus(today, -1).to_string()), 1),
            _ => (None, 1),
        };
        match date {
            Some(date) => {
                let last = words.get(at + used - 1).copied().unwrap_or(word);
                let tail: String = last.chars().skip_while(|c| c.is_alphanumeric()).collect();
                out.push(format!("{date}{tail}"));
                at += used;
            }
            None => {
                out.push((*word).to_owned());
                at += 1;
            }
        }
    }
    out.join(" ")
}

fn bare(word: &str) -> String {
    word.chars().take_while(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

fn days(count: &str, unit: &str) -> Option<i64> {
    let count: i64 = match count {
        "a" | "one" => 1,
        "two" => 2,
        "three" => 3,
        other => other.parse().ok().filter(|count| *count < 10_000)?,
    };
    match unit {
        "day" | "days" => Some(count),
        "week" | "weeks" => Some(count * 7),
        _ => None,
    }
}

fn weekday(word: &str) -> Option<i64> {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    names.iter().position(|name| *name == word).map(|day| day as i64)
}

fn coming(today: Date, day: i64) -> String {
    let ahead = (day - weekday_of(today)).rem_euclid(7);
    plus(today, if ahead == 0 { 7 } else { ahead }).to_string()
}

fn monday(today: Date, offset: i64) -> Date {
    plus(today, offset - weekday_of(today))
}

/// A month, a quarter or a year.
fn span(today: Date, which: &str, unit: &str) -> Option<String> {
    let step = match which {
        "next" => 1,
        "last" => -1,
        _ => 0,
    };
    let first = today.first_of_month();
    match unit {
        "month" => Some(first.saturating_add(step.months()).strftime("%Y-%m").to_string()),
        "quarter" => {
            let date = first.saturating_add((3 * step).months());
            Some(format!("Q{} {}", (date.month() + 2) / 3, date.year()))
        }
        "year" => Some(first.saturating_add(step.years()).year().to_string()),
        _ => None,
    }
}

/// Monday is 0.
fn weekday_of(date: Date) -> i64 {
    i64::from(date.weekday().to_monday_zero_offset())
}

fn plus(date: Date, days: i64) -> Date {
    date.saturating_add(days.days())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_found_among_words() {
        assert_eq!(find_date("Date: 2026-10-05, a Monday"), Some(jiff::civil::date(2026, 10, 5)));
        assert_eq!(find_date("2026-13-05 or 20261005 or grüße"), None);
    }

    #[test]
    fn relative_dates_become_absolute() {
        let today = find_date("2026-10-07");
        for (text, expected) in [
            ("freeze starts tomorrow.", "freeze starts 2026-10-08."),
            (
                "we decided yesterday, and by Friday it ships",
                "we decided 2026-10-06, and by 2026-10-09 it ships",
            ),
            ("release in 2 weeks!", "release on 2026-10-21!"),
            ("broke 3 days ago", "broke on 2026-10-04"),
            ("next week and next Wednesday", "in the week of 2026-10-12 and 2026-10-14"),
            ("last Wednesday", "2026-09-30"),
            ("done by next week or next month", "done by the week of 2026-10-12 or in 2026-11"),
            ("burned last quarter, better this year", "burned in Q3 2026, better in 2026"),
            ("today's rules", "today's rules"),
            ("Friday is a nice word in three parts", "Friday is a nice word in three parts"),
        ] {
            assert_eq!(absolute(text, today), expected);
        }
        assert_eq!(absolute("tomorrow", None), "tomorrow");
    }
    #[test]
    fn code_and_lines_with_a_date_stay_as_they_are() {
        let text = "ships tomorrow, see `next week`\ntomorrow (2026-10-05)\n```\ntoday\n```\nyesterday";
        let expected =
            "ships 2026-10-08, see `next week`\ntomorrow (2026-10-05)\n```\ntoday\n```\n2026-10-06";
        let written = jiff::civil::date(2026, 10, 7);
        assert_eq!(absolute_lines(text, written), expected);
        assert_eq!(absolute_lines(expected, written), expected);
    }
}
