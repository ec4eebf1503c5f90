use expect_test::{Expect, expect};

use super::*;
use crate::sample::thread;

/// One line for each message, with a rule where the thread can be cut: double where a round begins.
fn check(lines: &str, expected: Expect) {
    let thread = thread(lines);
    let (cuts, rounds) = (cuts(&thread), rounds(&thread));
    let mut shown = String::new();
    for (at, line) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let begins_round = rounds.iter().any(|round| round.start == at);
        match (begins_round, cuts.contains(&at)) {
            (true, _) => shown.push_str("====\n"),
            (false, true) => shown.push_str("----\n"),
            (false, false) => {}
        }
        shown.push_str(&format!("{line}\n"));
    }
    expected.assert_eq(&shown);
    assert_eq!(rounds.iter().map(ExactSizeIterator::len).sum::<usize>(), thread.len());
    assert!(rounds.iter().all(|round| cuts.contains(&round.start)));
}

#[test]
fn a_prompt_and_its_first_response_are_one_round() {
    check(
        "user one
         call a Read t1
         result t1 text
         say b done
         user two
         attachment editor
         say c fine",
        expect![[r#"
            ====
            user one
            ----
            call a Read t1
            result t1 text
            ====
            say b done
            ====
            user two
            attachment editor
            ----
            say c fine
        "#]],
    );
}

#[test]
fn one_response_in_several_records_with_results_in_between_is_whole() {
    check(
        "user one
         think a
         say a text
         call a Read t1
         result t1 text
         call a Read t2
         attachment memory
         result t2 text
         attachment editor
         say b done",
        expect![[r#"
            ====
            user one
            ----
            think a
            say a text
            call a Read t1
            result t1 text
            call a Read t2
            attachment memory
            result t2 text
            attachment editor
            ====
            say b done
        "#]],
    );
}

#[test]
fn nothing_is_cut_while_a_call_is_open() {
    check(
        "user one
         call a Read t1 Read t2
         result t2 text
         user in between
         result t1 text
         user next
         call b Read t3
         user never answered",
        expect![[r#"
            ====
            user one
            ----
            call a Read t1 Read t2
            result t2 text
            user in between
            result t1 text
            ====
            user next
            ----
            call b Read t3
            user never answered
        "#]],
    );
}

#[test]
fn attachments_right_behind_a_response_join_the_prompt_that_follows() {
    check(
        "attachment first
         user one
         say a fine
         notice
         attachment editor
         attachment memory
         user two
         user three",
        expect![[r#"
            ====
            attachment first
            user one
            ----
            say a fine
            notice
            ====
            attachment editor
            attachment memory
            user two
            ----
            user three
        "#]],
    );
}

#[test]
fn a_boundary_stays_with_its_summary() {
    check(
        "boundary
         summary what was
         attachment file
         user next
         say a fine",
        expect![[r#"
            ====
            boundary
            summary what was
            attachment file
            ====
            user next
            ----
            say a fine
        "#]],
    );
}

#[test]
fn an_empty_thread_has_no_cut() {
    assert_eq!((cuts(&[]), rounds(&[]), last_response(&[])), (vec![], vec![], None));
}

#[test]
fn the_last_response_begins_with_its_first_record() {
    let last = |lines: &str| last_response(&thread(lines));
    assert_eq!(last("user one"), None);
    assert_eq!(
        last("user one\nsay a x\nuser two\nthink b\ncall b Read t1\nresult t1 x\ncall b Read t2"),
        Some(3)
    );
    assert_eq!(last("notice\nsay a x"), Some(0));
}
