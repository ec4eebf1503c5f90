use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::{
    multi_edit::MultiEdit,
    read::Read,
    testing::{Bench, Saves},
};

/// A bench with one file that was read.
async fn bench(text: &str) -> Bench {
    let bench = Bench::new().with_file("a.txt", text);
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench
}

fn edit_input(old: &str, new: &str) -> Value {
    json!({"file_path": "a.txt", "old_string": old, "new_string": new})
}

async fn check(text: &str, old: &str, new: &str, expected: Expect) {
    bench(text).await.run(&Edit, edit_input(old, new)).await.check(expected);
}

#[tokio::test]
async fn a_unique_match_is_replaced_and_shown() {
    let text: String = (1..=12).map(|number| format!("line {number}\n")).collect();
    let bench = bench(&text).await;
    bench.run(&Edit, edit_input("line 6\n", "six\nand a half\n")).await.check(expect![[r#"
        Edited a.txt. It now reads:
             3	line 3
             4	line 4
             5	line 5
             6	six
             7	and a half
             8	line 7
             9	line 8
            10	line 9

        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -3,7 +3,8 @@
         line 3
         line 4
         line 5
        -line 6
        +six
        +and a half
         line 7
         line 8
         line 9
    "#]]);
    assert_eq!(bench.on_disk("a.txt"), text.replace("line 6\n", "six\nand a half\n"));
}

#[tokio::test]
async fn one_edit_after_another_needs_no_reading() {
    let bench = bench("one\ntwo\n").await;
    assert!(!bench.run(&Edit, edit_input("one", "1")).await.failed());
    assert!(!bench.run(&Edit, edit_input("two", "2")).await.failed());
    assert_eq!(bench.on_disk("a.txt"), "1\n2\n");
}

#[tokio::test]
async fn line_ends_stay_as_they_were() {
    let bench = bench("one\r\ntwo\r\nthree\r\n").await;
    assert!(!bench.run(&Edit, edit_input("one\ntwo", "1\n2")).await.failed());
    assert!(!bench.run(&Edit, edit_input("2\r\nthree", "2\r\n3")).await.failed());
    assert_eq!(bench.on_disk("a.txt"), "1\r\n2\r\n3\r\n");
}

#[tokio::test]
async fn several_matches_are_counted_and_placed() {
    check("x\ny\nx = 1\n", "x", "z", expect!["FAILED: a.txt was not changed: old_string occurs 2 times, at lines 1, 3; add lines around it to make it unique, or set replace_all"]).await;
    let bench = bench("x\ny\nx = 1\n").await;
    let input = json!({"file_path": "a.txt", "old_string": "x", "new_string": "zz", "replace_all": true});
    bench.run(&Edit, input).await.check(expect![[r#"
        Edited a.txt in 2 places. It now reads:
             1	zz
             2	y
             3	zz = 1

        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -1,3 +1,3 @@
        -x
        +zz
         y
        -x = 1
        +zz = 1
    "#]]);
    assert_eq!(bench.on_disk("a.txt"), "zz\ny\nzz = 1\n");
}

#[tokio::test]
async fn near_variants_are_shown_not_guessed() {
    check(
        "a = 1;  \nb = 2;\n",
        "a = 1;\nb = 2;",
        "",
        expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; this text differs only in trailing spaces:
             1	a = 1;  
             2	b = 2;
        Lines of the file end in spaces there.
        Copy old_string from there exactly"#]],
    )
    .await;
    check("say(“hello”);\n", "say(\"hello\");", "x", expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; this text differs only in the kind of quotes, dashes or spaces:
             1	say(“hello”);
        The file has curly quotes there, old_string has not.
        Copy old_string from there exactly"#]]).await;
    check("say(\"it's\")\n", "say(\"it’s\")", "x", expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; this text differs only in the kind of quotes, dashes or spaces:
             1	say("it's")
        old_string has curly quotes, the file has none there.
        Copy old_string from there exactly"#]]).await;
    check("\tif x {\n\t\ty();\n\t}\n", "    if x {\n        y();\n    }\n", "x", expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; this text differs only in indentation, tabs or spaces:
             1		if x {
             2			y();
             3		}
        The file has tabs there, old_string has not.
        Copy old_string from there exactly"#]]).await;
    check("foo( a,  b )\n", "foo( a, b )", "x", expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; this text differs only in indentation, tabs or spaces:
             1	foo( a,  b )
        Copy old_string from there exactly"#]]).await;
    check("a\u{a0}b\n", "a b", "x", expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; this text differs only in the kind of quotes, dashes or spaces:
             1	a b
        The file has no-break spaces there, old_string has not.
        Copy old_string from there exactly"#]]).await;
    check("one\ntwo\n", "     1\tone\n     2\ttwo", "x", expect!["FAILED: a.txt was not changed: old_string was not found; it seems to contain the line numbers that Read shows, leave them out"]).await;
    check("fn a() {\n    one();\n    two();\n}\n", "fn a() {\n    one();\n    three();\n}", "x", expect![[r#"
        FAILED: a.txt was not changed: old_string was not found; it begins like line 1, but differs from line 3 on, where the file has
             3	    two();
             4	}
        Copy old_string from the file exactly"#]]).await;
    check("one\n", "something else", "x", expect!["FAILED: a.txt was not changed: old_string was not found; read the file again and copy the text exactly"]).await;
    check("", "something", "x", expect!["FAILED: a.txt was not changed: old_string was not found; read the file again and copy the text exactly"]).await;
}

#[tokio::test]
async fn unread_and_changed_files_are_left_alone() {
    let bench = Bench::new().with_file("a.txt", "one\n");
    bench
        .run(&Edit, edit_input("one", "two"))
        .await
        .check(expect!["FAILED: a.txt has not been read yet; read it before changing it"]);
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench.put("a.txt", "one, but other\n");
    bench
        .run(&Edit, edit_input("one", "two"))
        .await
        .check(expect!["FAILED: a.txt has been modified since it was read; read it again"]);
    assert_eq!(bench.on_disk("a.txt"), "one, but other\n");
}

#[tokio::test]
async fn an_empty_old_string_creates_a_file_and_nothing_else() {
    let bench = Bench::new();
    bench.run(&Edit, edit_input("x", "y")).await.check(expect![
        "FAILED: a.txt was not changed: it does not exist; create it with Write or an empty old_string"
    ]);
    bench.run(&Edit, edit_input("", "one\n")).await.check(expect![[r#"
        Created a.txt with 1 line.
        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -0,0 +1 @@
        +one
    "#]]);
    bench.run(&Edit, edit_input("", "two\n")).await.check(expect!["FAILED: a.txt was not changed: old_string is empty, but the file is not; give the text to replace, or use Write"]);
    bench.run(&Edit, edit_input("one", "one")).await.check(expect![
        "FAILED: a.txt was not changed: old_string and new_string are the same, so there is nothing to change"
    ]);
    assert_eq!(bench.on_disk("a.txt"), "one\n");
}

#[tokio::test]
async fn an_open_file_is_edited_in_its_buffer() {
    let bench = Bench::new().with_file("a.txt", "one\ntwo\n");
    bench.open("a.txt", "one\ntwo\nunsaved\n", Saves::No);
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench.run(&Edit, edit_input("unsaved", "kept")).await.check(expect![[r#"
        Edited a.txt. The change is in the editor and not saved to disk yet. It now reads:
             1	one
             2	two
             3	kept

        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -1,3 +1,3 @@
         one
         two
        -unsaved
        +kept
    "#]]);
    assert_eq!(bench.context.workspace.document_text(&bench.path("a.txt")).unwrap(), "one\ntwo\nkept\n");
    assert_eq!(bench.on_disk("a.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn many_edits_apply_in_order_or_not_at_all() {
    let bench = bench("one\ntwo\nthree\n").await;
    let input = json!({"file_path": "a.txt", "edits": [
        {"old_string": "one", "new_string": "1"},
        {"old_string": "1\ntwo", "new_string": "1\n2"},
    ]});
    bench.run(&MultiEdit, input).await.check(expect![[r#"
        Edited a.txt in 2 places. It now reads:
             1	1
             2	2
             3	three

        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -1,3 +1,3 @@
        -one
        -two
        +1
        +2
         three
    "#]]);
    let input = json!({"file_path": "a.txt", "edits": [
        {"old_string": "three", "new_string": "3"},
        {"old_string": "four", "new_string": "4"},
    ]});
    bench.run(&MultiEdit, input).await.check(expect!["FAILED: a.txt was not changed, no edit was applied; edit 2 of 2: old_string was not found; read the file again and copy the text exactly"]);
    assert_eq!(bench.on_disk("a.txt"), "1\n2\nthree\n");
    bench
        .run(&MultiEdit, json!({"file_path": "a.txt", "edits": []}))
        .await
        .check(expect!["FAILED: edits is empty; give at least one replacement"]);
    bench
        .run(&MultiEdit, json!({"file_path": "a.txt", "edits": [{"old_string": "x"}]}))
        .await
        .check(expect!["FAILED: the input of MultiEdit is not valid: edits[0].new_string is missing"]);
}

#[tokio::test]
async fn many_edits_can_create_a_file() {
    let bench = Bench::new();
    let input = json!({"file_path": "new/a.txt", "edits": [
        {"old_string": "", "new_string": "one\n"},
        {"old_string": "one", "new_string": "two"},
    ]});
    assert!(!bench.run(&MultiEdit, input).await.failed());
    assert_eq!(bench.on_disk("new/a.txt"), "two\n");
}

#[tokio::test]
async fn the_preview_is_the_diff_where_the_edit_would_apply() {
    let bench = bench("one\ntwo\n").await;
    expect![[r#"
        Some(
            Diff(
                "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
            ),
        )
    "#]]
    .assert_debug_eq(&bench.preview(&Edit, &edit_input("two", "2")));
    assert_eq!(bench.preview(&Edit, &edit_input("three", "3")), None);
    let input = json!({"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]});
    expect![[r#"
        Some(
            Diff(
                "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n",
            ),
        )
    "#]]
    .assert_debug_eq(&bench.preview(&MultiEdit, &input));
}
