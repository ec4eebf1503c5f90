//! One word of a shell line: what bash makes of its quotes, and the same word written so that nothing is left to make.
//!
//! Decoded from the characters of the source, not from what the grammar thinks is inside: the grammar says where a
//! word begins and ends, and both must be right for the word to be accepted.

use std::cell::OnceCell;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pieces: Vec<Piece>,
    /// What a pattern becomes, once that was looked up and judged.
    words: OnceCell<Vec<String>>,
    /// The whole word is `"$HOME"`; the pieces hold what that is.
    pub(super) is_home: bool,
    /// Written in quotes or with escapes; a program's name may be quoted as a whole only.
    pub(super) style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Taken as it is; never empty.
    Literal(String),
    /// `*`.
    Star,
    /// `?`.
    Question,
    /// `[abc]`, `[a-z]`, `[!a]`: as written.
    Bracket(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// One pair of quotes around all of it.
    Quoted,
    Mixed,
}

/// Unquoted, these stand for themselves wherever they are.
const PLAIN: &str = "-_./,:=+@%^]";

/// What a `$` in double quotes may stand before and still be a dollar: nothing that begins an expansion.
const AFTER_LONE_DOLLAR: &[char] = &['"', ' ', '|', ')', '/', '.', ',', ':', ']', '\\'];

impl Word {
    pub(super) fn decode(source: &str, home: Option<&str>) -> Result<Self, String> {
        if source == "\"$HOME\"" {
            let Some(home) = home.filter(|home| home.starts_with('/')) else {
                return Err("it is not known here what `$HOME` is".to_owned());
            };
            let pieces = vec![Piece::Literal(home.to_owned())];
            return Ok(Self { pieces, words: OnceCell::new(), is_home: true, style: Style::Mixed });
        }
        let mut decoder =
            Decoder { rest: source, pieces: Vec::new(), last: None, plain: false, quotes: 0, escapes: false };
        while !decoder.rest.is_empty() {
            decoder.step()?;
        }
        let style = match (decoder.plain, decoder.quotes, decoder.escapes) {
            (true, 0, false) => Style::Plain,
            (false, 1, false) => Style::Quoted,
            _ => Style::Mixed,
        };
        Ok(Self { pieces: decoder.pieces, words: OnceCell::new(), is_home: false, style })
    }

    /// The word itself, unless it is a pattern.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(super) fn is_pattern(&self) -> bool {
        self.literal().is_none()
    }

    /// What comes before the first wildcard.
    pub(super) fn literal_start(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Literal(text)) => text,
            _ => "",
        }
    }

    /// Without its quotes: what a pattern is that matches nothing.
    pub(super) fn spelled(&self) -> String {
        let spelling = |piece| match piece {
            &Piece::Literal(ref text) | &Piece::Bracket(ref text) => text.as_str(),
            Piece::Star => "*",
            Piece::Question => "?",
        };
        self.pieces.iter().map(spelling).collect()
    }

    /// Says what a pattern becomes; what was said first holds.
    pub(super) fn become_words(&self, words: Vec<String>) -> &[String] {
        self.words.get_or_init(|| words)
    }

    /// The word, or what a pattern becomes, once that was looked up.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let words = self.words.get().map(Vec::as_slice).unwrap_or_default();
        self.literal().into_iter().chain(words.iter().map(String::as_str))
    }

    /// Whether the word, or any that it becomes, begins so.
    pub(super) fn begins_with(&self, start: char) -> bool {
        match self.words.get() {
            Some(words) => words.iter().any(|word| word.starts_with(start)),
            None => self.literal_start().starts_with(start),
        }
    }

    /// The word for a shell, quoted; `None` for a pattern of which nobody said what it becomes.
    pub(super) fn write(&self, script: &mut String) -> Option<()> {
        if let Some(text) = self.literal() {
            quote(text, script);
            return Some(());
        }
        for (index, word) in self.words.get()?.iter().enumerate() {
            if index > 0 {
                script.push(' ');
            }
            quote(word, script);
        }
        Some(())
    }
}

/// In single quotes, where nothing but their end is special.
pub(super) fn quote(text: &str, script: &mut String) {
    script.push('\'');
    script.push_str(&text.replace('\'', "'\\''"));
    script.push('\'');
}

