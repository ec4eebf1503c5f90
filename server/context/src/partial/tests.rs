use super::*;
use crate::sample::{thread, uuid};

const THREAD: &str = "user one
    call a Bash t1
    result t1 x
    say b done
    user two
    attachment editor
    say c fine";

fn plan(at: usize, direction: Direction) -> Result<(Range<usize>, Range<usize>), NotPossible> {
    partial(&thread(THREAD), uuid(at), direction).map(|plan| (plan.summarise, plan.keep))
}

#[test]
fn from_keeps_what_precedes_and_up_to_keeps_what_follows() {
    assert_eq!(plan(4, Direction::From), Ok((4..7, 0..4)));
    assert_eq!(plan(4, Direction::UpTo), Ok((0..4, 4..7)));
    assert_eq!(plan(0, Direction::From), Ok((0..7, 0..0)));
}

#[test]
fn the_place_moves_back_so_that_nothing_is_split() {
    assert_eq!(plan(2, Direction::From), Ok((1..7, 0..1)), "a result stays with its call");
    assert_eq!(plan(5, Direction::UpTo), Ok((0..4, 4..7)), "an attachment stays with its prompt");
}

#[test]
fn there_must_be_something_to_summarise() {
    assert_eq!(plan(0, Direction::UpTo), Err(NotPossible::NothingBefore));
    assert_eq!(plan(99, Direction::From), Err(NotPossible::NoSuchMessage));
    let compacted = thread("boundary\nsummary what was\nuser one\nsay a fine");
    assert_eq!(partial(&compacted, uuid(2), Direction::UpTo), Err(NotPossible::NothingBefore));
    assert!(partial(&compacted, uuid(3), Direction::UpTo).is_ok());
}
