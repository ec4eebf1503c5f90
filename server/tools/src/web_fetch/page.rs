//! What a server sent, as something a model can read: text, Markdown from HTML, an image, a document.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use reqwest::Url;

use super::{get::Body, markdown};
use crate::{
    media::{self, Media, Shown, Unusable},
    tool::ToolFailure,
};

pub(super) const MAX_CHARS: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Text {
        title: Option<String>,
        text: String,
        /// What was left out, in words.
        cut: Option<String>,
    },
    Media(Shown),
}

/// Refuses what nobody could read before it is downloaded.
pub(super) fn wanted(url: &Url, content_type: Option<&str>) -> Result<(), ToolFailure> {
    match content_type.map(Kind::of) {
        Some(Kind::Other(kind)) => Err(unreadable(url, &kind)),
        _ => Ok(()),
    }
}

pub(super) fn content(body: &Body) -> Result<Content, ToolFailure> {
    let kind = body.content_type.as_deref().map_or(Kind::Unsaid, Kind::of);
    let url = &body.url;
    if let (Kind::Media | Kind::Unsaid, Some(media)) = (&kind, Media::of(&body.bytes)) {
        return media_content(body, media);
    }
    let kind = match kind {
        Kind::Media | Kind::Other(_) => {
            return Err(unreadable(url, body.content_type.as_deref().unwrap_or_default()));
        }
        Kind::Unsaid if looks_like_html(&body.bytes) => Kind::Html,
        Kind::Unsaid => Kind::Text,
        known => known,
    };
    let encoding = encoding(body, &kind);
    if encoding.is_ascii_compatible() && body.bytes.contains(&0) {
        return Err(unreadable(url, "binary data"));
    }
    let (text, _, _) = encoding.decode(&body.bytes);
    let text = without_invisible(&text);
    let (title, text, mut cut) = match kind {
        Kind::Html => {
            let page = markdown::convert(&text, url, MAX_CHARS);
            (page.title, page.markdown, page.cut)
        }
        _ => (None, text, false),
    };
    let shown = match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => {
            cut = true;
            text.get(..at).unwrap_or_default().to_owned()
        }
        None => text,
    };
    let cut = match (cut, body.cut) {
        (true, _) => Some(format!("the page goes on; its first {MAX_CHARS} characters are shown")),
        (false, true) => Some(format!("the page goes on; its first {} are shown", size(body))),
        (false, false) => None,
    };
    Ok(Content::Text { title, text: shown, cut })
}

fn media_content(body: &Body, media: Media) -> Result<Content, ToolFailure> {
    if body.cut {
        return Err(ToolFailure(format!(
            "{} is a {media} of more than {}, which is too large",
            body.url,
            size(body)
        )));
    }
    media.show(&body.bytes).map(Content::Media).map_err(|unusable| {
        let (Unusable::Damaged(words) | Unusable::Refused(words)) = unusable;
        ToolFailure(format!("{} {words}", body.url))
    })
}

fn size(body: &Body) -> String {
    media::size(body.bytes.len() as u64)
}

fn unreadable(url: &Url, kind: &str) -> ToolFailure {
    ToolFailure(format!(
        "{url} is {kind}, which cannot be shown; only web pages, text, images and PDF documents are"
    ))
}

/// What a server calls it.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    /// Of those that are known by their bytes.
    Media,
    /// Nothing, or nothing that means something.
    Unsaid,
    Other(String),
}

impl Kind {
    fn of(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (main, sub) = essence.split_once('/').unwrap_or((essence.as_str(), ""));
        match (main, sub) {
            ("text", "html") | ("application", "xhtml+xml") => Self::Html,
            ("image", "svg+xml") | ("text", _) => Self::Text,
            ("image", _) | ("application", "pdf" | "x-pdf") => Self::Media,
            ("", _) | ("application" | "binary", "octet-stream") => Self::Unsaid,
            ("application", sub) if is_text(sub) => Self::Text,
            _ => Self::Other(essence),
        }
    }
}

fn is_text(sub: &str) -> bool {
    const NAMES: &[&str] = &[
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "yaml",
        "toml",
        "ndjson",
        "jsonl",
        "sh",
        "sql",
        "graphql",
        "markdown",
    ];
    let sub = sub.strip_prefix("x-").unwrap_or(sub);
    NAMES.iter().any(|name| sub == *name || sub.rsplit_once('+').is_some_and(|(_, suffix)| suffix == *name))
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(512)).unwrap_or_default().trim_ascii_start().to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

/// By the mark at its beginning, by what the server says, by what the page says of itself, by trying.
fn encoding(body: &Body, kind: &Kind) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(&body.bytes) {
        return encoding;
    }
    let said = body.content_type.as_deref().and_then(|content_type| label(content_type.as_bytes()));
    if let Some(encoding) = said {
        return encoding;
    }
    let head = body.bytes.get(..body.bytes.len().min(1024)).unwrap_or_default();
    if *kind == Kind::Html
        && let Some(encoding) = label(head)
    {
        // A page that could be read up to here is not in UTF-16.
        return if encoding.is_ascii_compatible() { encoding } else { UTF_8 };
    }
    let valid = match std::str::from_utf8(&body.bytes) {
        Ok(_) => true,
        // Cut inside a character.
        Err(error) => error.error_len().is_none() && body.cut,
    };
    if valid { UTF_8 } else { WINDOWS_1252 }
}

