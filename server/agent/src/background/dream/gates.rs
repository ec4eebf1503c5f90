//! When to dream: the cheapest question first, so that most turns end at one of the first.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::{Duration, SystemTime},
};

use conversation::SessionId;
use jiff::{SignedDuration, Timestamp};
use memory::dream_lock::{Holder, Seen};
use settings::{Settings, directories};

use super::super::{Gate, gates};
use crate::shared::Shared;

/// Sessions are not counted more often.
const SCAN_EVERY: Duration = Duration::from_secs(10 * 60);

/// How far to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Depth {
    /// Counting sessions counts as the scan of the next ten minutes.
    UpToTheFirstClosed,
    /// Likewise, when nothing goes on: that is once after many turns, so it may count.
    AtRest,
    /// For a schedule: it was time, whatever the hours and the number of sessions, unless somebody has dreamt since.
    Scheduled(Timestamp),
    /// For whoever wants to see it.
    All,
}

pub(in super::super) struct Look {
    pub gates: Vec<Gate>,
    pub last: Option<Timestamp>,
    pub holder: Option<Holder>,
    /// Other sessions that were touched since, oldest first.
    pub sessions: Vec<String>,
}

impl Look {
    /// The last dream that is done: while somebody dreams, the one before that. Claude Code does not say when it was.
    pub fn before(&self) -> Option<Timestamp> {
        match &self.holder {
            Some(holder) if holder.since.is_some() => holder.previous,
            Some(_) | None => self.last,
        }
    }

    pub fn is_open(&self) -> bool {
        self.gates.iter().all(|gate| gate.open)
    }
}

/// Looks at the disk.
pub(in super::super) fn look(
    shared: &Shared,
    settings: &Settings,
    folder: &Path,
    current: Option<&SessionId>,
    depth: Depth,
) -> Look {
    let features = settings.features(&shared.environment);
    let strike = match depth {
        Depth::Scheduled(strike) => Some(strike),
        _ => None,
    };
    let scheduled = strike.is_some();
    let mut gates = gates::common(shared, settings);
    gates.push(Gate::of("enabled", features.dream.is_some(), "the setting reverie.features.dream"));
    gates.push(Gate {
        name: "dailyLog",
        open: scheduled || !features.daily_log,
        detail: match features.daily_log {
            true => "in daily-log mode dreams come at night alone".to_owned(),
            false => "no daily log".to_owned(),
        },
    });
    let attended = !shared.non_interactive.load(Ordering::Relaxed);
    gates.push(Gate {
        name: "interactive",
        open: attended,
        detail: if attended { "somebody is there" } else { "nobody is there to see it" }.to_owned(),
    });
    let mut look = Look { gates, last: None, holder: None, sessions: Vec::new() };
    let is_done = |look: &Look| depth != Depth::All && !look.is_open();
    if is_done(&look) {
        return look;
    }

    let directory = settings.memory_dir(&shared.environment, folder);
    let past = shared.dreams.past(&directory);
    let waits = past.waits();
    look.gates.push(Gate {
        name: "backoff",
        open: waits.is_none(),
        detail: match waits {
            Some(left) => {
                format!("{} failed; the next try is in {} min", past.failures, left.as_secs().div_ceil(60))
            }
            None => "none has failed lately".to_owned(),
        },
    });
    let wanted = features.dream.unwrap_or_default();
    let seen = super::lock_of(shared, &directory).look().unwrap_or_else(|error| {
        tracing::warn!(%error, "the dream lock cannot be looked at");
        Seen::default()
    });
    look.last = seen.last;
    look.holder = seen.holder;
    look.gates.push(hours(look.last, shared.faults.clock().now().timestamp(), wanted.min_hours, strike));
    if is_done(&look) {
        return look;
    }

    let scanned = past.scanned.map(|at| at.elapsed());
    let rested = scanned.is_none_or(|ago| ago >= SCAN_EVERY);
    look.gates.push(Gate {
        name: "scan",
        open: rested || scheduled || depth == Depth::AtRest,
        detail: match scanned {
            Some(ago) => format!(
                "sessions were counted {} min ago; every {} min is enough",
                ago.as_secs() / 60,
                SCAN_EVERY.as_secs() / 60
            ),
            None => "sessions were not counted yet".to_owned(),
        },
    });
    if is_done(&look) {
        return look;
    }
    if matches!(depth, Depth::UpToTheFirstClosed | Depth::AtRest) {
        shared.dreams.scanned(&directory);
    }

    let before = look.before();
    look.sessions =
        touched_since(&directories::related_project_dirs(&shared.environment, folder), before, current);
    let (count, least) = (look.sessions.len(), wanted.min_sessions as usize);
    look.gates.push(Gate {
        name: "sessions",
        open: scheduled || count >= least,
        detail: format!("{count} of {least} other sessions since the last dream"),
    });
    look.gates.push(Gate {
        name: "lock",
        open: look.holder.is_none(),
        detail: match &look.holder {
            Some(holder) => format!("process {} is dreaming", holder.pid),
            None => "nobody is dreaming".to_owned(),
        },
    });
    look
}

