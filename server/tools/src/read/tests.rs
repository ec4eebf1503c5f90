use expect_test::expect;
use serde_json::json;

use super::*;
use crate::{
    edit::Edit,
    media,
    testing::{Bench, Saves},
};

#[tokio::test]
async fn lines_are_numbered() {
    let bench = Bench::new().with_file("src/a.rs", "fn main() {\r\n\tprintln!();\r\n}");
    bench.run(&Read, json!({"file_path": "src/a.rs"})).await.check(expect![[r#"
             1	fn main() {
             2		println!();
             3	}

        === shown as text
        src/a.rs: lines 1 to 3"#]]);
    let seen = bench.context.reads.get(&bench.path("src/a.rs")).unwrap();
    assert_eq!((seen.lines, seen.is_whole()), ((1, 3), true));
}

#[tokio::test]
async fn a_part_says_how_to_go_on() {
    let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    let bench = Bench::new().with_file("long", text);
    bench.run(&Read, json!({"file_path": "long", "offset": 4, "limit": 2})).await.check(expect![[r#"
             4	line 4
             5	line 5
        (lines 4 to 5 of 20; the file goes on, read it with offset 6)

        === shown as text
        long: lines 4 to 5"#]]);
    let seen = bench.context.reads.get(&bench.path("long")).unwrap();
    assert_eq!((seen.lines, seen.is_whole()), ((4, 5), false));
    bench.run(&Read, json!({"file_path": "long", "offset": 19})).await.check(expect![[r#"
            19	line 19
            20	line 20

        === shown as text
        long: lines 19 to 20"#]]);
    bench
        .run(&Read, json!({"file_path": "long", "offset": 21}))
        .await
        .check(expect!["FAILED: long has only 20 lines; there is no line 21"]);
    bench
        .run(&Read, json!({"file_path": "long", "limit": 0}))
        .await
        .check(expect!["FAILED: limit must be at least 1"]);
}

#[tokio::test]
async fn at_most_2000_lines_unless_asked() {
    let text: String = (1..=2_500).map(|number| format!("{number}\n")).collect();
    let bench = Bench::new().with_file("long", text);
    let output = bench.run(&Read, json!({"file_path": "long"})).await.text();
    assert_eq!(output.lines().count(), 2_001);
    expect!["(lines 1 to 2000 of 2500; the file goes on, read it with offset 2001)"]
        .assert_eq(output.lines().last().unwrap());
    let output = bench.run(&Read, json!({"file_path": "long", "limit": 2500})).await.text();
    assert_eq!(output.lines().count(), 2_500);
}

#[tokio::test]
async fn long_lines_are_cut() {
    let text = format!("short\n{}\nend\n", "é".repeat(3_000));
    let bench = Bench::new().with_file("wide", text);
    let output = bench.run(&Read, json!({"file_path": "wide"})).await.text();
    let widths: Vec<usize> = output.lines().map(|line| line.chars().count()).collect();
    expect!["[12, 2019, 10, 40]"].assert_eq(&format!("{widths:?}"));
    expect!["(1 long line was cut at 2000 characters)"].assert_eq(output.lines().last().unwrap());
    assert!(!bench.context.reads.get(&bench.path("wide")).unwrap().is_whole());
}

#[tokio::test]
async fn one_read_is_bounded() {
    let text: String = (1..=1_500).map(|_| format!("{}\n", "x".repeat(1_000))).collect();
    let bench = Bench::new().with_file("big", text);
    let output = bench.run(&Read, json!({"file_path": "big"})).await.text();
    assert!(output.len() < MAX_OUTPUT_BYTES + 1_000);
    expect!["(lines 1 to 99 of 1500; the file goes on, read it with offset 100)"]
        .assert_eq(output.lines().last().unwrap());
}

#[tokio::test]
async fn a_huge_single_line_is_bounded() {
    let bench = Bench::new().with_file("one", "y".repeat(9 * 1024 * 1024));
    let output = bench.run(&Read, json!({"file_path": "one"})).await.text();
    assert!(output.len() < 3_000, "{}", output.len());
    assert!(!bench.context.reads.get(&bench.path("one")).unwrap().is_whole());
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_in_words() {
    let bench = Bench::new()
        .with_file("empty", "")
        .with_file("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        .with_file("program", b"\x7fELF\x02\x01\x01\0\0\0")
        .with_file("src/Main.rs", "x");
    bench.run(&Read, json!({"file_path": "empty"})).await.check(expect!["(empty exists but is empty)"]);
    bench
        .run(&Read, json!({"file_path": "src"}))
        .await
        .check(expect!["FAILED: src is a folder; list it with Glob (path: src, pattern: *)"]);
    bench
        .run(&Read, json!({"file_path": "image.png"}))
        .await
        .check(expect!["FAILED: image.png begins like a PNG image but is cut off or damaged"]);
    bench
        .run(&Read, json!({"file_path": "program"}))
        .await
        .check(expect!["FAILED: program cannot be read: this is not a text file: it contains NUL bytes"]);
    bench
        .run(&Read, json!({"file_path": "src/main.txt"}))
        .await
        .check(expect!["FAILED: src/main.txt does not exist; did you mean src/Main.rs?"]);
    bench
        .run(&Read, json!({"file_path": "nothing/here"}))
        .await
        .check(expect!["FAILED: nothing/here does not exist; the working folder is CWD"]);
    bench
        .run(&Read, json!({"file_path": "~/x"}))
        .await
        .check(expect!["FAILED: file_path must be absolute or relative to CWD; `~` is not expanded"]);
    bench
        .run(&Read, json!({"file_path": ""}))
        .await
        .check(expect!["FAILED: file_path is empty; give the path of a file or folder"]);
    bench
        .run(&Read, json!({"file_path": "a\0b"}))
        .await
        .check(expect!["FAILED: file_path contains a NUL character, which no path can"]);
    bench
        .run(&Read, json!({"path": "x"}))
        .await
        .check(expect!["FAILED: the input of Read is not valid: file_path is missing"]);
}

#[tokio::test]
async fn unsaved_changes_are_read_and_said() {
    let bench = Bench::new().with_file("a.txt", "on disk\n");
    bench.open("a.txt", "in the editor\n", Saves::Yes);
    bench.run(&Read, json!({"file_path": "a.txt"})).await.check(expect![[r#"
             1	in the editor
        (unsaved changes in the editor are included)

        === shown as text
        a.txt: lines 1 to 1"#]]);
}

#[tokio::test]
async fn images_and_documents_are_shown_whatever_their_name() {
    let bench = Bench::new()
        .with_file("photo.txt", media::tests::png(640, 480))
        .with_file("paper", media::tests::pdf(3))
        .with_file("huge.png", media::tests::png(10_000, 1))
        .with_file("story.txt", "GIF89a is a format\n")
        .with_file("drawing.svg", "<svg/>\n");
    bench.run(&Read, json!({"file_path": "photo.txt"})).await.check(expect![[r#"
        photo.txt: PNG image, 640 × 480 pixels, 45 bytes
        <image/png>

        === shown as text
        photo.txt: PNG image, 640 × 480 pixels, 45 bytes"#]]);
    bench.run(&Read, json!({"file_path": "paper", "limit": 10})).await.check(expect![[r#"
        paper: PDF document, 3 pages, 159 bytes
        <application/pdf>

        === shown as text
        paper: PDF document, 3 pages, 159 bytes"#]]);
    bench.run(&Read, json!({"file_path": "huge.png"})).await.check(expect!["FAILED: huge.png is a PNG image of 10000 × 1 pixels, and at most 8000 each way can be shown; make a smaller copy of it"]);
    bench.run(&Read, json!({"file_path": "story.txt"})).await.check(expect![[r#"
             1	GIF89a is a format

        === shown as text
        story.txt: lines 1 to 1"#]]);
    bench.run(&Read, json!({"file_path": "drawing.svg"})).await.check(expect![[r#"
             1	<svg/>

        === shown as text
        drawing.svg: lines 1 to 1"#]]);
    assert!(bench.context.reads.get(&bench.path("photo.txt")).is_none());
}

#[tokio::test]
async fn an_image_too_large_is_not_even_read() {
    let bench = Bench::new().with_file("big.png", media::tests::png(1, 1));
    let file = std::fs::File::options().write(true).open(bench.path("big.png")).unwrap();
    file.set_len(1 << 40).unwrap();
    bench.run(&Read, json!({"file_path": "big.png"})).await.check(expect!["FAILED: big.png is a PNG image of 1099511.6 MB, and at most 3.9 MB can be shown; make a smaller copy of it"]);
}

#[tokio::test]
async fn a_notebook_is_read_as_cells_and_edited_as_json() {
    let json = r#"{"cells": [{"cell_type": "code", "source": ["1 + 1"],
"outputs": [{"output_type": "stream", "text": "2"}]}], "metadata": {}}"#;
    let bench = Bench::new()
        .with_file("a.ipynb", json)
        .with_file("b.ipynb", "{]")
        .with_file("c.ipynb", r#"{"cells": []}"#);
    bench.run(&Read, json!({"file_path": "a.ipynb"})).await.check(expect![[r#"
        [cell 1: code]
        1 + 1
        [output of cell 1]
        2

        === shown as text
        a.ipynb: 1 cell"#]]);
    let edit = json!({"file_path": "a.ipynb", "old_string": "1 + 1", "new_string": "2 + 2"});
    bench.run(&Edit, edit.clone()).await.check(expect![
        "FAILED: a.ipynb has not been read yet; read it as JSON, with offset 1, before changing it"
    ]);
    bench.run(&Read, json!({"file_path": "a.ipynb", "offset": 1})).await.check(expect![[r#"
             1	{"cells": [{"cell_type": "code", "source": ["1 + 1"],
             2	"outputs": [{"output_type": "stream", "text": "2"}]}], "metadata": {}}

        === shown as text
        a.ipynb: lines 1 to 2"#]]);
    assert!(!bench.run(&Edit, edit).await.failed());
    bench.run(&Read, json!({"file_path": "b.ipynb"})).await.check(expect!["FAILED: b.ipynb is no notebook that can be shown: key must be a string at line 1 column 2; read it as text with offset 1"]);
    bench.run(&Read, json!({"file_path": "c.ipynb"})).await.check(expect![[r#"
        (c.ipynb has no cells)
        === shown as text
        c.ipynb: 0 cells"#]]);
}

#[test]
fn the_path_of_the_access_is_clean() {
    let bench = Bench::new();
    let access = bench.access(&Read, &json!({"file_path": "./a/../b/./c"})).unwrap();
    assert_eq!(access, Access::Read { path: bench.path("b/c") });
    let access = bench.access(&Read, &json!({"file_path": "/x/../etc/hosts"})).unwrap();
    assert_eq!(access, Access::Read { path: "/etc/hosts".into() });
}
