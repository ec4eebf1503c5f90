//! What a sentence claims, in a form in which two can be compared: its words, whether it denies them, what it says is no
//! longer so, and its dates. Reasons are left out: the same rule may be given for another one.

use std::collections::BTreeSet;

use memory::dates::find_date;

use super::terms::stem;

#[derive(Debug, Default)]
pub(super) struct Gist {
    words: BTreeSet<String>,
    /// "use pnpm, not npm": npm.
    replaced: BTreeSet<String>,
    /// Both.
    all: BTreeSet<String>,
    dates: BTreeSet<String>,
    /// It tells when something will be: another date is a change of plan, not another event.
    is_schedule: bool,
    is_negative: bool,
    /// Lower case, one blank between words.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    /// Both cannot hold.
    Contradictory,
    /// They have little to do with each other.
    Other,
}

/// The share of common words from which on two speak of the same.
const SAME: f64 = 0.7;
/// Likewise where one denies what the other says: a word more may be the exception that makes both right.
const OPPOSITE: f64 = 0.8;

impl Gist {
    pub(super) fn of(text: &str) -> Self {
        let text = plain(text);
        let claim = ["because ", "so that ", ", so "].iter().filter_map(|word| text.find(word)).min();
        let claim = claim.and_then(|end| text.get(..end)).filter(|claim| !claim.trim().is_empty());
        let (asserted, replaced) = contrast(claim.unwrap_or(&text));
        let mut gist = Self { replaced: words(&replaced).0, ..Self::default() };
        (gist.words, gist.dates) = words(&asserted);
        gist.all = gist.words.union(&gist.replaced).cloned().collect();
        let plans = [
            "deadline", " due", "ship", "freeze", "release", "launch", " live", "start", "begin", "until",
            " by ",
        ];
        gist.is_schedule = plans.iter().any(|word| text.contains(word));
        let denies =
            |word: &str| ["not", "never", "no", "stop", "avoid", "without", "cannot"].contains(&word);
        gist.is_negative = asserted.split(|c: char| !c.is_alphanumeric()).any(denies);
        gist.text = text;
        gist
    }

    pub(super) fn relation(&self, other: &Self) -> Relation {
        if self.replaces(other) || other.replaces(self) {
            return Relation::Contradictory;
        }
        let share = self.share(other);
        if share < SAME {
            return Relation::Other;
        }
        if self.is_negative != other.is_negative {
            return if share >= OPPOSITE { Relation::Contradictory } else { Relation::Other };
        }
        let moved = !self.dates.is_empty() && !other.dates.is_empty() && self.dates.is_disjoint(&other.dates);
        match (moved, self.is_schedule && other.is_schedule) {
            (false, _) => Relation::Same,
            (true, true) => Relation::Contradictory,
            (true, false) => Relation::Other,
        }
    }

    /// Whether the words are the same, one for one.
    pub(super) fn is_as_written(&self, other: &Self) -> bool {
        self.text.trim_end_matches(['.', '!', '…']) == other.text.trim_end_matches(['.', '!', '…'])
    }

    /// Whether a memory that is described so may be about this: half of the words, or what is no longer so.
    pub(super) fn concerns(&self, described: &Self) -> bool {
        let shared = self.words.intersection(&described.words).count();
        let has_replaced = !self.replaced.is_disjoint(&described.words);
        has_replaced || shared >= 1 && shared * 2 >= self.words.len()
    }

    /// Whether the other one says all of this and more.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        /// With fewer words another thing has them soon.
        const LEAST_WORDS: usize = 3;
        self.all.len() >= LEAST_WORDS
            && self.is_negative == other.is_negative
            && self.replaced == other.replaced
            && self.all.is_subset(&other.all)
            && self.dates.is_subset(&other.dates)
    }

    /// How many words carry what is said.
    pub(super) fn weight(&self) -> usize {
        self.words.len() + self.replaced.len() + self.dates.len()
    }

    /// The common words among all words of both, from 0 to 1.
    fn share(&self, other: &Self) -> f64 {
        let both = self.all.intersection(&other.all).count();
        let either = self.all.len() + other.all.len() - both;
        if either == 0 { 0.0 } else { both as f64 / either as f64 }
    }

    /// Whether it says that what the other one uses is no longer used.
    fn replaces(&self, other: &Self) -> bool {
        /// Words that the other one may have besides: with more it is about something else.
        const BESIDES: usize = 2;
        const USES: [&str; 9] = ["use", "uses", "using", "used", "with", "to", "on", "prefer", "prefers"];
        let is_said =
            !self.replaced.is_empty() && !other.is_negative && self.replaced.is_subset(&other.words);
        let shares_topic = !self.words.is_disjoint(&other.words);
        if !is_said || other.words.len() > self.replaced.len() + BESIDES + usize::from(shares_topic) {
            return false;
        }
        let text = format!(" {}", other.text);
        let follows = |word: &String| USES.iter().any(|verb| text.contains(&format!(" {verb} {word}")));
        self.replaced.iter().any(follows)
    }
}

fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'").replace("do not ", "not ").replace("dont ", "not ");
    let lower = lower.replace("don't", "not").replace("n't ", " not ").replace("no longer", "not");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is said to be so, and what it stands in place of.
fn contrast(text: &str) -> (String, String) {
    const LEADS: [&str; 5] = [", not ", " and not ", " instead of ", " rather than ", " over "];
    let has_end = |rest: &str| {
        let marks = [", ", "; ", ". ", " for ", " in ", " on ", " when ", " from ", " to "];
        marks.iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len())
    };
    let split = |at: usize, lead: &str| {
        let rest = text.get(at + lead.len()..)?;
        let (replaced, after) = rest.split_at_checked(has_end(rest))?;
        let asserted = format!("{} {after}", text.get(..at)?);
        Some((asserted, replaced.to_owned()))
    };
    // "Over" replaces only where something is preferred.
    let applies = |lead: &&str| *lead != " over " || text.contains("prefer");
    let changes = ["switch", "mov", "migrat"].iter().any(|verb| text.contains(verb)) && text.contains(" to ");
    let found = if changes { text.find(" from ").map(|at| (at, " from ")) } else { None };
    let found = found.or_else(|| {
        LEADS.into_iter().filter(applies).filter_map(|lead| Some((text.find(lead)?, lead))).min()
    });
    found.and_then(|(at, lead)| split(at, lead)).unwrap_or_else(|| (text.to_owned(), String::new()))
}

/// The words that carry meaning, and the dates.
fn words(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    const STOP_WORDS: &str = "\
        a about actually again against agreed all also always always am an and any are as at be been before being but by call can \
        cannot could day decided did do doing don does each either every everything for from get going had has have he her \
        here his how i if in into is it its just ll like make me moved must my need needs never new no not now of off on one \
        only or our out over please postponed re s shall she should since so some stop t team that the their them then there \
        these they this those to too until up us use used uses using ve very was we week were what when which who will with \
        would you your yours avoid without";
    let mut found = (BTreeSet::new(), BTreeSet::new());
    for word in
        text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '“' | '”'))
    {
        if let Some(date) = find_date(word) {
            found.1.insert(date.to_string());
            continue;
        }
        for part in word.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty()) {
            if !STOP_WORDS.split_whitespace().any(|stop| stop == part) {
                found.0.insert(root(part));
            }
        }
    }
    found
}

/// "Committing" and "commits" are one word, and so are "add" and "adding".
fn root(word: &str) -> String {
    let mut root = stem(word.strip_suffix("ing").filter(|rest| rest.len() > 2).unwrap_or(word));
    let mut ends = root.chars().rev();
    if ends.next().is_some_and(|last| Some(last) == ends.next() && !last.is_ascii_digit()) {
        root.pop();
    }
    root
}

#[cfg(test)]
mod tests {
    use super::{Relation::*, *};

    #[test]
    fn one_may_say_all_that_the_other_does_and_more() {
        let is_within = |one: &str, two: &str| Gist::of(one).is_within(&Gist::of(two));
        let rule = "Always run the linter before you commit";
        assert!(is_within(rule, "always run the linter and the doc tests before you commit"));
        assert!(!is_within("always run the linter and the doc tests before you commit", rule));
        assert!(!is_within(rule, "never run the linter before a commit of doc tests"));
        assert!(!is_within("Never push to main", "never push to main on Fridays"), "too few words to tell");
        assert!(!is_within("The beta ships on 2026-10-08 to testers", "the beta ships to testers"));
    }

    #[test]
    fn claims_are_compared() {
        for (one, two, expected) in [
            (
                "Always run clippy before committing",
                "always run clippy before commits, because CI does",
                Same,
            ),
            ("Never add comments to tests", "Don't add comments to tests", Same),
            ("Stop adding comments to tests", "never add comments to tests.", Same),
            ("Use pnpm, not npm", "use pnpm instead of npm", Same),
            ("We use npm for packages", "we now use pnpm, not npm", Contradictory),
            ("We switched from npm to pnpm", "We use npm", Contradictory),
            ("Prefer tabs over spaces", "Use spaces, not tabs", Contradictory),
            ("Always use tabs for indentation", "never use tabs for indentation", Contradictory),
            ("The freeze starts 2026-10-08", "the freeze starts on 2026-10-15", Contradictory),
            ("The freeze starts 2026-10-08", "the freeze starts on 2026-10-08, they said", Other),
            ("npm audit runs every night in CI", "we now use pnpm, not npm", Other),
            ("Always run tests", "never run tests in parallel", Other),
            ("Deadline of phase 1 is 2026-10-09", "deadline of phase 2 is 2026-11-01", Other),
            ("I like short answers", "I like long walks", Other),
            ("On 2026-03-01 the database was down", "On 2026-05-02 the database was down", Other),
            ("", "", Other),
        ] {
            let (first, second) = (Gist::of(one), Gist::of(two));
            assert_eq!(first.relation(&second), expected, "{one} | {two}: {first:?} {second:?}");
            assert_eq!(second.relation(&first), expected, "{two} | {one}");
        }
    }
}
