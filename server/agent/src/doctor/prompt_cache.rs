//! Where the newest sessions paid twice for what the prompt cache should have had.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use context::Recorded;
use conversation::Summary;
use model::Cause;
use serde::Deserialize;
use settings::directories;

use super::{Check, CheckStatus, Shared, ok};
use crate::window;

const SESSIONS: usize = 10;
/// Transcripts can be long: the newest ones up to this much in all, one in any case.
const BYTES: u64 = 64 << 20;
/// Breaks that are named; the others are counted.
const SHOWN: usize = 5;

pub(super) fn check(shared: &Shared, folder: &Path) -> Check {
    let mut sessions = conversation::list(&directories::related_project_dirs(&shared.environment, folder));
    sessions.truncate(SESSIONS);
    let mut bytes = 0;
    let mut breaks: Vec<Recorded> = Vec::new();
    for Summary { path, bytes: size, .. } in &sessions {
        if bytes > 0 && bytes + size > BYTES {
            break;
        }
        bytes += size;
        breaks.extend(breaks_in(path));
    }
    breaks.sort_by_key(|recorded| std::cmp::Reverse(recorded.at));
    described(&breaks, sessions.len())
}

/// What nobody had announced, and the cache did not have. What cannot be read is told by the other checks.
fn breaks_in(transcript: &Path) -> Vec<Recorded> {
    let Ok(file) = File::open(transcript) else { return Vec::new() };
    let mut found = Vec::new();
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        found.extend(break_in(&line));
        line.clear();
    }
    found
}

fn break_in(line: &[u8]) -> Option<Recorded> {
    #[derive(Deserialize)]
    struct Line {
        context: Recorded,
    }
    // Nearly every other line is told apart by its beginning, and need not be parsed.
    if !line.starts_with(br#"{"type":"reverie-context""#) {
        return None;
    }
    let Line { context } = serde_json::from_slice(line).ok()?;
    context.entry.as_ref().is_some_and(|entry| entry.layer == window::CACHE).then_some(context)
}

/// `breaks` newest first.
fn described(breaks: &[Recorded], sessions: usize) -> Check {
    const NAME: &str = "prompt cache";
    let seen = match sessions {
        1 => "the newest session".to_owned(),
        count => format!("the newest {count} sessions"),
    };
    if breaks.is_empty() {
        return ok(NAME, format!("it was never broken by surprise in {seen}"));
    }
    let details = breaks.iter().filter_map(|recorded| Some((recorded.at, &recorded.entry.as_ref()?.detail)));
    let mut lines: Vec<String> =
        details.clone().take(SHOWN).map(|(at, detail)| format!("{at:.0} {detail}")).collect();
    if let Some(more) = breaks.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    let detail = format!("broken in {seen}: {}", lines.join("; "));
    if details.clone().all(|(_, detail)| Cause::is_expiry(detail)) {
        return ok(NAME, detail);
    }
    Check {
        name: NAME.to_owned(),
        status: CheckStatus::Warning,
        detail,
        fix: Some("what changed between two requests is in the log, at the level debug".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use context::{Entry, Event};
    use expect_test::{Expect, expect};
    use jiff::Timestamp;

    use super::*;

    fn recorded(minute: i64, detail: &str) -> Recorded {
        let entry = Entry {
            layer: window::CACHE.to_owned(),
            detail: detail.to_owned(),
            messages: 0,
            tokens_freed: 0,
            cache_kept: false,
            original: None,
        };
        let at = Timestamp::from_second(1_800_000_000 + minute * 60).unwrap();
        Recorded { at, after: None, event: Event::Remark, entry: Some(entry) }
    }

    fn check(breaks: &[Recorded], expected: Expect) {
        let Check { status, detail, fix, .. } = described(breaks, 3);
        expected.assert_eq(&format!("{status:?} {detail}\n{}\n", fix.unwrap_or_default()));
    }

    #[test]
    fn a_change_is_a_warning_and_mere_age_is_none() {
        let cause = Cause::Expired { idle: std::time::Duration::from_secs(720) };
        let expired = recorded(1, &format!("0 of 9000 tokens were read from the prompt cache: {cause}"));
        let changed = recorded(9, "0 of 9000 tokens were read from the prompt cache: the tool Read changed");
        check(
            &[],
            expect![[r#"
            Ok it was never broken by surprise in the newest 3 sessions

        "#]],
        );
        check(
            std::slice::from_ref(&expired),
            expect![[r#"
            Ok broken in the newest 3 sessions: 2027-01-15T08:01:00Z 0 of 9000 tokens were read from the prompt cache: nothing was sent for 12 minutes, and what was cached expired

        "#]],
        );
        check(
            &[changed, expired],
            expect![[r#"
            Warning broken in the newest 3 sessions: 2027-01-15T08:09:00Z 0 of 9000 tokens were read from the prompt cache: the tool Read changed; 2027-01-15T08:01:00Z 0 of 9000 tokens were read from the prompt cache: nothing was sent for 12 minutes, and what was cached expired
            what changed between two requests is in the log, at the level debug
        "#]],
        );
        let many: Vec<Recorded> =
            (0..8).map(|minute| recorded(9 - minute, "the tool Read changed")).collect();
        check(
            &many,
            expect![[r#"
            Warning broken in the newest 3 sessions: 2027-01-15T08:09:00Z the tool Read changed; 2027-01-15T08:08:00Z the tool Read changed; 2027-01-15T08:07:00Z the tool Read changed; 2027-01-15T08:06:00Z the tool Read changed; 2027-01-15T08:05:00Z the tool Read changed; and 3 more
            what changed between two requests is in the log, at the level debug
        "#]],
        );
    }

    #[test]
    fn only_breaks_are_taken_from_a_transcript() {
        let line = |recorded: &Recorded| {
            let context = serde_json::to_value(recorded).unwrap();
            format!("{{\"type\":\"reverie-context\",\"sessionId\":\"s\",\"context\":{context}}}\n")
        };
        let broken = recorded(1, "the tool Read changed");
        let mut other = broken.clone();
        other.entry.as_mut().unwrap().layer = "full".to_owned();
        assert_eq!(break_in(line(&broken).as_bytes()), Some(broken));
        assert_eq!(break_in(line(&other).as_bytes()), None);
        for foreign in [
            "",
            "\n",
            "{\"type\":\"reverie-context\",\"context\":{\"cacheWatch\":{}}}",
            "{\"type\":\"user\"}",
        ] {
            assert_eq!(break_in(foreign.as_bytes()), None, "{foreign}");
        }
    }
}
