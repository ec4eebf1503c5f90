//! Images and PDF documents as blocks that a model can see.
//!
//! What a file is, its first bytes say, not its name. A provider refuses a request with a broken or too large image
//! in it, and every later request of that session too: so nothing leaves here that is not whole and within bounds.

use std::fmt;

use conversation::Block;
use serde_json::json;

use crate::base64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Png,
    Jpeg,
    Gif,
    Webp,
    Pdf,
}

/// A block for the model, and the words for what it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) block: Block,
    /// `PNG image, 640 × 480 pixels, 12 KB`.
    pub(crate) words: String,
}

/// Why there is no block. The words follow a name: `is …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Only its beginning looks right.
    Damaged(String),
    Refused(String),
}

/// The API takes 5 MB of base64 an image.
const MAX_IMAGE: usize = 5 * 1024 * 1024 / 4 * 3;
const MAX_PIXELS: u32 = 8_000;

/// The API takes requests of 32 MB; a document must leave room for the conversation.
const MAX_PDF: usize = 20 * 1024 * 1024;
const MAX_PAGES: usize = 100;

/// An image that came as base64, as a block; `Err` says why no provider would take it.
pub fn image_block(media_type: &str, data: &str) -> Result<Block, String> {
    let bytes = base64::decode(data).ok_or("the image's data is not base64")?;
    if bytes.is_empty() {
        return Err("the image is empty".to_owned());
    }
    match Media::of(&bytes) {
        // Encoded anew: providers are stricter about white space and padding.
        Some(media) if media.media_type() == media_type => match media.show(&bytes) {
            Ok(shown) => Ok(shown.block),
            Err(Unusable::Damaged(words) | Unusable::Refused(words)) => Err(format!("the image {words}")),
        },
        Some(media) => Err(format!("the image is said to be {media_type} but is a {media}")),
        None => Err(format!("the image is said to be {media_type} but is none")),
    }
}

impl Media {
    /// How many bytes of a file [`Self::of`] looks at.
    pub(crate) const SIGNATURE: usize = 12;

    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            _ => None,
        }
    }

    /// A file with more bytes is not worth reading.
    pub(crate) fn max_bytes(self) -> usize {
        if self == Self::Pdf { MAX_PDF } else { MAX_IMAGE }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }

    pub(crate) fn too_large(self, bytes: u64) -> String {
        let hint = match self {
            Self::Pdf => "extract the pages that matter, or the text with `pdftotext`",
            _ => "make a smaller copy of it",
        };
        let (has, most) = (size(bytes), size(self.max_bytes() as u64));
        format!("is a {self} of {has}, and at most {most} can be shown; {hint}")
    }

    /// The whole file's bytes as a block.
    pub(crate) fn show(self, bytes: &[u8]) -> Result<Shown, Unusable> {
        if bytes.len() > self.max_bytes() {
            return Err(Unusable::Refused(self.too_large(bytes.len() as u64)));
        }
        let detail = if self == Self::Pdf { check_pdf(bytes)? } else { self.check_image(bytes)? };
        let source =
            json!({"type": "base64", "media_type": self.media_type(), "data": base64::encode(bytes)});
        let block = if self == Self::Pdf { Block::Document { source } } else { Block::Image { source } };
        Ok(Shown { block, words: format!("{self}, {detail}{}", size(bytes.len() as u64)) })
    }

    fn check_image(self, bytes: &[u8]) -> Result<String, Unusable> {
        let damaged = || Unusable::Damaged(format!("begins like a {self} but is cut off or damaged"));
        let (width, height) = self
            .dimensions(bytes)
            .filter(|(width, height)| *width > 0 && *height > 0 && self.is_whole(bytes))
            .ok_or_else(damaged)?;
        if width > MAX_PIXELS || height > MAX_PIXELS {
            return Err(Unusable::Refused(format!(
                "is a {self} of {width} × {height} pixels, and at most {MAX_PIXELS} each way can be shown; make a smaller copy of it"
            )));
        }
        Ok(format!("{width} × {height} pixels, "))
    }

    fn dimensions(self, bytes: &[u8]) -> Option<(u32, u32)> {
        match self {
            Self::Png => Some((big_endian(bytes.get(16..20)?), big_endian(bytes.get(20..24)?))),
            Self::Gif => Some((little_endian(bytes.get(6..8)?), little_endian(bytes.get(8..10)?))),
            Self::Jpeg => jpeg_dimensions(bytes),
            Self::Webp => webp_dimensions(bytes),
            Self::Pdf => None,
        }
    }

    /// Whether its end is there.
    fn is_whole(self, bytes: &[u8]) -> bool {
        match self {
            Self::Png => contains(bytes, b"IEND"),
            Self::Jpeg => contains(bytes, &[0xff, 0xd9]),
            Self::Gif => bytes.iter().rev().find(|byte| **byte != 0) == Some(&0x3b),
            Self::Webp => {
                let length = bytes.get(4..8).map(little_endian);
                length.is_some_and(|length| length as usize + 8 <= bytes.len())
            }
            Self::Pdf => true,
        }
    }
}

impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "PNG image",
            Self::Jpeg => "JPEG image",
            Self::Gif => "GIF image",
            Self::Webp => "WebP image",
            Self::Pdf => "PDF document",
        })
    }
}

fn check_pdf(bytes: &[u8]) -> Result<String, Unusable> {
    if !contains(bytes, b"%%EOF") {
        return Err(Unusable::Damaged("begins like a PDF document but is cut off or damaged".to_owned()));
    }
    if contains(bytes, b"/Encrypt") {
        return Err(Unusable::Refused(
            "is an encrypted PDF document; save it without its password first".to_owned(),
        ));
    }
    match pages(bytes) {
        // Documents may keep their pages compressed.
        0 => Ok(String::new()),
        1 => Ok("1 page, ".to_owned()),
        count if count <= MAX_PAGES => Ok(format!("{count} pages, ")),
        count => Err(Unusable::Refused(format!(
            "is a PDF document of {count} pages, and at most {MAX_PAGES} can be shown; extract the pages that matter, or the text with `pdftotext`"
        ))),
    }
}

/// Counts the pages that are not in compressed parts.
fn pages(bytes: &[u8]) -> usize {
    let is_page = |at: usize| {
        let rest = bytes.get(at + b"/Type".len()..).unwrap_or_default().trim_ascii_start();
        let after = rest.strip_prefix(b"/Page").and_then(|after| after.first());
        after.is_some_and(|next| !next.is_ascii_alphanumeric())
    };
    positions(bytes, b"/Type").filter(|at| is_page(*at)).count()
}

/// The start of frame is found by going from marker to marker.
fn jpeg_dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = match bytes.get(at..at + 2)? {
            [0xff, 0xff] => {
                at += 1;
                continue;
            }
            [0xff, marker] => *marker,
            _ => return None,
        };
        let length = big_endian(bytes.get(at + 2..at + 4)?) as usize;
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let height = big_endian(bytes.get(at + 5..at + 7)?);
            return Some((big_endian(bytes.get(at + 7..at + 9)?), height));
        }
        at += 2 + length.max(2);
    }
}

fn webp_dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little_endian(bytes.get(24..27)?) + 1, little_endian(bytes.get(27..30)?) + 1)),
        b"VP8L" => {
            let bits = little_endian(bytes.get(21..25)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => {
            let side = |bytes| little_endian(bytes) & 0x3fff;
            Some((side(bytes.get(26..28)?), side(bytes.get(28..30)?)))
        }
        _ => None,
    }
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    // What ends a file is near its end.
    bytes.windows(wanted.len()).rev().any(|window| window == wanted)
}

fn positions<'a>(bytes: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(wanted.len()).enumerate().filter(move |(_, window)| *window == wanted).map(|(at, _)| at)
}

