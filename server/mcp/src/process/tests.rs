use super::*;

#[test]
fn the_last_lines_are_kept() {
    let mut tail = Tail::default();
    for number in 0..30 {
        tail.add(format!("line {number}\r\n\n").as_bytes());
    }
    tail.add(b"half a \xff li");
    tail.add("ne\u{1b}[31m".as_bytes());
    let text = tail.text();
    assert!(text.starts_with("line 10\nline 11\n"), "{text}");
    assert!(text.ends_with("line 29\nhalf a \u{fffd} line[31m"), "{text}");
    tail.add(&vec![b'x'; 100_000]);
    assert!(tail.open.len() <= Tail::LONGEST);
}
