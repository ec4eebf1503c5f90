//! What of a transcript can be searched: "only text a person or model said", and what tools answered, shortened.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};
use uuid::Uuid;

use super::Speaker;
use crate::{
    message::{Block, Body, Message, ResultContent},
    record::{DecodeError, Record, decode, repaired_json},
};

/// Of each result of a tool. What it was about is in its beginning; what it lists is in the files.
const LONGEST_RESULT: usize = 8 << 10;
/// Of one message. A log that somebody pasted is found by its beginning.
const LONGEST_TEXT: usize = 256 << 10;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) uuid: Uuid,
    pub(super) parent: Option<Uuid>,
    pub(super) timestamp: Timestamp,
    pub(super) speaker: Speaker,
    pub(super) text: String,
}

/// The line is no record; there may be some inside of it.
#[derive(Debug, PartialEq)]
pub(super) struct Broken;

/// `None` for records in which nobody says anything.
pub(super) fn said(line: &[u8]) -> Result<Option<Said>, Broken> {
    match serde_json::from_slice::<UsualLine>(line) {
        Ok(line) => Ok(line.said()),
        Err(_) => unusual(line),
    }
}

/// The usual lines, read for their text alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsualLine {
    #[serde(rename = "type")]
    kind: Kind,
    uuid: Option<Uuid>,
    parent_uuid: Option<Uuid>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(default)]
    is_api_error_message: bool,
    timestamp: Option<Timestamp>,
    message: Option<UsualMessage>,
    attachment: Option<UsualAttachment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    User,
    Assistant,
    Attachment,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct UsualMessage {
    content: Content,
}

#[derive(Deserialize)]
struct UsualAttachment {
    #[serde(rename = "type")]
    kind: Option<String>,
    prompt: Option<String>,
}

enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type", default)]
    kind: PartKind,
    text: Option<String>,
    content: Option<Content>,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum PartKind {
    Text,
    ToolResult,
    #[default]
    #[serde(other)]
    Other,
}

impl UsualLine {
    fn said(self) -> Option<Said> {
        if self.is_sidechain || self.is_meta || self.is_compact_summary || self.is_api_error_message {
            return None;
        }
        let mut text = Text::default();
        match (self.kind, self.message, self.attachment) {
            (Kind::User, Some(message), _) => text.take(message.content, Speaker::User),
            (Kind::Assistant, Some(message), _) => text.take(message.content, Speaker::Assistant),
            // What the user typed while a turn ran.
            (Kind::Attachment, _, Some(attachment))
                if attachment.kind.as_deref() == Some("queued_command") =>
            {
                text.say(Speaker::User, &attachment.prompt?, LONGEST_TEXT);
            }
            _ => return None,
        }
        text.finish(self.uuid?, self.parent_uuid, self.timestamp.unwrap_or(Timestamp::UNIX_EPOCH))
    }
}

/// The long way, through the record as a resume reads it.
fn unusual(line: &[u8]) -> Result<Option<Said>, Broken> {
    let record = match decode(line).or_else(|_| decode(repaired_json(line).as_bytes())) {
        Ok(record) => record,
        Err(DecodeError::NoContent) => return Ok(None),
        Err(DecodeError::Json(_)) => return Err(Broken),
    };
    let Record::Message(message) = record else { return Ok(None) };
    let Message { uuid, parent, timestamp, flags, body } = &*message;
    if uuid.is_nil() || flags.meta || flags.sidechain || flags.compact_summary {
        return Ok(None);
    }
    let mut text = Text::default();
    match body {
        Body::User { content } => content.iter().for_each(|block| text.block(block, Speaker::User)),
        Body::Assistant { content, .. } => {
            content.iter().for_each(|block| text.block(block, Speaker::Assistant));
        }
        Body::Attachment(attachment) if attachment.kind == "queued_command" => {
            text.say(Speaker::User, &attachment.text, LONGEST_TEXT);
        }
        Body::System { .. } | Body::Attachment(_) => {}
    }
    Ok(text.finish(*uuid, *parent, *timestamp))
}

#[derive(Default)]
struct Text {
    text: String,
    speaker: Option<Speaker>,
}

impl Text {
    fn take(&mut self, content: Content, speaker: Speaker) {
        match content {
            Content::Text(text) => self.say(speaker, &text, LONGEST_TEXT),
            Content::Parts(parts) => parts.into_iter().for_each(|part| match part.kind {
                PartKind::Text => self.say(speaker, &part.text.unwrap_or_default(), LONGEST_TEXT),
                PartKind::ToolResult => match part.content {
                    Some(Content::Text(text)) => self.say(Speaker::Tool, &text, LONGEST_RESULT),
                    Some(Content::Parts(parts)) => {
                        let texts = parts.into_iter().filter(|part| part.kind == PartKind::Text);
                        texts
                            .filter_map(|part| part.text)
                            .for_each(|text| self.say(Speaker::Tool, &text, LONGEST_RESULT));
                    }
                    None => {}
                },
                PartKind::Other => {}
            }),
        }
    }

