use conversation::{Attachment, Flags};
use expect_test::{Expect, expect};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::*;

const CODE: &str = "fn main() {\n    let sum: u64 = (1..=9).filter(|n| n % 2 == 0).sum();\n}\n";
const PROSE: &str =
    "The meter is asked before every request, and nobody waits for it (not even the editor).\n";
const JSON: &str = "{\"name\": \"meter\", \"open\": true, \"rounds\": [1, 2, 3], \"note\": null}\n";
const CHINESE: &str = "请先读取配置文件，然后连接数据库。\n";

fn check(composition: Composition, expected: Expect) {
    let Composition { code, prose, json, cjk, fixed } = composition;
    expected.assert_eq(&format!("code {code} prose {prose} json {json} cjk {cjk} fixed {fixed}"));
}

#[test]
fn a_text_is_of_the_kind_that_it_looks_like() {
    check(Composition::of_text(""), expect!["code 0 prose 0 json 0 cjk 0 fixed 0"]);
    check(Composition::of_text(CODE), expect!["code 17.75 prose 0 json 0 cjk 0 fixed 0"]);
    check(Composition::of_text(PROSE), expect!["code 0 prose 22 json 0 cjk 0 fixed 0"]);
    check(Composition::of_text(JSON), expect!["code 0 prose 0 json 33.5 cjk 0 fixed 0"]);
    check(Composition::of_text(CHINESE), expect!["code 0 prose 0.25 json 0 cjk 12.75 fixed 0"]);
    check(
        Composition::of_text("한국어와 日本語のテキスト"),
        expect!["code 0 prose 0.25 json 0 cjk 9 fixed 0"],
    );
    check(
        Composition::of_text("Größe, naïveté, Привет: prose of other scripts"),
        expect!["code 0 prose 14 json 0 cjk 0 fixed 0"],
    );
}

#[test]
fn what_is_mixed_is_split() {
    check(
        Composition::of_text(&format!("// {CHINESE}{CODE}")),
        expect!["code 18.75 prose 0 json 0 cjk 12.75 fixed 0"],
    );
    let halves = format!("{}{}", PROSE.repeat(40), CODE.repeat(40));
    check(Composition::of_text(&halves), expect!["code 1060 prose 530 json 0 cjk 0 fixed 0"]);
}

#[test]
fn a_large_text_is_judged_by_samples_and_counted_whole() {
    let text = JSON.repeat(100_000);
    check(Composition::of_text(&text), expect!["code 0 prose 0 json 3350000 cjk 0 fixed 0"]);
    // No character is cut in two.
    let text = CHINESE.trim().repeat(10_000);
    check(Composition::of_text(&text), expect!["code 0 prose 0 json 0 cjk 127500 fixed 0"]);
}

#[test]
fn json_is_counted_as_it_is_written() {
    for value in
        [json!(null), json!([]), json!({}), json!([1, -2.5, true]), json!({"a": {"b": ["c", "d"]}, "e": 1})]
    {
        assert_eq!(Composition::of_json(&value).json, written_bytes(&value) as f64 / 2.0, "{value}");
    }
}

#[test]
fn long_strings_in_json_are_what_they_are() {
    let value = json!({"file_path": "/a.rs", "content": CODE.repeat(10)});
    check(Composition::of_json(&value), expect!["code 177.5 prose 0 json 17 cjk 0 fixed 0"]);
}

#[test]
fn blocks_and_messages_are_made_of_what_the_model_sees() {
    let blocks = vec![
        Block::text(PROSE),
        Block::Thinking { thinking: PROSE.to_owned(), signature: "s".repeat(9_000) },
        Block::ToolUse { id: "x".to_owned(), name: "Read".to_owned(), input: json!({"file_path": "/a"}) },
        Block::ToolResult {
            tool_use_id: "x".to_owned(),
            content: ResultContent::Blocks(vec![Block::text(CODE), Block::Image { source: json!({}) }]),
            is_error: false,
        },
        Block::Document { source: json!({"data": "A".repeat(90_000)}) },
    ];
    check(Composition::of_blocks(&blocks), expect!["code 17.75 prose 45 json 9 cjk 0 fixed 4000"]);
    let message = |body| Message {
        uuid: Uuid::nil(),
        parent: None,
        timestamp: Timestamp::UNIX_EPOCH,
        flags: Flags::default(),
        body,
    };
    let of = |body| Composition::of_message(&message(body));
    assert_eq!(of(Body::User { content: blocks.clone() }), Composition::of_blocks(&blocks));
    let attachment = Attachment { kind: "todo".to_owned(), text: JSON.to_owned() };
    assert_eq!(of(Body::Attachment(attachment)), Composition::of_text(JSON));
    let notice = Body::notice("notice", PROSE);
    assert_eq!(of(notice), Composition::default());
}
