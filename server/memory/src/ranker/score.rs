//! The score: first a quick sum over the words of the plan for all documents, then, for the best, the rest.

use super::{
    Hit, Kind, Parts, Query, Ranking,
    confidence::{Evidence, compare},
    index::{BODY, DESCRIPTION, Entry, FIELDS, Index, NAME, Posting},
    nearness::Reader,
    plan::{Origin, Plan},
};

/// How many are looked at closely, so that what the quick sum gets slightly wrong still comes up.
const FEWEST_CANDIDATES: usize = 100;
/// Where more of a word no longer counts much more.
const SATURATION: f32 = 3.0;
const PROXIMITY: f32 = 0.2;
const COVERAGE: f32 = 0.6;
/// The most that each prior can add, as a share of what the words gave.
const RECENCY: f32 = 0.15;
const RECENCY_HALVES_DAYS: f32 = 30.0;
const USAGE: f32 = 0.1;
const SECONDS_A_DAY: f32 = 86_400.0;

pub(super) fn rank(index: &Index, query: &Query<'_>) -> Ranking {
    if query.limit == 0 || index.len() == 0 {
        return Ranking::default();
    }
    let plan = Plan::of(query.text, index);
    let candidates = candidates(index, query, &quick_scores(index, &plan));
    let mut reader = Reader::new(&plan, index);
    let mut hits: Vec<Hit> = candidates
        .into_iter()
        .filter_map(|document| Some(hit(index, query, &plan, &mut reader, document, index.entry(document)?)))
        .collect();
    hits.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.id.cmp(&other.id)));
    compare(&mut hits);
    hits.truncate(query.limit);
    let confidence = hits.first().map_or(0.0, |hit| hit.parts.evidence.answerable());
    Ranking { hits, confidence }
}

/// By document: what the words of the plan give.
fn quick_scores(index: &Index, plan: &Plan) -> Vec<f32> {
    let mut scores = vec![0.0; index.entries.len()];
    for wanted in &plan.wanted {
        for posting in index.postings(wanted.term) {
            if let Some(score) = scores.get_mut(posting.document as usize) {
                *score += wanted.weight * saturated(occurrences(index, *posting).iter().sum());
            }
        }
    }
    scores
}

fn candidates(index: &Index, query: &Query<'_>, scores: &[f32]) -> Vec<u32> {
    let mut found: Vec<(f32, u32, &Entry)> = Vec::new();
    for ((score, entry), document) in scores.iter().zip(&index.entries).zip(0..) {
        if let Some(entry) = entry
            && *score > 0.0
            && query.not_after.is_none_or(|time| entry.modified <= time)
        {
            found.push((*score, document, entry));
        }
    }
    let best_first = |one: &(f32, u32, &Entry), other: &(f32, u32, &Entry)| {
        other.0.total_cmp(&one.0).then_with(|| one.2.id.cmp(&other.2.id))
    };
    let wanted = query.limit.max(FEWEST_CANDIDATES);
    let mut taken = wanted;
    loop {
        // The caller's filter may be dear: it is asked about the best, and about more only if it strikes
        // many.
        if taken < found.len() {
            found.select_nth_unstable_by(taken, best_first);
        }
        let best = found.get(..taken).unwrap_or(&found);
        let mut kept: Vec<_> = best.iter().filter(|(_, _, entry)| !(query.without)(&entry.id)).collect();
        if kept.len() >= wanted || taken >= found.len() {
            kept.sort_unstable_by(|one, other| best_first(one, other));
            return kept.into_iter().take(wanted).map(|(_, document, _)| *document).collect();
        }
        taken = taken.saturating_mul(4);
    }
}

fn hit(
    index: &Index,
    query: &Query<'_>,
    plan: &Plan,
    reader: &mut Reader<'_>,
    document: u32,
    entry: &Entry,
) -> Hit {
    let mut parts = Parts::default();
    let mut telling = 0;
    for wanted in &plan.wanted {
        let list = index.postings(wanted.term);
        let Ok(at) = list.binary_search_by_key(&document, |posting| posting.document) else { continue };
        let Some(posting) = list.get(at) else { continue };
        let occurrences = occurrences(index, *posting);
        let sum: f32 = occurrences.iter().sum();
        let score = wanted.weight * saturated(sum);
        if wanted.origin == Origin::Expansion {
            parts.expansion += score;
            continue;
        }
        for (field, occurrences) in occurrences.into_iter().enumerate() {
            let share = score * occurrences / sum;
            match field {
                NAME => parts.name += share,
                DESCRIPTION => parts.description += share,
                BODY.. => parts.body += share,
            }
        }
        telling += u32::from(wanted.origin == Origin::Word { telling: true });
        parts.matched.push(wanted.word.clone());
    }
    let words = parts.name + parts.description + parts.body + parts.expansion;
    let seen = reader.read(entry);
    parts.proximity = PROXIMITY * seen.nearness;
    parts.coverage = COVERAGE * words * seen.head_share;
    let base = words + parts.proximity + parts.coverage;
    parts.recency = base * RECENCY * recency(entry, query.now);
    parts.kind = base * kind(entry.kind);
    parts.usage = base * USAGE * usage(entry);
    let score = base + parts.recency + parts.kind + parts.usage;
    parts.evidence = Evidence {
        telling,
        known_share: plan.known_share,
        mean_rarity: plan.mean_rarity,
        head_share: seen.head_share,
        nearness_share: if base > 0.0 { parts.proximity / base } else { 0.0 },
        ..Evidence::default()
    };
    Hit { id: entry.id.to_string(), score, confidence: 0.0, parts }
}

fn occurrences(index: &Index, posting: Posting) -> [f32; FIELDS] {
    let [name, description, body] = posting.counts();
    let [name_weight, description_weight, body_weight] = index.weights(posting.document);
    [name * name_weight, description * description_weight, body * body_weight]
}

fn saturated(occurrences: f32) -> f32 {
    occurrences / (occurrences + SATURATION)
}

/// From 1 for now down to 0; what comes from the future is of now.
fn recency(entry: &Entry, now: i64) -> f32 {
    let days = now.saturating_sub(entry.modified).max(0) as f32 / SECONDS_A_DAY;
    1.0 / (1.0 + days / RECENCY_HALVES_DAYS)
}

/// What is about the user and how to work is wanted a little more often than where things are.
fn kind(kind: Option<Kind>) -> f32 {
    match kind {
        Some(Kind::User | Kind::Feedback) => 0.02,
        Some(Kind::Project) => 0.01,
        Some(Kind::Reference) | None => 0.0,
    }
}

/// How often a recalled memory was of use, against what is expected of one that nobody knows yet: then 0. One
/// that comes up again and again and is never cited sinks a little.
fn usage(entry: &Entry) -> f32 {
    let (recalled, cited) = (entry.recalled.max(entry.cited) as f32, entry.cited as f32);
    (cited + 1.0) / (recalled + 4.0) - 0.25
}
