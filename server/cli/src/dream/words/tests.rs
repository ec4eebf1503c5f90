use expect_test::{Expect, expect};
use protocol::{Background, BackgroundAccount, DreamChange, Task};

use super::*;

const USAGE: Usage =
    Usage { input_tokens: 900, output_tokens: 2_100, cache_read_tokens: 88_000, cache_write_tokens: 0 };

fn dreamt(status: DreamOutcome, dry_run: bool, changes: usize) -> DreamReportResult {
    let change = |number: usize| DreamChange {
        change_id: (!dry_run).then(|| format!("c{number}")),
        path: format!("/home/ada/.claude/projects/x/memory/team/note{number}.md"),
        why: "two memories said \x1b[31mthe same".to_owned(),
        diff: "@@ -1 +1 @@\n-On Friday.\n+On Fridays only.\n".to_owned(),
    };
    DreamReportResult {
        dream_id: "d1".to_owned(),
        status,
        dry_run,
        trigger: "command".to_owned(),
        // Of no time zone, so that the test has none.
        started_at: "then".to_owned(),
        ended_at: "later".to_owned(),
        path: Some("/memory/.history/dreams/then.md".to_owned()),
        text: "It would have deleted more than half of the memories.\n".to_owned(),
        changes: (0..changes).map(change).collect(),
        usage: USAGE,
        cost_usd: 0.06,
    }
}

fn check(dream: &DreamReportResult, expected: Expect) {
    expected.assert_eq(&report(dream, Paint::never()));
}

#[test]
fn a_report_tells_what_why_how_much_and_the_way_back() {
    check(
        &dreamt(DreamOutcome::Completed, false, 2),
        expect![[r#"
        The dream changed 2 files (then, command)

        team/note0.md: two memories said ␛[31mthe same
          @@ -1 +1 @@
          -On Friday.
          +On Fridays only.
          take back this one: reverie memory undo c0

        team/note1.md: two memories said ␛[31mthe same
          @@ -1 +1 @@
          -On Friday.
          +On Fridays only.
          take back this one: reverie memory undo c1

        900 tokens in, 88,000 read from the cache, 0 written to it, 2,100 out · $0.0600
        report: /memory/.history/dreams/then.md
        take it back: reverie dream undo d1
    "#]],
    );
    check(
        &dreamt(DreamOutcome::Completed, true, 1),
        expect![[r#"
        The dream would change 1 file; nothing was written (then, command)

        team/note0.md: two memories said ␛[31mthe same
          @@ -1 +1 @@
          -On Friday.
          +On Fridays only.

        900 tokens in, 88,000 read from the cache, 0 written to it, 2,100 out · $0.0600
        report: /memory/.history/dreams/then.md
        do it: reverie dream
    "#]],
    );
    check(
        &dreamt(DreamOutcome::Completed, false, 0),
        expect![[r#"
            The dream changed nothing (then, command)

            900 tokens in, 88,000 read from the cache, 0 written to it, 2,100 out · $0.0600
            report: /memory/.history/dreams/then.md
        "#]],
    );
    let mut refused = dreamt(DreamOutcome::Failed, false, 1);
    refused.changes.iter_mut().for_each(|change| change.change_id = None);
    check(
        &refused,
        expect![[r#"
            The dream failed; everything is as it was (then, command)

            It would have deleted more than half of the memories.

            900 tokens in, 88,000 read from the cache, 0 written to it, 2,100 out · $0.0600
            report: /memory/.history/dreams/then.md
        "#]],
    );
    let coloured = report(&dreamt(DreamOutcome::Completed, false, 1), Paint::always());
    assert!(coloured.contains("\x1b[32m  +On Fridays only."), "{coloured:?}");
    assert!(!coloured.contains("\x1b[31mthe same"), "{coloured:?}");
}

#[test]
fn the_status_tells_why_it_does_not_dream_and_what_the_day_cost() {
    let gate =
        |name: &str, open, detail: &str| Gate { name: name.to_owned(), open, detail: detail.to_owned() };
    let dreams = DreamStatusResult {
        state: DreamState::Idle,
        last_consolidated_at: Some("then".to_owned()),
        sessions_since: 3,
        gates: vec![gate("hours", true, "30 of 24"), gate("sessions", false, "3 of 5")],
        running: None,
    };
    let account = |runs, files, cost_usd| BackgroundAccount { runs, files, usage: USAGE, cost_usd };
    let tasks = ListTasksResult {
        tasks: vec![Task {
            task_id: "7".to_owned(),
            kind: TaskKind::Extraction,
            session_id: None,
            title: "Remembering".to_owned(),
            state: TaskState::Running,
            started_at: "then".to_owned(),
            detail: Some("reading".to_owned()),
        }],
        background: Background {
            kinds: vec![
                BackgroundKind {
                    kind: TaskKind::Extraction,
                    gates: vec![gate("breaker", false, "it failed three times")],
                    today: account(4, 1, 0.03),
                    last: Some("completed: Remembered: Deploys".to_owned()),
                },
                BackgroundKind {
                    kind: TaskKind::Dream,
                    gates: dreams.gates.clone(),
                    today: account(0, 0, 0.0),
                    last: None,
                },
            ],
            spent_usd: 0.03,
            limit_usd: Some(1.0),
        },
    };
    expect![[r#"
        Dreams
          no dream runs; the last one was on then; 3 other sessions since
          ✓ hours     30 of 24
          ✗ sessions  3 of 5

        Running
          Remembering: reading

        Today: $0.0300 of $1.00
          learning from turns  4 runs, 1 file written, $0.0300; the last one completed: Remembered: Deploys
            ✗ breaker: it failed three times
          dreams               not run
    "#]]
    .assert_eq(&status(&dreams, &tasks));
}
