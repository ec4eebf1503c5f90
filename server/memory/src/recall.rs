//! Which memories come to mind at a message: the candidates, the question to a model that selects among them, the choice,
//! and how a memory is shown. Asks nobody and reads nothing: `agent` does.

mod shown;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{
    ranker::Hit,
    store::{Memory, Ranked},
};

pub use shown::{BYTES, LINES, show, shown_path};

/// "Select ≤ 5 in all."
pub const PICKED: usize = 5;
/// Of these, what the ranker is sure of goes with the first request.
pub const SURE: usize = 2;
/// "Stop when 60,000 bytes were injected."
pub const SESSION_BYTES: usize = 60_000;
/// What a model is shown to choose from.
pub const CANDIDATES: usize = 200;
/// What its answer may be long.
pub const ANSWER_TOKENS: u64 = 256;

/// From here on the ranker is right often enough not to ask.
const SURE_CONFIDENCE: f32 = 0.8;
/// Below this a memory is not shown even where nobody can be asked.
const PLAUSIBLE: f32 = 0.2;

/// How long a line of the manifest may be.
const MANIFEST_CHARS: usize = 300;
const QUERY_CHARS: usize = 4_000;
const TOOLS: usize = 20;

/// Whether a message says enough to recall something: more than one word; in a script without spaces, more than two
/// characters.
pub fn is_worth_it(message: &str) -> bool {
    let is_unspaced = |character: char| matches!(character, '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    message.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).nth(1).is_some()
        || message.chars().filter(|character| is_unspaced(*character)).count() > 2
}

/// What became of a memory that was looked at, for whoever asks why.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub memory: Memory,
    /// `None`: nothing in it has to do with the message.
    pub hit: Option<Hit>,
    pub decision: Decision,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Recalled,
    /// Shown or read before.
    Filtered,
    NotSelected,
    OverBudget,
}

/// The candidates, best first: at most [`CANDIDATES`], the newest, or the ranker's own where there are more. `is_known`
/// says of a path whether the session has it before it already.
pub fn candidates(ranked: Ranked, is_known: impl Fn(&str) -> bool) -> Vec<Candidate> {
    let Ranked { hits, mut memories, .. } = ranked;
    memories.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| one.path.cmp(&other.path)));
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut rest: Vec<Option<Memory>> = memories.into_iter().map(Some).collect();
    let places: HashMap<String, usize> = rest
        .iter()
        .enumerate()
        .filter_map(|(place, memory)| Some((memory.as_ref()?.path.clone(), place)))
        .collect();
    let mut add = |memory: Memory, hit: Option<Hit>| {
        let (decision, reason) = if is_known(&memory.path) {
            (Decision::Filtered, "it was shown or read in this session before".to_owned())
        } else {
            (Decision::NotSelected, not_selected(hit.as_ref()))
        };
        candidates.push(Candidate { memory, hit, decision, reason });
    };
    for hit in hits {
        let memory = places.get(&hit.id).and_then(|place| rest.get_mut(*place)?.take());
        if let Some(memory) = memory {
            add(memory, Some(hit));
        }
    }
    for memory in rest.into_iter().flatten() {
        add(memory, None);
    }
    candidates.truncate(CANDIDATES);
    candidates
}

fn not_selected(hit: Option<&Hit>) -> String {
    match hit {
        None => "no word of the message is in it".to_owned(),
        Some(hit) => format!("others fit better ({})", matched(hit)),
    }
}

/// What the ranker is sure of, best first: the places in the list.
pub fn sure(candidates: &[Candidate]) -> Vec<usize> {
    plausible(candidates, SURE_CONFIDENCE).take(SURE).map(|(place, _)| place).collect()
}

/// What the ranker would show where nobody else can be asked.
pub fn likely(candidates: &[Candidate]) -> Vec<usize> {
    plausible(candidates, PLAUSIBLE).take(PICKED).map(|(place, _)| place).collect()
}

fn plausible(candidates: &[Candidate], least: f32) -> impl Iterator<Item = (usize, &Hit)> {
    candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| candidate.decision == Decision::NotSelected)
        .filter_map(|(place, candidate)| Some((place, candidate.hit.as_ref()?)))
        .filter(move |(_, hit)| hit.confidence >= least)
}

/// Why the ranker picked it, in words for the user.
pub fn ranked_reason(hit: &Hit) -> String {
    format!("it fits the message by {} (confidence {:.0} %)", matched(hit), hit.confidence * 100.0)
}

fn matched(hit: &Hit) -> String {
    match hit.parts.matched.as_slice() {
        [] => "related words".to_owned(),
        words => words.iter().take(6).map(|word| format!("“{word}”")).collect::<Vec<_>>().join(", "),
    }
}

/// The question to the model that selects.
pub struct Selection {
    pub system: &'static str,
    pub message: String,
    /// Of the answer.
    pub schema: Value,
}

/// `None` where there is nothing left to select.
pub fn selection(
    query: &str,
    candidates: &[Candidate],
    taken: &[usize],
    recent_tools: &[String],
) -> Option<Selection> {
    let open: Vec<&Candidate> = candidates
        .iter()
        .enumerate()
        .filter(|(place, candidate)| candidate.decision == Decision::NotSelected && !taken.contains(place))
        .map(|(_, candidate)| candidate)
        .collect();
    if open.is_empty() || taken.len() >= PICKED {
        return None;
    }
    let mut message = format!("Message:\n{}\n\nMemories:\n", head(query, QUERY_CHARS));
    for candidate in open {
        message.push_str(&manifest_line(&candidate.memory));
        message.push('\n');
    }
    if !recent_tools.is_empty() {
        let tools: Vec<&str> = recent_tools.iter().take(TOOLS).map(String::as_str).collect();
        message.push_str(&format!("\nTools in use just now: {}\n", tools.join(", ")));
    }
    let schema = json!({
        "type": "object",
        "properties": { "selected": { "type": "array", "items": { "type": "string" } } },
        "required": ["selected"],
        "additionalProperties": false,
    });
    Some(Selection { system: include_str!("prompts/select.md").trim_ascii_end(), message, schema })
}

/// `- [type] file (date): description`
pub fn manifest_line(memory: &Memory) -> String {
    let kind = memory.kind.map(|kind| format!("[{}] ", kind.as_str())).unwrap_or_default();
    let date = memory.modified.strftime("%Y-%m-%d");
    let said = if memory.description.is_empty() { &memory.name } else { &memory.description };
    head(&format!("- {kind}{} ({date}): {said}", memory.path), MANIFEST_CHARS).to_owned()
}

/// The places of what the model named, in its order; names that were not offered are ignored. `None`: no answer.
pub fn selected(answer: &str, candidates: &[Candidate]) -> Option<Vec<usize>> {
    let json = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    let answer: Value = serde_json::from_str(json).ok()?;
    let names = answer.get("selected").or_else(|| answer.get("selected_memories"))?.as_array()?;
    let mut places = Vec::new();
    for name in names.iter().filter_map(Value::as_str) {
        let offered = |candidate: &Candidate| {
            candidate.decision == Decision::NotSelected && candidate.memory.path == name.trim()
        };
        let place = candidates.iter().position(offered);
        places.extend(place.filter(|place| !places.contains(place)));
    }
    Some(places)
}

/// The start of a text, cut at a character.
fn head(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests;
