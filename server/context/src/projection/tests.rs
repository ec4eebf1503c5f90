use std::time::{Duration, Instant};

use expect_test::{Expect, expect};

use conversation::SYNTHETIC_MODEL;

use super::*;
use crate::CompactionRecord;
use crate::{
    event::{Entry, Replacement, Trigger},
    sample::{layout, thread, time, uuid, with_usage},
};

const THREAD: &str = "user one
    call a Read t1 Bash t2
    result t1 first
    result t2 second
    say b done
    user two
    say c fine";

fn recorded(after: usize, event: Event) -> Recorded {
    Recorded { at: time(0), after: Some(uuid(after)), event, entry: None }
}

fn freeing(after: usize, tokens: u64, event: Event) -> Recorded {
    let entry = Entry { tokens_freed: tokens, ..Entry::default() };
    Recorded { entry: Some(entry), ..recorded(after, event) }
}

fn result(message: usize, id: &str) -> ResultRef {
    ResultRef { message: uuid(message), tool_use_id: id.to_owned() }
}

fn stored(message: usize, id: &str, text: &str) -> Event {
    let (message, tool_use_id, text) = (uuid(message), id.to_owned(), text.to_owned());
    Event::Stored { results: vec![Replacement { message, tool_use_id, text, path: "/r".into() }] }
}

fn snipped(messages: std::ops::Range<usize>, marker: &str) -> Event {
    Event::Snipped { removed: messages.map(uuid).collect(), marker: marker.to_owned() }
}

fn collapsed(messages: std::ops::RangeInclusive<usize>, summary: &str) -> Event {
    let (first, last) = (uuid(*messages.start()), uuid(*messages.end()));
    Event::Collapsed { first, last, messages: messages.map(uuid).collect(), summary: summary.to_owned() }
}

fn compacted() -> Event {
    Event::Compacted(CompactionRecord {
        layer: "full".to_owned(),
        trigger: Trigger::Manual,
        messages: 4,
        tokens_before: 10,
        tokens_after: 5,
        score: None,
    })
}

fn check(events: &[Recorded], expected: Expect) {
    let thread = thread(THREAD);
    let projection = Projection::replay(events, &thread);
    let view = projection.view(&thread);
    expected.assert_eq(&layout(view.iter().map(|message| &**message)));
    let mut applied = Projection::default();
    events.iter().for_each(|event| applied.apply(event));
    assert_eq!(applied.view(&thread), view, "live and replayed");
}

