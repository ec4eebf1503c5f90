//! Makes streamed Markdown pleasant in a terminal: code, emphasis and headings stand out, paragraphs break between
//! words, and every character stays.
//!
//! The text comes in pieces of any size, so what decides about the start of a line is held back, and so is the last word.

use std::mem::take;

use super::{
    style::{Paint, Style, diff_style},
    wrap::Wrap,
};

pub struct Markdown {
    paint: Paint,
    wrap: Wrap,
    /// The beginning of a line that may yet become a fence or a heading, or a star that may have a twin.
    held: String,
    place: Place,
    code_block: Option<CodeBlock>,
    inline_code: bool,
    bold: bool,
}

#[derive(Clone, Copy)]
struct CodeBlock {
    /// The backticks of its fence: fewer do not end it.
    backticks: usize,
    is_diff: bool,
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
            wrap: Wrap::new(usize::MAX),
            held: String::new(),
            place: Place::LineStart,
            code_block: None,
            inline_code: false,
            bold: false,
        }
    }

    /// What to print for this piece, on a terminal this wide.
    pub fn push(&mut self, text: &str, columns: usize) -> String {
        self.wrap.columns = columns;
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
        self.code_block = None;
        self.pause()
    }

    /// What was held back, when something else comes in between.
    pub fn pause(&mut self) -> String {
        let mut shown = String::new();
        let held = take(&mut self.held);
        match self.place {
            Place::LineStart => shown.push_str(&held),
            Place::StyledLine | Place::CodeLine => {}
            Place::Text => self.text_end(&held, &mut shown),
        }
        if self.is_styled() {
            shown.push_str(self.paint.end());
        }
        *self = Self { code_block: self.code_block, ..Self::new(self.paint) };
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
            None if marker.starts_with("```") => {
                self.held = format!("{marker}{c}");
                shown.push_str(self.paint.start(Style::Dim));
                shown.push_str(&start);
                shown.push(c);
            }
            Some(block) => {
                match diff_style(&c.to_string()).filter(|_| block.is_diff && start.is_empty()) {
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
        if !take(&mut self.held).is_empty() {
            if c == '*' {
                self.toggle_bold(shown);
                return;
            }
            self.wrap.push('*', shown);
        }
        match c {
            '*' if !self.inline_code => self.held.push(c),
            '`' if self.inline_code => {
                self.inline_code = false;
                self.wrap.push(c, shown);
                self.wrap.style(self.paint.end());
                if self.bold {
                    self.wrap.style(self.paint.start(Style::Bold));
                }
            }
            '`' => {
                self.inline_code = true;
                self.wrap.style(self.paint.start(Style::Cyan));
                self.wrap.push(c, shown);
            }
            c => self.wrap.push(c, shown),
        }
    }

    fn toggle_bold(&mut self, shown: &mut String) {
        self.bold = !self.bold;
        if self.bold {
            self.wrap.style(self.paint.start(Style::Bold));
        }
        self.wrap.push('*', shown);
        self.wrap.push('*', shown);
        if !self.bold {
            self.wrap.style(self.paint.end());
        }
    }

    fn text_end(&mut self, held: &str, shown: &mut String) {
        for c in held.chars() {
            self.wrap.push(c, shown);
        }
        self.wrap.end_line(shown);
    }

    fn end_line(&mut self, shown: &mut String) {
        let held = take(&mut self.held);
        let held = match self.place {
            // A fence without a language, or nothing but spaces.
            Place::LineStart => {
                let fences = self.code_block.map_or(3, |block| block.backticks);
                if held.trim().len() >= fences && held.trim().bytes().all(|byte| byte == b'`') {
                    shown.push_str(&self.paint.paint(Style::Dim, &held));
                } else {
                    shown.push_str(&held);
                }
                held
            }
            Place::StyledLine | Place::CodeLine => held,
            Place::Text => {
                self.text_end(&held, shown);
                String::new()
            }
        };
        self.fence(held.trim());
        if self.is_styled() {
            shown.push_str(self.paint.end());
        }
        (self.place, self.inline_code, self.bold) = (Place::LineStart, false, false);
        shown.push('\n');
    }

    /// Opens or closes a code block, if this line does.
    fn fence(&mut self, line: &str) {
        let language = line.trim_start_matches('`');
        let backticks = line.len() - language.len();
        match self.code_block {
            None if backticks >= 3 => {
                self.code_block = Some(CodeBlock { backticks, is_diff: language.trim() == "diff" });
            }
            Some(block) if backticks >= block.backticks && language.is_empty() => self.code_block = None,
            None | Some(_) => {}
        }
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
                .map(|piece| markdown.push(&piece.iter().collect::<String>(), 40))
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
    fn a_longer_fence_holds_shorter_ones() {
        check(
            "````markdown\n```rust\nx\n```\n````\nsee `y`\n",
            expect![[r"
                <dim>````markdown</>
                ```rust
                x
                ```
                <dim>````</>
                see <6m`y`</>
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
    fn a_code_block_goes_on_after_an_interruption() {
        let mut markdown = Markdown::new(Paint::always());
        markdown.push("```\n`a", 40);
        assert_eq!(markdown.pause(), "");
        assert_eq!(markdown.push("`b\n```\n`c`\n", 40), "`b\n\x1b[2m```\x1b[0m\n\x1b[36m`c`\x1b[0m\n");
    }

    #[test]
    fn what_is_unfinished_ends_with_the_text() {
        check("an `open", expect!["an <6m`open</>"]);
        check("## ", expect!["## "]);
        check("a *", expect!["a *"]);
    }
}
