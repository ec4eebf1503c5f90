use std::collections::HashMap;

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::{
    event::Recorded,
    sample::{bytes, layout, thread, time, uuid},
};

#[derive(Default)]
struct Disk {
    files: HashMap<String, usize>,
    is_full: bool,
}

impl Shelf for Disk {
    fn keep(&mut self, tool_use_id: &str, content: &ResultContent) -> Option<PathBuf> {
        self.files.insert(tool_use_id.to_owned(), length_of(content));
        (!self.is_full).then(|| format!("/results/{tool_use_id}.txt").into())
    }
}

fn stored(change: &Change) -> Vec<&str> {
    let Event::Stored { results } = &change.event else { panic!("{change:?}") };
    results.iter().map(|result| result.tool_use_id.as_str()).collect()
}

#[test]
fn tools_have_limits_and_settings_lower_them() {
    let limits = ["Bash", "BashOutput", "Grep", "Glob", "mcp__a__b", "Read"].map(|tool| limit_of(tool, None));
    let thirty = Some(30_000);
    assert_eq!(limits, [thirty, thirty, thirty, Some(50_000), Some(50_000), None]);
    assert_eq!(limit_of("Bash", Some(1_000)), Some(1_000));
    assert_eq!(limit_of("Bash", Some(900_000)), Some(50_000));
    assert_eq!(limit_of("Read", Some(20_000)), Some(20_000));
}

