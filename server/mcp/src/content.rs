//! What a call gave, as texts, images and documents of a bounded size.
//!
//! What a model's provider would refuse must not get into a conversation: it would be refused again with every request
//! after it. So images are what they say they are, or words.

use serde_json::Value;

use crate::text;

const LONGEST_TEXT: usize = 100_000;
/// Of the base64, as providers count it.
const LARGEST_IMAGE: usize = 5 * 1024 * 1024;
const LARGEST_DOCUMENT: usize = 16 * 1024 * 1024;
const MOST_IMAGES: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// base64; PNG, JPEG, GIF or WebP.
    Image {
        media_type: String,
        data: String,
    },
    /// base64; PDF.
    Document {
        media_type: String,
        data: String,
    },
}

/// A result as the server sent it: its content, or the words of an error.
pub(crate) fn of_result(result: &Value) -> Result<Vec<Content>, String> {
    let mut content: Vec<Content> = Vec::new();
    for item in result.get("content").and_then(Value::as_array).into_iter().flatten() {
        content.push(of_item(item));
    }
    // Servers repeat it as text; only one that does not has to be read.
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if let Some(structured) =
        structured.filter(|_| !content.iter().any(|one| matches!(one, Content::Text(_))))
    {
        content.push(Content::Text(structured.to_string()));
    }
    bound(&mut content);
    if result.get("isError") == Some(&Value::Bool(true)) {
        return Err(words(&content));
    }
    if content.is_empty() {
        content.push(Content::Text("(no output)".to_owned()));
    }
    Ok(content)
}

fn of_item(item: &Value) -> Content {
    let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        "text" => Content::Text(field("text").to_owned()),
        "image" => image(field("data"), "an image"),
        "audio" => {
            Content::Text(format!("({} of audio, which cannot be heard here)", size(field("data").len())))
        }
        "resource" => resource(item.get("resource").unwrap_or(&Value::Null)),
        "resource_link" => {
            let name = text::one_line(field("name"), 200);
            let about = text::one_line(field("description"), 500);
            let colon = if about.is_empty() { "" } else { ": " };
            Content::Text(format!("[{name}]({}){colon}{about}", text::one_line(field("uri"), 2_000)))
        }
        other => Content::Text(format!(
            "(content of the kind {:?}, which is not known here)",
            text::one_line(other, 40)
        )),
    }
}

fn resource(resource: &Value) -> Content {
    let field = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = text::one_line(field("uri").unwrap_or("no address"), 2_000);
    if let Some(text) = field("text") {
        return Content::Text(format!("[{uri}]\n{text}"));
    }
    let blob = field("blob").unwrap_or_default();
    let kind = field("mimeType").unwrap_or("no known type");
    if kind.starts_with("image/") {
        return image(blob, &format!("the image {uri}"));
    }
    if kind == "application/pdf"
        && blob.starts_with("JVBERi")
        && is_base64(blob)
        && blob.len() <= LARGEST_DOCUMENT
    {
        return Content::Document { media_type: kind.to_owned(), data: blob.to_owned() };
    }
    let size = size(blob.len());
    Content::Text(format!("({size} of {}, which cannot be shown: {uri})", text::one_line(kind, 100)))
}

/// The type is taken from the data: a server's word for it may be wrong.
fn image(data: &str, what: &str) -> Content {
    let kinds = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    let kind = kinds.iter().find(|(beginning, _)| data.starts_with(beginning)).map(|(_, kind)| *kind);
    match kind {
        Some(media_type) if is_base64(data) && data.len() <= LARGEST_IMAGE => {
            Content::Image { media_type: media_type.to_owned(), data: data.to_owned() }
        }
        Some(_) if data.len() > LARGEST_IMAGE => {
            Content::Text(format!("({what} of {}, too large to be shown)", size(data.len())))
        }
        _ => Content::Text(format!("({what} in a format that cannot be shown)")),
    }
}

fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && !body.is_empty()
        && body.bytes().all(allowed)
}

/// Of what is encoded in so many characters of base64.
fn size(encoded: usize) -> String {
    match encoded / 4 * 3 {
        bytes if bytes < 10 * 1024 => format!("{bytes} bytes"),
        bytes if bytes < 10 * 1024 * 1024 => format!("{} KB", bytes / 1024),
        bytes => format!("{} MB", bytes / 1024 / 1024),
    }
}

/// Cuts the texts where they are too long together, and leaves out images beyond a number.
fn bound(content: &mut Vec<Content>) {
    let mut left = LONGEST_TEXT;
    let mut images = 0;
    let mut missing = 0;
    content.retain_mut(|one| match one {
        Content::Text(text) => {
            let length = text.chars().count();
            if length > left {
                *text = text.chars().take(left).collect();
            }
            let kept = length.min(left);
            missing += length - kept;
            left -= kept;
            !text.trim().is_empty()
        }
        Content::Image { .. } | Content::Document { .. } => {
            images += 1;
            images <= MOST_IMAGES
        }
    });
    if missing > 0 {
        content.push(Content::Text(format!(
            "[{missing} more characters of output are left out; ask the tool for less at a time]"
        )));
    }
    if images > MOST_IMAGES {
        content.push(Content::Text(format!("[{} more images are left out]", images - MOST_IMAGES)));
    }
}

fn words(content: &[Content]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|one| match one {
            Content::Text(text) => Some(text.as_str()),
            Content::Image { .. } | Content::Document { .. } => None,
        })
        .collect();
    if texts.is_empty() { "the tool failed and did not say why".to_owned() } else { texts.join("\n") }
}

#[cfg(test)]
mod tests;
