//! "0 deny-labelled commands accepted, every allow/core accepted."

use expect_test::expect;
use permissions::shell::Programs;

use crate::fixture::{corpus, fixture};

#[test]
fn nothing_denied_is_accepted_and_nothing_allowed_refused() {
    let fixture = fixture();
    let rows = corpus();
    assert_eq!(rows.len(), 332);
    for row in rows {
        let judged = fixture.judge(&row.command, Programs::Few);
        assert_eq!(judged.is_ok(), row.label == "allow", "{:?} ({}): {judged:?}", row.command, row.why);
    }
}

/// The corpus knows eight programs; a conversation has more.
#[test]
fn the_longer_list_accepts_only_the_programs_it_adds() {
    let fixture = fixture();
    let mut accepted = Vec::new();
    for row in corpus() {
        let judged = fixture.judge(&row.command, Programs::All);
        assert!(judged.is_ok() || row.label == "deny", "{:?}: {judged:?}", row.command);
        if judged.is_ok() && row.label == "deny" {
            accepted.push(format!("{}: {}\n", row.why, row.command));
        }
    }
    expect![[r#"
        unlisted: sort README.md
        unlisted: uniq README.md
        unlisted: cut -d: -f1 README.md
        unlisted: git log -1
        unlisted: file README.md
        unlisted: du -sh .
        unlisted: tree
    "#]]
    .assert_eq(&accepted.concat());
}
