use expect_test::expect;

use super::*;
use crate::{
    event::Recorded,
    sample::{bytes, layout, thread, time, uuid},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Message 2n is the result of call n.
fn rounds_of(tools: &[&str]) -> String {
    let mut lines = "user go\n".to_owned();
    for (at, tool) in tools.iter().enumerate() {
        let number = at + 1;
        lines.push_str(&format!("call r{number} {tool} t{number}\nresult t{number} x*1000\n"));
    }
    lines
}

fn applied(projection: &mut Projection, change: Change) -> Vec<String> {
    let (Event::Cleared { results } | Event::CacheEdits { deleted: results }) = &change.event else {
        panic!("{change:?}")
    };
    let ids = results.iter().map(|result| result.tool_use_id.clone()).collect();
    projection.apply(&Recorded { at: time(0), after: None, event: change.event, entry: change.entry });
    ids
}

#[test]
fn after_an_hour_all_but_the_newest_are_emptied() {
    let thread = thread(&rounds_of(&["Read", "mcp__a__b", "Bash", "Task", "Grep", "Edit"]));
    let mut projection = Projection::default();
    let last = time(11);
    let just_before = last + HOUR - Duration::from_secs(1);
    assert_eq!(clear(&thread, &projection, Clear { after: HOUR, keep: 2 }, just_before, &bytes), None);
    let change = clear(&thread, &projection, Clear { after: HOUR, keep: 2 }, last + HOUR, &bytes).unwrap();
    let entry = change.entry.clone().unwrap();
    assert_eq!((entry.messages, entry.cache_kept), (2, false));
    assert_eq!(entry.tokens_freed, 2 * (1_000 - CLEARED.len() as u64));
    assert_eq!(applied(&mut projection, change), ["t1", "t3"]);
    expect![[r#"
        user: go
        assistant: Read t1
        user: result t1: [Old tool result content cleared]
        assistant: mcp__a__b t2
        user: result t2: 1000 bytes
        assistant: Bash t3
        user: result t3: [Old tool result content cleared]
        assistant: Task t4
        user: result t4: 1000 bytes
        assistant: Grep t5
        user: result t5: 1000 bytes
        assistant: Edit t6
        user: result t6: 1000 bytes
    "#]]
    .assert_eq(&layout(projection.view(&thread).iter().map(|message| &**message)));
    assert_eq!(clear(&thread, &projection, Clear { after: HOUR, keep: 2 }, last + HOUR, &bytes), None);
    let change = clear(&thread, &projection, Clear { after: HOUR, keep: 0 }, last + HOUR, &bytes).unwrap();
    assert_eq!(applied(&mut projection, change), ["t5"], "one stays in any case");
}

#[test]
fn without_a_response_nothing_is_emptied() {
    let thread = thread("user go");
    let at_once = Clear { after: Duration::ZERO, keep: 1 };
    assert_eq!(clear(&thread, &Projection::default(), at_once, time(0), &bytes), None);
}

#[test]
fn too_many_results_are_deleted_in_the_cache_and_only_there() {
    let thread = thread(&rounds_of(&["Read", "Bash", "Task", "Grep", "Glob", "Write"]));
    let mut projection = Projection::default();
    let edits = CacheEdits { over: 4, keep: 2 };
    assert_eq!(delete_in_cache(&thread, &projection, CacheEdits { over: 5, keep: 2 }, &bytes), None);
    let change = delete_in_cache(&thread, &projection, edits, &bytes).unwrap();
    let entry = change.entry.clone().unwrap();
    assert_eq!((entry.messages, entry.tokens_freed, entry.cache_kept), (3, 3_000, true));
    assert_eq!(applied(&mut projection, change), ["t1", "t2", "t4"]);
    assert!(projection.view(&thread).iter().all(|message| matches!(message, std::borrow::Cow::Borrowed(_))));
    assert_eq!(delete_in_cache(&thread, &projection, edits, &bytes), None);
}

#[test]
fn emptying_takes_the_deleted_ones_along_and_frees_them_once() {
    let thread = thread(&rounds_of(&["Read", "Bash", "Grep", "Glob"]));
    let mut projection = Projection::default();
    let change = delete_in_cache(&thread, &projection, CacheEdits { over: 3, keep: 2 }, &bytes).unwrap();
    assert_eq!(applied(&mut projection, change), ["t1", "t2"]);
    let change = clear(&thread, &projection, Clear { after: HOUR, keep: 1 }, time(9_000), &bytes).unwrap();
    assert_eq!(change.tokens_freed(), 1_000 - 3 * CLEARED.len() as u64);
    assert_eq!(applied(&mut projection, change), ["t1", "t2", "t3"]);
    assert_eq!(projection.cache_edits(), []);
}

#[test]
fn a_call_id_belongs_to_the_response_before_it() {
    let thread = thread(
        "user go
         call a Read call_0
         result call_0 x*100
         call b mcp__a__b call_0
         result call_0 x*100
         call c Read call_0
         result call_0 x*100",
    );
    let found: Vec<_> = compactable(&thread, &Projection::default()).into_iter().map(|(at, _)| at).collect();
    assert_eq!(found, [2, 6]);
}

#[test]
fn what_is_left_out_is_not_looked_at() {
    let thread = thread(&rounds_of(&["Read", "Bash", "Grep"]));
    let event = Event::Snipped { removed: vec![uuid(0), uuid(1), uuid(2)], marker: "gone".to_owned() };
    let recorded = Recorded { at: time(0), after: None, event, entry: None };
    let projection = Projection::replay(&[recorded], &thread);
    let change = clear(&thread, &projection, Clear { after: HOUR, keep: 1 }, time(9_000), &bytes).unwrap();
    assert_eq!(applied(&mut projection.clone(), change), ["t2"]);
}
