//! The five integrity checks: message chain, token totals, state, caches, indexes. What can be put right without losing
//! anything is put right at once; the rest when it is asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use conversation::{
    RepairLog, SearchIndex, SessionId, Stamp, Summary, Transcript,
    integrity::{self, Finding, Measures, Weight},
};
use jiff::Timestamp;
use settings::directories;

use super::{Check, CheckStatus, Repair, Shared, ok};
use crate::{git, store};

/// Without `--repair` only the newest sessions are read: they are the ones that somebody goes on with.
const NEWEST: usize = 20;
const NEWEST_BYTES: u64 = 64 << 20;

/// "Caches, stale after 24 h."
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// The newest repairs are shown; the rest where somebody asks for it.
const SHOWN_REPAIRS: usize = 5;
/// Copies of changed files that no transcript names any more are kept this long.
const UNUSED_COPIES: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) fn checks(shared: &Shared, folder: &Path, repair: Repair) -> Vec<Check> {
    let mut transcripts = Transcripts::read(shared, folder, repair);
    let mut repaired = std::mem::take(&mut transcripts.repaired);
    let mut checks = vec![
        transcripts.check(integrity::Check::Chain),
        transcripts.check(integrity::Check::Tokens),
        transcripts.check(integrity::Check::State),
        caches(shared, folder, repair, &mut repaired),
        indexes(shared),
    ];
    if let Err(error) = RepairLog::open(&shared.cache_dir()).add(&repaired) {
        tracing::warn!(%error, "repairs could not be written down");
    }
    checks.push(repairs(&super::repairs(shared)));
    checks
}

struct Transcripts {
    looked_at: usize,
    of: usize,
    findings: Vec<(SessionId, Finding)>,
    unreadable: Vec<String>,
    repaired: Vec<conversation::Repair>,
}

impl Transcripts {
    fn read(shared: &Shared, folder: &Path, repair: Repair) -> Self {
        let all = conversation::list(&directories::related_project_dirs(&shared.environment, folder));
        let models = shared.models(&shared.settings(folder).settings);
        let price = |name: &str, usage: &conversation::Usage| {
            models.resolve(Some(name)).ok().map(|(spec, _)| spec.cost_usd(usage))
        };
        let measures = Measures { price: &price, tokens: &context::estimate::tokens_of_text };
        let mut read = Self {
            looked_at: 0,
            of: all.len(),
            findings: Vec::new(),
            unreadable: Vec::new(),
            repaired: Vec::new(),
        };
        let mut bytes = 0;
        for session in &all {
            bytes += session.bytes;
            let enough = read.looked_at >= NEWEST || bytes > NEWEST_BYTES;
            if repair == Repair::Lossless && enough && read.looked_at > 0 {
                break;
            }
            read.looked_at += 1;
            read.examine(session, repair, measures);
        }
        read
    }

    fn examine(&mut self, session: &Summary, repair: Repair, measures: Measures<'_>) {
        let Some(directory) = session.path.parent() else { return };
        match integrity::repair(directory, stamp(session), measures) {
            Ok(done) => self.repaired.extend(done),
            // Whoever has it open looks after it; what cannot be read is told below.
            Err(error) => tracing::debug!(session = %session.session, %error, "not repaired"),
        }
        let findings = match integrity::check(&session.path, measures) {
            Ok(checkup) => checkup.findings,
            Err(error) => {
                self.unreadable.push(format!("{}: {error}", session.session));
                return;
            }
        };
        let is_damaged = findings.iter().any(|finding| finding.check == integrity::Check::Chain);
        if repair == Repair::All && is_damaged {
            let outcome = replace(directory, session);
            let success = outcome.is_ok();
            let detail = outcome.unwrap_or_else(|error| format!("it could not be copied: {error}"));
            let (at, subject) = (Timestamp::now(), session.session.to_string());
            let check = integrity::Check::Chain.name().to_owned();
            self.repaired.push(conversation::Repair { at, subject, check, detail, success });
            if success {
                return;
            }
        }
        self.findings.extend(findings.into_iter().map(|finding| (session.session.clone(), finding)));
    }

    fn check(&mut self, check: integrity::Check) -> Check {
        let is_one = |finding: &Finding| finding.check == check && finding.weight > Weight::Note;
        let of_check = self.findings.iter().filter(|(_, finding)| is_one(finding));
        let is_error = of_check.clone().any(|(_, finding)| finding.weight == Weight::Error);
        let found: Vec<String> = of_check
            .map(|(session, finding)| format!("{session}: {}", finding.detail))
            .chain(match check {
                integrity::Check::Chain => std::mem::take(&mut self.unreadable),
                integrity::Check::Tokens | integrity::Check::State => Vec::new(),
            })
            .collect();
        let seen = match (self.looked_at, self.of) {
            (1, 1) => "1 session".to_owned(),
            (looked_at, of) if looked_at == of => format!("{of} sessions"),
            (looked_at, of) => format!("the newest {looked_at} of {of} sessions"),
        };
        if found.is_empty() {
            return ok(check.name(), format!("nothing wrong in {seen}"));
        }
        Check {
            name: check.name().to_owned(),
            status: if is_error { CheckStatus::Failed } else { CheckStatus::Warning },
            detail: format!("in {seen}: {}", found.join("; ")),
            fix: Some(
                "resuming the session works around it; `reverie doctor --repair` makes a sound copy"
                    .to_owned(),
            ),
        }
    }
}

