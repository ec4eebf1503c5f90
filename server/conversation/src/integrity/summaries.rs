//! Compactions: "summaries within 50 tokens", "a compaction ratio under 1 is an error".

use std::{collections::HashMap, path::Path};

use serde::Deserialize;
use uuid::Uuid;

use super::{Check, Checkup, Measures, Weight};
use crate::{
    message::{Block, Body},
    record::{Record, decode},
    resume::LoadError,
    scan::{Kind, Scan},
};

const TOLERANCE: u64 = 50;

/// Only records of compactions are read: boundaries, and what follows them.
pub(super) fn check(
    path: &Path,
    scan: &Scan,
    measures: Measures<'_>,
    checkup: &mut Checkup,
) -> Result<(), LoadError> {
    let boundaries = scan.entries.iter().filter(|entry| entry.boundary);
    let places: Vec<_> = boundaries.clone().map(|entry| entry.place()).collect();
    let mut uuids = boundaries.map(|entry| entry.uuid);
    // What each boundary says about the size of its summary.
    let mut told: HashMap<Uuid, Option<u64>> = HashMap::new();
    crate::resume::each_line(path, places.into_iter(), |line| {
        let Some(uuid) = uuids.next() else { return };
        let sizes = serde_json::from_slice::<Counted>(line).ok().and_then(|line| line.compact_metadata);
        told.insert(uuid, sizes.as_ref().and_then(|sizes| sizes.summary));
        if let Some(Sizes { before: Some(before), after: Some(after), .. }) = sizes
            && after > before
        {
            let detail = format!("A compaction made {before} tokens into {after}: more than there were.");
            checkup.weigh(Check::State, Weight::Error, detail);
        }
    })?;
    let follows = scan.entries.iter().filter(|entry| entry.kind == Kind::User);
    let follows: Vec<_> =
        follows.filter_map(|entry| told.get(&entry.parent).map(|count| (entry.place(), *count))).collect();
    let mut counts = follows.iter().map(|(_, count)| *count);
    crate::resume::each_line(path, follows.iter().map(|(place, _)| *place), |line| {
        let told = counts.next().flatten();
        let own = serde_json::from_slice::<Counted>(line).ok().and_then(|line| line.summary_tokens);
        if let Some(recorded) = own.or(told)
            && let Some(estimate) = summary_tokens(line, measures)
            && recorded.abs_diff(estimate) > TOLERANCE
        {
            let detail = format!("A summary was counted as {recorded} tokens, and has about {estimate}.");
            checkup.describe(Check::Tokens, detail);
        }
    })?;
    Ok(())
}

/// `None`: it is no summary.
fn summary_tokens(line: &[u8], measures: Measures<'_>) -> Option<u64> {
    let Ok(Record::Message(message)) = decode(line) else { return None };
    let Body::User { content } = &message.body else { return None };
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some((measures.tokens)(text)),
        _ => None,
    });
    message.flags.compact_summary.then(|| texts.sum())
}

/// A record that may say how large a summary is: its own, or its boundary.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    compact_metadata: Option<Sizes>,
    summary_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Sizes {
    #[serde(rename = "preTokens", alias = "tokensBefore")]
    before: Option<u64>,
    #[serde(rename = "postTokens", alias = "tokensAfter")]
    after: Option<u64>,
    #[serde(rename = "summaryTokens")]
    summary: Option<u64>,
}
