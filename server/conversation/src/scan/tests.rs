use std::io::Write;

use expect_test::expect;

use super::*;

fn scan_bytes(bytes: &[u8]) -> Scan {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    scan(file.path()).unwrap()
}

fn record(number: u32) -> String {
    let (uuid, parent) = (crate::sample::uuid(number), crate::sample::uuid(number.saturating_sub(1)));
    format!(
        r#"{{"parentUuid":"{parent}","type":"user","message":{{"content":"text {number}"}},"uuid":"{uuid}"}}"#
    )
}

fn check(bytes: &[u8], expected: expect_test::Expect) {
    let scan = scan_bytes(bytes);
    let found: Vec<_> = scan
        .entries
        .iter()
        .map(|entry| {
            let place = entry.place();
            let start = place.offset as usize;
            let bytes = &bytes[start..start + place.length as usize];
            assert!(bytes.starts_with(b"{") && bytes.ends_with(b"}"));
            entry.uuid.as_u128() & 0xff
        })
        .collect();
    expected.assert_eq(&format!("{found:?} {:?}", scan.damage));
}

#[test]
fn line_ends_marks_and_blanks_do_not_matter() {
    let text = format!("\u{feff}{}\r\n\r\n  {}  \n\n{}", record(1), record(2), record(3));
    check(
        text.as_bytes(),
        expect![
            "[1, 2, 3] Damage { bad_lines: 0, first_bad_line: None, nul_runs: 0, glued_lines: 0, recovered: 0, oversized_lines: 0, without_uuid: 0, newer_records: 0, newest_format: 0, torn_tail: false, unknown_kinds: {} }"
        ],
    );
}

#[test]
fn damage_is_skipped_and_counted() {
    let torn = &record(9)[..40];
    let text = format!(
        "{}\nrubbish\n{}{}\n\0\0\0\0{}\n{torn}{}\n[1,2]\n{torn}",
        record(1),
        record(2),
        record(3),
        record(4),
        record(5)
    );
    check(
        text.as_bytes(),
        expect![
            "[1, 2, 3, 4, 5] Damage { bad_lines: 3, first_bad_line: Some(2), nul_runs: 1, glued_lines: 1, recovered: 1, oversized_lines: 0, without_uuid: 0, newer_records: 0, newest_format: 0, torn_tail: true, unknown_kinds: {} }"
        ],
    );
}

#[test]
fn other_kinds_newer_formats_and_missing_ids_are_noted() {
    let text = concat!(
        "{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"x\"}\n",
        "{\"type\":\"progress\",\"uuid\":\"11110000-0000-4000-8000-000000000007\"}\n",
        "{\"type\":\"hologram\",\"sessionId\":\"s\",\"reverieFormat\":3}\n",
        "{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\n",
        "{\"nothing\":1}\n",
    );
    let scan = scan_bytes(text.as_bytes());
    assert_eq!(scan.extras.summaries.len(), 1);
    assert_eq!(scan.entries.iter().map(|entry| entry.kind).collect::<Vec<_>>(), [Kind::Link, Kind::User]);
    expect![[r#"Damage { bad_lines: 0, first_bad_line: None, nul_runs: 0, glued_lines: 0, recovered: 0, oversized_lines: 0, without_uuid: 1, newer_records: 1, newest_format: 3, torn_tail: false, unknown_kinds: {"": 1, "hologram": 1} }"#]]
        .assert_eq(&format!("{:?}", scan.damage));
}

#[test]
fn wherever_the_file_is_divided_every_line_is_read_once() {
    let text = format!("{}\n\nbad\n{}\r\n{}\n{}", record(1), record(2), record(3), record(4));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let bytes = text.len() as u64;
    let whole = scan(file.path()).unwrap();
    assert_eq!(whole.entries.len(), 4);
    for middle in 0..=bytes {
        let mut parts = scan_range(file.path(), 0, middle, bytes).unwrap();
        parts.append(scan_range(file.path(), middle, bytes, bytes).unwrap());
        assert_eq!(parts.entries, whole.entries, "divided at {middle}");
        assert_eq!(parts.damage.first_bad_line, Some(3), "divided at {middle}");
        assert_eq!(parts.lines, whole.lines, "divided at {middle}");
    }
}
