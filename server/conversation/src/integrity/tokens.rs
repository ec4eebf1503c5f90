//! "Token totals within 100": the sum of what the responses of a transcript used, against the last cost record.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use serde::Deserialize;
use uuid::Uuid;

use super::{Check, Checkup, Measures, Weight};
use crate::{
    message::{SYNTHETIC_MODEL, Usage},
    record::{ModelCost, Record, derived_uuid},
    resume::{LoadError, Loaded},
    scan::{Entry, Kind, Scan},
    thread::Index,
};

const TOLERANCE: u64 = 100;

pub(super) fn check(
    path: &Path,
    scan: &Scan,
    loaded: &Loaded,
    measures: Measures<'_>,
    checkup: &mut Checkup,
) -> Result<(), LoadError> {
    let used = used(path, scan, loaded)?;
    let recorded: u64 = loaded.cost.models.values().map(|model| model.usage.context_tokens()).sum();
    let summed: u64 = used.values().map(Usage::context_tokens).sum();
    if recorded > summed.saturating_add(TOLERANCE) {
        // A request whose answer was not kept was paid for too.
        checkup.weigh(
            Check::Tokens,
            Weight::Note,
            format!(
                "The total says {recorded} tokens, the messages {summed}. Requests whose answer was not kept may explain that."
            ),
        );
    }
    if summed <= recorded.saturating_add(TOLERANCE) {
        return Ok(());
    }
    let mut cost = loaded.cost.clone();
    for (model, used) in used {
        let known = cost.models.keys().find(|key| is_same_model(key, &model)).cloned();
        let total: &mut ModelCost = cost.models.entry(known.unwrap_or_else(|| model.clone())).or_default();
        let missing = missing(&used, &total.usage);
        if missing.context_tokens() > 0 {
            total.cost_usd += (measures.price)(&model, &missing).unwrap_or_default();
            total.usage += missing;
        }
    }
    let detail = format!("The total says {recorded} tokens, and the messages {summed}.");
    checkup.correct(Check::Tokens, detail, Record::Cost(cost));
    Ok(())
}

/// What each model used in the messages that the total is about: those that we wrote and did not copy.
fn used(path: &Path, scan: &Scan, loaded: &Loaded) -> Result<BTreeMap<String, Usage>, LoadError> {
    let index = Index::new(&scan.entries, &[]);
    // What a fork began with was paid by its source.
    let copied = loaded.forked_from.as_ref().and_then(|from| index.find(from.message?));
    let own = scan.entries.iter().skip(copied.map_or(0, |last| last + 1));
    let is_response = |entry: &&Entry| entry.kind == Kind::Assistant && !entry.sidechain;
    // A partial resume copies the last rounds.
    let copies: HashSet<Uuid> =
        scan.entries.iter().filter(is_response).map(|entry| derived_uuid(entry.uuid, "copy")).collect();
    let mut seen = HashSet::new();
    let responses = own.filter(is_response).filter(|entry| !copies.contains(&entry.uuid));
    let places: Vec<_> =
        responses.filter(|entry| seen.insert(entry.uuid)).map(|entry| entry.place()).collect();
    let mut used: BTreeMap<String, Usage> = BTreeMap::new();
    crate::resume::each_line(path, places.into_iter(), |line| {
        let Ok(Response { reverie_format: 1.., message }) = serde_json::from_slice(line) else { return };
        if let (Some(usage), false) = (message.usage, message.model == SYNTHETIC_MODEL) {
            *used.entry(message.model).or_default() += usage;
        }
    })?;
    Ok(used)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    /// Other programs' records have none, and no part in the total.
    #[serde(default)]
    reverie_format: u64,
    message: ResponseMessage,
}

#[derive(Deserialize)]
struct ResponseMessage {
    #[serde(default)]
    model: String,
    usage: Option<Usage>,
}

/// Totals name the provider too: `provider/model`.
fn is_same_model(key: &str, model: &str) -> bool {
    key == model || key.split_once('/').is_some_and(|(_, name)| name == model)
}

fn missing(used: &Usage, recorded: &Usage) -> Usage {
    Usage {
        input_tokens: used.input_tokens.saturating_sub(recorded.input_tokens),
        output_tokens: used.output_tokens.saturating_sub(recorded.output_tokens),
        cache_read_input_tokens: used
            .cache_read_input_tokens
            .saturating_sub(recorded.cache_read_input_tokens),
        cache_creation_input_tokens: used
            .cache_creation_input_tokens
            .saturating_sub(recorded.cache_creation_input_tokens),
    }
}