/// `812 bytes`, `12 KB`, `3.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use expect_test::expect;

    use super::*;

    /// Just what is looked at.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x02\0\0\0crc-\0\0\0\0IENDcrc-");
        bytes
    }

    fn jpeg() -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe0\0\x04JF\xff\xff\xc4\0\x03x".to_vec();
        bytes.extend(b"\xff\xc2\0\x0b\x08\x01\x00\x02\x00\x01\0\0\0rest\xff\xd9");
        bytes
    }

    fn webp(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut bytes = b"RIFF".to_vec();
        bytes.extend((body.len() as u32 + 12).to_le_bytes());
        bytes.extend(b"WEBP");
        bytes.extend(kind);
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    pub(crate) fn pdf(pages: usize) -> Vec<u8> {
        format!(
            "%PDF-1.4\n1 0 obj <</Type /Pages>>\n{}trailer\n%%EOF\n",
            "2 0 obj <</Type/Page /Parent 1 0 R>>\n".repeat(pages)
        )
        .into_bytes()
    }

    fn words(bytes: &[u8]) -> String {
        let Some(media) = Media::of(bytes) else { return "no media".to_owned() };
        match media.show(bytes) {
            Ok(shown) => shown.words,
            Err(Unusable::Damaged(words)) => format!("damaged: {words}"),
            Err(Unusable::Refused(words)) => format!("refused: {words}"),
        }
    }

    #[test]
    fn images_are_known_by_their_first_bytes_and_measured() {
        let samples = [
            png(640, 480),
            jpeg(),
            b"GIF89a\x10\0\x08\0 some frames;".to_vec(),
            webp(b"VP8X", b"\0\0\0\0\x7f\x02\0\xdf\x01\0"),
            webp(b"VP8L", b"\x2f\x0f\xc0\x01\0"),
            webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x10\0\x08\0"),
            pdf(1),
            pdf(100),
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
            Vec::new(),
        ];
        let words: Vec<String> = samples.iter().map(|sample| words(sample)).collect();
        expect![[r#"
            PNG image, 640 × 480 pixels, 45 bytes
            JPEG image, 512 × 256 pixels, 33 bytes
            GIF image, 16 × 8 pixels, 23 bytes
            WebP image, 640 × 480 pixels, 30 bytes
            WebP image, 16 × 8 pixels, 25 bytes
            WebP image, 16 × 8 pixels, 30 bytes
            PDF document, 1 page, 85 bytes
            PDF document, 100 pages, 4 KB
            no media
            no media"#]]
        .assert_eq(&words.join("\n"));
    }

    #[test]
    fn a_block_is_in_the_shape_of_the_api() {
        expect![[r#"{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlhAQABADs="}}"#]]
            .assert_eq(&serde_json::to_string(&Media::Gif.show(b"GIF89a\x01\0\x01\0;").unwrap().block).unwrap());
        expect![[r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xCiUlRU9G"}}"#]]
            .assert_eq(&serde_json::to_string(&Media::Pdf.show(b"%PDF-1\n%%EOF").unwrap().block).unwrap());
    }

    #[test]
    fn what_a_provider_would_refuse_is_refused_here() {
        assert_eq!(words(&png(640, 480)[..20]), "damaged: begins like a PNG image but is cut off or damaged");
        assert_eq!(words(&png(0, 480)), "damaged: begins like a PNG image but is cut off or damaged");
        assert_eq!(words(&jpeg()[..30]), "damaged: begins like a JPEG image but is cut off or damaged");
        assert_eq!(
            words(b"GIF89a\x10\0\x08\0 cut"),
            "damaged: begins like a GIF image but is cut off or damaged"
        );
        assert_eq!(
            words(&webp(b"VP8X", b"\0\0\0\0\x7f\x02\0\xdf\x01\0")[..29]),
            "damaged: begins like a WebP image but is cut off or damaged"
        );
        expect!["refused: is a PNG image of 8001 × 10 pixels, and at most 8000 each way can be shown; make a smaller copy of it"]
            .assert_eq(&words(&png(8_001, 10)));
        let mut large = png(10, 10);
        large.resize(MAX_IMAGE + 1, 0);
        expect![
            "refused: is a PNG image of 3.9 MB, and at most 3.9 MB can be shown; make a smaller copy of it"
        ]
        .assert_eq(&words(&large));
    }

    #[test]
    fn an_image_in_base64_must_be_what_it_is_said_to_be() {
        let data = base64::encode(&png(3, 3));
        let lines = format!("{}\n{}", &data[..8], data[8..].trim_end_matches('='));
        assert_eq!(image_block("image/png", &lines), image_block("image/png", &data));
        assert!(matches!(image_block("image/png", &data), Ok(Block::Image { .. })));
        let refused = |media_type, data: &str| image_block(media_type, data).unwrap_err();
        assert_eq!(refused("image/png", ""), "the image is empty");
        assert_eq!(refused("image/png", "&&"), "the image's data is not base64");
        assert_eq!(refused("image/png", "AAAA"), "the image is said to be image/png but is none");
        assert_eq!(refused("image/gif", &data), "the image is said to be image/gif but is a PNG image");
        assert_eq!(
            refused("image/png", &data[..24]),
            "the image begins like a PNG image but is cut off or damaged"
        );
    }

    #[test]
    fn documents_are_bounded_in_pages() {
        expect!["refused: is a PDF document of 101 pages, and at most 100 can be shown; extract the pages that matter, or the text with `pdftotext`"]
            .assert_eq(&words(&pdf(101)));
        expect!["refused: is an encrypted PDF document; save it without its password first"]
            .assert_eq(&words(b"%PDF-1.4 /Encrypt 5 0 R %%EOF"));
        expect!["damaged: begins like a PDF document but is cut off or damaged"]
            .assert_eq(&words(b"%PDF-1.4 and then nothing"));
    }

    #[test]
    fn no_bytes_panic() {
        for whole in [png(3, 3), jpeg(), pdf(2), webp(b"VP8X", &[0; 10]), webp(b"VP8L", &[0; 10])] {
            for end in 0..whole.len() {
                let cut = &whole[..end];
                if let Some(media) = Media::of(cut) {
                    drop(media.show(cut));
                }
            }
        }
        // Markers of no length must not stop the search for the next.
        assert_eq!(jpeg_dimensions(&[0xff; 1000]), None);
        assert_eq!(jpeg_dimensions(&b"\xff\xd8\xff\xe0\0\0".repeat(100)), None);
    }
}