struct Decoder<'a> {
    rest: &'a str,
    pieces: Vec<Piece>,
    /// The character before, if it was not quoted.
    last: Option<char>,
    plain: bool,
    quotes: usize,
    escapes: bool,
}

impl<'a> Decoder<'a> {
    fn step(&mut self) -> Result<(), String> {
        let mut characters = self.rest.chars();
        let Some(character) = characters.next() else { return Ok(()) };
        let rest = characters.as_str();
        let first = self.pieces.is_empty() && self.quotes == 0;
        match character {
            '\'' => {
                let Some((text, rest)) = rest.split_once('\'') else { return Err(unfinished()) };
                self.quoted(text);
                self.rest = rest;
            }
            '"' => return self.double_quoted(rest),
            '\\' => {
                let escaped =
                    characters.next().filter(|escaped| escaped.is_ascii_graphic() || *escaped == ' ');
                let Some(escaped) = escaped else {
                    return Err("it has a backslash before a character that cannot be escaped".to_owned());
                };
                self.push(escaped);
                self.escapes = true;
                self.last = None;
                self.rest = characters.as_str();
            }
            '*' => self.wildcard(Piece::Star, rest),
            '?' => self.wildcard(Piece::Question, rest),
            '[' => {
                let Some((bracket, rest)) = simple_bracket(self.rest) else {
                    return Err(
                        "it has a `[` that is not quoted and opens no plain set of characters".to_owned()
                    );
                };
                self.wildcard(Piece::Bracket(bracket.to_owned()), rest);
            }
            // `HEAD@{1}` and `HEAD^{commit}`: without a comma or two dots, braces stand for themselves.
            '{' if matches!(self.last, Some('@' | '^')) => {
                let inner = |character: char| character.is_ascii_alphanumeric() || "-_/".contains(character);
                let Some((name, rest)) = rest.split_once('}').filter(|(name, _)| name.chars().all(inner))
                else {
                    return Err("it has braces, which the shell may expand".to_owned());
                };
                self.literal(&format!("{{{name}}}"), rest);
            }
            '{' | '}' => return Err("it has braces, which the shell may expand".to_owned()),
            '~' if first || matches!(self.last, Some('=' | ':')) => {
                return Err("it has a `~`, which the shell would expand".to_owned());
            }
            '=' if first => return Err("it has a word that begins with `=`".to_owned()),
            '#' if first => return Err("it has a comment".to_owned()),
            '!' if self.rest == "!" && first => self.literal("!", rest),
            '~' | '#' => self.literal(character.encode_utf8(&mut [0; 4]), rest),
            _ if PLAIN.contains(character) || character.is_alphanumeric() => {
                self.literal(character.encode_utf8(&mut [0; 4]), rest);
            }
            '$' | '`' => return Err("it has an expansion, whose value is not known here".to_owned()),
            other => return Err(format!("it has `{}` outside quotes", other.escape_debug())),
        }
        Ok(())
    }

    fn double_quoted(&mut self, inner: &'a str) -> Result<(), String> {
        let mut text = String::new();
        let mut characters = inner.chars();
        loop {
            let Some(character) = characters.next() else { return Err(unfinished()) };
            let next = characters.as_str().chars().next();
            match (character, next) {
                ('"', _) => break,
                ('\\', Some(escaped @ ('$' | '`' | '"' | '\\'))) => {
                    text.push(escaped);
                    characters.next();
                }
                ('\\', Some('\n') | None) => return Err("it continues a line inside quotes".to_owned()),
                ('$', Some(next)) if AFTER_LONE_DOLLAR.contains(&next) => text.push('$'),
                ('$' | '`', _) => {
                    return Err("it has an expansion, whose value is not known here".to_owned());
                }
                (other, _) => text.push(other),
            }
        }
        self.quoted(&text);
        self.rest = inner.get(inner.len() - characters.as_str().len()..).unwrap_or_default();
        Ok(())
    }

    fn quoted(&mut self, text: &str) {
        self.quotes += 1;
        self.last = None;
        text.chars().for_each(|character| self.push(character));
    }

    fn literal(&mut self, text: &str, rest: &'a str) {
        text.chars().for_each(|character| self.push(character));
        self.plain = true;
        self.last = text.chars().last();
        self.rest = rest;
    }

