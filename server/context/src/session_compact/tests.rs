use expect_test::expect;

use super::*;
use crate::sample::{bytes, thread, uuid};

fn notes(text: &str, upto: Option<usize>, resumed: bool) -> Notes<'_> {
    Notes { text, path: Path::new("/s/summary.md"), upto: upto.map(uuid), resumed }
}

const NOTES: &str = "# Title\n_What it is about_\n\nThe parser\n";

/// Rounds of a prompt (message 2n) and an answer, with this many tokens each.
fn rounds_of(count: usize, size: usize) -> Vec<Arc<Message>> {
    let lines: String = (0..count).map(|number| format!("user p\nsay r{number} x*{}\n", size - 1)).collect();
    thread(&lines)
}

fn keep_from(thread: &[Arc<Message>], upto: Option<usize>, resumed: bool) -> Result<usize, NotUsable> {
    plan(notes(NOTES, upto, resumed), thread, 1_000_000, 0, &bytes).map(|plan| plan.keep_from)
}

#[test]
fn notes_that_nobody_wrote_are_not_used() {
    let thread = rounds_of(10, 5_000);
    let bare = "# Title\n_A short title_\n\n# State\n*What is going on*\n\n";
    for text in ["", bare] {
        let plan = plan(notes(text, Some(9), false), &thread, 1_000_000, 0, &bytes);
        assert_eq!(plan, Err(NotUsable::Bare), "{text:?}");
    }
    assert!(!is_bare("# Title\n**Important**"));
    assert!(!is_bare("# Title\n* a point *with* emphasis"));
}

#[test]
fn what_the_notes_do_not_cover_stays_however_much_it_is() {
    assert_eq!(keep_from(&rounds_of(20, 10_000), Some(5), false), Ok(6));
}

#[test]
fn the_end_is_extended_to_enough_tokens_and_enough_messages() {
    assert_eq!(keep_from(&rounds_of(20, 5_000), Some(39), false), Ok(35), "five messages with text");
    assert_eq!(keep_from(&rounds_of(40, 500), Some(79), false), Ok(40), "ten thousand tokens");
}

#[test]
fn the_extension_ends_before_forty_thousand() {
    assert_eq!(keep_from(&rounds_of(20, 19_000), Some(39), false), Ok(36));
    assert_eq!(keep_from(&rounds_of(20, 50_000), Some(39), false), Ok(39), "the last response in any case");
}

#[test]
fn a_boundary_must_be_known_unless_the_session_was_resumed() {
    let thread = rounds_of(20, 5_000);
    assert_eq!(keep_from(&thread, None, false), Err(NotUsable::UnknownBoundary));
    assert_eq!(keep_from(&thread, Some(999), false), Err(NotUsable::UnknownBoundary));
    assert_eq!(keep_from(&thread, Some(999), true), Ok(35));
    assert_eq!(keep_from(&thread, Some(5), true), Ok(6));
}

#[test]
fn a_boundary_inside_of_a_round_moves_back() {
    let thread = thread(
        "user one
         say a x*20000
         user two
         call b Read t1 Read t2
         result t1 x*6000
         result t2 x*6000
         say c y*9
         user three
         say d z
         user four
         say e z",
    );
    assert_eq!(keep_from(&thread, Some(4), false), Ok(3));
}

#[test]
fn what_an_earlier_compaction_left_is_not_kept() {
    let mut kept =
        thread("boundary\nsummary what was\nattachment file\nuser one\nsay a x\nuser two\nsay b y");
    assert_eq!(keep_from(&kept, Some(6), false), Err(NotUsable::NothingToRemove), "all of it is recent");
    kept.truncate(4);
    assert_eq!(keep_from(&kept, Some(1), false), Err(NotUsable::NothingToRemove));
    assert_eq!(keep_from(&rounds_of(2, 10), Some(3), false), Err(NotUsable::NothingToRemove));
}

#[test]
fn notes_and_end_together_must_be_below_the_threshold() {
    let thread = rounds_of(20, 5_000);
    let at = |threshold| plan(notes(NOTES, Some(39), false), &thread, threshold, 1_000, &bytes);
    let tokens = 1_000 + 2 * 5_000 + 4_999 + NOTES.trim_end().len() as u64;
    assert_eq!(at(tokens), Err(NotUsable::TooLarge { tokens, threshold: tokens }));
    assert_eq!(at(tokens + 1).map(|plan| plan.tokens_after), Ok(tokens));
}

#[test]
fn long_sections_are_cut_at_a_line_with_a_pointer_to_the_file() {
    let line = format!("{}\n", "w".repeat(99));
    let text = format!("# One\n{}# Two\nshort\n", line.repeat(30));
    let summary = within_limits(notes(&text, None, false), &bytes);
    assert_eq!(summary.matches("www\n").count(), 19);
    let shown = summary.replace(&line, "");
    expect![[r#"
        # One
        [cut here]

        # Two
        short

        The notes are longer; all of them are in /s/summary.md"#]]
    .assert_eq(&shown);
}

#[test]
fn all_sections_together_have_a_limit() {
    let section = |number: usize| format!("# {number}\n{}\n", "words\n".repeat(330));
    let text: String = (1..=9).map(section).collect();
    let summary = within_limits(notes(&text, None, false), &bytes);
    assert!(summary.len() < 12_300, "{}", summary.len());
    expect![[r#"
        # 1
        # 2
        # 3
        # 4
        # 5
        # 6

        [3 sections left out]

        The notes are longer; all of them are in /s/summary.md"#]]
    .assert_eq(&summary.replace("words\n", "").replace("\n\n#", "\n#"));
}

#[test]
fn the_message_says_what_it_is_and_where_the_rest_is() {
    let plan = Plan { keep_from: 0, summary: "# Title\nThe parser".to_owned(), tokens_after: 0 };
    expect![[r#"
        <conversation-summary>
        The earlier part of this conversation was replaced by the notes that were taken during it, to make room. The latest messages follow behind them.

        # Title
        The parser

        Where a detail is missing (code, an error, what was said), the whole conversation is in this file, a JSON object on each line:
        /s.jsonl
        </conversation-summary>"#]]
    .assert_eq(&summary_text(&plan, Path::new("/s.jsonl"), Continue::OnPrompt));
}
