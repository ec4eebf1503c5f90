//! The same in other languages, for words that lint has found: alone they are too many things.

use jiff::civil::Date;

use super::{coming, month, past, plus, year};

/// "Gestern", "bis Freitag", "vor zwei Wochen".
pub(super) fn german(words: &str, before: Option<&str>, today: Date) -> Option<String> {
    let lower = words.to_lowercase();
    let before = before.map(str::to_lowercase);
    match *lower.split(' ').collect::<Vec<_>>() {
        ["vorgestern"] => Some(plus(today, -2).to_string()),
        ["gestern"] => Some(plus(today, -1).to_string()),
        ["heute"] => Some(today.to_string()),
        // "Heute morgen" is a time of the day.
        ["morgen"]
            if matches!(before.as_deref(), Some("heute" | "gestern" | "vorgestern" | "übermorgen")) =>
        {
            None
        }
        ["morgen"] => Some(plus(today, 1).to_string()),
        ["übermorgen"] => Some(plus(today, 2).to_string()),
        ["seit", day] => Some(format!("seit {}", past(today, weekday(day)?))),
        [lead @ ("am" | "bis"), day] => Some(format!("{lead} {}", coming(today, weekday(day)?))),
        [which, day] if which.starts_with("letzte") || which.starts_with("vorige") => {
            Some(past(today, weekday(day)?))
        }
        [_, day] => Some(coming(today, weekday(day)?)),
        ["vor", count, unit] => {
            let count = match count {
                "einem" | "einer" => 1,
                "zwei" => 2,
                "drei" => 3,
                "vier" => 4,
                count => count.parse::<i64>().ok()?,
            };
            let days = match unit {
                "tag" | "tage" | "tagen" => count,
                "woche" | "wochen" => 7 * count,
                _ => return None,
            };
            Some(format!("am {}", plus(today, -days)))
        }
        _ => None,
    }
}

fn weekday(word: &str) -> Option<i64> {
    let names = ["montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"];
    let word = if word == "sonnabend" { "samstag" } else { word };
    names.iter().position(|name| *name == word).map(|day| day as i64)
}

/// Chinese and Japanese days, months and years.
pub(super) fn without_spaces(words: &str, today: Date) -> Option<String> {
    let days = match words {
        "大前天" => -3,
        "前天" => -2,
        "昨天" | "昨日" => -1,
        "今天" | "今日" => 0,
        "明天" | "明日" => 1,
        "后天" | "後天" | "明後日" => 2,
        "大后天" | "大後天" => 3,
        _ => return month_or_year(words, today),
    };
    Some(plus(today, days).to_string())
}

fn month_or_year(words: &str, today: Date) -> Option<String> {
    let years = match words {
        "去年" | "昨年" => Some(-1),
        "今年" => Some(0),
        "明年" | "来年" => Some(1),
        _ => None,
    };
    if let Some(years) = years {
        return Some(format!("{}年", year(today, years)));
    }
    let which = words.strip_suffix('月')?.trim_end_matches(['个', '個']).trim_end_matches('一');
    let months = match which {
        "上" | "先" => -1,
        "这" | "這" | "本" | "今" => 0,
        "下" | "来" => 1,
        _ => return None,
    };
    let month = month(today, months);
    let (year, month) = month.split_once('-')?;
    Some(format!("{year}年{}月", month.trim_start_matches('0')))
}
