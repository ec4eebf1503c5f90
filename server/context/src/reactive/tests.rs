use expect_test::expect;
use serde_json::json;

use super::*;
use crate::sample::{bytes, layout, thread, uuid};

fn rounds_of(count: usize) -> Vec<Arc<Message>> {
    let lines: String = (0..count).map(|number| format!("user {number}\nsay r{number} x*999\n")).collect();
    thread(&lines)
}

#[test]
fn the_kept_end_grows_from_what_is_too_much() {
    let thread = rounds_of(10);
    assert_eq!(peeled(&thread, Some(1_500), &bytes), [16, 12, 4]);
    assert_eq!(peeled(&thread, Some(1), &bytes), [18, 16, 12, 4]);
    assert_eq!(peeled(&thread, None, &bytes), [16, 12, 4], "a fifth");
}

#[test]
fn something_is_left_to_summarise() {
    assert_eq!(peeled(&rounds_of(1), Some(10), &bytes), Vec::<usize>::new());
    assert_eq!(peeled(&rounds_of(3), Some(1_000_000), &bytes), Vec::<usize>::new());
}

fn image(size: usize) -> Block {
    Block::Image { source: json!({ "type": "base64", "data": "A".repeat(size) }) }
}

fn document(size: usize) -> Block {
    Block::Document { source: json!({ "type": "base64", "data": "A".repeat(size) }) }
}

fn message(content: Vec<Block>) -> Message {
    Message { uuid: uuid(0), ..crate::sample::message(0, Body::User { content }) }
}

#[test]
fn large_media_become_words_wherever_they_are() {
    let nested = Block::ToolResult {
        tool_use_id: "t1".to_owned(),
        content: ResultContent::Blocks(vec![document(10_000_001), document(10)]),
        is_error: false,
    };
    let call =
        crate::sample::message(0, crate::sample::response("a", vec![crate::sample::call("Read", "t1")]));
    let (first, second) = (message(vec![image(5_000_001), image(9)]), message(vec![nested]));
    let view = [Cow::Borrowed(&first), Cow::Borrowed(&call), Cow::Borrowed(&second)];
    let stripped = without_large_media(&view).unwrap();
    expect![[r#"
        user: [An image stood here. It was too large to be sent.]
        user: (image)
        assistant: Read t1
        user: result t1: [[A document stood here. It was too large to be sent.], (document)]
    "#]]
    .assert_eq(&layout(stripped.iter().map(|message| &**message)));
    assert!(matches!(stripped[1], Cow::Borrowed(_)));
    assert_eq!(without_large_media(&stripped), None);
}

#[test]
fn of_too_many_the_largest_go() {
    let all = message((1..=6).map(|number| document(number * 1_000_000)).chain([image(10)]).collect());
    let stripped = without_large_media(&[Cow::Borrowed(&all)]).unwrap();
    let left = stripped[0].as_ref();
    let mut sizes = Vec::new();
    each_media(content(left), &mut |block| sizes.push(size_of(block)));
    assert_eq!(sizes, [1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 10]);
}