    fn block(&mut self, block: &Block, speaker: Speaker) {
        match block {
            Block::Text { text } => self.say(speaker, text, LONGEST_TEXT),
            Block::ToolResult { content: ResultContent::Text(text), .. } => {
                self.say(Speaker::Tool, text, LONGEST_RESULT);
            }
            Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
                for block in blocks {
                    if let Block::Text { text } = block {
                        self.say(Speaker::Tool, text, LONGEST_RESULT);
                    }
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, speaker: Speaker, text: &str, limit: usize) {
        // Programs put reminders for the model into the user's messages.
        if text.trim().is_empty() || text.trim_start().starts_with("<system-reminder>") {
            return;
        }
        let room = LONGEST_TEXT.saturating_sub(self.text.len()).min(limit);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        // Who typed something besides results speaks for himself.
        if self.speaker.is_none_or(|known| known == Speaker::Tool) {
            self.speaker = Some(speaker);
        }
    }

    fn finish(self, uuid: Uuid, parent: Option<Uuid>, timestamp: Timestamp) -> Option<Said> {
        let speaker = self.speaker?;
        Some(Said { uuid, parent, timestamp, speaker, text: self.text })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Content;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("text or parts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut content = Vec::new();
                while let Some(part) = parts.next_element()? {
                    content.push(part);
                }
                Ok(Content::Parts(content))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::uuid;

    fn check(line: serde_json::Value, expected: Option<(Speaker, &str)>) {
        let mut line = line;
        line["uuid"] = json!(uuid(1));
        line["timestamp"] = json!("2025-01-01T00:00:00Z");
        let text = line.to_string();
        let found = said(text.as_bytes()).unwrap();
        assert_eq!(found.as_ref().map(|said| (said.speaker, said.text.as_str())), expected, "{text}");
        // Both ways find the same.
        assert_eq!(unusual(text.as_bytes()), Ok(found), "{text}");
    }

    #[test]
    fn what_people_models_and_tools_say_is_taken() {
        check(json!({ "type": "user", "message": { "content": "hi" } }), Some((Speaker::User, "hi")));
        let parts = json!([{ "type": "thinking", "thinking": "x", "signature": "" }, { "type": "text", "text": "a" },
            { "type": "tool_use", "id": "t", "name": "n", "input": { "text": "x" } }, { "type": "text", "text": "b" }]);
        let line = json!({ "type": "assistant", "message": { "model": "m", "content": parts } });
        check(line, Some((Speaker::Assistant, "a\nb")));
        let parts = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "r" },
            { "type": "tool_result", "tool_use_id": "u", "content": [{ "type": "text", "text": "s" }, { "type": "image", "source": {} }] }]);
        check(json!({ "type": "user", "message": { "content": parts } }), Some((Speaker::Tool, "r\ns")));
        let prompt = json!({ "type": "queued_command", "prompt": "and?" });
        check(json!({ "type": "attachment", "attachment": prompt }), Some((Speaker::User, "and?")));
    }

    #[test]
    fn what_programs_say_is_not() {
        for line in [
            json!({ "type": "user", "isMeta": true, "message": { "content": "x" } }),
            json!({ "type": "user", "isSidechain": true, "message": { "content": "x" } }),
            json!({ "type": "user", "isCompactSummary": true, "message": { "content": "x" } }),
            json!({ "type": "user", "message": { "content": [{ "type": "text", "text": "<system-reminder>x" }] } }),
            json!({ "type": "system", "content": "x" }),
            json!({ "type": "reverie-prefix", "model": "m", "system": "x", "tools": [], "context": [] }),
            json!({ "type": "attachment", "attachment": { "type": "mention", "text": "x" } }),
        ] {
            check(line, None);
        }
    }

    #[test]
    fn long_results_are_shortened_and_long_texts_bounded() {
        let parts =
            json!([{ "type": "tool_result", "tool_use_id": "t", "content": "ä".repeat(LONGEST_RESULT) }]);
        let line = json!({ "type": "user", "uuid": uuid(1), "message": { "content": parts } });
        assert_eq!(said(line.to_string().as_bytes()).unwrap().unwrap().text.len(), LONGEST_RESULT);
        let line = json!({ "type": "user", "uuid": uuid(1), "message": { "content": "x".repeat(1 << 20) } });
        assert_eq!(said(line.to_string().as_bytes()).unwrap().unwrap().text.len(), LONGEST_TEXT);
    }

    #[test]
    fn broken_text_is_still_found() {
        let line = br#"{"type":"user","uuid":"11110000-0000-4000-8000-000000000001","message":{"content":"a \ud83d b"}}"#;
        assert_eq!(said(line).unwrap().unwrap().text, "a \u{fffd} b");
        assert_eq!(said(b"{\"type\":\"user\""), Err(Broken));
    }
}
