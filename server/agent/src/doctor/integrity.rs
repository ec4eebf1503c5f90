//! The five integrity checks: message chain, token totals, state, caches, indexes. What can be put right without losing
//! anything is put right at once; the rest when it is asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use conversation::{
    RepairLog, SessionId, Stamp, Summary, Transcript,
    integrity::{self, Finding},
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
/// Copies of changed files that no transcript names any more are kept this long.
const UNUSED_COPIES: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) fn checks(shared: &Shared, folder: &Path, repair: Repair) -> Vec<Check> {
    let cache = directories::config_home(&shared.environment).join("cache");
    let mut transcripts = Transcripts::read(shared, folder, repair);
    let log = RepairLog::open(&cache);
    if let Err(error) = log.add(&transcripts.repaired) {
        tracing::warn!(%error, "repairs could not be written down");
    }
    vec![
        transcripts.check(integrity::Check::Chain),
        transcripts.check(integrity::Check::Tokens),
        transcripts.check(integrity::Check::State),
        caches(shared, folder, repair),
        indexes(shared),
        repairs(&log),
    ]
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
            read.examine(session, repair, &price);
        }
        read
    }

    fn examine(&mut self, session: &Summary, repair: Repair, price: integrity::Price<'_>) {
        let Some(directory) = session.path.parent() else { return };
        match integrity::repair(directory, stamp(session), price) {
            Ok(done) => self.repaired.extend(done),
            // Whoever has it open looks after it; what cannot be read is told below.
            Err(error) => tracing::debug!(session = %session.session, %error, "not repaired"),
        }
        let findings = match integrity::check(&session.path, price) {
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
        // A total may be higher than the messages say: a request whose answer was not kept was paid for too.
        let is_one = |finding: &Finding| {
            finding.check == check && (finding.lossless || check != integrity::Check::Tokens)
        };
        let found: Vec<String> = self
            .findings
            .iter()
            .filter(|(_, finding)| is_one(finding))
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
            status: CheckStatus::Warning,
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

/// Copies of changed files, and what a killed process has left.
fn caches(shared: &Shared, folder: &Path, repair: Repair) -> Check {
    let dirs = directories::related_project_dirs(&shared.environment, folder);
    let config_home = directories::config_home(&shared.environment);
    let removed: usize = dirs.iter().chain([&config_home]).map(|dir| remove_stale(dir)).sum();
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
    ok("caches", detail)
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
    match shared.search_index().refresh(&|| false) {
        Ok(()) => ok("indexes", format!("{} project folders are indexed", store::session_dirs(shared).len())),
        Err(error) => Check {
            name: "indexes".to_owned(),
            status: CheckStatus::Warning,
            detail: format!("the search index cannot be written: {error}; searching is slower"),
            fix: Some("make the cache folder in the config home writable".to_owned()),
        },
    }
}

fn repairs(log: &RepairLog) -> Check {
    let recent = log.recent();
    let Some(last) = recent.last() else { return ok("repairs", "none so far".to_owned()) };
    let succeeded = recent.iter().filter(|repair| repair.success).count();
    ok(
        "repairs",
        format!(
            "{succeeded} of the last {} succeeded; the last: {} ({})",
            recent.len(),
            last.detail,
            last.at
        ),
    )
}
