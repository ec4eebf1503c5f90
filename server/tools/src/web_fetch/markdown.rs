//! HTML to Markdown, in one pass over the tags: good enough to read, bounded in depth and size for any input.
//!
//! No tree is built. What is open is kept on small stacks (lists and quotes, emphasis and links; see `writer.rs`), and
//! an end tag closes the nearest of its kind.

mod writer;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

use self::writer::{Gap, Level, Span, Writer};

pub(super) struct Page {
    pub(super) title: Option<String>,
    pub(super) markdown: String,
    /// Whether the conversion ended before the page did.
    pub(super) cut: bool,
}

/// Ends soon after `max_chars` characters.
pub(super) fn convert(html: &str, base: &Url, max_chars: usize) -> Page {
    let page = Converter::new(base, LeaveOut::Chrome).convert(html, max_chars);
    if !page.markdown.is_empty() {
        return page;
    }
    // A page may keep all it says in what is usually decoration, or never close it.
    Converter::new(base, LeaveOut::Code).convert(html, max_chars)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaveOut {
    /// Navigation and what is hidden, besides code.
    Chrome,
    Code,
}

/// Elements with nothing to read in them.
const CODE: &[&str] = &[
    "script", "style", "template", "svg", "canvas", "iframe", "object", "noscript", "noembed", "noframes",
    "select", "datalist", "textarea", "math", "audio", "video",
];

/// Elements that have no end.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

struct Converter {
    base: Url,
    leave_out: LeaveOut,
    writer: Writer,
    /// The element being left out, and how many of its name are open.
    skipping: Option<(String, usize)>,
    title: String,
    in_title: bool,
    preformatted: Option<Preformatted>,
    /// Cells of the table row so far, and whether they are headings.
    cells: usize,
    headings: bool,
}

#[derive(Default)]
struct Preformatted {
    text: String,
    language: String,
}

impl Converter {
    fn new(base: &Url, leave_out: LeaveOut) -> Self {
        Self {
            base: base.clone(),
            leave_out,
            writer: Writer::default(),
            skipping: None,
            title: String::new(),
            in_title: false,
            preformatted: None,
            cells: 0,
            headings: false,
        }
    }

    fn convert(mut self, html: &str, max_chars: usize) -> Page {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        let mut cut = false;
        for token in Tokenizer::new_with_emitter(html, emitter).flatten() {
            match token {
                Token::StartTag(tag) => self.start(&tag),
                Token::EndTag(tag) => self.end(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
            // A character has at most four bytes.
            if self.writer.len() > max_chars.saturating_mul(4) {
                cut = true;
                break;
            }
        }
        self.end_preformatted();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        Page { title: (!title.is_empty()).then_some(title), markdown: self.writer.finish(), cut }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.extend(text.chars().take(300));
            return;
        }
        match (&self.skipping, &mut self.preformatted) {
            (Some(_), _) => {}
            (None, Some(preformatted)) => preformatted.text.push_str(text),
            (None, None) => self.writer.text(text),
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let name = name.as_ref();
        if let Some((skipped, open)) = &mut self.skipping {
            if skipped == name {
                *open += 1;
            }
            return;
        }
        if self.is_left_out(name, tag) {
            if !tag.self_closing {
                self.skipping = Some((name.to_owned(), 1));
            }
            return;
        }
        match name {
            "title" => self.in_title = self.title.is_empty(),
            "base" => {
                if let Some(url) = attribute(tag, "href").and_then(|href| self.base.join(&href).ok()) {
                    self.base = url;
                }
            }
            "pre" | "listing" => {
                self.end_preformatted();
                let language = language(tag).unwrap_or_default();
                self.preformatted = Some(Preformatted { text: String::new(), language });
            }
            "code" if let Some(preformatted) = &mut self.preformatted => {
                if let Some(language) = language(tag) {
                    preformatted.language = language;
                }
            }
            "br" if let Some(preformatted) = &mut self.preformatted => preformatted.text.push('\n'),
            _ if self.preformatted.is_some() => {}
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.writer.gap(Gap::Paragraph);
                let level = name.trim_start_matches('h').parse().unwrap_or(1);
                self.writer.begin_with(&format!("{} ", "#".repeat(level)));
            }
            "br" => self.writer.gap(Gap::Line),
            "hr" => {
                self.writer.gap(Gap::Paragraph);
                self.writer.literal("---");
                self.writer.gap(Gap::Paragraph);
            }
            "ul" | "menu" => self.writer.open(Level::Bullets),
            "ol" => {
                let first = attribute(tag, "start").and_then(|start| start.parse().ok()).unwrap_or(1);
                self.writer.open(Level::Numbers(first));
            }
            "li" => self.writer.item(),
            "blockquote" => self.writer.open(Level::Quote),
            "a" => {
                let target = attribute(tag, "href").and_then(|href| self.target(&href));
                self.writer.open_span(Span::Link(target));
            }
            "img" => self.image(tag),
            "b" | "strong" => self.writer.open_span(Span::Mark("**")),
            "i" | "em" => self.writer.open_span(Span::Mark("*")),
            "s" | "del" | "strike" => self.writer.open_span(Span::Mark("~~")),
            "code" | "kbd" | "samp" | "tt" => self.writer.open_span(Span::Mark("`")),
            "tr" => self.row(),
            "td" | "th" => self.cell(name == "th"),
            _ => self.writer.gap(gap(name)),
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, open)) = &mut self.skipping {
            if skipped == name {
                *open -= 1;
                if *open == 0 {
                    self.skipping = None;
                }
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "pre" | "listing" => self.end_preformatted(),
            _ if self.preformatted.is_some() => {}
            "ul" | "menu" | "ol" => self.writer.close(|level| *level != Level::Quote),
            "blockquote" => self.writer.close(|level| *level == Level::Quote),
            "a" => self.writer.close_span(|span| matches!(span, Span::Link(_))),
            "b" | "strong" => self.writer.close_span(|span| *span == Span::Mark("**")),
            "i" | "em" => self.writer.close_span(|span| *span == Span::Mark("*")),
            "s" | "del" | "strike" => self.writer.close_span(|span| *span == Span::Mark("~~")),
            "code" | "kbd" | "samp" | "tt" => self.writer.close_span(|span| *span == Span::Mark("`")),
            "li" => self.writer.gap(Gap::Line),
            "td" | "th" => self.writer.space(),
            "tr" => self.end_row(),
            _ => self.writer.gap(gap(name)),
        }
    }

    fn is_left_out(&self, name: &str, tag: &StartTag<()>) -> bool {
        if CODE.contains(&name) {
            return true;
        }
        if self.leave_out == LeaveOut::Code
            || VOID.contains(&name)
            || matches!(name, "html" | "body" | "main")
        {
            return false;
        }
        let says = |attribute_name: &str, value: &str| {
            attribute(tag, attribute_name).is_some_and(|said| said.eq_ignore_ascii_case(value))
        };
        let hidden_by_style = || {
            attribute(tag, "style")
                .is_some_and(|style| style.replace(' ', "").to_ascii_lowercase().contains("display:none"))
        };
        name == "nav"
            || name == "dialog"
            || attribute(tag, "hidden").is_some_and(|value| value != "until-found")
            || says("aria-hidden", "true")
            || says("role", "navigation")
            || hidden_by_style()
    }

    /// Where a link leads; `None` where following it means nothing.
    fn target(&self, href: &str) -> Option<Url> {
        if href.trim_start().starts_with('#') {
            return None;
        }
        let url = self.base.join(href.trim()).ok()?;
        matches!(url.scheme(), "http" | "https" | "mailto" | "ftp").then_some(url)
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let alternative = attribute(tag, "alt").unwrap_or_default();
        let alternative = alternative.split_whitespace().collect::<Vec<_>>().join(" ");
        let source = attribute(tag, "src").and_then(|source| self.target(&source));
        match source {
            _ if alternative.is_empty() => {}
            Some(source) => self.writer.literal(&format!("![{alternative}]({source})")),
            None => self.writer.text(&alternative),
        }
    }

    fn row(&mut self) {
        self.writer.gap(Gap::Line);
        (self.cells, self.headings) = (0, true);
    }

    fn cell(&mut self, is_heading: bool) {
        self.writer.literal("|");
        self.writer.space();
        self.cells += 1;
        self.headings &= is_heading;
    }

    fn end_row(&mut self) {
        if self.cells > 0 {
            self.writer.literal("|");
            if self.headings {
                self.writer.gap(Gap::Line);
                self.writer.literal(&format!("|{}", " --- |".repeat(self.cells.min(100))));
            }
        }
        self.writer.gap(Gap::Line);
        (self.cells, self.headings) = (0, false);
    }

    fn end_preformatted(&mut self) {
        let Some(Preformatted { text, language }) = self.preformatted.take() else { return };
        let text = text.trim_end().trim_start_matches('\n');
        if text.is_empty() {
            return;
        }
        let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.clamp(2, 20) + 1);
        self.writer.gap(Gap::Paragraph);
        self.writer.lines(&format!("{fence}{language}\n{text}\n{fence}"));
        self.writer.gap(Gap::Paragraph);
    }
}

/// What an element puts around itself.
fn gap(name: &str) -> Gap {
    match name {
        "p" | "ul" | "ol" | "dl" | "table" | "blockquote" | "figure" | "h1" | "h2" | "h3" | "h4" | "h5"
        | "h6" | "article" | "section" | "main" | "header" | "footer" | "aside" | "form" | "fieldset"
        | "details" | "address" | "hgroup" => Gap::Paragraph,
        "div" | "dt" | "dd" | "caption" | "thead" | "tbody" | "tfoot" | "summary" | "figcaption"
        | "legend" | "option" | "center" | "body" | "html" | "head" => Gap::Line,
        "button" | "label" | "td" | "th" => Gap::Space,
        _ => Gap::Nothing,
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The language of a listing, from a class such as `language-rust`.
fn language(tag: &StartTag<()>) -> Option<String> {
    let class = attribute(tag, "class")?;
    let mut names = class.split_whitespace();
    let name =
        names.find_map(|name| name.strip_prefix("language-").or_else(|| name.strip_prefix("lang-")))?;
    let plain = name.chars().all(|character| character.is_ascii_alphanumeric() || "+-#_".contains(character));
    (plain && name.len() <= 20).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
