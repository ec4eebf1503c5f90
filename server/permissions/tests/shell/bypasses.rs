//! Our own attempts to get something past the judgement: `bypasses.txt`, one to a line, `\n` and the like escaped.

use permissions::shell::Programs;

use crate::fixture::fixture;

#[test]
fn no_attempt_is_accepted() {
    let fixture = fixture();
    let mut tried = 0;
    for line in include_str!("bypasses.txt").lines() {
        if line.is_empty() || line.starts_with("// ") {
            continue;
        }
        let command = unescape(line);
        for programs in [Programs::Few, Programs::All] {
            let judged = fixture.judge(&command, programs);
            assert!(judged.is_err(), "{command:?} became {judged:?}");
        }
        tried += 1;
    }
    assert!(tried >= 100, "{tried}");
}

/// `␊`, `␍`, `␉`, `␀` are the characters they picture.
fn unescape(line: &str) -> String {
    line.replace('␊', "\n").replace('␍', "\r").replace('␉', "\t").replace('␀', "\0").replace('␠', "\u{a0}")
}
