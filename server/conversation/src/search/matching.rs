//! What a query asks for, whether a text has it, and the piece of the text to show.
//!
//! "Words are ANDed, case-insensitive, Unicode-folded, quoted phrase, prefix match on the last word."

use std::ops::Range;

use super::words::each_word;

/// A shorter beginning fits nearly everything: it has to be the whole word.
const SHORTEST_PREFIX: usize = 2;
const SNIPPET_CHARS: usize = 200;
/// Characters of the snippet before the match.
const LEAD_CHARS: usize = 60;

/// Words that stand next to each other; most often one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) words: Vec<String>,
    /// The last word may go on.
    pub(super) is_prefix: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing in particular.
    Anything,
    /// All of these.
    Clauses(Vec<Clause>),
    /// Something without letters or digits, which no text is known by.
    Nothing,
}

impl Asked {
    pub(super) fn parse(text: &str) -> Self {
        let mut clauses = Vec::new();
        let mut rest = text.trim();
        if rest.is_empty() {
            return Self::Anything;
        }
        while !rest.is_empty() {
            let (piece, is_open, after) = match rest.strip_prefix('"') {
                Some(quoted) => match quoted.split_once('"') {
                    Some((phrase, after)) => (phrase, false, after),
                    // Still being typed.
                    None => (quoted, true, ""),
                },
                None => {
                    let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
                    let (word, after) = rest.split_at(end);
                    (word, after.trim().is_empty(), after)
                }
            };
            rest = after.trim_start();
            let mut words = Vec::new();
            each_word(piece, |word, _| words.push(word.to_owned()));
            let last = words.last().map_or(0, |word| word.chars().count());
            // What ends with a bracket or a stop is not the beginning of a word.
            let goes_on = piece.ends_with(char::is_alphanumeric);
            let is_prefix = is_open && goes_on && last >= SHORTEST_PREFIX;
            if !words.is_empty() {
                clauses.push(Clause { words, is_prefix });
            }
        }
        match clauses.is_empty() {
            true => Self::Nothing,
            false => Self::Clauses(clauses),
        }
    }

    /// Where the text has it; `None` if it does not.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        let clauses = match self {
            Self::Anything => return Some(0..0),
            Self::Nothing => return None,
            Self::Clauses(clauses) => clauses,
        };
        let mut found: Vec<Option<Range<usize>>> = vec![None; clauses.len()];
        let mut missing = clauses.len();
        // Phrases that have begun: which, how many of its words there were, and where it began.
        let mut begun: Vec<(usize, usize, usize)> = Vec::new();
        let mut going_on = Vec::new();
        each_word(text, |word, place| {
            if missing == 0 {
                return;
            }
            going_on.clear();
            let starting = (0..clauses.len()).map(|number| (number, 0, place.start));
            for (number, matched, start) in begun.drain(..).chain(starting) {
                let (Some(clause), Some(found)) = (clauses.get(number), found.get_mut(number)) else {
                    continue;
                };
                if found.is_some() || !clause.has_at(matched, word) {
                    continue;
                }
                if matched + 1 < clause.words.len() {
                    going_on.push((number, matched + 1, start));
                } else {
                    *found = Some(start..place.end);
                    missing -= 1;
                }
            }
            std::mem::swap(&mut begun, &mut going_on);
        });
        if missing > 0 {
            return None;
        }
        // Where most was asked for in one piece, else where the query begins.
        let mut shown: Option<(usize, Range<usize>)> = None;
        for (clause, place) in clauses.iter().zip(found.into_iter().flatten()) {
            if shown.as_ref().is_none_or(|(words, _)| clause.words.len() > *words) {
                shown = Some((clause.words.len(), place));
            }
        }
        shown.map(|(_, place)| place)
    }
}

impl Clause {
    /// Whether the word is, or begins with, the one at this position.
    fn has_at(&self, position: usize, word: &str) -> bool {
        let is_last = position + 1 == self.words.len();
        self.words.get(position).is_some_and(|wanted| match self.is_prefix && is_last {
            true => word.starts_with(wanted.as_str()),
            false => word == wanted,
        })
    }
}

