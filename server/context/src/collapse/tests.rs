use expect_test::expect;

use super::*;
use crate::sample::{bytes, layout, thread, time, uuid};

/// A prompt, then rounds of a call (about 1,000 tokens each), and a second prompt with its answer.
fn long_thread(rounds: usize, size: usize) -> Vec<Arc<Message>> {
    let mut lines = "user first\n".to_owned();
    for number in 1..=rounds {
        lines.push_str(&format!("call r{number} Bash t{number}\nresult t{number} x*{size}\n"));
    }
    thread(&format!("{lines}say done ok\nuser second\nsay more fine"))
}

fn staged(changes: &[Change], thread: &[Arc<Message>]) -> Vec<(usize, usize)> {
    let place = |uuid: Uuid| thread.iter().position(|message| message.uuid == uuid).unwrap();
    let ends = changes.iter().map(|change| match &change.event {
        Event::Staged { first, last } => (place(*first), place(*last)),
        other => panic!("{other:?}"),
    });
    ends.collect()
}

#[test]
fn nothing_is_staged_while_there_is_room() {
    let thread = long_thread(10, 5_000);
    assert_eq!(stage(&thread, &Projection::default(), 89_999, 100_000, &bytes), []);
}

#[test]
fn the_oldest_rounds_are_staged_in_spans_until_enough_would_go() {
    let thread = long_thread(20, 5_000);
    let changes = stage(&thread, &Projection::default(), 90_000, 100_000, &bytes);
    assert_eq!(staged(&changes, &thread), [(0, 6)], "15,000 tokens, for a fourth round would be too much");
    let changes = stage(&thread, &Projection::default(), 110_000, 100_000, &bytes);
    assert_eq!(staged(&changes, &thread), [(0, 6), (7, 12), (13, 18)]);
}

#[test]
fn what_is_staged_already_counts_and_is_not_staged_again() {
    let thread = long_thread(20, 5_000);
    let mut projection = Projection::default();
    for change in stage(&thread, &projection, 90_000, 100_000, &bytes) {
        projection.apply(&change.recorded(time(0), None));
    }
    assert_eq!(stage(&thread, &projection, 92_000, 100_000, &bytes), []);
    let changes = stage(&thread, &projection, 96_000, 100_000, &bytes);
    assert_eq!(staged(&changes, &thread), [(7, 12)]);
}

#[test]
fn the_last_rounds_and_the_prompt_at_work_stay_and_one_round_is_no_span() {
    let thread = long_thread(3, 5_000);
    let changes = stage(&thread, &Projection::default(), 100_000, 100_000, &bytes);
    assert_eq!(staged(&changes, &thread), [(0, 4)]);
    let thread = long_thread(2, 5_000);
    assert_eq!(stage(&thread, &Projection::default(), 100_000, 100_000, &bytes), []);
    let one_turn = crate::sample::thread(
        "user go\ncall a Bash t1\nresult t1 x*5000\ncall b Bash t2\nresult t2 x*5000\ncall c Bash t3\nresult t3 x*5000
         call d Bash t4\nresult t4 x\ncall e Bash t5\nresult t5 x\ncall f Bash t6\nresult t6 x",
    );
    let changes = stage(&one_turn, &Projection::default(), 100_000, 100_000, &bytes);
    assert_eq!(staged(&changes, &one_turn), [(3, 6)]);
}

#[test]
fn a_summary_that_is_written_takes_the_place_of_its_span() {
    let thread = long_thread(4, 1_000);
    let mut projection = Projection::default();
    let (first, last) = (uuid(0), uuid(4));
    let staged = Change { event: Event::Staged { first, last }, entry: None };
    projection.apply(&staged.recorded(time(0), None));
    assert_eq!(commit(&projection, &thread, &bytes), []);
    assert_eq!(waiting(&projection, &thread).len(), 1);
    let summary = "Two commands were run.".to_owned();
    let written = Change { event: Event::Summarised { first, last, summary }, entry: None };
    projection.apply(&written.recorded(time(0), None));
    assert_eq!(waiting(&projection, &thread), []);
    let changes = commit(&projection, &thread, &bytes);
    let [change] = changes.as_slice() else { panic!("{changes:?}") };
    let before: u64 = thread.iter().map(|message| bytes(message)).sum();
    projection.apply(&change.clone().recorded(time(0), None));
    let view = projection.view(&thread);
    assert_eq!(before - view.iter().map(|message| bytes(message)).sum::<u64>(), change.tokens_freed());
    expect![[r#"
        user: 326 bytes
        assistant: Bash t3
        user: result t3: 1000 bytes
        assistant: Bash t4
        user: result t4: 1000 bytes
        assistant: ok
        user: second
        assistant: fine
    "#]]
    .assert_eq(&layout(view.iter().map(|message| &**message)));
    let Event::Collapsed { summary, .. } = &change.event else { panic!("{change:?}") };
    expect![[r#"
        <collapsed-messages id="11110000-0000-4000-8000-000000000000">
        Here stood 5 messages. A summary stands for them:

        Two commands were run.

        The messages themselves are in the session's history: the user can expand them in the chat. Read files again rather than rely on what a summary says about their text.
        </collapsed-messages>"#]]
    .assert_eq(summary);
}

#[test]
fn the_directive_names_both_ends() {
    let thread = thread("user fix the   parser\ncall a Bash t1\nresult t1 x\nsay b it is fixed now");
    let text = directive(&thread);
    assert!(text.starts_with(fork::COLLAPSE));
    assert!(
        text.contains("has 4 messages. It begins with “fix the parser” and ends with “it is fixed now”.")
    );
    assert!(!text.contains("{{"));
    assert!(directive(&thread[1..3]).contains("begins with (a tool call)"));
}
