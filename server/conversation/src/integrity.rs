//! Check-ups of transcripts: the chain of messages, the totals, the state. What can be put right without losing
//! anything is put right by appending a record; a transcript is never rewritten. Everything else is described: a
//! resume finds its way around it.

mod log;
mod tokens;

use std::path::Path;

use serde::Deserialize;

pub use log::{Repair, RepairLog};

use crate::{
    message::Usage,
    record::{Record, Stamp, transcript_path},
    resume::{LoadError, Noticed, Reading, read, unsent_prompts},
    scan::{Scan, scan},
    thread::Index,
    transcript::{Transcript, TranscriptError},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Parents, loops, calls and their results, duplicates, damaged lines.
    Chain,
    /// What the messages used, against what was written down as the total.
    Tokens,
    /// Mode, rewinds, waiting prompts, compactions, what listings are told.
    State,
}

impl Check {
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "message chain",
            Self::Tokens => "token totals",
            Self::State => "state",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub check: Check,
    pub detail: String,
    /// [`repair`] puts it right, and nothing is lost by that.
    pub lossless: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkup {
    pub findings: Vec<Finding>,
    /// Appended to the transcript, these make the lossless findings go away.
    pub corrections: Vec<Record>,
}

/// What a model asks for so many tokens, by its name in messages or in totals; `None`: not known.
pub type Price<'a> = &'a dyn Fn(&str, &Usage) -> Option<f64>;

/// The names of the modes a session can be in.
const MODES: &[&str] = &["default", "acceptEdits", "plan", "bypass", "bypassPermissions"];

#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// [`TranscriptError::Busy`]: whoever has the session open looks after it.
    #[error(transparent)]
    Write(#[from] TranscriptError),
}

/// Reads the whole transcript and changes nothing.
pub fn check(path: &Path, price: Price<'_>) -> Result<Checkup, LoadError> {
    let reading = read(path, None, None)?;
    let scan = scan(path)?;
    let mut checkup = Checkup::default();
    checkup.chain(&reading, &scan);
    if reading.extras.has_cost {
        tokens::check(path, &scan, &reading.loaded, price, &mut checkup)?;
    }
    checkup.state(&reading);
    checkup.boundaries(path, &scan)?;
    Ok(checkup)
}

/// Puts right what can be put right without a loss, and says what was done: one line for each lossless finding.
pub fn repair(directory: &Path, stamp: Stamp, price: Price<'_>) -> Result<Vec<Repair>, RepairError> {
    let path = transcript_path(directory, &stamp.session);
    if check(&path, price)?.corrections.is_empty() {
        return Ok(Vec::new());
    }
    let session = stamp.session.clone();
    let transcript = Transcript::open(directory, stamp)?;
    // Again, now that nobody else writes.
    let checkup = check(&path, price)?;
    let written = checkup.corrections.iter().try_for_each(|record| transcript.append(record));
    let success = written.and_then(|()| transcript.sync()).is_ok();
    let lossless = checkup.findings.into_iter().filter(|finding| finding.lossless);
    let repaired = lossless.map(|finding| Repair {
        at: jiff::Timestamp::now(),
        subject: session.to_string(),
        check: finding.check.name().to_owned(),
        detail: finding.detail,
        success,
    });
    Ok(repaired.collect())
}

impl Checkup {
    fn describe(&mut self, check: Check, detail: impl Into<String>) {
        self.findings.push(Finding { check, detail: detail.into(), lossless: false });
    }

    fn correct(&mut self, check: Check, detail: impl Into<String>, correction: Record) {
        self.findings.push(Finding { check, detail: detail.into(), lossless: true });
        self.corrections.push(correction);
    }

    fn chain(&mut self, reading: &Reading, scan: &Scan) {
        for sentence in reading.report.chain(&reading.damage, reading.bytes, &reading.loaded) {
            self.describe(Check::Chain, sentence);
        }
        // The sentences are about the thread that is gone on with.
        let missing = Index::new(&scan.entries, &[]).missing_parents();
        let elsewhere = missing.saturating_sub(reading.report.dangling());
        if elsewhere > 0 {
            self.describe(
                Check::Chain,
                format!("On other branches, {elsewhere} messages follow ones that are missing."),
            );
        }
    }

    fn state(&mut self, reading: &Reading) {
        let Reading { loaded, report, extras, .. } = reading;
        for sentence in unsent_prompts(&loaded.queued) {
            self.describe(Check::State, sentence);
        }
        if report.has_lost_head() {
            let head = Record::Head { uuid: loaded.thread.last().map(|message| message.uuid) };
            let detail = "The session was rewound to a message that is missing.";
            self.correct(Check::State, detail, head);
        }
        if let Some(mode) = loaded.mode.as_deref().filter(|mode| !MODES.contains(mode)) {
            let mode = crate::excerpt::one_line(mode, 40);
            self.describe(Check::State, format!("The session's mode has a name that is not known: {mode}."));
        }
        let Noticed { broken_prefix, dequeued_from_nowhere, recorded_branches, .. } = extras;
        if *broken_prefix {
            let detail = "The start of the session's requests cannot be read; the next request renders it anew, and the provider's cache does not know that.";
            self.describe(Check::State, detail);
        }
        if *dequeued_from_nowhere > 0 {
            let detail = format!("{dequeued_from_nowhere} prompts no longer wait that never did.");
            self.describe(Check::State, detail);
        }
        let branches = loaded.branches.len() as u64;
        if branches > 0 && recorded_branches.unwrap_or(1) != branches {
            let told = recorded_branches.unwrap_or(1);
            let detail = format!("Listings are told of {told} branches, and there are {branches}.");
            self.correct(Check::State, detail, Record::Branches(branches));
        }
    }

    /// "A compaction ratio under 1 is an error": what was kept is more than what there was.
    fn boundaries(&mut self, path: &Path, scan: &Scan) -> Result<(), LoadError> {
        let places = scan.entries.iter().filter(|entry| entry.boundary).map(|entry| entry.place());
        crate::resume::each_line(path, places, |line| {
            let Ok(boundary) = serde_json::from_slice::<Boundary>(line) else { return };
            let Some(sizes) = boundary.compact_metadata else { return };
            if let (Some(before), Some(after)) = (sizes.before, sizes.after)
                && after > before
            {
                let detail = format!("A compaction made {before} tokens into {after}: more than there were.");
                self.describe(Check::State, detail);
            }
        })?;
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Boundary {
    compact_metadata: Option<Sizes>,
}

#[derive(Deserialize)]
struct Sizes {
    #[serde(rename = "preTokens", alias = "tokensBefore")]
    before: Option<u64>,
    #[serde(rename = "postTokens", alias = "tokensAfter")]
    after: Option<u64>,
}

#[cfg(test)]
mod tests;
