//! How much is kept, and in which order.

use super::*;

#[test]
fn the_oldest_changes_go_with_what_only_they_needed() {
    let fixture = Fixture::watched(&[]);
    let lines: String = (0..MOST_CHANGES)
        .map(|number| {
            let (id, at) = (format!("00000000-{number:04x}-7000-8000-000000000000"), Timestamp::UNIX_EPOCH);
            format!(
                "{{\"id\":\"{id}\",\"path\":\"x{number}.md\",\"at\":\"{at}\",\"by\":\"user\",\"why\":\"\"}}\n"
            )
        })
        .collect();
    let first = fixture.write("a.md", Some("first"), &model("t"));
    let log = fixture.dir().join(".history/changes.jsonl");
    let own = fs::read_to_string(&log).unwrap();
    fs::write(&log, own + &lines[lines.find('\n').unwrap() + 1..]).unwrap();
    assert_eq!(fixture.history.changes(None, usize::MAX).unwrap().len(), MOST_CHANGES);
    fixture.write("a.md", Some("second"), &model("t"));
    // What was first is still needed as what was before the second.
    assert!(fixture.history.after(&first).is_ok());
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), MOST_CHANGES);
    let kept = fixture.history.changes(Some("a.md"), 10).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].before, first.after);
}

#[test]
fn contents_are_bounded_and_the_present_stays() {
    let mut fixture = Fixture::watched(&[("present.md", "present")]);
    fixture.history.limits.bytes = 32 << 10;
    // Noise does not become smaller.
    let mut state = 1_u64;
    let mut noise = || {
        let bytes = (0..3 << 10).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u8::try_from(state >> 56).unwrap()
        });
        bytes.collect::<Vec<u8>>()
    };
    let mut before = None;
    for _ in 0..12 {
        let after = noise();
        fixture.history.record("big.md", before.as_deref(), Some(&after), &model("t")).unwrap();
        before = Some(after);
    }
    let contents = fixture.dir().join(".history/contents");
    let size: u64 = fs::read_dir(contents)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(size <= 32 << 10, "{size}");
    let changes = fixture.history.changes(None, usize::MAX).unwrap();
    assert!((4..12).contains(&changes.len()), "{}", changes.len());
    for change in &changes {
        assert!(fixture.history.before(change).is_ok() && fixture.history.after(change).is_ok());
    }
    fixture.put("present.md", None);
    let gone =
        fixture.history.observe().unwrap().into_iter().find(|change| change.path == "present.md").unwrap();
    fixture.undo(&Target::Change(gone.id));
    assert_eq!(fixture.text("present.md").unwrap(), "present");
}

#[test]
fn ids_grow_even_when_the_clock_goes_back() {
    let fixture = Fixture::watched(&[]);
    let mut ids = Vec::new();
    for number in 0..5_000_u32 {
        if number == 2 {
            fixture.clock.store(1_000, Ordering::Relaxed);
        }
        let draft =
            locked::Draft { path: format!("{number}.md"), author: model("t"), before: None, after: None };
        let id = locked::next_id(ids.last().map(String::as_str), fixture.now(), &draft);
        ids.push(id);
    }
    assert!(ids.is_sorted());
    assert!(ids.iter().all(|id| id.len() == 36));
}
