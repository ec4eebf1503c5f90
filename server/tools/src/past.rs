//! How to show a call of an earlier run, of which the transcript has the input and what the model was told.

use std::path::PathBuf;

use serde_json::Value;

use crate::{diff, tool::Display};

/// `text` is the result as the model saw it, as much of it as is to be shown.
pub fn past_display(tool: &str, input: &Value, ok: bool, text: String) -> Display {
    let field = |name: &str| input.get(name).and_then(Value::as_str);
    match tool {
        "Bash" => Display::Terminal {
            command: field("command").unwrap_or_default().to_owned(),
            output: text,
            exit_code: None,
        },
        "Edit" | "MultiEdit" | "Write" if ok => match field("file_path") {
            Some(path) => Display::Diff { path: PathBuf::from(path), diff: changes(path, input) },
            None => Display::Text { text },
        },
        _ => Display::Text { text },
    }
}

/// What was asked for, one change after another: where in the file it was is not written down.
fn changes(path: &str, input: &Value) -> String {
    let text =
        |edit: &Value, name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let edits: Vec<(String, String)> =
        match (input.get("edits").and_then(Value::as_array), input.get("content")) {
            (Some(edits), _) => {
                edits.iter().map(|edit| (text(edit, "old_string"), text(edit, "new_string"))).collect()
            }
            (None, Some(_)) => vec![(String::new(), text(input, "content"))],
            (None, None) => vec![(text(input, "old_string"), text(input, "new_string"))],
        };
    let whole = |text: &str| {
        if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
    };
    edits.iter().map(|(old, new)| diff::unified(path, &whole(old), &whole(new))).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_shows_what_was_asked_for() {
        let input = json!({ "file_path": "/w/a.rs", "old_string": "one\ntwo", "new_string": "one\nthree" });
        let shown = past_display("Edit", &input, true, "done".to_owned());
        let Display::Diff { diff, .. } = shown else { panic!("{shown:?}") };
        expect![[r#"
            --- /w/a.rs
            +++ /w/a.rs
            @@ -1,2 +1,2 @@
             one
            -two
            +three
        "#]]
        .assert_eq(&diff);
    }

    #[test]
    fn what_failed_shows_why() {
        let input = json!({ "file_path": "/w/a.rs", "content": "one" });
        let shown = past_display("Write", &input, false, "not allowed".to_owned());
        assert_eq!(shown, Display::Text { text: "not allowed".to_owned() });
    }

    #[test]
    fn a_command_shows_its_output() {
        let shown = past_display("Bash", &json!({ "command": "ls" }), true, "a.txt".to_owned());
        let output = "a.txt".to_owned();
        assert_eq!(shown, Display::Terminal { command: "ls".to_owned(), output, exit_code: None });
    }
}