fn hours(last: Option<Timestamp>, now: Timestamp, least: u32, strike: Option<Timestamp>) -> Gate {
    let ago = last.map(|last| now.duration_since(last));
    let long_enough = ago.is_none_or(|ago| ago >= SignedDuration::from_hours(i64::from(least)));
    Gate {
        name: "hours",
        open: long_enough || strike.is_some_and(|strike| last.is_none_or(|last| last < strike)),
        detail: match ago {
            Some(ago) => format!("{} of {least} hours since the last dream", ago.as_hours()),
            None => "there was no dream yet".to_owned(),
        },
    }
}

/// The sessions whose transcripts were written to since, oldest first.
fn touched_since(dirs: &[PathBuf], since: Option<Timestamp>, but: Option<&SessionId>) -> Vec<String> {
    let since = since.map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
    let entries = dirs.iter().flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten());
    let mut touched: Vec<(SystemTime, String)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let id = name.to_str()?.strip_suffix(".jsonl")?;
            let id = SessionId::parse(id).filter(|id| Some(id) != but)?;
            let modified = entry.metadata().ok().filter(|found| found.is_file())?.modified().ok()?;
            (modified > since).then(|| (modified, id.to_string()))
        })
        .collect();
    touched.sort();
    touched.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_to_pass_and_no_dream_yet_is_long_enough() {
        let now: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        assert!(!hours(at("2026-03-01T12:00:01Z"), now, 24, None).open);
        assert!(hours(at("2026-03-01T12:00:00Z"), now, 24, None).open);
        assert!(hours(None, now, 24, None).open);
        // Whoever came first that night has done it.
        assert!(hours(at("2026-03-02T02:00:00Z"), now, 24, at("2026-03-02T03:00:00Z")).open);
        assert!(!hours(at("2026-03-02T03:01:00Z"), now, 24, at("2026-03-02T03:00:00Z")).open);
    }

    #[test]
    fn sessions_of_all_worktrees_count_and_the_current_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let dirs = ["a", "b"].map(|name| home.path().join(name));
        let ids: Vec<SessionId> = (0..3).map(|_| SessionId::random()).collect();
        for (dir, id) in [(0, 0), (1, 1), (1, 2)] {
            fs::create_dir_all(&dirs[dir]).unwrap();
            fs::write(dirs[dir].join(format!("{}.jsonl", ids[id])), "x").unwrap();
        }
        fs::write(dirs[0].join("project-state.md"), "x").unwrap();
        fs::write(dirs[0].join("no-id.jsonl"), "x").unwrap();
        assert_eq!(touched_since(&dirs, None, Some(&ids[1])).len(), 2);
        let later = Timestamp::now() + SignedDuration::from_hours(1);
        assert_eq!(touched_since(&dirs, Some(later), None).len(), 0);
    }
}
