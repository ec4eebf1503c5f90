//! Relative dates made absolute: "by Friday" means nothing next month.

mod languages;

use std::ops::Range;

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
        // "Today's" says "of our time" more often than of a day.
        let date = match word.contains(['\'', '’']) {
            true => None,
            false => english(&next, out.last().map(String::as_str), today),
        };
        match date {
            Some((date, used)) => {
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

/// What to write instead of the relative words at a place of a text; `None` where they do not say which day.
pub fn instead_of(text: &str, words: Range<usize>, written: Date) -> Option<String> {
    let before = text.get(..words.start)?.rsplit('\n').next()?.split_whitespace().next_back();
    let words = text.get(words)?;
    let in_english = || {
        let plain: Vec<String> = words.split(' ').map(bare).collect();
        // "The next week" is any.
        let is_any = before.is_some_and(|it| ["the", "every", "each"].contains(&&*it.to_lowercase()));
        let (date, used) = english(&plain, before, written)?;
        (used == plain.len() && !is_any).then_some(date)
    };
    let other = languages::german(words, before, written);
    other.or_else(|| languages::without_spaces(words, written)).or_else(in_english)
}

/// What the first of these words say, and how many of them say it. `before` is the word in front.
fn english(next: &[String], before: Option<&str>, today: Date) -> Option<(String, usize)> {
    let next: Vec<&str> = next.iter().map(String::as_str).collect();
    let within = |span: String| match before.map(str::to_lowercase).as_deref() {
        Some("in" | "by" | "until" | "till" | "before" | "after" | "since" | "for" | "of") => span,
        _ => format!("in {span}"),
    };
    let week = |offset: i64| within(format!("the week of {}", monday(today, offset)));
    match next.as_slice() {
        ["in", count, unit, ..] if days(count, unit).is_some() => {
            Some((format!("on {}", plus(today, days(count, unit)?)), 3))
        }
        [count, unit, "ago", ..] => Some((ago(today, number(count)?, unit)?, 3)),
        ["next" | "coming", "week", ..] => Some((week(7), 2)),
        ["last", "week", ..] => Some((week(-7), 2)),
        ["this", "week", ..] => Some((week(0), 2)),
        [which @ ("next" | "coming" | "last" | "this"), unit, ..] if span(today, which, unit).is_some() => {
            Some((within(span(today, which, unit)?), 2))
        }
        ["last", day, ..] => Some((past(today, weekday(day)?), 2)),
        ["next" | "coming" | "this", day, ..] if weekday(day).is_some() => {
            Some((coming(today, weekday(day)?), 2))
        }
        ["since", day, ..] => Some((format!("since {}", past(today, weekday(day)?)), 2)),
        [lead @ ("on" | "by" | "until" | "till" | "before" | "after"), day, ..] => {
            Some((format!("{lead} {}", coming(today, weekday(day)?)), 2))
        }
        ["this", "morning" | "afternoon" | "evening", ..] => Some((format!("on {today}"), 2)),
        ["today" | "tonight", ..] => Some((today.to_string(), 1)),
        ["tomorrow", ..] => Some((plus(today, 1).to_string(), 1)),
        ["yesterday", ..] => Some((plus(today, -1).to_string(), 1)),
        _ => None,
    }
}

fn bare(word: &str) -> String {
    word.chars().take_while(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

fn number(word: &str) -> Option<i64> {
    const NUMBERS: [&str; 10] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    if let Some(place) = NUMBERS.iter().position(|number| *number == word) {
        return Some(place as i64 + 1);
    }
    if matches!(word, "a" | "an") { Some(1) } else { word.parse().ok().filter(|count| *count < 10_000) }
}

fn days(count: &str, unit: &str) -> Option<i64> {
    match unit {
        "day" | "days" => number(count),
        "week" | "weeks" => Some(number(count)? * 7),
        _ => None,
    }
}

/// As exact as the words are: of months ago, the month is known.
fn ago(today: Date, count: i64, unit: &str) -> Option<String> {
    match unit.trim_end_matches('s') {
        "day" => Some(format!("on {}", plus(today, -count))),
        "week" => Some(format!("on {}", plus(today, -7 * count))),
        "month" => Some(format!("in {}", month(today, -count))),
        "year" => Some(format!("in {}", year(today, -count))),
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

fn past(today: Date, day: i64) -> String {
    let back = (weekday_of(today) - day).rem_euclid(7);
    plus(today, -if back == 0 { 7 } else { back }).to_string()
}

fn monday(today: Date, offset: i64) -> Date {
    plus(today, offset - weekday_of(today))
}

/// A month, a quarter or a year.
fn span(today: Date, which: &str, unit: &str) -> Option<String> {
    let step = match which {
        "next" | "coming" => 1,
        "last" => -1,
        _ => 0,
    };
    match unit {
        "month" => Some(month(today, step)),
        "quarter" => {
            let date = today.first_of_month().saturating_add((3 * step).months());
            Some(format!("Q{} {}", (date.month() + 2) / 3, date.year()))
        }
        "year" => Some(year(today, step).to_string()),
        _ => None,
    }
}

fn month(today: Date, step: i64) -> String {
    today.first_of_month().saturating_add(step.months()).strftime("%Y-%m").to_string()
}

fn year(today: Date, step: i64) -> i16 {
    today.first_of_month().saturating_add(step.years()).year()
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
            ("red since Monday, green since Wednesday", "red since 2026-10-05, green since 2026-09-30"),
            ("off till Friday, back coming Monday", "off till 2026-10-09, back 2026-10-12"),
            ("three months ago, a year ago", "in 2026-07, in 2025"),
            ("the next sprint, a few days ago", "the next sprint, a few days ago"),
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

    #[test]
    fn words_at_a_place_become_a_date_that_fits_what_is_before_them() {
        let today = jiff::civil::date(2026, 10, 7);
        for (text, words, expected) in [
            ("done by next week", "next week", Some("the week of 2026-10-12")),
            ("next week", "next week", Some("in the week of 2026-10-12")),
            ("planned for the next week", "next week", None),
            ("red since Monday", "since Monday", Some("since 2026-10-05")),
            ("off till Friday", "till Friday", Some("till 2026-10-09")),
            ("from coming Friday", "coming Friday", Some("2026-10-09")),
            ("four months ago", "four months ago", Some("in 2026-06")),
            ("a few days ago", "a few days ago", None),
            ("in the next sprint", "next sprint", None),
            ("this weekend", "this weekend", None),
            ("wir haben gestern entschieden", "gestern", Some("2026-10-06")),
            ("übermorgen", "übermorgen", Some("2026-10-09")),
            ("heute morgen", "morgen", None),
            ("seit Montag", "seit Montag", Some("seit 2026-10-05")),
            ("bis Freitag", "bis Freitag", Some("bis 2026-10-09")),
            ("letzten Freitag", "letzten Freitag", Some("2026-10-02")),
            ("vor zwei Wochen", "vor zwei Wochen", Some("am 2026-09-23")),
            ("nächste Woche", "nächste Woche", None),
            ("我们昨天决定", "昨天", Some("2026-10-06")),
            ("大后天", "大后天", Some("2026-10-10")),
            ("明後日まで", "明後日", Some("2026-10-09")),
            ("来月から", "来月", Some("2026年11月")),
            ("去年", "去年", Some("2025年")),
            ("周四", "周四", None),
        ] {
            let at = text.find(words).unwrap();
            let date = instead_of(text, at..at + words.len(), today);
            assert_eq!(date.as_deref(), expected, "{text}");
        }
    }
}
