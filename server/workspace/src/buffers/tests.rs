use std::time::Instant;

use super::*;
use crate::editor::Position;
use crate::testing::Random;

const PATH: &str = "/w/a.rs";

fn open(text: &str) -> Documents {
    let mut documents = Documents::default();
    documents.open(Path::new(PATH), "rust", 1, text);
    documents
}

fn text(documents: &Documents) -> String {
    documents.get(Path::new(PATH)).unwrap().rope.to_string()
}

fn change(range: [u32; 4], text: &str) -> ContentChange {
    let [start_line, start, end_line, end] = range;
    let range = Range {
        start: Position { line: start_line, character: start },
        end: Position { line: end_line, character: end },
    };
    ContentChange { range: Some(range), text: text.to_owned() }
}

/// The same rules once more, as plainly as possible: byte offset of a position in a string.
fn naive_offset(text: &str, position: Position, encoding: Encoding) -> usize {
    let mut line = 0;
    let mut rest = text.char_indices().peekable();
    while line < position.line {
        match rest.next() {
            None => return text.len(),
            Some((_, '\n')) => line += 1,
            Some((_, '\r')) => {
                rest.next_if(|(_, next)| *next == '\n');
                line += 1;
            }
            Some(_) => {}
        }
    }
    let mut units = 0;
    for (at, character) in rest {
        units += match encoding {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
        };
        if matches!(character, '\n' | '\r') || units > position.character as usize {
            return at;
        }
    }
    text.len()
}

fn naive_apply(text: &mut String, change: &ContentChange, encoding: Encoding) {
    match change.range {
        None => *text = change.text.clone(),
        Some(range) => {
            let one = naive_offset(text, range.start, encoding);
            let two = naive_offset(text, range.end, encoding);
            text.replace_range(one.min(two)..one.max(two), &change.text);
        }
    }
}

#[test]
fn ten_thousand_random_edits_give_the_text_of_a_naive_model() {
    for (seed, encoding) in
        [(1, Encoding::Utf8), (2, Encoding::Utf16), (3, Encoding::Utf8), (4, Encoding::Utf16)]
    {
        let mut random = Random::new(seed);
        let mut model = random.text(200);
        let mut documents = open(&model);
        for version in 0..10_000 {
            let mut position = || Position {
                line: random.below(12) as u32,
                character: [random.below(8), random.below(100)][random.below(2)] as u32,
            };
            let (start, end) = (position(), position());
            // Mostly small ranges: two free positions would empty the text again and again.
            let end = if random.below(8) == 0 {
                end
            } else {
                Position { character: start.character + random.below(4) as u32, ..start }
            };
            let range = (random.below(2_000) != 0).then_some(Range { start, end });
            let edit = ContentChange { range, text: random.text(6) };
            naive_apply(&mut model, &edit, encoding);
            documents.change(Path::new(PATH), version, std::slice::from_ref(&edit), encoding).unwrap();
            if version % 16 == 0 || model.len() < 200 {
                assert_eq!(text(&documents), model, "seed {seed} version {version} {edit:?}");
            }
        }
        assert_eq!(text(&documents), model);
    }
}

#[test]
fn changes_of_one_notification_build_on_each_other() {
    let mut documents = open("one\ntwo\n");
    let changes = [change([0, 0, 0, 0], "zero\n"), change([1, 0, 1, 3], "1")];
    documents.change(Path::new(PATH), 2, &changes, Encoding::Utf16).unwrap();
    assert_eq!(text(&documents), "zero\n1\ntwo\n");
}

#[test]
fn dirty_from_the_first_change_to_the_save() {
    let mut documents = open("a");
    let dirty = |documents: &Documents| documents.list()[0].dirty;
    assert!(!dirty(&documents));
    documents.change(Path::new(PATH), 2, &[change([0, 0, 0, 0], "b")], Encoding::Utf16).unwrap();
    assert!(dirty(&documents));
    documents.save(Path::new(PATH), None);
    assert!(!dirty(&documents));
}

#[test]
fn a_saved_text_that_differs_is_taken_over() {
    let mut documents = open("a");
    documents.save(Path::new(PATH), Some("b"));
    assert_eq!(text(&documents), "b");
}

#[test]
fn versions_that_go_backwards_are_applied_in_order_of_arrival() {
    let mut documents = open("a");
    documents.change(Path::new(PATH), 7, &[change([0, 1, 0, 1], "b")], Encoding::Utf16).unwrap();
    documents.change(Path::new(PATH), 3, &[change([0, 2, 0, 2], "c")], Encoding::Utf16).unwrap();
    assert_eq!((text(&documents).as_str(), documents.list()[0].version), ("abc", 3));
}

