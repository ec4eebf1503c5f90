//! Which of the matches answer the question best. Pure arithmetic on lines and paths.

use std::collections::BTreeMap;

use super::{results::Hit, situation::Situation, terms::Term};

/// The best line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) score: i64,
}

/// Files of the workspace, best first; those that are far behind the best are left out.
pub(super) fn best_places(situation: &Situation, hits: &[Hit], terms: &[Term]) -> Vec<Place> {
    let outside: Vec<&Hit> = hits.iter().filter(|hit| !situation.in_memory(&hit.path)).collect();
    let mut places = ranked(situation, &outside, terms);
    let best = places.first().map_or(0, |place| place.score);
    places.retain(|place| place.score * 5 >= best * 3);
    places
}

/// Memories that have at least half of what was asked for; at most two. A line of the index stands for the
/// file it names.
pub(super) fn memory_places(situation: &Situation, hits: &[Hit], terms: &[Term]) -> Vec<Place> {
    let resolved: Vec<Hit> = hits
        .iter()
        .filter(|hit| situation.in_memory(&hit.path))
        .filter_map(|hit| match hit.path.rsplit_once('/') {
            Some((folder, "MEMORY.md")) => {
                let (_, link) = hit.text.split_once("](")?;
                let (file, _) = link.split_once(')')?;
                Some(Hit { path: format!("{folder}/{file}"), line: 1, text: hit.text.clone() })
            }
            _ => Some(hit.clone()),
        })
        .collect();
    let wanted: i64 = terms.iter().map(Term::weight).sum();
    let mut places = ranked(situation, &resolved.iter().collect::<Vec<_>>(), terms);
    places.retain(|place| {
        let text: String =
            resolved.iter().filter(|hit| hit.path == place.path).map(|hit| hit.text.to_lowercase()).collect();
        covered(&text, terms) * 2 >= wanted
    });
    places.truncate(2);
    places
}

fn ranked(situation: &Situation, hits: &[&Hit], terms: &[Term]) -> Vec<Place> {
    let mut by_file: BTreeMap<&str, Vec<&Hit>> = BTreeMap::new();
    for hit in hits {
        by_file.entry(&hit.path).or_default().push(hit);
    }
    let mut places: Vec<Place> = by_file
        .into_iter()
        .filter_map(|(path, hits)| {
            let text: String = hits.iter().map(|hit| hit.text.to_lowercase()).collect();
            let (score, best) = hits
                .iter()
                .map(|hit| (line_score(&hit.text, terms), *hit))
                .max_by(|(one, a), (other, b)| (one, b.line).cmp(&(other, a.line)))?;
            let score = score + 2 * covered(&text, terms) + path_score(situation.relative(path), terms);
            Some(Place { path: path.to_owned(), line: best.line, text: best.text.clone(), score })
        })
        .collect();
    places.sort_by(|one, other| (other.score, &one.path).cmp(&(one.score, &other.path)));
    places
}

pub(super) fn covered(lower_case: &str, terms: &[Term]) -> i64 {
    terms.iter().filter(|term| term.matches(lower_case)).map(Term::weight).sum()
}

fn line_score(text: &str, terms: &[Term]) -> i64 {
    let lower = text.to_lowercase();
    let trimmed = lower.trim_start();
    let mut score = covered(&lower, terms);
    if terms.iter().filter(|term| term.matches(&lower)).count() > 1 {
        score += 3;
    }
    if let Some(name) = defined_name(trimmed) {
        score += terms.iter().map(|term| definition_score(term, name)).max().unwrap_or(0);
    }
    if trimmed.starts_with("# ") || trimmed.starts_with("## ") || trimmed.starts_with("//!") {
        score += 2;
    } else if trimmed.starts_with("///") {
        score += 1;
    }
    if is_mention(trimmed) {
        score -= 4;
    }
    score
}

/// Imports name things that are elsewhere; literals and assertions only talk about them.
fn is_mention(trimmed: &str) -> bool {
    const STARTS: [&str; 12] = [
        "use ", "pub use ", "import ", "from ", "#include", "mod ", "pub mod ", "\"", "(\"", "check(",
        "assert", "expect(",
    ];
    STARTS.iter().any(|start| trimmed.starts_with(start))
}

/// A definition that is called what was asked for; one that only contains it somewhere says little.
fn definition_score(term: &Term, name: &str) -> i64 {
    let length = name.chars().count();
    let asked = term.stem.chars().count();
    match term.matches(name) {
        true if name == term.text.to_lowercase() => 5,
        true if length <= 2 * asked => 4,
        true if length <= 4 * asked => 2,
        _ => 0,
    }
}

/// What a line defines: the word after `fn`, `struct`, `class` and their like.
fn defined_name(lower_case: &str) -> Option<&str> {
    const KEYWORDS: [&str; 15] = [
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "class",
        "def",
        "function",
        "func",
        "interface",
        "impl",
        "macro_rules!",
        "union",
    ];
    const BEFORE: [&str; 9] =
        ["pub", "pub(crate)", "pub(super)", "async", "export", "default", "unsafe", "public", "private"];
    let mut words = lower_case.split_whitespace().skip_while(|word| BEFORE.contains(word));
    let name = KEYWORDS.contains(&words.next()?).then(|| words.next()).flatten()?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn path_score(path: &str, terms: &[Term]) -> i64 {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    let mut score = covered(name, terms);
    if terms.iter().any(|term| term.text.to_lowercase() == stem || term.stem == stem) {
        score += 3;
    }
    let example = |part: &str| {
        let name = part.split('.').next().unwrap_or(part);
        ["test", "tests", "spec", "fixtures", "testdata", "benches", "examples"].contains(&name)
            || name.starts_with("test_")
            || name.ends_with("_test")
            || part.contains(".test.")
    };
    if lower.split('/').any(example) && !terms.iter().any(|term| term.stem.contains("test")) {
        score -= 10;
    }
    let made = ["cargo.lock", "package-lock.json", "yarn.lock", ".min.js", ".snap", ".svg", "changelog.md"];
    if made.iter().any(|end| name.ends_with(end))
        || ["vendor/", "node_modules/", "target/", "dist/"].iter().any(|part| lower.contains(part))
    {
        score -= 8;
    }
    score
}
