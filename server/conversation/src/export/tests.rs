use expect_test::expect;
use proptest::prelude::{ProptestConfig, prop, prop_assert_eq, proptest};
use serde_json::json;

use super::*;
use crate::{
    Record, decode,
    sample::{assistant, attachment, message, system, tool_use, user},
};

fn failed(number: u32, id: &str, text: &str) -> Arc<Message> {
    let content = ResultContent::Text(text.to_owned());
    let result = Block::ToolResult { tool_use_id: id.to_owned(), content, is_error: true };
    message(number, Body::User { content: vec![result] })
}

#[test]
fn markdown_shows_what_was_asked_answered_and_done() {
    let image = json!({ "type": "base64", "media_type": "image/png", "data": "A".repeat(8_000) });
    let bash = Block::ToolUse {
        id: "t2".to_owned(),
        name: "Bash".to_owned(),
        input: json!({ "command": "echo `date`\nls" }),
    };
    let thinking = Block::Thinking { thinking: "hm".to_owned(), signature: "s".to_owned() };
    let blocks = ResultContent::Blocks(vec![Block::text("a ``` b"), Block::Image { source: image.clone() }]);
    let result = Block::ToolResult { tool_use_id: "t1".to_owned(), content: blocks, is_error: false };
    let prompt = vec![Block::text("Look at\n\n```rust\nfn open() {"), Block::Image { source: image }];
    let thread = [
        message(1, Body::User { content: prompt }),
        attachment(2, "<system-reminder>only for the model</system-reminder>"),
        assistant(3, "a", vec![thinking, Block::text("I look."), tool_use("t1"), bash]),
        message(4, Body::User { content: vec![result] }),
        failed(5, "t2", "no such\nfile\n"),
        assistant(6, "b", vec![Block::text("Done.")]),
        system(7, COMPACT_BOUNDARY),
        system(8, "info"),
        user(9, "Thanks"),
        user(10, "Bye"),
    ];
    expect![[r#"
        # The engine of Ada

        *2025-06-15*

        ## User

        Look at

        ```rust
        fn open() {
        ```

        ## User

        *[image, image/png, 6 KB]*

        ## Assistant

        I look.

        **Read** `/a`

        **Bash** ``echo `date` ls``

        ````
        a ``` b
        *[image, image/png, 6 KB]*
        ````

        *The call failed:*

        ```
        no such
        file
        ```

        Done.

        *What came before was summarised here.*

        > note

        ## User

        Thanks

        ## User

        Bye
    "#]]
    .assert_eq(&export(&thread, "The\nengine of Ada", Format::Markdown));
}

#[test]
fn nothing_said_is_a_title() {
    assert_eq!(export(&[], " ", Format::Markdown), "# Untitled session\n");
    expect![[r#"
        {
          "title": "x",
          "reverieFormat": 1,
          "messages": []
        }"#]]
    .assert_eq(&export(&[], "x", Format::Json));
}

#[test]
fn fences_that_were_left_open_are_closed() {
    assert_eq!(closed("a\n~~~~\nb\n~~~\n```"), "a\n~~~~\nb\n~~~\n```\n~~~~");
    assert_eq!(closed("```\na\n````"), "```\na\n````");
    assert_eq!(closed("``` a `b` ```\nc"), "``` a `b` ```\nc");
    assert_eq!(closed("  ```x\n```\n"), "  ```x\n```\n");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn json_keeps_every_message_as_it_is(messages in prop::collection::vec(crate::record::tests::message(), 0..8)) {
        let thread: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let exported: Value = serde_json::from_str(&export(&thread, "t", Format::Json)).unwrap();
        let back: Vec<Arc<Message>> = exported["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| match decode(line.to_string().as_bytes()).unwrap() {
                Record::Message(message) => message,
                other => panic!("{other:?}"),
            })
            .collect();
        prop_assert_eq!(back, thread);
    }
}
