//! Jupyter notebooks as their cells with what they put out, numbered, instead of as JSON.

use conversation::Block;
use serde_json::{Map, Value};

use crate::{base64, media::Media, shell::text};

/// What a notebook becomes for the model.
pub(super) struct Notebook {
    pub(super) blocks: Vec<Block>,
    pub(super) cells: usize,
}

/// One cell's source, and one output's text.
const MAX_SOURCE_CHARS: usize = 20_000;
const MAX_OUTPUT_CHARS: usize = 8_000;
/// All text; about 25,000 tokens.
const MAX_BYTES: usize = 100_000;
const MAX_IMAGES: usize = 20;
const MAX_IMAGE_BYTES: usize = 8 * 1024 * 1024;

/// `Err` says why it is no notebook.
pub(super) fn show(json: &str) -> Result<Notebook, String> {
    let notebook: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let cells = notebook.get("cells").and_then(Value::as_array).ok_or("it has no list of cells")?;
    let language = ["/metadata/language_info/name", "/metadata/kernelspec/language"]
        .iter()
        .find_map(|place| notebook.pointer(place)?.as_str())
        .unwrap_or("code");
    let mut page = Page::default();
    for (index, cell) in cells.iter().enumerate() {
        if page.bytes > MAX_BYTES {
            page.line(&format!("[the rest is left out: {} of {} cells are shown]", index, cells.len()));
            break;
        }
        page.cell(index + 1, cell, language);
    }
    Ok(Notebook { blocks: page.finish(), cells: cells.len() })
}

/// Text is gathered until an image interrupts it.
#[derive(Default)]
struct Page {
    blocks: Vec<Block>,
    text: String,
    bytes: usize,
    images: usize,
    image_bytes: usize,
}

impl Page {
    fn cell(&mut self, number: usize, cell: &Value, language: &str) {
        let field = |name: &str| cell.get(name);
        let kind = field("cell_type").and_then(Value::as_str).unwrap_or("unknown");
        let kind = if kind == "code" { language } else { kind };
        let run = match field("execution_count").and_then(Value::as_u64) {
            Some(count) => format!(", run {count}"),
            None => String::new(),
        };
        self.line(&format!("[cell {number}: {kind}{run}]"));
        self.line(&text::cut(&joined(field("source")), MAX_SOURCE_CHARS));
        for output in field("outputs").and_then(Value::as_array).into_iter().flatten() {
            self.output(number, output);
        }
    }

    fn output(&mut self, number: usize, output: &Value) {
        let field = |name: &str| output.get(name);
        let said = match field("output_type").and_then(Value::as_str) {
            Some("stream") => joined(field("text")),
            Some("error") => match joined(field("traceback")) {
                nothing if nothing.is_empty() => {
                    format!("{}: {}", joined(field("ename")), joined(field("evalue")))
                }
                traceback => traceback,
            },
            Some("display_data" | "execute_result" | "update_display_data") => {
                match field("data").and_then(Value::as_object) {
                    Some(data) => return self.data(number, data),
                    None => return,
                }
            }
            _ => return,
        };
        self.output_text(number, &said);
    }

    /// The same thing in several forms: the best of them.
    fn data(&mut self, number: usize, data: &Map<String, Value>) {
        let image = data.iter().find(|(kind, _)| kind.starts_with("image/") && *kind != "image/svg+xml");
        let text = ["text/markdown", "text/plain", "text/latex", "image/svg+xml", "application/json"]
            .iter()
            .find_map(|kind| data.get(*kind));
        match (image, text) {
            (Some((_, value)), text) => self.image(number, value, text),
            (None, Some(text)) => self.output_text(number, &joined(Some(text))),
            (None, None) => {
                let kinds: Vec<&str> = data.keys().map(String::as_str).collect();
                self.line(&format!("[output of cell {number}: {}, not shown]", kinds.join(", ")));
            }
        }
    }

    fn image(&mut self, number: usize, value: &Value, text: Option<&Value>) {
        let bytes = base64::decode(&joined(Some(value))).unwrap_or_default();
        let shown = Media::of(&bytes).filter(|media| *media != Media::Pdf).map(|media| media.show(&bytes));
        let fits = self.images < MAX_IMAGES && self.image_bytes + bytes.len() <= MAX_IMAGE_BYTES;
        match shown {
            Some(Ok(shown)) if fits => {
                self.line(&format!("[output of cell {number}: {}]", shown.words));
                self.images += 1;
                self.image_bytes += bytes.len();
                self.flush();
                self.blocks.push(shown.block);
            }
            _ => {
                let words = joined(text);
                let why = if fits { "an image that cannot be shown" } else { "an image more than fits" };
                self.line(&format!("[output of cell {number}: {why}] {words}"));
            }
        }
    }

