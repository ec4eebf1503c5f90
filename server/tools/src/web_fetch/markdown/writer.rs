//! Markdown being written: white space joined, lines begun with what they lie in, marks put around what they mark.

use std::mem;

use reqwest::Url;

/// What separates two pieces of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    Nothing,
    Space,
    Line,
    Paragraph,
}

/// What lines lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Bullets,
    /// The number of the next item.
    Numbers(u32),
    Quote,
}

/// What marks a piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Mark(&'static str),
    Link(Option<Url>),
}

/// Deeper ones are not told apart: every line would begin with all of them.
const MAX_LEVELS: usize = 12;
const MAX_SPANS: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    /// Before whatever comes next.
    pending: Gap,
    /// How many levels a pending empty line lies in: those that both its neighbours lie in.
    empty_line: Option<usize>,
    levels: Vec<Level>,
    /// Whether the nearest list was just opened.
    first_item: bool,
    /// The marker of a list item, or of a heading, that has no text yet.
    marker: Marker,
    spans: Vec<OpenSpan>,
}

#[derive(Debug, Default)]
struct Marker {
    text: String,
    /// Whether it stands in the indentation of its list.
    hangs: bool,
}

#[derive(Debug)]
struct OpenSpan {
    span: Span,
    /// Where its text begins, once there is some.
    start: Option<usize>,
}

impl Writer {
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Text with HTML's white space.
    pub(super) fn text(&mut self, text: &str) {
        let is_space = |character: char| character.is_whitespace();
        if text.starts_with(is_space) {
            self.space();
        }
        for (index, word) in text.split(is_space).filter(|word| !word.is_empty()).enumerate() {
            if index > 0 {
                self.space();
            }
            self.literal(word);
        }
        if text.ends_with(is_space) {
            self.space();
        }
    }

    /// One piece of a line, as it is.
    pub(super) fn literal(&mut self, text: &str) {
        self.begin();
        let at = self.out.len();
        for span in &mut self.spans {
            span.start.get_or_insert(at);
        }
        self.out.push_str(text);
    }

    /// Whole lines, as they are.
    pub(super) fn lines(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if index > 0 {
                self.out.push('\n');
                let prefix = self.prefix();
                self.out.push_str(if line.is_empty() { prefix.trim_end() } else { &prefix });
            } else {
                self.begin();
            }
            self.out.push_str(line);
        }
    }

    pub(super) fn space(&mut self) {
        self.gap(Gap::Space);
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        // What follows a marker stays on its line.
        if self.marker.text.is_empty() || gap < Gap::Line {
            self.pending = self.pending.max(gap);
            let levels = self.levels.len();
            self.empty_line = Some(self.empty_line.map_or(levels, |before| before.min(levels)));
        }
        if gap >= Gap::Line && self.out.is_empty() {
            self.pending = Gap::Nothing;
        }
    }

    /// The next text begins with this.
    pub(super) fn begin_with(&mut self, marker: &str) {
        self.marker.text.push_str(marker);
    }

    pub(super) fn open(&mut self, level: Level) {
        // A list in a list follows its item directly.
        let nested = level != Level::Quote && self.levels.last().is_some_and(|last| *last != Level::Quote);
        self.marker = Marker::default();
        self.gap(if nested { Gap::Line } else { Gap::Paragraph });
        if self.levels.len() < MAX_LEVELS {
            self.levels.push(level);
        }
        self.first_item = true;
    }

    /// Closes the nearest level of a kind, and those opened inside it.
    pub(super) fn close(&mut self, is_it: impl Fn(&Level) -> bool) {
        self.marker = Marker::default();
        if let Some(at) = self.levels.iter().rposition(is_it) {
            self.levels.truncate(at);
        }
        self.gap(if self.levels.is_empty() { Gap::Paragraph } else { Gap::Line });
    }

    /// Begins an item of the nearest list.
    pub(super) fn item(&mut self) {
        self.marker = Marker::default();
        self.gap(Gap::Line);
        // Between items there are no empty lines.
        if !mem::take(&mut self.first_item) {
            self.pending = self.pending.min(Gap::Line);
        }
        let marker = match self.levels.last_mut() {
            Some(Level::Numbers(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        let in_a_list = self.levels.last().is_some_and(|level| *level != Level::Quote);
        self.marker = Marker { text: marker, hangs: in_a_list };
    }

    pub(super) fn open_span(&mut self, span: Span) {
        if self.spans.len() < MAX_SPANS {
            self.spans.push(OpenSpan { span, start: None });
        }
    }

    /// Closes the nearest span of a kind; those opened inside it and not closed mark nothing.
    pub(super) fn close_span(&mut self, is_it: impl Fn(&Span) -> bool) {
        let Some(at) = self.spans.iter().rposition(|open| is_it(&open.span)) else { return };
        let closed = self.spans.get(at).map(|open| (open.span.clone(), open.start));
        self.spans.truncate(at);
        let Some((span, Some(start))) = closed else { return };
        let one_line = self.out.get(start..).is_some_and(|text| !text.contains('\n'));
        match span {
            Span::Mark(mark) if one_line => {
                self.out.insert_str(start, mark);
                self.out.push_str(mark);
            }
            Span::Link(Some(url)) if one_line => {
                self.out.insert(start, '[');
                self.out.push_str(&format!("]({url})"));
            }
            // Around several blocks there are no brackets.
            Span::Link(Some(url)) => self.out.push_str(&format!(" ({url})")),
            Span::Mark(_) | Span::Link(None) => {}
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    /// Writes what is due before text.
    fn begin(&mut self) {
        let gap = mem::take(&mut self.pending);
        let empty_line = self.empty_line.take().unwrap_or_default();
        let at_start = self.out.is_empty();
        match gap {
            _ if at_start => {}
            Gap::Nothing => {}
            Gap::Space => self.out.push(' '),
            Gap::Line => self.out.push('\n'),
            Gap::Paragraph => {
                self.out.push('\n');
                self.out.push_str(self.prefix_of(empty_line).trim_end());
                self.out.push('\n');
            }
        }
        if at_start || gap >= Gap::Line {
            let outside = usize::from(self.marker.hangs);
            self.out.push_str(&self.prefix_of(self.levels.len().saturating_sub(outside)));
        }
        self.out.push_str(&mem::take(&mut self.marker).text);
    }

    fn prefix(&self) -> String {
        self.prefix_of(self.levels.len())
    }

    fn prefix_of(&self, levels: usize) -> String {
        let parts = self.levels.iter().take(levels).map(|level| match level {
            Level::Bullets => "  ",
            Level::Numbers(_) => "   ",
            Level::Quote => "> ",
        });
        parts.collect()
    }
}