#[test]
fn a_replacement_says_where_the_rest_is_and_shows_the_beginning() {
    let lines: String = (1..=900).map(|number| format!("line {number}\n")).collect();
    let text = replacement(&ResultContent::Text(lines), Path::new("/p/s/tool-results/t1.txt"));
    let (head, tail) = (text.get(..330).unwrap(), text.get(text.len() - 60..).unwrap());
    expect![[r#"
        <persisted-output>
        This output is too large to be shown whole: 8.0 KB in 900 lines. All of it is in this file:
        /p/s/tool-results/t1.txt
        Read shows more of it, with an offset and a limit; Grep finds a passage in it.

        It begins with (2.0 KB):
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        line 8
        line 9
        line 10
        line 11
        line 12
        li"#]]
    .assert_eq(head);
    expect![[r#"
         896
        line 897
        line 898
        line 899
        line 900
        </persisted-output>"#]]
    .assert_eq(tail);
}

#[test]
fn one_long_line_is_cut_between_characters_and_cannot_end_the_block() {
    let text = replacement(&ResultContent::Text("ä".repeat(3_000)), Path::new("/f"));
    assert_eq!(text.matches('ä').count(), 1_000 + 250, "the beginning and the end");
    let text = replacement(&ResultContent::Text("</persisted-output> x".to_owned()), Path::new("/f"));
    assert_eq!(text.matches("</persisted-output>").count(), 1);
    let blocks = vec![Block::text("one"), Block::text("two")];
    assert!(replacement(&ResultContent::Blocks(blocks), Path::new("/f")).contains("one\ntwo"));
}

#[test]
fn no_result_has_more_than_a_hundred_thousand_tokens() {
    let of = |length: usize| largest_result(&ResultContent::Text("x".repeat(length)), &bytes);
    assert_eq!((of(100_000), of(100_001)), (None, Some(100_001)));
}

#[test]
fn the_largest_new_results_go_until_the_rest_fits() {
    let thread = thread(
        "user look
         call a Bash t1 Bash t2 Bash t3 Bash t4
         result t1 x*90000
         result t2 x*120000
         result t3 x*60000
         result t4 x*10",
    );
    let mut disk = Disk::default();
    let change = store(&thread, &Projection::default(), 200_000, &mut disk, &bytes).unwrap();
    assert_eq!(stored(&change), ["t2"]);
    assert_eq!(disk.files, HashMap::from([("t2".to_owned(), 120_000)]));
    let entry = change.entry.clone().unwrap();
    assert_eq!(
        (entry.messages, entry.cache_kept, entry.original.as_deref()),
        (1, true, Some("/results/t2.txt"))
    );

    let recorded = change.recorded(time(0), Some(uuid(5)));
    let projection = Projection::replay(&[recorded], &thread);
    let view = projection.view(&thread);
    let now: u64 = view.iter().map(|message| bytes(message)).sum();
    let before: u64 = thread.iter().map(|message| bytes(message)).sum();
    assert_eq!(before - now, entry.tokens_freed);
    expect![[r#"
        user: look
        assistant: Bash t1
        assistant: Bash t2
        assistant: Bash t3
        assistant: Bash t4
        user: result t1: 90000 bytes
        user: result t2: 2770 bytes
        user: result t3: 60000 bytes
        user: result t4: xxxxxxxxxx
    "#]]
    .assert_eq(&layout(view.iter().map(|message| &**message)));
    assert_eq!(store(&thread, &projection, 200_000, &mut disk, &bytes), None, "it fits now");
    let again = store(&thread, &projection, 100_000, &mut disk, &bytes).unwrap();
    assert_eq!(stored(&again), ["t1"], "what was replaced counts with what is sent of it");
}

#[test]
fn what_was_sent_already_stays_whole() {
    let thread = thread(
        "user look
         call a Bash t1
         result t1 x*250000
         say b fine
         user and now",
    );
    assert_eq!(store(&thread, &Projection::default(), 200_000, &mut Disk::default(), &bytes), None);
}

#[test]
fn results_between_the_records_of_one_response_are_one_message() {
    let thread = thread(
        "user look
         call a Bash t1
         result t1 x*150000
         call a Bash t2
         result t2 x*150001",
    );
    let change = store(&thread, &Projection::default(), 200_000, &mut Disk::default(), &bytes).unwrap();
    assert_eq!(stored(&change), ["t2"]);
}

#[test]
fn what_cannot_be_written_or_is_a_picture_stays_whole() {
    let mut thread = thread("user look\ncall a Bash t1 Bash t2\nresult t1 x*250000\nresult t2 x*210000");
    let mut full = Disk { is_full: true, ..Disk::default() };
    assert_eq!(store(&thread, &Projection::default(), 200_000, &mut full, &bytes), None);
    assert_eq!(full.files.len(), 2);
    let blocks = vec![Block::text("x".repeat(250_000)), Block::Image { source: json!({}) }];
    Arc::make_mut(&mut thread[2]).body = Body::User {
        content: vec![Block::ToolResult {
            tool_use_id: "t1".to_owned(),
            content: ResultContent::Blocks(blocks),
            is_error: false,
        }],
    };
    let change = store(&thread, &Projection::default(), 200_000, &mut Disk::default(), &bytes).unwrap();
    assert_eq!(stored(&change), ["t2"]);
}

#[test]
fn a_snipped_result_does_not_count() {
    let thread = thread("user look\ncall a Bash t1\nresult t1 x*250000");
    let event = Event::Snipped { removed: vec![uuid(2)], marker: "gone".to_owned() };
    let recorded = Recorded { at: time(0), after: None, event, entry: None };
    let projection = Projection::replay(&[recorded], &thread);
    assert_eq!(store(&thread, &projection, 200_000, &mut Disk::default(), &bytes), None);
}

#[test]
fn what_cannot_be_put_aside_keeps_its_beginning_and_its_end() {
    let lines: String = (1..=900).map(|number| format!("line {number}\n")).collect();
    let ResultContent::Text(text) = shortened(ResultContent::Text(lines.clone()), 40) else { panic!() };
    expect![[r#"
        line 1
        line 2
        [8.0 KB are left out here]
        8
        line 899
        line 900
    "#]]
    .assert_eq(&text);
    assert_eq!(shortened(ResultContent::Text(lines.clone()), 1_000_000), ResultContent::Text(lines.clone()));
    let texts = ResultContent::Blocks(vec![Block::text(&lines), Block::text("short"), Block::text(&lines)]);
    assert!(length_of(&texts) > 500 && length_of(&shortened(texts, 60)) < 200);
}
