//! Check-ups of transcripts: the chain of messages, the totals, the state. What can be put right without losing
//! anything is put right by appending a record; a transcript is never rewritten. Everything else is described: a
//! resume finds its way around it.

mod log;
mod summaries;
mod tokens;

use std::path::Path;

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
    pub weight: Weight,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// There may be nothing wrong.
    Note,
    /// A resume finds its way around it.
    Warning,
    /// It must never be.
    Error,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkup {
    pub findings: Vec<Finding>,
    /// Appended to the transcript, these make the lossless findings go away.
    pub corrections: Vec<Record>,
}

/// What nothing here knows by itself.
#[derive(Clone, Copy)]
pub struct Measures<'a> {
    /// What a model asks for so many tokens, by its name in messages or in totals; `None`: not known.
    pub price: &'a dyn Fn(&str, &Usage) -> Option<f64>,
    /// How many tokens a text is, roughly.
    pub tokens: &'a dyn Fn(&str) -> u64,
}

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
pub fn check(path: &Path, measures: Measures<'_>) -> Result<Checkup, LoadError> {
    let reading = read(path, None, None)?;
    let scan = scan(path)?;
    let mut checkup = Checkup::default();
    checkup.chain(&reading, &scan);
    if reading.extras.has_cost {
        tokens::check(path, &scan, &reading.loaded, measures, &mut checkup)?;
    }
    checkup.state(&reading);
    summaries::check(path, &scan, measures, &mut checkup)?;
    Ok(checkup)
}

/// Puts right what can be put right without a loss, and says what was done: one line for each lossless finding.
pub fn repair(directory: &Path, stamp: Stamp, measures: Measures<'_>) -> Result<Vec<Repair>, RepairError> {
    let path = transcript_path(directory, &stamp.session);
    if check(&path, measures)?.corrections.is_empty() {
        return Ok(Vec::new());
    }
    let session = stamp.session.clone();
    let transcript = Transcript::open(directory, stamp)?;
    // Again, now that nobody else writes.
    let checkup = check(&path, measures)?;
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
        self.weigh(check, Weight::Warning, detail);
    }

    fn weigh(&mut self, check: Check, weight: Weight, detail: impl Into<String>) {
        self.findings.push(Finding { check, detail: detail.into(), lossless: false, weight });
    }

    fn correct(&mut self, check: Check, detail: impl Into<String>, correction: Record) {
        let weight = Weight::Warning;
        self.findings.push(Finding { check, detail: detail.into(), lossless: true, weight });
        self.corrections.push(correction);
    }

    fn chain(&mut self, reading: &Reading, scan: &Scan) {
        for sentence in reading.report.chain(&reading.damage, reading.bytes) {
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
}

#[cfg(test)]
mod tests;
