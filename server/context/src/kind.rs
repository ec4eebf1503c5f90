//! What a conversation is made of, kind by kind: a tokenizer cuts code, prose, JSON and CJK texts into pieces
//! of different lengths. Found out by a cheap look; what the kinds weigh, [`crate::calibration`] learns.

use std::{io, iter::Sum, ops::AddAssign};

use conversation::{Block, Body, Message, ResultContent};
use serde::Serialize;
use serde_json::Value;

pub(crate) const BYTES_PER_TOKEN: u64 = 4;
/// Braces, quotes and short keys make JSON denser.
pub(crate) const JSON_BYTES_PER_TOKEN: u64 = 2;
pub(crate) const IMAGE_OR_DOCUMENT: u64 = 2_000;
/// Only this much is looked at in one place, and of a large text in three places: begin, middle and end.
const SAMPLE: usize = 2 * 1024;
const SAMPLES: usize = 3;
/// Strings from here on weigh more than the JSON around them, and are taken for what they are themselves.
const LONG_STRING: usize = 200;

/// Estimates in tokens as they are before anything was learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Composition {
    pub code: f64,
    pub prose: f64,
    pub json: f64,
    /// Chinese, Japanese and Korean.
    pub cjk: f64,
    /// Images and documents: nothing is learnt about them.
    pub fixed: u64,
}

impl Composition {
    pub fn of_text(text: &str) -> Self {
        let samples = samples(text);
        let seen: usize = samples.iter().map(|sample| sample.len()).sum();
        let scale = text.len() as f64 / seen.max(1) as f64;
        samples.into_iter().map(|sample| Look::at(sample).composition(scale)).sum()
    }

    pub fn of_json(value: &impl Serialize) -> Self {
        // A value that cannot be written is not sent either.
        serde_json::to_value(value).map(|value| Self::of_value(&value)).unwrap_or_default()
    }

    pub fn of_blocks(blocks: &[Block]) -> Self {
        blocks.iter().map(Self::of_block).sum()
    }

    pub fn of_block(block: &Block) -> Self {
        match block {
            Block::Text { text } | Block::Thinking { thinking: text, .. } => Self::of_text(text),
            Block::RedactedThinking { data } => Self::of_text(data),
            Block::ToolUse { name, input, .. } => {
                [Self::of_text(name), Self::of_value(input)].into_iter().sum()
            }
            Block::ToolResult { content: ResultContent::Text(text), .. } => Self::of_text(text),
            Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => Self::of_blocks(blocks),
            Block::Image { .. } | Block::Document { .. } => {
                Self { fixed: IMAGE_OR_DOCUMENT, ..Self::default() }
            }
            Block::Unknown(value) => Self::of_value(value),
        }
    }

    /// Of what the model sees of the message.
    pub fn of_message(message: &Message) -> Self {
        match &message.body {
            Body::User { content } | Body::Assistant { content, .. } => Self::of_blocks(content),
            Body::Attachment(attachment) => Self::of_text(&attachment.text),
            Body::System { .. } => Self::default(),
        }
    }

    /// A file that is written is the code that it is, not JSON.
    fn of_value(value: &Value) -> Self {
        let mut texts = Self::default();
        let bytes = json_bytes(value, &mut texts);
        texts.json += bytes as f64 / JSON_BYTES_PER_TOKEN as f64;
        texts
    }

    pub(crate) fn kinds(&self) -> [f64; 4] {
        [self.code, self.prose, self.json, self.cjk]
    }
}

impl AddAssign for Composition {
    fn add_assign(&mut self, other: Self) {
        self.code += other.code;
        self.prose += other.prose;
        self.json += other.json;
        self.cjk += other.cjk;
        self.fixed += other.fixed;
    }
}

impl Sum for Composition {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let mut sum = Self::default();
        for part in parts {
            sum += part;
        }
        sum
    }
}