#[test]
fn results_are_replaced_and_what_is_not_touched_is_borrowed() {
    let events = [
        recorded(3, stored(2, "t1", "in a file")),
        recorded(6, Event::Cleared { results: vec![result(3, "t2")] }),
    ];
    check(
        &events,
        expect![[r#"
            user: one
            assistant: Read t1
            assistant: Bash t2
            user: result t1: in a file
            user: result t2: [Old tool result content cleared]
            assistant: done
            user: two
            assistant: fine
        "#]],
    );
    let thread = thread(THREAD);
    let projection = Projection::replay(&events, &thread);
    let owned = projection.view(&thread).iter().filter(|message| matches!(message, Cow::Owned(_))).count();
    assert_eq!(owned, 2);
}

#[test]
fn one_marker_stands_for_all_that_was_snipped() {
    check(
        &[recorded(6, snipped(0..1, "one gone")), recorded(6, snipped(1..4, "four gone"))],
        expect![[r#"
            user: four gone
            assistant: done
            user: two
            assistant: fine
        "#]],
    );
}

#[test]
fn a_summary_stands_for_a_span() {
    check(
        &[recorded(6, collapsed(1..=4, "what was done"))],
        expect![[r#"
            user: one
            user: what was done
            user: two
            assistant: fine
        "#]],
    );
}

#[test]
fn what_stands_in_has_the_same_identity_every_time() {
    let thread = thread(THREAD);
    let projection = Projection::replay(&[recorded(6, snipped(0..4, "gone"))], &thread);
    let marker = projection.view(&thread).remove(0).into_owned();
    assert_eq!(projection.view(&thread)[0].uuid, marker.uuid);
    assert_ne!(marker.uuid, uuid(0));
    assert_eq!((marker.timestamp, marker.parent, marker.flags.meta), (time(0), None, true));
}

#[test]
fn a_rewind_takes_back_what_was_decided_later() {
    let events = [recorded(3, stored(2, "t1", "in a file")), recorded(6, snipped(0..4, "gone"))];
    let mut thread = thread(THREAD);
    thread.truncate(5);
    let projection = Projection::replay(&events, &thread);
    assert!(projection.is_changed(uuid(2), "t1"));
    assert!(!projection.is_changed(uuid(3), "t2"));
    assert_eq!(projection.view(&thread).len(), 5);
}

#[test]
fn a_result_is_changed_by_whatever_keeps_it_from_being_sent_as_it_is() {
    let thread = thread(THREAD);
    let is_changed = |event: Event| {
        let projection = Projection::replay(&[recorded(6, event)], &thread);
        (projection.is_changed(uuid(2), "t1"), projection.is_changed(uuid(3), "t2"))
    };
    assert_eq!(is_changed(stored(2, "t1", "x")), (true, false));
    assert_eq!(is_changed(Event::Cleared { results: vec![result(2, "t1")] }), (true, false));
    assert_eq!(is_changed(Event::CacheEdits { deleted: vec![result(2, "t1")] }), (true, false));
    assert_eq!(is_changed(snipped(1..4, "gone")), (true, true));
    assert_eq!(is_changed(collapsed(1..=4, "summary")), (true, true));
    assert_eq!(is_changed(Event::Remark), (false, false));
}

#[test]
fn cache_edits_are_pinned_until_their_message_leaves_or_all_are_cleared() {
    let edits = |events: &[Event]| {
        let events: Vec<Recorded> = events.iter().map(|event| recorded(6, event.clone())).collect();
        let projection = Projection::replay(&events, &thread(THREAD));
        projection.cache_edits().iter().map(|edit| edit.tool_use_id.clone()).collect::<Vec<_>>()
    };
    let first = Event::CacheEdits { deleted: vec![result(2, "t1")] };
    let second = Event::CacheEdits { deleted: vec![result(2, "t1"), result(3, "t2")] };
    assert_eq!(edits(&[first.clone(), second.clone()]), ["t1", "t2"]);
    assert_eq!(edits(&[second.clone(), snipped(2..3, "gone")]), ["t2"]);
    assert_eq!(edits(&[second.clone(), collapsed(1..=4, "summary")]), Vec::<String>::new());
    assert_eq!(edits(&[second.clone(), Event::Cleared { results: vec![] }]), Vec::<String>::new());
    assert_eq!(edits(&[second, compacted()]), Vec::<String>::new());
}

#[test]
fn spans_go_from_staged_to_summarised_to_collapsed() {
    let thread = thread(THREAD);
    let mut projection = Projection::default();
    let (first, last) = (uuid(1), uuid(4));
    projection.apply(&recorded(6, Event::Staged { first, last }));
    assert_eq!(projection.staged(), [Span { first, last, summary: None }]);
    projection.apply(&recorded(6, Event::Summarised { first, last, summary: "short".to_owned() }));
    projection.apply(&recorded(6, Event::Staged { first, last }));
    assert_eq!(projection.staged(), [Span { first, last, summary: Some("short".to_owned()) }]);
    assert_eq!(projection.view(&thread).len(), 7);
    projection.apply(&recorded(6, collapsed(1..=4, "short")));
    assert_eq!((projection.staged().len(), projection.commits().len()), (0, 1));
    projection.apply(&recorded(6, compacted()));
    assert_eq!((projection.commits().len(), projection.view(&thread).len()), (0, 7));
}

#[test]
fn skills_and_compactions_outlive_their_messages_and_notes_do_not() {
    let skill = |name: &str, text: &str| Event::Skill { name: name.to_owned(), text: text.to_owned() };
    let events = [
        recorded(90, skill("a", "old")),
        recorded(91, skill("b", "text")),
        recorded(92, skill("a", "new")),
        recorded(93, compacted()),
        recorded(93, Event::Notes { upto: uuid(1) }),
        recorded(6, Event::Notes { upto: uuid(4) }),
    ];
    let projection = Projection::replay(&events, &thread(THREAD));
    let skills: Vec<(&str, &str)> =
        projection.skills().iter().map(|skill| (skill.name.as_str(), skill.text.as_str())).collect();
    assert_eq!(skills, [("a", "new"), ("b", "text")]);
    assert_eq!(projection.notes_upto(), Some(uuid(4)));
}

#[test]
fn only_what_was_freed_after_the_last_usage_is_subtracted() {
    let mut thread = thread(THREAD);
    let events = [freeing(3, 100, stored(2, "t1", "x")), freeing(6, 20, stored(3, "t2", "x"))];
    let projection = Projection::replay(&events, &thread);
    assert_eq!(projection.freed_since(&thread), 120, "no usage at all");
    thread[4] = with_usage(&thread[4], 500);
    assert_eq!(projection.freed_since(&thread), 20);
    thread[6] = with_usage(&thread[6], 0);
    assert_eq!(projection.freed_since(&thread), 20, "a usage of nothing is none");
    let mut synthetic = Message::clone(&with_usage(&thread[6], 500));
    if let Body::Assistant { model, .. } = &mut synthetic.body {
        SYNTHETIC_MODEL.clone_into(model);
    }
    thread[6] = Arc::new(synthetic);
    assert_eq!(projection.freed_since(&thread), 20, "nor is a made-up one");
}

#[test]
fn behind_a_boundary_older_usage_does_not_count_and_neither_does_what_is_gone() {
    let mut kept = thread("boundary\nsummary what was\nuser two\nsay b done\nuser three");
    kept[3] = with_usage(&kept[3], 500);
    let events = [
        freeing(4, 100, snipped(80..85, "gone")),
        freeing(2, 7, stored(2, "t1", "x")),
        freeing(2, 30, collapsed(2..=3, "summary")),
    ];
    let projection = Projection::replay(&events, &kept);
    assert_eq!(projection.freed_since(&kept), 0, "the response came after");
    Arc::make_mut(&mut kept[0]).timestamp = time(100);
    assert_eq!(projection.freed_since(&kept), 37);
    let mut compacted_since = projection;
    compacted_since.apply(&recorded(4, compacted()));
    assert_eq!(compacted_since.freed_since(&kept), 7);
}

#[test]
fn a_long_thread_is_seen_at_once() {
    let lines = "user a\ncall x Read t\nresult t text\nsay y done\n".repeat(500);
    let thread = thread(&lines);
    let busy = Projection::replay(&[recorded(9, stored(2, "t", "x"))], &thread);
    // In the slowest profile, on a busy machine.
    for (projection, limit) in [(Projection::default(), 1), (busy, 5)] {
        let mut fastest = Duration::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            assert_eq!(projection.view(&thread).len(), 2_000);
            fastest = fastest.min(start.elapsed());
        }
        assert!(fastest < Duration::from_millis(limit), "{fastest:?}");
    }
}

#[test]
fn what_was_decided_about_messages_that_stay_holds_after_what_follows_them_is_gone() {
    let thread = thread(THREAD);
    let kept = &thread[..4];
    let decided = [
        recorded(3, stored(2, "t1", "in a file")),
        recorded(6, Event::Cleared { results: vec![result(3, "t2")] }),
        recorded(6, snipped(0..1, "one is left out")),
        recorded(6, collapsed(3..=4, "a span that does not stay whole")),
        recorded(99, stored(3, "t2", "on another branch")),
    ];
    let mut live = Projection::default();
    decided[..3].iter().for_each(|event| live.apply(event));

    let mut events = decided.to_vec();
    events.push(recorded(0, compacted()));
    events.extend(crate::event::carried(&decided, &thread, kept, uuid(0)));
    let resumed = Projection::replay(&events, kept);
    assert_eq!(resumed.view(kept), live.view(kept));
    expect![[r#"
        user: one is left out
        assistant: Read t1
        assistant: Bash t2
        user: result t1: in a file
        user: result t2: [Old tool result content cleared]
    "#]]
    .assert_eq(&layout(resumed.view(kept).iter().map(|message| &**message)));
}
