use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn check(result: Value, expected: Expect) {
    expected.assert_debug_eq(&of_result(&result));
}

#[test]
fn content_of_every_kind() {
    check(
        json!({"content": [
            {"type": "text", "text": "words"},
            {"type": "image", "mimeType": "image/png", "data": "/9j/AAAA"},
            {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo*"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "JVBERi0x"}},
            {"type": "resource", "resource": {"uri": "file:///a.gif", "mimeType": "image/gif", "blob": "R0lGODlh"}},
            {"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "application/x", "blob": "AAAA"}},
            {"type": "resource"},
            {"type": "resource_link", "uri": "file:///b", "name": "b", "description": "about b"},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
            {"type": "later"},
            7,
        ]}),
        expect![[r#"
            Ok(
                [
                    Text(
                        "words",
                    ),
                    Image {
                        media_type: "image/jpeg",
                        data: "/9j/AAAA",
                    },
                    Text(
                        "(an image in a format that cannot be shown)",
                    ),
                    Text(
                        "(an image in a format that cannot be shown)",
                    ),
                    Text(
                        "(3 bytes of audio, which cannot be heard here)",
                    ),
                    Text(
                        "[file:///a.txt]\ninside",
                    ),
                    Document {
                        media_type: "application/pdf",
                        data: "JVBERi0x",
                    },
                    Image {
                        media_type: "image/gif",
                        data: "R0lGODlh",
                    },
                    Text(
                        "(3 bytes of application/x, which cannot be shown: file:///a.bin)",
                    ),
                    Text(
                        "(0 bytes of no known type, which cannot be shown: no address)",
                    ),
                    Text(
                        "[b](file:///b): about b",
                    ),
                    Text(
                        "[c](file:///c)",
                    ),
                    Text(
                        "(content of the kind \"later\", which is not known here)",
                    ),
                    Text(
                        "(content of the kind \"\", which is not known here)",
                    ),
                ],
            )
        "#]],
    );
}

#[test]
fn structured_content_is_read_where_there_is_no_text() {
    check(
        json!({"content": [], "structuredContent": {"a": 1}}),
        expect![[r#"
        Ok(
            [
                Text(
                    "{\"a\":1}",
                ),
            ],
        )
    "#]],
    );
    check(
        json!({"content": [{"type": "text", "text": "a is 1"}], "structuredContent": {"a": 1}}),
        expect![[r#"
        Ok(
            [
                Text(
                    "a is 1",
                ),
            ],
        )
    "#]],
    );
    check(
        json!({"content": [{"type": "text", "text": " "}], "structuredContent": null}),
        expect![[r#"
        Ok(
            [
                Text(
                    "(no output)",
                ),
            ],
        )
    "#]],
    );
    check(
        json!({}),
        expect![[r#"
        Ok(
            [
                Text(
                    "(no output)",
                ),
            ],
        )
    "#]],
    );
}

#[test]
fn errors_are_words() {
    check(
        json!({"isError": true, "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        expect![[r#"
        Err(
            "a\nb",
        )
    "#]],
    );
    check(
        json!({"isError": true}),
        expect![[r#"
        Err(
            "the tool failed and did not say why",
        )
    "#]],
    );
}

#[test]
fn texts_and_images_have_a_most() {
    let text = |length: usize| json!({"type": "text", "text": "ü".repeat(length)});
    let content = of_result(&json!({"content": [text(99_990), text(20), text(5)]})).unwrap();
    let lengths: Vec<usize> = content
        .iter()
        .map(|one| match one {
            Content::Text(text) => text.chars().count(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths[..2], [99_990, 10]);
    expect![[r#"
        [
            Text(
                "[15 more characters of output are left out; ask the tool for less at a time]",
            ),
        ]
    "#]]
    .assert_debug_eq(&content[2..].to_vec());
    let image = json!({"type": "image", "data": "iVBORw0KGgo="});
    let content = of_result(&json!({"content": vec![image; 25]})).unwrap();
    assert_eq!(content.len(), 21);
    expect![[r#"
        Text(
            "[5 more images are left out]",
        )
    "#]]
    .assert_debug_eq(&content[20]);
    let large = format!("iVBORw0KGgo={}", "A".repeat(LARGEST_IMAGE));
    check(
        json!({"content": [{"type": "image", "data": large}]}),
        expect![[r#"
        Ok(
            [
                Text(
                    "(an image of 3840 KB, too large to be shown)",
                ),
            ],
        )
    "#]],
    );
}
