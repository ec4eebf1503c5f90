//! "Yesterday" means another day whenever it is read: what feedback and project memories should say as a date.
//!
//! English, German, Chinese and Japanese; not in code, not in names of files, not where the date stands beside it, not
//! for what happens every week.

use std::sync::LazyLock;

use markdown::prose::Inert;
use regex::Regex;

use super::{Document, Finding, code};
use crate::{Kind, Topic};

/// In one memory.
const MOST: usize = 20;
/// Bytes behind the words in which a date makes them good.
const NEAR: usize = 32;
/// Beyond this, nobody has written it by hand.
const LONGEST: usize = 256 << 10;

static WORDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let english = r"(?i)\b(?:yesterday|today|tomorrow|tonight|this (?:morning|afternoon|evening)|(?:this|next|last|coming) (?:week|weekend|month|quarter|year|sprint|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:on|by|until|till|since) (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:a|an|one|two|three|four|five|six|\d{1,3}|a few|a couple of) (?:day|week|month|year)s? ago)\b";
    let german = r"\b(?:[Vv]orgestern|[Gg]estern|[Hh]eute|morgen|[Üü]bermorgen|(?:[Nn]ächste|[Ll]etzte|[Kk]ommende|[Vv]orige|[Dd]iese)[nrsm]? (?:Woche|Wochenende|Monat|Quartal|Jahr|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonnabend|Sonntag)|(?:[Aa]m|[Bb]is|[Ss]eit) (?:Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonnabend|Sonntag)|[Vv]or (?:\d{1,3}|einem|einer|zwei|drei|vier|wenigen) (?:Tag|Woche|Monat|Jahr)(?:e?n)?)\b";
    let without_spaces = r"大?前天|昨天|今天|明天|大?[后後]天|昨日|今日|明日|明後日|[上下这這本]一?[个個]?(?:周|週|星期|礼拜|禮拜|月|季度)|(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]|去年|今年|明年|先週|来週|今週|先月|来月|今月|昨年|来年";
    [english, german, without_spaces].into_iter().filter_map(|words| Regex::new(words).ok()).collect()
});

static DATE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(?:19|20)\d\d(?:\b|年)").ok());

pub(super) fn lint(memory: &Document, findings: &mut Vec<Finding>) {
    let text = memory.text.get(..memory.text.floor_char_boundary(LONGEST)).unwrap_or_default();
    let topic = Topic::parse(text);
    if !matches!(topic.kind, Some(Kind::Feedback | Kind::Project)) {
        return;
    }
    let front = text.len() - topic.body.len();
    let mut found: Vec<(usize, &str)> = Vec::new();
    for words in WORDS.iter() {
        for at in words.find_iter(text).take(MOST * 10) {
            found.push((at.start(), at.as_str()));
        }
    }
    if found.is_empty() {
        return;
    }
    found.sort_unstable();
    // The words of a week are found twice: 下周 and 周四.
    found.dedup_by(|next, one| next.0 < one.0 + one.1.len());
    let inert = Inert::of(topic.body);
    let is_code = |at: usize| {
        let at = at.checked_sub(front);
        let range = |at: usize| inert.code.partition_point(|range| range.end <= at);
        at.is_some_and(|at| inert.code.get(range(at)).is_some_and(|range| range.contains(&at)))
    };
    for (at, words) in
        found.into_iter().filter(|(at, words)| !is_code(*at) && is_meant(text, *at, words)).take(MOST)
    {
        let message = format!("{words:?} means another day whenever it is read: write the date");
        findings.push(memory.finding_at(at..at + words.len(), code::RELATIVE_DATE, message));
    }
}

fn is_meant(text: &str, at: usize, words: &str) -> bool {
    let (before, after) =
        (text.get(..at).unwrap_or_default(), text.get(at + words.len()..).unwrap_or_default());
    let previous = before.chars().next_back();
    let mut following = after.chars();
    let (next, second) = (following.next(), following.next());
    // Part of a name: `today.md`, `next-week`, `/tomorrow`.
    let joins = |character: char| matches!(character, '/' | '_' | '-' | '@' | '\\');
    if previous.is_some_and(|previous| joins(previous) || previous == '.')
        || next.is_some_and(joins)
        || next == Some('.') && second.is_some_and(char::is_alphanumeric)
    {
        return false;
    }
    // "Today's" says "of our time" more often than of a day.
    if matches!((next, second), (Some('\'' | '’'), Some('s'))) {
        return false;
    }
    // Every Thursday, one week; and words that only contain the signs: 本周期, 本月份.
    if previous
        .is_some_and(|previous| "每逢各一两二三四五六几幾数數毎基以".contains(previous) && !words.is_ascii())
        || next.is_some_and(|next| "期年份".contains(next))
    {
        return false;
    }
    let line = after.split('\n').next().unwrap_or_default();
    let near = line.get(..line.floor_char_boundary(NEAR)).unwrap_or_default();
    !DATE.as_ref().is_some_and(|date| date.is_match(near))
}