/// Copies what can be reached of a damaged session into a sound one, and moves the damaged one to the trash, where it
/// can be had back. Says so.
fn replace(directory: &Path, session: &Summary) -> Result<String, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    // Nobody else may have it open meanwhile.
    let held = Transcript::open(directory, stamp(session)).map_err(|error| words(&error))?;
    let copy = Stamp { session: SessionId::random(), ..stamp(session) };
    conversation::fork(directory, &session.session, None, &copy).map_err(|error| words(&error))?;
    store::move_to_trash(directory, &session.session).map_err(|error| words(&error))?;
    drop(held);
    Ok(format!("what could be read was copied to {}; the damaged session is in the trash", copy.session))
}

fn stamp(session: &Summary) -> Stamp {
    let cwd = session.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    Stamp {
        session: session.session.clone(),
        git_branch: git::branch(&cwd),
        cwd,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Copies of changed files, indexes that nobody has refreshed or uses, and what a killed process has left.
fn caches(shared: &Shared, folder: &Path, repair: Repair, repaired: &mut Vec<conversation::Repair>) -> Check {
    let dirs = directories::related_project_dirs(&shared.environment, folder);
    let home = directories::config_home(&shared.environment);
    let cache = shared.cache_dir();
    let removed: usize = dirs.iter().chain([&home, &cache]).map(|dir| remove_stale(dir)).sum();
    let mut bytes = 0;
    for dir in dirs.iter().filter(|dir| dir.join("checkpoints").is_dir()) {
        let kept = checkpoints::Store::new(dir.join("checkpoints"));
        if repair == Repair::All
            && let Err(error) = kept.collect(named_copies(dir), UNUSED_COPIES, SystemTime::now())
        {
            tracing::warn!(%error, "old copies of files could not be cleared away");
        }
        bytes += kept.size().map(|size| size.bytes).unwrap_or_default();
    }
    let mut detail = format!("{} KB of copies of changed files", bytes / 1_024);
    if removed > 0 {
        detail.push_str(&format!("; {removed} files that a killed process had left were removed"));
    }
    for (text, success) in stale_indexes(shared, &cache) {
        detail.push_str(&format!("; {text}"));
        let (at, subject, check) = (Timestamp::now(), "search index".to_owned(), "caches".to_owned());
        repaired.push(conversation::Repair { at, subject, check, detail: text, success });
    }
    ok("caches", detail)
}

/// "Caches, stale after 24 h": brings up to date, or removes, what nobody has refreshed for so long. Says what was done,
/// and whether it could be.
fn stale_indexes(shared: &Shared, cache: &Path) -> Vec<(String, bool)> {
    let Some(before) = SystemTime::now().checked_sub(STALE) else { return Vec::new() };
    let mut done = Vec::new();
    match shared.search_index(store::session_dirs(shared)).refresh_stale(before) {
        Ok(0) => {}
        Ok(count) => {
            let text =
                format!("search indexes brought up to date because they were older than a day: {count}");
            done.push((text, true));
        }
        Err(error) => {
            done.push((
                format!("the search index is older than a day and cannot be written: {error}"),
                false,
            ));
        }
    }
    match SearchIndex::remove_unused(cache, &store::all_dirs(shared), before) {
        0 => {}
        count => {
            done.push((format!("search indexes removed because their projects are gone: {count}"), true))
        }
    }
    done
}

/// All copies that a transcript of this folder may want back.
fn named_copies(dir: &Path) -> Vec<checkpoints::Blob> {
    let sessions = conversation::list(&[dir.to_owned()]);
    let loaded = sessions.iter().filter_map(|it| conversation::load(dir, &it.session, None, None).ok());
    let entries = loaded.flat_map(|loaded| loaded.checkpoints);
    let entries = entries.filter_map(|entry| serde_json::from_value::<checkpoints::Entry>(entry).ok());
    entries.flat_map(|entry| entry.blobs().collect::<Vec<_>>()).collect()
}

/// Temporary files of ours that nobody has touched for a day.
fn remove_stale(dir: &Path) -> usize {
    let is_ours = |name: &str| name.starts_with('.') && name.ends_with(".tmp");
    let is_stale = |entry: &fs::DirEntry| {
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok()?.elapsed().ok()?;
        Some(age > STALE)
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let stale = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(is_ours)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && is_stale(entry) == Some(true)
    });
    stale.filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
}

fn indexes(shared: &Shared) -> Check {
    let dirs = store::session_dirs(shared);
    let count = dirs.len();
    match shared.search_index(dirs).refresh(&|| false) {
        Ok(()) => ok("indexes", format!("{count} project folders are indexed")),
        Err(error) => Check {
            name: "indexes".to_owned(),
            status: CheckStatus::Warning,
            detail: format!("the search index cannot be written: {error}; searching is slower"),
            fix: Some("make the cache folder in the config home writable".to_owned()),
        },
    }
}

/// Newest first.
fn repairs(recent: &[conversation::Repair]) -> Check {
    if recent.is_empty() {
        return ok("repairs", "none so far".to_owned());
    }
    let succeeded = recent.iter().filter(|repair| repair.success).count();
    let mut detail = format!("{succeeded} of the last {} succeeded", recent.len());
    for repair in recent.iter().take(SHOWN_REPAIRS) {
        let outcome = if repair.success { "done" } else { "failed" };
        let conversation::Repair { at, subject, check, detail: what, .. } = repair;
        detail.push_str(&format!("\n{at:.0}, {outcome}: {check}, {subject}: {}", what.replace('\n', " ")));
    }
    if recent.len() > SHOWN_REPAIRS {
        detail.push_str(&format!("\nand {} more: reverie doctor --repairs", recent.len() - SHOWN_REPAIRS));
    }
    ok("repairs", detail)
}
