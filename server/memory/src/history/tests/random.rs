//! Whatever several authors do in whatever order, undoing since a time gives the tree of that time.

use proptest::prelude::*;

use super::*;

const PATHS: [&str; 5] = ["MEMORY.md", "a.md", "b.md", "sub/c.md", "team/MEMORY.md"];
const TEXTS: [Option<&str>; 6] = [
    None,
    Some(""),
    Some("one\n"),
    Some("- [A](a.md) — a\r\n- [C](sub/c.md)"),
    Some("- [B](b.md)\n\u{feff}x"),
    Some("two"),
];

#[derive(Clone, Debug)]
enum Deed {
    /// By the model and others, in one of two groups.
    Write {
        path: usize,
        text: usize,
        by: usize,
    },
    /// By nobody we know.
    Put {
        path: usize,
        text: usize,
    },
    Look,
    Undo {
        back: usize,
        kind: usize,
    },
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let place = (0..PATHS.len(), 0..TEXTS.len());
    let deed = prop_oneof![
        6 => (place.clone(), 0..4_usize).prop_map(|((path, text), by)| Deed::Write { path, text, by }),
        3 => place.prop_map(|(path, text)| Deed::Put { path, text }),
        1 => Just(Deed::Look),
        2 => (0..6_usize, 0..3_usize).prop_map(|(back, kind)| Deed::Undo { back, kind }),
    ];
    prop::collection::vec(deed, 0..14)
}

fn carry_out(fixture: &Fixture, deed: &Deed) {
    match *deed {
        Deed::Write { path, text, by } => {
            let (path, text) = (PATHS[path], TEXTS[text]);
            if fixture.text(path).as_deref() != text {
                let author = [By::Model, By::Extraction, By::Dream, By::Team][by];
                let group = Some(format!("group-{}", by % 2));
                fixture.write(path, text, &Author { group, ..Author::new(author, "") });
            }
        }
        Deed::Put { path, text } => {
            if fixture.text(PATHS[path]).is_some() || TEXTS[text].is_some() {
                fixture.put(PATHS[path], TEXTS[text]);
            }
        }
        Deed::Look => {
            fixture.history.observe().unwrap();
        }
        Deed::Undo { back, kind } => {
            let changes = fixture.history.changes(None, usize::MAX).unwrap();
            let Some(change) = changes.get(back) else { return };
            let target = match (kind, &change.group) {
                (0, Some(group)) => Target::Group(group.clone()),
                (1, _) => Target::Since(change.at),
                _ => Target::Change(change.id.clone()),
            };
            fixture.undo(&target);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undoing_since_a_time_restores_the_tree_of_that_time(before in deeds(), after in deeds()) {
        let fixture = Fixture::watched(&[]);
        for deed in &before {
            carry_out(&fixture, deed);
        }
        fixture.history.observe().unwrap();
        let (time, then) = (fixture.now(), fixture.tree());
        for deed in &after {
            carry_out(&fixture, deed);
        }
        fixture.history.observe().unwrap();
        let (later, now) = (fixture.now(), fixture.tree());
        let undone = fixture.undo(&Target::Since(time));
        prop_assert_eq!(undone.conflicts, vec![]);
        prop_assert_eq!(fixture.tree(), then);
        prop_assert_eq!(fixture.history.observe().unwrap(), vec![]);
        // And there again.
        fixture.undo(&Target::Since(later));
        prop_assert_eq!(fixture.tree(), now);
    }
}