#[test]
fn a_change_of_what_is_not_open_is_an_error() {
    let mut documents = Documents::default();
    let error = documents.change(Path::new(PATH), 1, &[], Encoding::Utf16).unwrap_err();
    assert_eq!(error.to_string(), "the document is not open: /w/a.rs");
}

#[test]
fn renaming_a_folder_moves_what_is_open_below_it() {
    let mut documents = Documents::default();
    for path in ["/w/old/a", "/w/old/deep/b", "/w/older/c"] {
        documents.open(Path::new(path), "", 1, path);
    }
    documents.rename(Path::new("/w/old"), Path::new("/w/new"));
    let paths: Vec<PathBuf> = documents.list().into_iter().map(|document| document.path).collect();
    assert_eq!(paths, ["/w/new/a", "/w/new/deep/b", "/w/older/c"].map(PathBuf::from));
}

#[test]
fn a_document_already_open_at_the_new_path_wins_over_the_renamed() {
    let mut documents = open("old");
    documents.open(Path::new("/w/b.rs"), "rust", 1, "new");
    documents.rename(Path::new(PATH), Path::new("/w/b.rs"));
    assert_eq!(documents.list().len(), 1);
    assert_eq!(documents.get(Path::new("/w/b.rs")).unwrap().rope.to_string(), "new");
}

#[test]
fn an_awaited_text_is_seen_even_if_it_is_gone_at_once() {
    let mut documents = open("a\r\n");
    let mut arrival = documents.await_text(Path::new(PATH), 1, "ab\n".to_owned()).unwrap();
    documents.change(Path::new(PATH), 2, &[change([0, 1, 0, 1], "b")], Encoding::Utf16).unwrap();
    documents.change(Path::new(PATH), 3, &[change([0, 0, 0, 0], "x")], Encoding::Utf16).unwrap();
    let arrival = arrival.try_recv().unwrap();
    assert_eq!(arrival, Fingerprint::of_buffer("ab\n"));
}

#[test]
fn a_text_is_awaited_only_from_the_version_it_was_made_for() {
    let mut documents = open("a");
    assert!(documents.await_text(Path::new(PATH), 2, String::new()).is_none());
    let mut arrival = documents.await_text(Path::new(PATH), 1, String::new()).unwrap();
    documents.close(Path::new(PATH));
    assert!(matches!(arrival.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
}

#[test]
fn likeness_ignores_line_ends_and_mark_and_sees_a_final_newline() {
    use Likeness::{ButForFinalNewline, Different, Same};
    for (raw, view, expected) in [
        ("a\r\nb\rc\n", "a\nb\nc\n", Same),
        ("\u{feff}a", "a", Same),
        ("", "", Same),
        ("a", "a\n", ButForFinalNewline),
        ("a\r\n", "a", ButForFinalNewline),
        ("", "\n", ButForFinalNewline),
        ("a\n\n", "a", Different),
        ("a\r\n\r\n", "a", Different),
        ("a", "a\n\n", Different),
        ("ab", "a", Different),
        ("a", "ab", Different),
        ("a b", "a\nb", Different),
    ] {
        assert_eq!(likeness(&Rope::from_str(raw), view), expected, "{raw:?} {view:?}");
    }
}

#[test]
fn an_awaited_final_newline_has_to_arrive() {
    let mut documents = open("a");
    let mut arrival = documents.await_text(Path::new(PATH), 1, "a\n".to_owned()).unwrap();
    documents.change(Path::new(PATH), 2, &[change([0, 0, 0, 0], "")], Encoding::Utf16).unwrap();
    assert!(arrival.try_recv().is_err());
    documents.change(Path::new(PATH), 3, &[change([0, 1, 0, 1], "\n")], Encoding::Utf16).unwrap();
    assert_eq!(arrival.try_recv().unwrap(), Fingerprint::of_buffer("a\n"));
}

#[test]
fn ten_thousand_edits_of_a_megabyte_take_no_time() {
    let mut documents = open(&"fn main() { println!(\"Grüße\"); }\n".repeat(30_000));
    let mut random = Random::new(5);
    let edits: Vec<ContentChange> = (0..10_000)
        .map(|_| {
            let (line, character) = (random.below(30_000) as u32, random.below(30) as u32);
            change(
                [line, character, line, character + random.below(2) as u32],
                random.pick(&["x", "😀", "\n", ""]),
            )
        })
        .collect();
    let start = Instant::now();
    for (version, edit) in edits.iter().enumerate() {
        documents
            .change(Path::new(PATH), version as i32, std::slice::from_ref(edit), Encoding::Utf16)
            .unwrap();
    }
    let taken = start.elapsed();
    println!("10,000 edits of 1 MB: {taken:?}");
    // Without optimisation ropey is some ten times slower.
    let limit = if cfg!(debug_assertions) { 2_000 } else { 50 };
    assert!(taken.as_millis() < limit, "{taken:?}");
}
