//! What an undo puts back, and what it leaves alone.

use super::*;
use crate::index;

const INDEX: &str = "MEMORY.md";

fn group(name: &str) -> Target {
    Target::Group(name.to_owned())
}

fn change(change: &Change) -> Target {
    Target::Change(change.id.clone())
}

#[test]
fn a_change_goes_and_comes_back() {
    let fixture = Fixture::watched(&[("a.md", "one\r\n")]);
    let made = fixture.write("a.md", Some("two"), &model("t"));
    let undone = fixture.undo(&change(&made));
    assert_eq!((undone.paths, undone.conflicts), (vec!["a.md".to_owned()], vec![]));
    assert_eq!(fixture.text("a.md").unwrap(), "one\r\n");
    fixture.undo(&change(&undone.changes[0]));
    assert_eq!(fixture.text("a.md").unwrap(), "two");
    fixture.check_changes(expect![[r#"
        a.md: "one\r\n" -> "two" by user, undo
        a.md: "two" -> "one\r\n" by user, undo
        a.md: "one\r\n" -> "two" by model, asked to
    "#]]);
    assert_eq!(fixture.history.observe().unwrap(), []);
}

#[test]
fn what_was_changed_since_is_left_alone_and_named() {
    let fixture = Fixture::watched(&[("a.md", "one"), ("b.md", "b")]);
    let made = fixture.write("a.md", Some("two"), &model("t"));
    fixture.write("b.md", Some("B"), &model("t"));
    fixture.put("a.md", Some("two and mine"));
    let undone = fixture.undo(&group("t"));
    expect![[r#"
        (
            [
                "b.md",
            ],
            [
                (
                    "a.md",
                    "was changed since, by user at 2027-01-15T08:00:03Z",
                ),
            ],
        )
    "#]]
    .assert_debug_eq(&(undone.paths, undone.conflicts));
    assert_eq!(fixture.text("a.md").unwrap(), "two and mine");
    assert_eq!(fixture.text("b.md").unwrap(), "b");
    // Undone already is no conflict.
    fixture.put("a.md", Some("one"));
    assert_eq!(fixture.undo(&change(&made)), Undone::default());
}

#[test]
fn work_of_others_inside_a_group_is_not_lost() {
    let fixture = Fixture::watched(&[("a.md", "one")]);
    fixture.write("a.md", Some("two"), &model("dream"));
    fixture.write("a.md", Some("mine"), &Author::new(By::User, ""));
    fixture.write("a.md", Some("three"), &model("dream"));
    let undone = fixture.undo(&group("dream"));
    expect![[r#"[("a.md", "was also changed by others in between, whose work would be lost")]"#]]
        .assert_eq(&format!("{:?}", undone.conflicts));
    assert_eq!(fixture.text("a.md").unwrap(), "three");
}

#[test]
fn the_unknown_is_an_error_and_a_time_without_changes_is_not() {
    let fixture = Fixture::watched(&[]);
    for target in [group("none"), Target::Change("none".to_owned())] {
        let error = fixture.history.undo(&target, &model("u"), &HashSet::new()).unwrap_err();
        expect!["the history has no change or group none"].assert_eq(&error.to_string());
    }
    assert_eq!(fixture.undo(&Target::Since(Timestamp::UNIX_EPOCH)), Undone::default());
}

#[test]
fn a_new_memory_goes_with_its_line_byte_for_byte() {
    for before in [None, Some("# Memory"), Some("- [O](o.md) — o\r\n")] {
        let fixture = Fixture::watched(&[("o.md", "o")]);
        if let Some(before) = before {
            fixture.put(INDEX, Some(before));
        }
        fixture.history.observe().unwrap();
        let made = fixture.write("a.md", Some("a"), &model("t"));
        let index = index::with_entry(before.unwrap_or_default(), "- [A](a.md) — a");
        fixture.write(INDEX, Some(&index), &model("t"));
        let undone = fixture.undo(&change(&made));
        assert_eq!(undone.paths, ["a.md", INDEX]);
        assert_eq!((fixture.text("a.md"), fixture.text(INDEX).as_deref()), (None, before));
        // And both come back together.
        fixture.undo(&Target::Group(undone.changes[0].group.clone().unwrap()));
        assert_eq!((fixture.text("a.md").as_deref(), fixture.text(INDEX)), (Some("a"), Some(index)));
    }
}

#[test]
fn one_of_two_new_memories_takes_only_its_own_line() {
    let fixture = Fixture::watched(&[]);
    let first = fixture.write("a.md", Some("a"), &model("t"));
    fixture.write("b.md", Some("b"), &model("t"));
    fixture.write(INDEX, Some("- [A](a.md) — a\n- [B](./b.md) — b\n"), &model("t"));
    assert_eq!(fixture.undo(&change(&first)).paths, ["a.md", INDEX]);
    assert_eq!(fixture.text(INDEX).unwrap(), "- [B](./b.md) — b\n");
    assert_eq!(fixture.text("b.md").unwrap(), "b");
}

#[test]
fn an_index_that_was_changed_since_loses_only_the_dead_line() {
    for whole_group in [false, true] {
        let fixture = Fixture::watched(&[(INDEX, "# Mine\n")]);
        let made = fixture.write("team/a.md", Some("a"), &model("t"));
        fixture.write(INDEX, Some("# Mine\n- [A](team/a.md) — a\n"), &model("t"));
        fixture.put(INDEX, Some("# Mine, edited\n- [A](team/a.md) — a\n- [B](b.md)\n"));
        let target = if whole_group { group("t") } else { change(&made) };
        let undone = fixture.undo(&target);
        assert_eq!(
            (undone.paths, undone.conflicts),
            (vec!["team/a.md".to_owned(), INDEX.to_owned()], vec![])
        );
        assert_eq!(fixture.text(INDEX).unwrap(), "# Mine, edited\n- [B](b.md)\n");
    }
}

#[test]
fn what_else_a_group_did_to_a_changed_index_is_named() {
    let fixture = Fixture::watched(&[(INDEX, "- [O](o.md) — old hook\n")]);
    fixture.write("a.md", Some("a"), &model("t"));
    fixture.write(INDEX, Some("- [O](o.md) — new hook\n- [A](a.md)\n"), &model("t"));
    fixture.put(INDEX, Some("- [O](o.md) — new hook\n- [A](a.md)\nmine\n"));
    let undone = fixture.undo(&group("t"));
    assert_eq!(undone.paths, ["a.md", INDEX]);
    assert_eq!(undone.conflicts.len(), 1);
    assert_eq!(fixture.text(INDEX).unwrap(), "- [O](o.md) — new hook\nmine\n");
}

#[test]
fn a_deleted_memory_comes_back_with_its_line_if_the_index_is_as_it_was_left() {
    for edited in [false, true] {
        let fixture = Fixture::watched(&[("a.md", "a"), (INDEX, "- [A](a.md)\n- [B](b.md)\n")]);
        let made = fixture.write("a.md", None, &model("dream"));
        fixture.write(INDEX, Some("- [B](b.md)\n"), &model("dream"));
        if edited {
            fixture.put(INDEX, Some("- [B](b.md)\nmine\n"));
        }
        fixture.undo(&change(&made));
        assert_eq!(fixture.text("a.md").unwrap(), "a");
        let expected = if edited { "- [B](b.md)\nmine\n" } else { "- [A](a.md)\n- [B](b.md)\n" };
        assert_eq!(fixture.text(INDEX).unwrap(), expected);
    }
}

#[test]
fn a_line_that_led_nowhere_before_is_not_touched() {
    let fixture = Fixture::watched(&[(INDEX, "- [A](a.md)\n")]);
    let time = fixture.now();
    fixture.write("a.md", Some("a"), &model("t"));
    fixture.undo(&Target::Since(time));
    assert_eq!((fixture.text("a.md"), fixture.text(INDEX).as_deref()), (None, Some("- [A](a.md)\n")));
}

#[test]
fn a_file_that_became_something_else_is_a_conflict() {
    let fixture = Fixture::watched(&[]);
    fixture.put("outside", Some("secret"));
    let made = fixture.write("a.md", Some("a"), &model("t"));
    fixture.put("a.md", None);
    std::os::unix::fs::symlink(fixture.dir().join("outside"), fixture.dir().join("a.md")).unwrap();
    let undone = fixture.undo(&change(&made));
    assert_eq!((undone.paths.len(), fixture.text("outside").as_deref()), (0, Some("secret")));
    let fixed = fixture.write("b.md", Some("b"), &model("t"));
    fs::set_permissions(fixture.dir().join("b.md"), fs::Permissions::from_mode(0o444)).unwrap();
    let undone = fixture.undo(&change(&fixed));
    expect![[r#"[("b.md", "cannot be put back: b.md is read-only")]"#]]
        .assert_eq(&format!("{:?}", undone.conflicts));
}

#[test]
fn files_of_any_name_are_put_back() {
    let fixture = Fixture::watched(&[("it's (1.md", "mine")]);
    fixture.put("it's (1.md", None);
    let gone = fixture.history.observe().unwrap();
    fixture.undo(&change(&gone[0]));
    assert_eq!(fixture.text("it's (1.md").unwrap(), "mine");
}

#[test]
fn what_was_done_at_once_is_taken_back_at_once_by_any_of_its_changes() {
    let fixture = Fixture::watched(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
    let merge = |why: &str| Author { group: Some("deed".to_owned()), ..Author::new(By::User, why) };
    fixture.write("a.md", Some("a and b"), &merge("merged"));
    let gone = fixture.write("b.md", None, &merge("merged"));
    fixture.write("c.md", Some("C"), &merge("something else"));
    let undone = fixture.undo(&Target::Together(gone.id));
    assert_eq!((undone.paths, undone.conflicts), (vec!["a.md".to_owned(), "b.md".to_owned()], vec![]));
    assert_eq!(fixture.text("a.md").unwrap(), "a");
    assert_eq!(fixture.text("b.md").unwrap(), "b");
    assert_eq!(fixture.text("c.md").unwrap(), "C");
}

#[test]
fn changes_that_belong_to_nothing_are_taken_back_one_by_one() {
    let fixture = Fixture::watched(&[("a.md", "a"), ("b.md", "b")]);
    let alone = Author::new(By::User, "you edited it");
    fixture.write("a.md", Some("A"), &alone);
    let last = fixture.write("b.md", Some("B"), &alone);
    assert_eq!(fixture.undo(&Target::Together(last.id)).paths, ["b.md"]);
}

#[test]
fn what_somebody_is_writing_in_is_left_alone_and_named() {
    let fixture = Fixture::watched(&[(INDEX, "- [A](a.md)\n")]);
    let made = fixture.write("a.md", Some("a"), &model("t"));
    let unsaved: HashSet<String> = [INDEX.to_owned(), "a.md".to_owned()].into();
    let undo = |unsaved: &HashSet<String>| {
        fixture.history.undo(&change(&made), &Author::new(By::User, "undo"), unsaved).unwrap()
    };
    let undone = undo(&unsaved);
    assert_eq!((undone.paths, undone.conflicts), (vec![], vec![("a.md".to_owned(), UNSAVED.to_owned())]));
    assert_eq!(fixture.text("a.md").unwrap(), "a");
}
