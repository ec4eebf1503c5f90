//! How a dream ends, and what the others see afterwards.

use super::*;

#[test]
fn a_dream_that_is_done_moves_the_time() {
    let fixture = Fixture::with("", 2 * DAY);
    let hold = fixture.acquired();
    fixture.pass(5 * MINUTE);
    hold.beat().unwrap();
    hold.check().unwrap();
    fixture.pass(5 * MINUTE);
    hold.complete().unwrap();
    assert_eq!(fs::read_to_string(fixture.path()).unwrap(), std::process::id().to_string());
    assert_eq!(fixture.lock.look().unwrap(), Seen { last: Some(fixture.now()), holder: None });
    assert_eq!(fixture.names(), [file::NAME]);
}

#[test]
fn a_dream_that_fails_leaves_the_time_as_it_was() {
    let fixture = Fixture::with("", 2 * DAY);
    let before = fixture.lock.look().unwrap();
    fixture.acquired().release();
    assert_eq!(fixture.lock.look().unwrap(), before);
    drop(fixture.acquired());
    assert_eq!(fixture.lock.look().unwrap(), before);
    fixture.acquired().complete().unwrap();
    assert_eq!(fixture.lock.look().unwrap().last, Some(fixture.now()));
}

#[test]
fn the_first_dream_that_fails_leaves_nothing() {
    let fixture = Fixture::new();
    let hold = fixture.acquired();
    assert_eq!(hold.previous(), None);
    drop(hold);
    assert_eq!(fixture.names(), [""; 0]);
}

/// A full disk, or one that may only be read in places.
#[test]
fn a_lock_that_cannot_be_given_back_shows_that_nobody_dreams() {
    let fixture = Fixture::with("", 2 * DAY);
    let before = fixture.lock.look().unwrap();
    let hold = fixture.acquired();
    let history = fixture.folder.path().join(crate::history::FOLDER);
    fs::remove_dir_all(&history).unwrap();
    fs::write(&history, "in the way").unwrap();
    drop(hold);
    assert_eq!(fixture.lock.look().unwrap(), before);
    fs::remove_file(&history).unwrap();
    assert_eq!(fixture.acquired().previous(), before.last);
}

/// Claude Code leaves its number while it dreams and afterwards; of what we left we know that nobody dreams.
#[test]
fn a_server_that_lives_on_after_its_dream_holds_nothing() {
    for end in [|hold: Hold| hold.complete().unwrap(), Hold::release] {
        let fixture = Fixture::with("", MINUTE);
        end(fixture.acquired());
        let living = Living::new();
        // As another server sees it: the number is not its own.
        let (pid, time) = (living.0.id(), fixture.lock.look().unwrap().last.unwrap());
        fixture.put(&pid.to_string(), fixture.now().duration_since(time).as_secs());
        assert!(fixture.is_busy());
        let guard = fixture.folder.path().join(crate::history::FOLDER).join("dream-lock");
        let left = fs::read_to_string(&guard).unwrap();
        assert_eq!(left, format!("{} {time}", std::process::id()));
        fs::write(&guard, left.replace(&std::process::id().to_string(), &pid.to_string())).unwrap();
        assert!(!fixture.is_busy());
    }
}

#[test]
fn whoever_was_silent_too_long_writes_nothing_and_gives_it_back() {
    for jump in [HOUR, TEN_YEARS, -HOUR, -TEN_YEARS] {
        let fixture = Fixture::with("", 2 * DAY);
        let previous = fixture.lock.look().unwrap().last;
        let hold = fixture.acquired();
        fixture.pass(jump);
        assert!(matches!(hold.check(), Err(Lost::Silent)), "{jump}");
        assert!(matches!(hold.beat(), Err(Lost::Silent)), "{jump}");
        assert!(matches!(hold.complete(), Err(Lost::Silent)), "{jump}");
        fixture.pass(-jump);
        assert_eq!(fixture.lock.look().unwrap(), Seen { last: previous, holder: None }, "{jump}");
    }
}

#[test]
fn whoever_lost_it_to_another_changes_nothing() {
    let fixture = Fixture::with("", 2 * DAY);
    let previous = fixture.lock.look().unwrap().last;
    let first = fixture.acquired();
    fixture.pass(HOUR);
    let second = fixture.acquired();
    assert_eq!(second.previous(), previous);
    let body = fs::read(fixture.path()).unwrap();
    let seen = fixture.lock.look().unwrap();
    fixture.pass(MINUTE);
    assert!(matches!(first.check(), Err(Lost::Taken)));
    assert!(matches!(first.beat(), Err(Lost::Taken)));
    assert!(matches!(first.complete(), Err(Lost::Taken)));
    assert_eq!((fs::read(fixture.path()).unwrap(), fixture.lock.look().unwrap()), (body, seen));
    second.check().unwrap();
    second.complete().unwrap();
    assert_eq!(fixture.lock.look().unwrap().last, Some(fixture.now()));
}

#[test]
fn a_lock_that_was_removed_or_overwritten_is_lost() {
    let living = Living::new();
    let fixture = Fixture::new();
    let hold = fixture.acquired();
    fs::remove_file(fixture.path()).unwrap();
    assert!(matches!(hold.check(), Err(Lost::Taken)));
    drop(hold);
    assert_eq!(fixture.names(), [""; 0]);
    let hold = fixture.acquired();
    let theirs = living.0.id().to_string();
    fixture.put(&theirs, 0);
    assert!(matches!(hold.beat(), Err(Lost::Taken)));
    drop(hold);
    assert_eq!(fs::read_to_string(fixture.path()).unwrap(), theirs);
}

#[test]
fn a_time_that_the_file_system_rounds_is_close_enough() {
    let fixture = Fixture::with("", 2 * DAY);
    let hold = fixture.acquired();
    for rounded in [-2, -1, 1, 2] {
        let time = SystemTime::from(fixture.now() + rounded.seconds());
        File::open(fixture.path()).unwrap().set_modified(time).unwrap();
        hold.check().unwrap();
        assert!(fixture.is_busy());
        assert!(fixture.lock.look().unwrap().last.unwrap() <= fixture.now());
    }
}
