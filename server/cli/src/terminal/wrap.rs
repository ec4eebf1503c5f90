//! Breaks lines between words, so that the terminal does not break them inside. Lists keep their indentation.

use super::style::columns_of;

pub struct Wrap {
    /// The columns there are.
    pub columns: usize,
    column: usize,
    /// Where the next line of this paragraph begins.
    indent: usize,
    at_line_start: bool,
    /// Spaces that have not been printed, since the line may break there.
    spaces: usize,
    word: String,
    word_columns: usize,
}

impl Wrap {
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            column: 0,
            indent: 0,
            at_line_start: true,
            spaces: 0,
            word: String::new(),
            word_columns: 0,
        }
    }

    pub fn push(&mut self, c: char, shown: &mut String) {
        if c == ' ' {
            self.end_word(shown);
            self.spaces += 1;
        } else {
            self.word.push(c);
            self.word_columns += columns_of(c);
        }
    }

    /// A change of colour, which takes no room.
    pub fn style(&mut self, code: &str) {
        self.word.push_str(code);
    }

    /// Prints what is held back, and forgets the line.
    pub fn end_line(&mut self, shown: &mut String) {
        self.end_word(shown);
        *self = Self::new(self.columns);
    }

    fn end_word(&mut self, shown: &mut String) {
        if self.word.is_empty() {
            return;
        }
        if self.at_line_start {
            self.at_line_start = false;
            self.indent = self.spaces;
            if is_list_marker(&self.word) {
                self.indent += self.word_columns + 1;
            }
        } else if self.column + self.spaces + self.word_columns > self.columns && self.spaces > 0 {
            shown.push('\n');
            (self.column, self.spaces) = (0, self.indent);
        }
        shown.extend(std::iter::repeat_n(' ', self.spaces));
        shown.push_str(&self.word);
        self.column += self.spaces + self.word_columns;
        self.word.clear();
        (self.spaces, self.word_columns) = (0, 0);
    }
}

/// Lines that end where they are, no wider than the screen: what is broken goes on below its own beginning.
pub fn wrapped(text: &str, columns: usize) -> String {
    let mut wrap = Wrap::new(columns);
    let mut shown = String::with_capacity(text.len());
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            shown.push('\n');
        }
        line.chars().for_each(|c| wrap.push(c, &mut shown));
        wrap.end_line(&mut shown);
    }
    shown
}

fn is_list_marker(word: &str) -> bool {
    let number = word.strip_suffix(['.', ')']);
    matches!(word, "-" | "*" | "+")
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let mut wrap = Wrap::new(20);
        let mut shown = String::new();
        for line in text.lines() {
            for c in line.chars() {
                wrap.push(c, &mut shown);
            }
            wrap.end_line(&mut shown);
            shown.push('\n');
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn lines_break_between_words() {
        check(
            "The quick brown fox jumps over\n漢字漢字漢字 漢字漢字\nhttps://example.com/a/long/one and so on\n",
            expect![[r"
                The quick brown fox
                jumps over
                漢字漢字漢字
                漢字漢字
                https://example.com/a/long/one
                and so on
            "]],
        );
    }

    #[test]
    fn lists_keep_their_indentation() {
        check(
            "- one item that is long\n  - another inside of it\n12. a number before it\n  indented text goes on so\n",
            expect![[r"
                - one item that is
                  long
                  - another inside
                    of it
                12. a number before
                    it
                  indented text goes
                  on so
            "]],
        );
    }

    #[test]
    fn whole_texts_keep_their_lines() {
        let text = "Heading\n\n  1. one item that is long\n     and its facts\n";
        expect![[r"
            Heading

              1. one item that
                 is long
                 and its facts"]]
        .assert_eq(&wrapped(text, 20));
    }
}