fn samples(text: &str) -> Vec<&str> {
    let piece = |from: usize, to: usize| {
        text.get(text.floor_char_boundary(from)..text.floor_char_boundary(to)).unwrap_or_default()
    };
    if text.len() <= SAMPLE * SAMPLES {
        return (0..text.len()).step_by(SAMPLE).map(|from| piece(from, from + SAMPLE)).collect();
    }
    let middle = text.len() / 2;
    vec![piece(0, SAMPLE), piece(middle, middle + SAMPLE), piece(text.len() - SAMPLE, text.len())]
}

/// What stands out in a sample.
#[derive(Default)]
struct Look {
    bytes: usize,
    cjk_bytes: usize,
    /// Ends of quoted keys: `":`.
    keys: usize,
    /// Signs that are rare between words.
    signs: usize,
    lines: usize,
    indented: usize,
}

impl Look {
    fn at(sample: &str) -> Self {
        let mut look = Self { bytes: sample.len(), ..Self::default() };
        let mut previous = '\n';
        for char in sample.chars() {
            match char {
                ':' if previous == '"' => look.keys += 1,
                ' ' | '\t' if previous == '\n' => look.indented += 1,
                '\n' => look.lines += 1,
                '{' | '}' | '(' | ')' | '[' | ']' | '<' | '>' | ';' | '=' | '_' | '&' | '|' | '/' | '\\'
                | '$' | '+' | '"' => look.signs += 1,
                _ if is_cjk(char) => look.cjk_bytes += char.len_utf8(),
                _ => {}
            }
            previous = char;
        }
        look
    }

    /// Each byte of the sample stands for `scale` bytes.
    fn composition(&self, scale: f64) -> Composition {
        let tokens = |bytes: usize, per_token: u64| bytes as f64 * scale / per_token as f64;
        let cjk = tokens(self.cjk_bytes, BYTES_PER_TOKEN);
        let other_bytes = self.bytes - self.cjk_bytes;
        let other = tokens(other_bytes, BYTES_PER_TOKEN);
        if self.keys * 100 > other_bytes {
            Composition { cjk, json: tokens(other_bytes, JSON_BYTES_PER_TOKEN), ..Composition::default() }
        } else if self.is_code(other_bytes) {
            Composition { cjk, code: other, ..Composition::default() }
        } else {
            Composition { cjk, prose: other, ..Composition::default() }
        }
    }

    /// Lists in prose are indented too, and its examples have signs.
    fn is_code(&self, bytes: usize) -> bool {
        self.signs * 18 > bytes || self.signs * 36 > bytes && self.indented * 3 > self.lines
    }
}

fn is_cjk(char: char) -> bool {
    matches!(u32::from(char),
        0x1100..=0x11FF | 0x2E80..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xF900..=0xFAFF
        | 0xFE30..=0xFE4F | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF)
}

/// The size of the value written out, without its long strings, which are added to `texts`.
fn json_bytes(value: &Value, texts: &mut Composition) -> u64 {
    const QUOTES: u64 = 2;
    const BRACKETS: u64 = 2;
    match value {
        Value::String(text) if text.len() >= LONG_STRING => {
            *texts += Composition::of_text(text);
            QUOTES
        }
        Value::String(text) => text.len() as u64 + QUOTES,
        Value::Array(values) => {
            let inner: u64 = values.iter().map(|value| json_bytes(value, texts) + 1).sum();
            inner.saturating_sub(1) + BRACKETS
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| key.len() as u64 + QUOTES + 2 + json_bytes(value, texts);
            fields.iter().map(field).sum::<u64>().saturating_sub(1) + BRACKETS
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => written_bytes(value),
    }
}

/// The size of the value as it would be written out.
pub(crate) fn written_bytes(value: &impl Serialize) -> u64 {
    let mut written = ByteCount(0);
    // Counting cannot fail; a value that cannot be written is not sent either.
    match serde_json::to_writer(&mut written, value) {
        Ok(()) | Err(_) => written.0,
    }
}

struct ByteCount(u64);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
