use expect_test::{Expect, expect};

use super::*;
use crate::{
    event::Recorded,
    sample::{bytes, layout, thread, time, uuid},
};

const THREAD: &str = "user one*100
    call a Bash t1
    result t1 x*1000
    say b y*500
    user two
    call c Bash t2
    result t2 x*1000
    call d Bash t3
    result t3 x*1000
    say e done";

fn used(thread: &[Arc<Message>], projection: &Projection) -> u64 {
    projection.view(thread).iter().map(|message| bytes(message)).sum()
}

/// Snips to each budget in turn.
fn check(lines: &str, budgets: &[u64], expected: Expect) {
    let thread = thread(lines);
    let mut projection = Projection::default();
    for budget in budgets {
        let before = used(&thread, &projection);
        let change = snip(&thread, &projection, before, *budget, &bytes).unwrap();
        let freed = change.tokens_freed();
        projection.apply(&change.recorded(time(0), Some(uuid(thread.len() - 1))));
        assert_eq!(used(&thread, &projection), before - freed);
    }
    expected.assert_eq(&layout(projection.view(&thread).iter().map(|message| &**message)));
}

#[test]
fn as_few_of_the_oldest_leave_as_it_takes() {
    check(
        THREAD,
        &[3_500],
        expect![[r#"
            user: 174 bytes
            assistant: 500 bytes
            user: two
            assistant: Bash t2
            user: result t2: 1000 bytes
            assistant: Bash t3
            user: result t3: 1000 bytes
            assistant: done
        "#]],
    );
}

#[test]
fn a_second_snip_extends_the_first_and_the_prompt_at_work_stays() {
    check(
        THREAD,
        &[3_500, 1_500],
        expect![[r#"
            user: 174 bytes
            user: two
            assistant: Bash t3
            user: result t3: 1000 bytes
            assistant: done
        "#]],
    );
}

#[test]
fn never_from_the_last_response_on() {
    check(
        THREAD,
        &[0],
        expect![[r#"
            user: 174 bytes
            user: two
            assistant: done
        "#]],
    );
}

#[test]
fn what_a_compaction_left_stays() {
    check(
        "boundary
         summary what*100
         attachment file
         user one
         say a x*1000
         user two
         say b fine",
        &[0],
        expect![[r#"
            user: 400 bytes
            user: file
            user: 174 bytes
            user: two
            assistant: fine
        "#]],
    );
}

#[test]
fn within_the_budget_nothing_leaves() {
    let thread = thread(THREAD);
    assert_eq!(snip(&thread, &Projection::default(), 4_000, 4_000, &bytes), None);
}

#[test]
fn nothing_leaves_where_the_marker_would_be_longer() {
    let thread = thread("user one\nsay a x\nuser two\nsay b y");
    assert_eq!(snip(&thread, &Projection::default(), 10, 0, &bytes), None);
    assert_eq!(by_command(&thread, &Projection::default(), &bytes), None);
}

#[test]
fn the_command_takes_everything_before_the_last_response() {
    let thread = thread(THREAD);
    let change = by_command(&thread, &Projection::default(), &bytes).unwrap();
    let Event::Snipped { removed, marker } = &change.event else { panic!("{change:?}") };
    assert_eq!(*removed, (0..9).map(uuid).collect::<Vec<_>>());
    expect!["[Left out here to make room: 9 earlier messages of this conversation. The session's history still has them; if you need something that was said there, ask the user about it.]"].assert_eq(marker);
    let entry = change.entry.unwrap();
    assert_eq!((entry.messages, entry.cache_kept, entry.original), (9, false, Some(uuid(0).to_string())));
    let nothing = crate::sample::thread("user one*1000");
    assert_eq!(by_command(&nothing, &Projection::default(), &bytes), None);
}

#[test]
fn a_collapsed_span_leaves_whole() {
    let thread = thread(THREAD);
    let event = Event::Collapsed {
        first: uuid(0),
        last: uuid(3),
        messages: (0..4).map(uuid).collect(),
        summary: "s".repeat(700),
    };
    let recorded = Recorded { at: time(0), after: None, event, entry: None };
    let mut projection = Projection::replay(&[recorded], &thread);
    let change = snip(&thread, &projection, used(&thread, &projection), 2_500, &bytes).unwrap();
    projection.apply(&change.recorded(time(0), None));
    expect![[r#"
        user: 174 bytes
        user: two
        assistant: Bash t2
        user: result t2: 1000 bytes
        assistant: Bash t3
        user: result t3: 1000 bytes
        assistant: done
    "#]]
    .assert_eq(&layout(projection.view(&thread).iter().map(|message| &**message)));
}
