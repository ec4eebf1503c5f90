//! Colours, and what makes text of unknown origin fit for a terminal: harmless and short enough.

use std::{borrow::Cow, fmt::Write as _, io::IsTerminal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// Whether colours are wanted on a stream.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Only on a terminal that understands colours, and never with `NO_COLOR`.
    pub fn on(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { on: stream.is_terminal() && is_capable() && !unwanted }
    }

    #[cfg(test)]
    pub const fn always() -> Self {
        Self { on: true }
    }

    #[cfg(test)]
    pub const fn never() -> Self {
        Self { on: false }
    }

    pub fn start(self, style: Style) -> &'static str {
        match style {
            _ if !self.on => "",
            Style::Bold => "\x1b[1m",
            Style::Dim => "\x1b[2m",
            Style::Red => "\x1b[31m",
            Style::Green => "\x1b[32m",
            Style::Yellow => "\x1b[33m",
            Style::Cyan => "\x1b[36m",
        }
    }

    pub fn end(self) -> &'static str {
        if self.on { "\x1b[0m" } else { "" }
    }

    /// The text in this style, line by line, so that no style leaks into what follows.
    pub fn paint(self, style: Style, text: &str) -> String {
        if !self.on {
            return text.to_owned();
        }
        let (start, end) = (self.start(style), self.end());
        let lines: Vec<String> = text.split('\n').map(|line| format!("{start}{line}{end}")).collect();
        lines.join("\n")
    }

    /// A unified diff, with its lines in the usual colours.
    pub fn diff(self, text: &str) -> String {
        let lines: Vec<String> = text
            .split('\n')
            .map(|line| match diff_style(line) {
                Some(style) => self.paint(style, line),
                None => line.to_owned(),
            })
            .collect();
        lines.join("\n")
    }
}

/// How a line of a diff looks; leading spaces of an indented diff do not count.
pub fn diff_style(line: &str) -> Option<Style> {
    let line = line.strip_prefix("  ").unwrap_or(line);
    match line.chars().next()? {
        _ if line.starts_with("--- ") || line.starts_with("+++ ") => Some(Style::Dim),
        '+' => Some(Style::Green),
        '-' => Some(Style::Red),
        '@' => Some(Style::Cyan),
        _ => None,
    }
}

/// Whether the terminal can move its cursor at all.
pub fn is_capable() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Model output and files may hold escape sequences and marks that turn the direction of text: a terminal must not
/// obey them, and a reader must see that they are there. Tabs and line ends pass; a lone return is dropped.
pub fn safe(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || turns_direction(c));
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter(|c| *c != '\r').map(|c| match c {
        c if harmless(c) => c,
        '\x7f' => '␡',
        c => char::from_u32(0x2400 + u32::from(c)).filter(|_| c < ' ').unwrap_or('\u{fffd}'),
    });
    Cow::Owned(shown.collect())
}

/// The same for what the user has to judge, a command above all: what takes no room or acts on the terminal is shown by
/// its name, returns included. Stricter than [`safe`], whose answers may hold joined emoji and scripts that need such
/// characters.
pub fn revealed(text: &str) -> Cow<'_, str> {
    let visible = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c));
    if text.chars().all(visible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for c in text.chars() {
        match c {
            c if visible(c) => shown.push(c),
            '\u{fe0e}' | '\u{fe0f}' if is_emoji(before) => shown.push(c),
            '\x7f' => shown.push('␡'),
            c if c < ' ' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            c => {
                let _infallible = write!(shown, "<U+{:04X}>", u32::from(c));
            }
        }
        before = c;
    }
    Cow::Owned(shown)
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What Unicode lets a display leave out, fillers that are blank, and the separators that only some obey.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a variation selector behind it is of use.
fn is_emoji(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}'..='\u{2bff}' | '\u{3030}' | '\u{303d}')
        || matches!(c, '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// A command's output as it would stand on a screen: colours gone, and of a line that was drawn over and over the last
/// state.
pub fn settled(output: &str) -> String {
    let plain = without_colours(output);
    let lines: Vec<&str> = plain
        .lines()
        .map(|line| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default())
        .collect();
    lines.join("\n")
}

/// Leaves out `ESC [ … letter`; whatever else there is, [`safe`] shows.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split("\x1b[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | ':' | '?'));
        let mut characters = rest.chars();
        match characters.next() {
            Some(last) if last.is_ascii_alphabetic() => plain.push_str(characters.as_str()),
            _ => {
                plain.push_str("\x1b[");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// The columns a text takes, as most terminals count them.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The beginning of a text that fits, with a mark where something is missing.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if width(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut room = most.saturating_sub(1);
    let fits = |c: &char| match room.checked_sub(columns_of(*c)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let mut shown: String = text.chars().take_while(fits).collect();
    shown.push('…');
    Cow::Owned(shown)
}

pub fn columns_of(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        let hostile = "\x1b[31mred\x1b]0;title\x07 back\x08space \u{9b}2J \u{202e}drow\x7f\ttab\r\nnext";
        expect!["␛[31mred␛]0;title␇ back␈space �2J �drow␡\ttab\nnext"].assert_eq(&safe(hostile));
        assert!(matches!(safe("plain ünïcödé 漢字 🎉"), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_in_what_is_to_be_judged_is_invisible() {
        let hostile =
            "ls\u{200b}\u{ad}\r\nrm\u{feff} a\u{fe0f}\u{e0041}\u{e0100}\u{3164}\u{202e}\u{2028}\x1b[A\u{9b}";
        expect![[r"
            ls<U+200B><U+00AD>␍
            rm<U+FEFF> a<U+FE0F><U+E0041><U+E0100><U+3164><U+202E><U+2028>␛[A<U+009B>"]]
        .assert_eq(&revealed(hostile));
        for c in "\u{200b}\u{200f}\u{61c}\u{2060}\u{2064}\u{180e}\u{115f}\u{1160}\u{ffa0}\u{e007f}".chars() {
            assert_eq!(revealed(&c.to_string()), format!("<U+{:04X}>", u32::from(c)));
        }
        expect!["⚠\u{fe0f} ❤\u{fe0f}<U+FE0F> 👩<U+200D>💻"]
            .assert_eq(&revealed("⚠\u{fe0f} ❤\u{fe0f}\u{fe0f} 👩\u{200d}💻"));
        assert_eq!(safe("👩\u{200d}💻"), "👩\u{200d}💻");
        assert!(matches!(revealed("plain\tünïcödé 漢字 🎉\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_progress_bar_settles_in_its_last_state() {
        expect!["ok done\n100 %\nplain"]
            .assert_eq(&settled("\x1b[1;32mok\x1b[0m done\r\n 10 %\r 50 %\r100 %\nplain"));
        assert_eq!(settled("\x1b[12"), "\x1b[12");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("漢字a🎉"), 7);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(cut("漢字漢字", 8), "漢字漢字");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn styles_end_with_their_line() {
        assert_eq!(Paint::always().paint(Style::Dim, "a\nb"), "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m");
        assert_eq!(Paint::never().paint(Style::Dim, "a"), "a");
    }

    #[test]
    fn diffs_have_their_colours() {
        let diff = "  --- a\n  +++ b\n  @@ -1 +1 @@\n   same\n  -old\n  +new";
        let styles: Vec<Option<Style>> = diff.lines().map(diff_style).collect();
        expect!["[Some(Dim), Some(Dim), Some(Cyan), None, Some(Red), Some(Green)]"]
            .assert_eq(&format!("{styles:?}"));
    }
}
