use super::*;

fn fingerprint(size: u64) -> Fingerprint {
    Fingerprint { mtime_ns: 7, size, hash: Some(u64::MAX) }
}

fn part(size: u64, first: usize, last: usize) -> Seen {
    Seen { fingerprint: fingerprint(size), lines: (first, last), to_end: false, cut: false }
}

fn end(size: u64, first: usize, last: usize) -> Seen {
    Seen { to_end: true, ..part(size, first, last) }
}

#[test]
fn what_was_seen_survives_being_kept() {
    let state = ReadState::new();
    state.saw(Path::new("/a"), end(1, 1, 3));
    state.saw(Path::new("/b"), Seen { cut: true, ..part(2, 5, 9) });
    let kept: Value = serde_json::from_str(&state.changes().unwrap().to_string()).unwrap();

    let again = ReadState::new();
    again.restore(&kept);
    assert_eq!(again.get(Path::new("/a")), state.get(Path::new("/a")));
    assert_eq!(again.get(Path::new("/b")), state.get(Path::new("/b")));
    assert_eq!(again.changes(), None);
}

#[test]
fn only_what_is_new_is_taken() {
    let state = ReadState::new();
    let paths = |value: Option<Value>| {
        let value = value.unwrap_or_default();
        let entries = value.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    state.saw(Path::new("/a"), end(1, 1, 3));
    assert_eq!(paths(state.changes()), ["/a"]);
    assert_eq!(state.changes(), None);
    state.saw(Path::new("/c"), end(1, 1, 3));
    state.wrote(Path::new("/a"), fingerprint(2), 4);
    assert_eq!(paths(state.changes()), ["/c", "/a"]);
}

#[test]
fn parts_that_follow_each_other_become_a_whole() {
    let check = |parts: &[Seen], lines: (usize, usize), whole: bool| {
        let state = ReadState::new();
        for part in parts {
            state.saw(Path::new("/a"), part.clone());
        }
        let seen = state.get(Path::new("/a")).unwrap();
        assert_eq!((seen.lines, seen.is_whole()), (lines, whole), "{parts:?}");
    };
    check(&[part(1, 1, 5)], (1, 5), false);
    check(&[part(1, 1, 5), end(1, 6, 9)], (1, 9), true);
    check(&[end(1, 6, 9), part(1, 1, 5)], (1, 9), true);
    check(&[part(1, 1, 5), part(1, 3, 4)], (1, 5), false);
    check(&[end(1, 1, 9), part(1, 3, 4)], (1, 9), true);
    check(&[part(1, 1, 5), end(1, 7, 9)], (7, 9), false);
    // Another text.
    check(&[part(1, 1, 5), end(2, 6, 9)], (6, 9), false);
    // A line of it was never seen whole.
    check(&[Seen { cut: true, ..part(1, 1, 5) }, end(1, 6, 9)], (1, 9), false);
    check(&[end(1, 1, 0)], (1, 0), true);
}

#[test]
fn an_edit_keeps_what_was_known_of_the_rest() {
    let state = ReadState::new();
    let path = Path::new("/part");
    let seen = || state.get(path).map(|seen| (seen.fingerprint.size, seen.lines, seen.is_whole())).unwrap();
    state.edited(path, fingerprint(1), (9, 9));
    assert_eq!(state.get(path), None);
    state.saw(path, part(1, 1, 5));
    state.edited(path, fingerprint(2), (9, 12));
    assert_eq!(seen(), (2, (1, 5), false));
    state.edited(path, fingerprint(3), (12, 10));
    assert_eq!(seen(), (3, (1, 3), false));
    state.saw(path, part(3, 6, 9));
    state.edited(path, fingerprint(4), (10, 11));
    assert_eq!(seen(), (4, (7, 9), false));
    state.wrote(path, fingerprint(5), 9);
    state.edited(path, fingerprint(6), (9, 10));
    assert_eq!(seen(), (6, (1, 10), true));
}

#[test]
fn damaged_entries_are_left_out() {
    let state = ReadState::new();
    state.restore(&serde_json::json!([{"path": "/x"}, 3, null]));
    state.restore(&serde_json::json!("nonsense"));
    assert_eq!(state.get(Path::new("/x")), None);
}

#[test]
fn the_longest_unused_is_forgotten_first() {
    let state = ReadState::new();
    for number in 0..CAPACITY.get() {
        state.saw(Path::new(&format!("/{number}")), end(1, 1, 1));
    }
    assert!(state.get(Path::new("/0")).is_some());
    state.saw(Path::new("/one more"), end(1, 1, 1));
    assert!(state.get(Path::new("/0")).is_some());
    assert!(state.get(Path::new("/1")).is_none());
}