    fn output_text(&mut self, number: usize, said: &str) {
        // Tracebacks come in a terminal's colours.
        let said = text::readable(said.as_bytes());
        if !said.trim().is_empty() {
            self.line(&format!("[output of cell {number}]"));
            self.line(&text::cut(said.trim_end(), MAX_OUTPUT_CHARS));
        }
    }

    fn line(&mut self, line: &str) {
        self.bytes += line.len() + 1;
        self.text.push_str(line.trim_end_matches('\n'));
        self.text.push('\n');
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.blocks.push(Block::text(std::mem::take(&mut self.text)));
        }
    }

    fn finish(mut self) -> Vec<Block> {
        self.flush();
        self.blocks
    }
}

/// Notebooks keep texts whole or as lists of lines; lines of a traceback lack their ends.
fn joined(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => {
            let mut text = String::new();
            for line in lines.iter().filter_map(Value::as_str) {
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push('\n');
                }
            }
            text
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::media;

    #[track_caller]
    fn check(notebook: Value, expected: Expect) {
        let text = match show(&notebook.to_string()) {
            Err(why) => format!("no notebook: {why}"),
            Ok(notebook) => {
                let blocks = notebook.blocks.iter().map(|block| match block {
                    Block::Text { text } => text.clone(),
                    Block::Image { source } => format!("<{}>\n", source["media_type"]),
                    other => format!("{other:?}"),
                });
                format!("{}({} cells)", blocks.collect::<String>(), notebook.cells)
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn cells_come_with_what_they_put_out() {
        let image = base64::encode(&media::tests::png(64, 32));
        check(
            json!({
                "metadata": {"language_info": {"name": "python"}},
                "cells": [
                    {"cell_type": "markdown", "source": ["# Title\n", "words"]},
                    {"cell_type": "code", "execution_count": 3, "source": "print(1)\nplot()", "outputs": [
                        {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                        {"output_type": "display_data", "data": {"image/png": image + "\n", "text/plain": "<Figure>"}},
                        {"output_type": "execute_result", "data": {"text/html": "<b>2</b>", "text/plain": ["2"]}},
                    ]},
                    {"cell_type": "code", "execution_count": null, "source": [], "outputs": [
                        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: v", "  at 1"]},
                        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": []},
                        {"output_type": "display_data", "data": {"application/x-widget": {"a": 1}}},
                        {"output_type": "display_data", "data": {"image/png": "bm8gcG5n", "text/plain": "<Figure>"}},
                        {"output_type": "stream", "text": ""},
                    ]},
                    {"cell_type": "raw", "source": "as is"},
                ],
            }),
            expect![[r#"
                [cell 1: markdown]
                # Title
                words
                [cell 2: python, run 3]
                print(1)
                plot()
                [output of cell 2]
                1
                [output of cell 2: PNG image, 64 × 32 pixels, 45 bytes]
                <"image/png">
                [output of cell 2]
                2
                [cell 3: python]

                [output of cell 3]
                E: v
                  at 1
                [output of cell 3]
                E: v
                [output of cell 3: application/x-widget, not shown]
                [output of cell 3: an image that cannot be shown] <Figure>
                [cell 4: raw]
                as is
                (4 cells)"#]],
        );
    }

    #[test]
    fn what_is_no_notebook_says_why() {
        check(json!({"cells": {}}), expect!["no notebook: it has no list of cells"]);
        check(json!([]), expect!["no notebook: it has no list of cells"]);
        assert_eq!(show("{\"cells\": [").err().unwrap(), "EOF while parsing a list at line 1 column 11");
        check(
            json!({"cells": [1, {}, {"source": 5, "outputs": [7, {}]}]}),
            expect![[r#"
            [cell 1: unknown]

            [cell 2: unknown]

            [cell 3: unknown]
            5
            (3 cells)"#]],
        );
        assert!(show(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_long_notebook_is_bounded() {
        let cell = json!({"cell_type": "code", "source": "x".repeat(30_000), "outputs": [
            {"output_type": "stream", "text": "y\n".repeat(30_000)}
        ]});
        let notebook = show(&json!({"cells": vec![cell; 50]}).to_string()).unwrap();
        let Some(Block::Text { text }) = notebook.blocks.first() else { panic!() };
        assert!(text.len() < MAX_BYTES + 40_000, "{}", text.len());
        assert!(text.ends_with("[the rest is left out: 4 of 50 cells are shown]\n"));
        let image = base64::encode(&media::tests::png(64, 32));
        let outputs = vec![json!({"output_type": "display_data", "data": {"image/png": image}}); 30];
        let notebook = show(&json!({"cells": [{"source": "", "outputs": outputs}]}).to_string()).unwrap();
        let images = notebook.blocks.iter().filter(|block| matches!(block, Block::Image { .. }));
        assert_eq!(images.count(), MAX_IMAGES);
    }
}
