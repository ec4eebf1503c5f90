use expect_test::expect;
use serde_json::json;

use super::*;
use crate::{
    Projection,
    sample::{bytes, layout, thread, uuid},
};

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

fn message(number: usize, content: Vec<Block>) -> Arc<Message> {
    Arc::new(Message { uuid: uuid(number), ..crate::sample::message(0, Body::User { content }) })
}

/// What is sent of the messages once media were dropped, and which messages that touched.
fn dropped(thread: &[Arc<Message>]) -> Option<(Vec<Uuid>, String)> {
    let change = drop_media(&Projection::default().view(thread), &bytes)?;
    let Event::MediaDropped { messages } = &change.event else { panic!("{change:?}") };
    let messages = messages.clone();
    let mut projection = Projection::default();
    projection.apply(&change.recorded(jiff::Timestamp::UNIX_EPOCH, None));
    let view = projection.view(thread);
    Some((messages, layout(view.iter().map(|message| &**message))))
}

#[test]
fn messages_with_large_media_are_sent_without_them() {
    let nested = Block::ToolResult {
        tool_use_id: "t1".to_owned(),
        content: ResultContent::Blocks(vec![document(10_000_001), Block::text("two pages")]),
        is_error: false,
    };
    let call = crate::sample::response("a", vec![crate::sample::call("Read", "t1")]);
    let thread = [
        message(1, vec![image(5_000_001)]),
        message(2, vec![image(9)]),
        Arc::new(Message { uuid: uuid(3), ..crate::sample::message(0, call) }),
        message(4, vec![nested]),
    ];
    let (messages, sent) = dropped(&thread).unwrap();
    assert_eq!(messages, [uuid(1), uuid(4)]);
    expect![[r#"
        user: [An image stood here. It was too large to be sent.]
        user: (image)
        assistant: Read t1
        user: result t1: [[A document stood here. It was too large to be sent.], two pages]
    "#]]
    .assert_eq(&sent);
}

#[test]
fn of_too_many_the_largest_go() {
    let thread: Vec<_> = (1..=6).map(|number| message(number, vec![document(number * 1_000_000)])).collect();
    assert_eq!(dropped(&thread).unwrap().0, [uuid(6)]);
}

#[test]
fn where_none_is_large_all_go_and_where_there_is_none_nothing() {
    let thread = [message(1, vec![image(9)]), message(2, vec![document(9)])];
    assert_eq!(dropped(&thread).unwrap().0, [uuid(1), uuid(2)]);
    assert_eq!(dropped(&[message(1, vec![Block::text("words")])]), None);
}