    fn wildcard(&mut self, piece: Piece, rest: &'a str) {
        self.pieces.push(piece);
        self.plain = true;
        self.last = None;
        self.rest = rest;
    }

    fn push(&mut self, character: char) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(text)) => text.push(character),
            _ => self.pieces.push(Piece::Literal(character.to_string())),
        }
    }
}

/// `[…]` with nothing in it that needs a second thought, and what follows.
fn simple_bracket(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let inner = inner.strip_prefix(['!', '^']).unwrap_or(inner);
    let end = inner.find(']')?;
    let set = inner.get(..end)?;
    let is_simple = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if set.is_empty() || !set.chars().all(is_simple) {
        return None;
    }
    let length = text.len() - inner.len() + end + 1;
    Some((text.get(..length)?, text.get(length..)?))
}

fn unfinished() -> String {
    "a quote is not closed".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(source: &str) -> String {
        match Word::decode(source, Some("/home/u")) {
            Ok(word) => {
                let mut script = String::new();
                if word.is_pattern() {
                    return format!("{:?}", word.pieces);
                }
                word.write(&mut script).unwrap();
                script
            }
            Err(reason) => format!("! {reason}"),
        }
    }

    #[test]
    fn words_mean_what_bash_makes_of_them() {
        let cases = [
            ("plain", "'plain'"),
            ("''", "''"),
            ("a'b'\"c\"\\ d", "'abc d'"),
            ("'a'\"'\"'b'", "'a'\\''b'"),
            ("\"a\\\"b\\c\\\\d\"", "'a\"b\\c\\d'"),
            ("\"foo$\"", "'foo$'"),
            ("\"a$ b\"", "'a$ b'"),
            ("\"a$\\|b$\"", "'a$\\|b$'"),
            ("\"a$\\\"b\"", "'a$\"b'"),
            ("\"a$\\$b\"", "'a$$b'"),
            ("src/*.rs", "[Literal(\"src/\"), Star, Literal(\".rs\")]"),
            ("'*'*\\*", "[Literal(\"*\"), Star, Literal(\"*\")]"),
            ("[a-c]?", "[Bracket(\"[a-c]\"), Question]"),
            ("a]b", "'a]b'"),
            ("HEAD@{1}", "'HEAD@{1}'"),
            ("HEAD^{commit}", "'HEAD^{commit}'"),
            ("file~", "'file~'"),
            ("a#b", "'a#b'"),
            ("!", "'!'"),
            ("naïve", "'naïve'"),
            ("\"$HOME\"", "'/home/u'"),
        ];
        for (source, expected) in cases {
            assert_eq!(canonical(source), expected, "{source}");
        }
    }

    #[test]
    fn what_a_shell_would_expand_is_refused() {
        for source in [
            "$x",
            "\"$x\"",
            "\"${x}\"",
            "`x`",
            "\"`x`\"",
            "$'x'",
            "$\"x\"",
            "\"$(x)\"",
            "a$",
            "~",
            "~/x",
            "a=~",
            "a:~/b",
            "{a,b}",
            "{1..3}",
            "@{a,b}",
            "@{1..3}",
            "a}",
            "#x",
            "=ls",
            "!x",
            "[a",
            "[]a]",
            "[[:alpha:]]",
            "[a'b']",
            "a\\\nb",
            "\"a\\\nb\"",
            "a\nb",
            "a b",
            "a;b",
            "(a)",
            "a\u{37e}",
            "'a",
            "\"a",
            "a\\",
            "\"\\",
        ] {
            assert!(canonical(source).starts_with("! "), "{source:?} became {}", canonical(source));
        }
    }

    #[test]
    fn the_style_tells_a_quoted_name_from_a_hidden_one() {
        let style = |source: &str| Word::decode(source, None).unwrap().style;
        assert_eq!(style("ls"), Style::Plain);
        assert_eq!(style("'ls'"), Style::Quoted);
        assert_eq!(style("\"ls\""), Style::Quoted);
        assert_eq!(style("l''s"), Style::Mixed);
        assert_eq!(style("''ls"), Style::Mixed);
        assert_eq!(style("''\"ls\""), Style::Mixed);
        assert_eq!(style("l\\s"), Style::Mixed);
    }
}
