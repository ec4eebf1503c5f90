use std::{path::PathBuf, time::Duration};

use conversation::ResultContent;
use expect_test::{Expect, expect};

use super::*;
use crate::sample::{bytes, layout, thread, time};

struct Disk;

impl Shelf for Disk {
    fn keep(&mut self, tool_use_id: &str, _: &ResultContent) -> Option<PathBuf> {
        Some(format!("/results/{tool_use_id}.txt").into())
    }
}

fn nothing() -> Switches {
    Switches {
        storage: false,
        message_limit: 200_000,
        snip: None,
        clear: None,
        cache_edits: None,
        collapse: false,
        auto_compact: false,
    }
}

/// Ten messages of before, then two large results.
const THREAD: &str = "user one
    call a Bash t1
    result t1 x*2000
    call b Bash t2
    result t2 x*2000
    call c Bash t3
    result t3 x*2000
    say d done
    user two
    call e Bash t4 Bash t5
    result t4 x*6000
    result t5 x*5000";

fn prepared(switches: &Switches, effective: u64, threshold: u64, second: i64) -> (Prepared, Projection) {
    let thread = thread(THREAD);
    let projection = Projection::default();
    let used = thread.iter().map(|message| bytes(message)).sum();
    let (now, tokens): (_, Tokens<'_>) = (time(second), &bytes);
    let situation = Situation {
        thread: &thread,
        projection: &projection,
        used,
        effective,
        threshold,
        switches,
        now,
        tokens,
    };
    let prepared = prepare(&situation, &mut Disk);
    let mut after = projection.clone();
    for change in &prepared.changes {
        after.apply(&change.clone().recorded(now, thread.last().map(|message| message.uuid)));
    }
    (prepared, after)
}

/// The ledger, the gate, and what is sent.
fn check(switches: &Switches, second: i64, expected: Expect) {
    let (prepared, after) = prepared(switches, 20_000, 9_000, second);
    let mut shown = String::new();
    for entry in prepared.changes.iter().filter_map(|change| change.entry.as_ref()) {
        let cache = if entry.cache_kept { "kept" } else { "broken" };
        shown.push_str(&format!(
            "{}: {}, {} freed, cache {cache}\n",
            entry.layer, entry.detail, entry.tokens_freed
        ));
    }
    shown.push_str(&format!("{} used, {:?}\n", prepared.used, prepared.gate));
    let thread = thread(THREAD);
    let view = after.view(&thread);
    assert_eq!(prepared.used, view.iter().map(|message| bytes(message)).sum::<u64>());
    shown.push_str(&layout(view.iter().map(|message| &**message)));
    expected.assert_eq(&shown);
}

#[test]
fn with_everything_off_nothing_happens() {
    let (prepared, _) = prepared(&nothing(), 20_000, 9_000, 99_999);
    assert_eq!((prepared.changes.len(), prepared.used, prepared.gate), (0, 17_015, Gate::Open));
}

#[test]
fn each_stage_works_on_what_the_ones_before_it_left() {
    let clear = Some(Clear { after: Duration::from_secs(3_600), keep: 2 });
    let switches = Switches {
        storage: true,
        message_limit: 10_000,
        snip: Some(12_000),
        clear,
        auto_compact: true,
        ..nothing()
    };
    check(
        &switches,
        9_999,
        expect![[r#"
            storage: 1 large result of one message went to the disk, 3232 freed, cache kept
            snip: 3 old messages left the request; 3 are left out in all, 1830 freed, cache broken
            microcompact: 2 old results emptied: the last response is long ago, 3934 freed, cache broken
            8019 used, Open
            user: 174 bytes
            assistant: Bash t2
            user: result t2: [Old tool result content cleared]
            assistant: Bash t3
            user: result t3: [Old tool result content cleared]
            assistant: done
            user: two
            assistant: Bash t4
            assistant: Bash t5
            user: result t4: 2768 bytes
            user: result t5: 5000 bytes
        "#]],
    );
}

#[test]
fn cache_edits_come_only_when_nothing_was_cleared() {
    let clear = Some(Clear { after: Duration::from_secs(3_600), keep: 4 });
    let cache_edits = Some(CacheEdits { over: 4, keep: 2 });
    let switches = Switches { clear, cache_edits, ..nothing() };
    let layers = |second| {
        let (prepared, after) = prepared(&switches, 20_000, 9_000, second);
        let layers = prepared.changes.into_iter().filter_map(|change| change.entry).map(|entry| entry.layer);
        (layers.collect::<Vec<_>>(), after.cache_edits().len())
    };
    assert_eq!(layers(100), (vec!["cacheEdits".to_owned()], 3));
    assert_eq!(layers(9_999), (vec!["microcompact".to_owned()], 0));
}

#[test]
fn the_gate_closes_above_the_threshold_if_it_may() {
    let gate = |auto_compact, threshold| {
        prepared(&Switches { auto_compact, ..nothing() }, 20_000, threshold, 0).0.gate
    };
    assert_eq!(gate(true, 17_015), Gate::Open);
    assert_eq!(gate(true, 17_014), Gate::Compact);
    assert_eq!(gate(false, 17_014), Gate::Open);
}

#[test]
fn a_short_conversation_is_not_compacted() {
    let thread =
        thread("user one\nsay a x*9000\nnotice\nnotice\nuser two\nsay b fine\nuser three\nsay c fine");
    let (projection, switches) = (Projection::default(), Switches { auto_compact: true, ..nothing() });
    let situation = Situation {
        thread: &thread,
        projection: &projection,
        used: 9_000,
        effective: 5_000,
        threshold: 4_000,
        switches: &switches,
        now: time(0),
        tokens: &bytes,
    };
    assert_eq!(prepare(&situation, &mut Disk).gate, Gate::Open);
}

#[test]
fn collapsing_takes_the_place_of_compaction() {
    let switches = Switches { collapse: true, auto_compact: true, ..nothing() };
    let gate = |effective| {
        let (prepared, _) = prepared(&switches, effective, 1_000, 0);
        (prepared.changes.len(), prepared.gate)
    };
    assert_eq!(gate(20_000), (0, Gate::Open));
    assert_eq!(gate(18_500), (1, Gate::Open), "staged at 90 %");
    let (changes, now) = gate(17_500);
    let Gate::CollapseNow { staged } = now else { panic!("{now:?}") };
    assert_eq!((changes, staged.len()), (1, 1), "used at 95 %");
}

#[test]
fn with_nothing_to_collapse_compaction_has_to_do_it() {
    let lines = format!("user go\n{}", "say a x\nuser more\n".repeat(6));
    let mut thread = thread(&lines);
    thread.truncate(11);
    let switches = Switches { collapse: true, auto_compact: true, ..nothing() };
    // All records have one id and no stop reason: they are one round, and no span.
    let projection = Projection::default();
    let situation = Situation {
        thread: &thread,
        projection: &projection,
        used: 99,
        effective: 100,
        threshold: 50,
        switches: &switches,
        now: time(0),
        tokens: &bytes,
    };
    assert_eq!(prepare(&situation, &mut Disk).gate, Gate::Compact);
}