/// What follows `charset=`.
fn label(bytes: &[u8]) -> Option<&'static Encoding> {
    const KEY: &[u8] = b"charset=";
    let at = bytes.windows(KEY.len()).position(|window| window.eq_ignore_ascii_case(KEY))?;
    let value = bytes.get(at + KEY.len()..)?.trim_ascii_start();
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value.iter().position(|byte| matches!(byte, b'"' | b'\'' | b';' | b'>' | b' ' | b'/'));
    Encoding::for_label(value.get(..end.unwrap_or(value.len()))?)
}

/// Characters that hide text from people and not from a model, or show it in another order.
fn without_invisible(text: &str) -> String {
    let hides = |character: char| matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' | '\u{200b}' | '\u{2060}');
    text.replace("\r\n", "\n").chars().filter(|character| !hides(*character)).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn body(content_type: Option<&str>, bytes: &[u8]) -> Body {
        Body {
            url: Url::parse("https://h.example/x").unwrap(),
            content_type: content_type.map(str::to_owned),
            bytes: bytes.to_vec(),
            cut: false,
        }
    }

    fn read(content_type: Option<&str>, bytes: &[u8]) -> String {
        match content(&body(content_type, bytes)) {
            Ok(Content::Text { title, text, cut }) => {
                format!(
                    "{}{text}{}",
                    title.map(|title| title + ": ").unwrap_or_default(),
                    cut.unwrap_or_default()
                )
            }
            Ok(Content::Media(shown)) => format!("({})", shown.words),
            Err(ToolFailure(words)) => words,
        }
    }

    #[test]
    fn what_it_is_decides_how_it_is_read() {
        assert_eq!(read(Some("text/html; charset=utf-8"), b"<title>T</title><p>a <b>b</b>"), "T: a **b**");
        assert_eq!(read(None, b"\n<!DOCTYPE HTML><p>a"), "a");
        assert_eq!(read(Some("text/plain"), b"<p>a"), "<p>a");
        assert_eq!(read(Some("application/ld+json"), b"{}"), "{}");
        assert_eq!(read(Some("image/svg+xml"), b"<svg/>"), "<svg/>");
        assert_eq!(read(Some("application/octet-stream"), b"plain"), "plain");
        assert_eq!(read(Some("image/png"), &media::tests::png(2, 3)), "(PNG image, 2 × 3 pixels, 45 bytes)");
        assert_eq!(read(Some("application/pdf"), &media::tests::pdf(1)), "(PDF document, 1 page, 85 bytes)");
        assert_eq!(read(None, b"GIF89a\x01\0\x01\0;"), "(GIF image, 1 × 1 pixels, 11 bytes)");
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        expect!["https://h.example/x is binary data, which cannot be shown; only web pages, text, images and PDF documents are"]
            .assert_eq(&read(Some("text/plain"), b"a\0b"));
        expect!["https://h.example/x is image/tiff, which cannot be shown; only web pages, text, images and PDF documents are"]
            .assert_eq(&read(Some("image/tiff"), b"II*\0"));
        expect!["https://h.example/x begins like a PNG image but is cut off or damaged"]
            .assert_eq(&read(Some("image/png"), &media::tests::png(2, 3)[..20]));
        let url = Url::parse("https://h.example/x").unwrap();
        let words = |kind: &str| wanted(&url, Some(kind)).err().map(|ToolFailure(words)| words);
        assert!(words("application/zip").unwrap().contains("is application/zip"));
        assert!(words("video/mp4").is_some() && words("font/woff2").is_some());
        assert_eq!(words("text/html"), None);
        assert_eq!(words("application/octet-stream"), None);
    }

    #[test]
    fn charsets_are_understood() {
        assert_eq!(read(Some("text/plain; charset=ISO-8859-1"), b"Gr\xfc\xdfe"), "Grüße");
        assert_eq!(read(Some("text/plain"), b"Gr\xfc\xdfe"), "Grüße");
        assert_eq!(read(Some("text/plain"), "Grüße".as_bytes()), "Grüße");
        assert_eq!(read(Some("text/html"), b"<meta charset=\"windows-1251\"><p>\xcf\xf0"), "Пр");
        assert_eq!(read(Some("text/html"), b"<meta charset=utf-16><p>a"), "a");
        assert_eq!(read(Some("text/plain"), b"\xff\xfea\0b\0"), "ab");
        assert_eq!(read(Some("text/plain; charset=\"Shift_JIS\""), b"\x93\xfa\x96{"), "日本");
        assert_eq!(read(Some("text/plain; charset=nonsense"), b"a\xe9"), "aé");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let text = read(Some("text/plain"), "é".repeat(MAX_CHARS + 5).as_bytes());
        assert!(text.ends_with("éthe page goes on; its first 100000 characters are shown"));
        let html = format!("<p>{}", "word ".repeat(50_000));
        assert!(read(Some("text/html"), html.as_bytes()).ends_with("its first 100000 characters are shown"));
        let cut = Body { cut: true, ..body(Some("text/plain"), "aé".as_bytes().get(..2).unwrap()) };
        let Ok(Content::Text { text, cut, .. }) = content(&cut) else { panic!() };
        assert_eq!(
            (text.as_str(), cut.as_deref()),
            ("a\u{fffd}", Some("the page goes on; its first 2 bytes are shown"))
        );
    }

    #[test]
    fn hidden_characters_are_dropped() {
        assert_eq!(read(Some("text/plain"), "a\u{e0041}\u{202e}b\u{200b}c\r\nd".as_bytes()), "abc\nd");
    }
}