/// The text around a place, on one line.
pub(super) fn snippet(text: &str, place: Range<usize>) -> String {
    let before = text.get(..place.start).unwrap_or_default();
    let mut start = before.char_indices().rev().take(LEAD_CHARS).last().map_or(place.start, |(at, _)| at);
    if start > 0 {
        // From the beginning of a word, unless it begins too far away.
        let lead = text.get(start..place.start).unwrap_or_default();
        start += lead.find(char::is_whitespace).unwrap_or(0);
    }
    let mut snippet = String::new();
    let mut room = SNIPPET_CHARS;
    if text.get(..start).is_some_and(|before| !before.trim().is_empty()) {
        snippet.push('…');
        room -= 1;
    }
    let mut blank = false;
    for character in text.get(start..).unwrap_or_default().chars() {
        // Control characters could command the terminal that shows this.
        if character.is_whitespace() || character.is_control() {
            blank = !snippet.is_empty() && snippet != "…";
            continue;
        }
        if room < 2 + usize::from(blank) {
            snippet.push('…');
            break;
        }
        if std::mem::take(&mut blank) {
            snippet.push(' ');
            room -= 1;
        }
        snippet.push(character);
        room -= 1;
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(query: &str, text: &'a str) -> Option<&'a str> {
        Asked::parse(query).find(text).map(|place| &text[place])
    }

    #[test]
    fn all_words_are_wanted_in_any_order_and_the_last_may_go_on() {
        let text = "Widen the carry of the Engine";
        assert_eq!(found("carry WIDEN", text), Some("carry"));
        assert_eq!(found("engine wid", text), Some("Engine"));
        assert_eq!(found("wid engine", text), None, "only the last word may go on");
        assert_eq!(found("carry missing", text), None);
        assert_eq!(found("c", text), None, "one letter is a whole word");
        assert_eq!(found("carr ", text), Some("carry"));
        assert_eq!(found("carr.", text), None, "it ended");
        assert_eq!(found(" ", text), Some(""));
        assert_eq!(found("++", text), None);
    }

    #[test]
    fn phrases_stand_together() {
        let text = "of the carry, the engine of the carry_bit: don't";
        assert_eq!(found("\"the engine\"", text), Some("the engine"));
        assert_eq!(found("\"engine the\"", text), None);
        assert_eq!(found("\"the eng\"", text), None, "a closed phrase is whole");
        assert_eq!(found("\"the eng", text), Some("the engine"), "an open one is being typed");
        assert_eq!(found("carry_bit", text), Some("carry_bit"));
        assert_eq!(found("don't", text), Some("don't"));
        assert_eq!(found("bit \"of the carry\" engine", text), Some("of the carry"), "the longest is shown");
        assert_eq!(found("\"the the carry\"", "the the the carry"), Some("the the carry"));
        assert_eq!(found("\"\"", text), None);
    }

    #[test]
    fn parts_of_sentences_without_blanks_are_found() {
        assert_eq!(found("検索", "全文検索エンジン"), Some("検索"));
        assert_eq!(found("索検", "全文検索エンジン"), None);
    }

    #[test]
    fn a_snippet_is_one_short_line_around_the_place() {
        let text = format!("{}before\n\tthe \u{1b}[31m match after{}", "ä ".repeat(200), " ö".repeat(300));
        let place = Asked::parse("match").find(&text).unwrap();
        let shown = snippet(&text, place);
        assert!((198..=200).contains(&shown.chars().count()), "{shown}");
        assert!(shown.starts_with("…ä ") && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("before the [31m match after ö"), "{shown}");
        assert_eq!(snippet("short", 0..5), "short");
        assert_eq!(snippet("", 0..0), "");
        assert_eq!(snippet(&"x".repeat(500), 300..310).chars().count(), 200);
    }
}
