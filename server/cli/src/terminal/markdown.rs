//! Gives streamed Markdown a little colour: code, emphasis and headings stand out, and every character stays.
//!
//! The text comes in pieces of any size, so only what decides about the start of a line is held back.

use std::mem::take;

use super::style::{Paint, Style, diff_style};

pub struct Markdown {
    paint: Paint,
    /// The beginning of a line that may yet become a fence or a heading, or a star that may have a twin.
    held: String,
    place: Place,
    /// Whether the code block is a diff; `None` outside code blocks.
    code_block: Option<bool>,
    inline_code: bool,
    bold: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    LineStart,
    /// In a line whose style is set for all of it.
    StyledLine,
    /// In a line of code.
    CodeLine,
    Text,
}

impl Markdown {
    pub fn new(paint: Paint) -> Self {
        Self {
            paint,
            held: String::new(),
            place: Place::LineStart,
            code_block: None,
            inline_code: false,
            bold: false,
        }
    }

    /// What to print for this piece.
    pub fn push(&mut self, text: &str) -> String {
        if !self.paint.is_on() {
            return text.to_owned();
        }
        let mut shown = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            match self.place {
                _ if c == '\n' => self.end_line(&mut shown),
                Place::LineStart => self.line_start(c, &mut shown),
                Place::StyledLine => {
                    // The language stands behind the fence, and decides how the block looks.
                    if !self.held.is_empty() {
                        self.held.push(c);
                    }
                    shown.push(c);
                }
                Place::CodeLine => shown.push(c),
                Place::Text => self.text(c, &mut shown),
            }
        }
        shown
    }

    /// What was held back, at the end of a text; the next one starts anew.
    pub fn finish(&mut self) -> String {
        let held = take(&mut self.held);
        let mut shown = if self.place == Place::StyledLine { String::new() } else { held };
        if self.is_styled() {
            shown.push_str(self.paint.end());
        }
        *self = Self::new(self.paint);
        shown
    }

    fn line_start(&mut self, c: char, shown: &mut String) {
        let may_decide = matches!(c, ' ' | '`' | '#') && self.held.len() < 8;
        if may_decide {
            self.held.push(c);
            return;
        }
        let start = take(&mut self.held);
        let marker = start.trim_start();
        let heading = marker.starts_with('#') && marker.ends_with(' ');
        self.place = Place::StyledLine;
        match self.code_block {
            _ if marker.starts_with("```") => {
                self.held = format!("{marker}{c}");
                shown.push_str(self.paint.start(Style::Dim));
                shown.push_str(&start);
                shown.push(c);
            }
            Some(is_diff) => {
                match diff_style(&c.to_string()).filter(|_| is_diff && start.is_empty()) {
                    Some(style) => shown.push_str(self.paint.start(style)),
                    None => self.place = Place::CodeLine,
                }
                shown.push_str(&start);
                shown.push(c);
            }
            None if heading => {
                shown.push_str(self.paint.start(Style::Bold));
                shown.push_str(&start);
                shown.push(c);
            }
            None => {
                self.place = Place::Text;
                for c in start.chars().chain([c]) {
                    self.text(c, shown);
                }
            }
        }
    }

    fn text(&mut self, c: char, shown: &mut String) {
        if !self.held.is_empty() {
            self.held.clear();
            if c == '*' {
                self.bold = !self.bold;
                if self.bold {
                    shown.push_str(self.paint.start(Style::Bold));
                    shown.push_str("**");
                } else {
                    shown.push_str("**");
                    shown.push_str(self.paint.end());
                }
                return;
            }
            shown.push('*');
        }
        match c {
            '*' if !self.inline_code => self.held.push(c),
            '`' if self.inline_code => {
                shown.push(c);
                shown.push_str(self.paint.end());
                if self.bold {
                    shown.push_str(self.paint.start(Style::Bold));
                }
                self.inline_code = false;
            }
            '`' => {
                shown.push_str(self.paint.start(Style::Cyan));
                shown.push(c);
                self.inline_code = true;
            }
            c => shown.push(c),
        }
    }

    fn end_line(&mut self, shown: &mut String) {
        let held = take(&mut self.held);
        let held = match self.place {
            // A fence without a language, or nothing but spaces.
            Place::LineStart => {
                if held.trim_start().starts_with("```") {
                    shown.push_str(&self.paint.paint(Style::Dim, &held));
                } else {
                    shown.push_str(&held);
                }
                held
            }
            Place::StyledLine | Place::CodeLine => held,
            Place::Text => {
                shown.push_str(&held);
                String::new()
            }
        };
        if let Some(language) = held.trim_start().strip_prefix("```") {
            self.code_block = match self.code_block {
                None => Some(language.trim() == "diff"),
                Some(_) => None,
            };
        }
        if self.is_styled() {
            shown.push_str(self.paint.end());
        }
        (self.place, self.inline_code, self.bold) = (Place::LineStart, false, false);
        shown.push('\n');
    }

    fn is_styled(&self) -> bool {
        self.place == Place::StyledLine || self.inline_code || self.bold
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// The same, however the text is cut into pieces.
    fn check(text: &str, expected: Expect) {
        let shown = |size: usize| {
            let mut markdown = Markdown::new(Paint::always());
            let characters: Vec<char> = text.chars().collect();
            let mut shown: String = characters
                .chunks(size)
                .map(|piece| markdown.push(&piece.iter().collect::<String>()))
                .collect();
            shown.push_str(&markdown.finish());
            shown
                .replace("\x1b[0m", "</>")
                .replace("\x1b[1m", "<b>")
                .replace("\x1b[2m", "<dim>")
                .replace("\x1b[3", "<")
        };
        expected.assert_eq(&shown(1_000));
        for size in 1..8 {
            assert_eq!(shown(size), shown(1_000), "pieces of {size}");
        }
    }

    #[test]
    fn code_emphasis_and_headings_stand_out() {
        check(
            "# Title\nSee `a.rs:1` and **bold `x` on**.\n- 2 * 3 * 4\n#hash\n",
            expect![[r##"
                <b># Title</>
                See <6m`a.rs:1`</> and <b>**bold <6m`x`</><b> on**</>.
                - 2 * 3 * 4
                #hash
            "##]],
        );
    }

    #[test]
    fn code_blocks_stay_as_they_are() {
        check(
            "```rust\n    let a = `b`; // **\n# [x]\n```\nafter\n```\nplain\n```\n",
            expect![[r"
                <dim>```rust</>
                    let a = `b`; // **
                # [x]
                <dim>```</>
                after
                <dim>```</>
                plain
                <dim>```</>
            "]],
        );
    }

    #[test]
    fn a_diff_in_a_block_has_its_colours() {
        check(
            "```diff\n-old\n+new\n same\n```\n",
            expect![[r"
                <dim>```diff</>
                <1m-old</>
                <2m+new</>
                 same
                <dim>```</>
            "]],
        );
    }

    #[test]
    fn what_is_unfinished_ends_with_the_text() {
        check("an `open", expect!["an <6m`open</>"]);
        check("## ", expect!["## "]);
        check("a *", expect!["a *"]);
    }
}
