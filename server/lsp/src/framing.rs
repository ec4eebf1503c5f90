//! Cuts the input into frames, whatever the input is.
//!
//! Owns headers, sizes and finding the next frame after a bad one; what a frame's body says is `message`'s concern.
//! A valid JSON text never contains a raw line `Content-Length: 12`, since line breaks inside its strings are escaped.
//! So such a line is always the start of a frame, and the reader finds its way back to it after any lie about a length.

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The largest body that is read into memory.
pub(crate) const MAX_BODY: u64 = 64 * 1024 * 1024;
/// How much is skipped in search of the next frame before the link is given up.
const MAX_SKIPPED: u64 = 1024 * 1024 * 1024;
const MAX_HEADERS: usize = 8 * 1024;
const READ_SIZE: usize = 64 * 1024;
const KEPT_ALLOCATION: usize = 1024 * 1024;
const CONTENT_LENGTH: &[u8] = b"content-length:";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Body(BytesMut),
    /// Not a frame, and why; reading can go on.
    Bad(String),
    /// The input ended, or nothing usable came for too long.
    End,
}

pub(crate) struct FrameReader<I> {
    input: I,
    buffer: BytesMut,
    state: State,
    /// How much of an incomplete body was already searched for the start of another frame.
    scanned: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Headers,
    Body {
        length: usize,
    },
    /// Drops everything up to the next frame, or up to the end of a body whose length is known.
    Skipping {
        body_left: Option<u64>,
        skipped: u64,
    },
}

impl<I: AsyncRead + Unpin> FrameReader<I> {
    pub(crate) fn new(input: I) -> Self {
        Self { input, buffer: BytesMut::new(), state: State::Headers, scanned: 0 }
    }

    pub(crate) async fn next(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.step() {
                return frame;
            }
            self.buffer.reserve(READ_SIZE);
            match self.input.read_buf(&mut self.buffer).await {
                Ok(0) => {
                    if !self.buffer.is_empty() {
                        tracing::warn!(bytes = self.buffer.len(), "the input ended inside a frame");
                    }
                    return Frame::End;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the input failed");
                    return Frame::End;
                }
            }
        }
    }

    /// Takes back a body that turned out not to be JSON: its length may have been a lie, so that it swallowed the next
    /// frame or left a part of itself behind.
    pub(crate) fn reject(&mut self, mut body: BytesMut) {
        body.unsplit(std::mem::take(&mut self.buffer));
        self.buffer = body;
        self.state = State::Skipping { body_left: None, skipped: 0 };
    }

    /// What the buffered bytes amount to; `None` if more are needed.
    fn step(&mut self) -> Option<Frame> {
        loop {
            let buffered = self.buffer.len();
            let state = self.state;
            let frame = match state {
                State::Headers => self.headers(),
                State::Body { length } => self.body(length),
                State::Skipping { body_left, skipped } => self.skip(body_left, skipped),
            };
            let advanced = self.state != state || self.buffer.len() != buffered;
            if frame.is_some() || !advanced {
                return frame;
            }
        }
    }

    fn headers(&mut self) -> Option<Frame> {
        // Blank lines between frames mean nothing.
        let blank = self.buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.buffer.advance(blank);
        let Some(end) = headers_end(&self.buffer) else {
            if self.buffer.len() <= MAX_HEADERS {
                return None;
            }
            return Some(self.lost("the headers do not end"));
        };
        let block = self.buffer.get(..end).unwrap_or_default();
        match content_length(block) {
            Ok(length) if length <= MAX_BODY => {
                self.buffer.advance(end);
                self.state = State::Body { length: usize::try_from(length).unwrap_or(usize::MAX) };
                self.scanned = 0;
                None
            }
            Ok(length) => {
                self.buffer.advance(end);
                self.state = State::Skipping { body_left: Some(length), skipped: 0 };
                Some(Frame::Bad(format!("a message of {length} bytes exceeds the limit of {MAX_BODY}")))
            }
            Err(problem) => {
                // Bytes before a good header spoil only themselves; without one, the length of the body is anyone's guess.
                match block.get(1..).and_then(|rest| find_frame_start(rest, 0)) {
                    Some(start) => self.buffer.advance(start + 1),
                    None => {
                        self.buffer.advance(end);
                        self.state = State::Skipping { body_left: None, skipped: 0 };
                    }
                }
                Some(Frame::Bad(problem))
            }
        }
    }

    fn body(&mut self, length: usize) -> Option<Frame> {
        if self.buffer.len() >= length {
            self.state = State::Headers;
            let body = self.buffer.split_to(length);
            if length > KEPT_ALLOCATION {
                // The rest shares the allocation of the body and would keep it for good.
                self.buffer = BytesMut::from(self.buffer.as_ref());
            }
            return Some(Frame::Body(body));
        }
        let start = find_frame_start(&self.buffer, self.scanned);
        self.scanned = self.buffer.len();
        let start = start?;
        self.buffer.advance(start);
        self.state = State::Headers;
        Some(Frame::Bad(format!("a message of {length} bytes ended after {start}")))
    }

    fn skip(&mut self, body_left: Option<u64>, skipped: u64) -> Option<Frame> {
        let within = body_left.map_or(self.buffer.len(), |left| {
            usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len())
        });
        let region = self.buffer.get(..within).unwrap_or_default();
        if let Some(start) = find_frame_start(region, 0) {
            self.buffer.advance(start);
            self.state = State::Headers;
            return None;
        }
        if body_left.is_some_and(|left| u64::try_from(within).is_ok_and(|within| within == left)) {
            self.buffer.advance(within);
            self.state = State::Headers;
            return None;
        }
        // The last line may be the beginning of a header, unless it is too long for one.
        let line = region.iter().rev().take(MAX_HEADERS).position(|byte| *byte == b'\n');
        let kept = line.unwrap_or_else(|| region.len().min(64));
        let dropped = within.saturating_sub(kept);
        let dropped_bytes = u64::try_from(dropped).unwrap_or(u64::MAX);
        self.buffer.advance(dropped);
        let skipped = skipped.saturating_add(dropped_bytes);
        if skipped > MAX_SKIPPED {
            return Some(Frame::End);
        }
        let body_left = body_left.map(|left| left.saturating_sub(dropped_bytes));
        self.state = State::Skipping { body_left, skipped };
        None
    }

    fn lost(&mut self, problem: &str) -> Frame {
        self.state = State::Skipping { body_left: None, skipped: 0 };
        Frame::Bad(problem.to_owned())
    }
}

/// Where the body begins: after the first empty line.
fn headers_end(buffer: &[u8]) -> Option<usize> {
    let mut previous_was_line_end = false;
    for (index, byte) in buffer.iter().enumerate().take(MAX_HEADERS) {
        match byte {
            b'\n' if previous_was_line_end => return Some(index + 1),
            b'\n' => previous_was_line_end = true,
            b'\r' => {}
            _ => previous_was_line_end = false,
        }
    }
    None
}

/// Everything but the length is ignored: a body in another charset than UTF-8 fails as such.
fn content_length(block: &[u8]) -> Result<u64, String> {
    let mut length = None;
    for line in block.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.is_empty() {
            continue;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return Err(format!("`{}` is not a header", shown(line)));
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            let parsed = parse_length(value)
                .ok_or_else(|| format!("Content-Length `{}` is not a size", shown(value)))?;
            if length.is_some_and(|length| length != parsed) {
                return Err("two Content-Length headers disagree".to_owned());
            }
            length = Some(parsed);
        }
    }
    length.ok_or_else(|| "the headers lack a Content-Length".to_owned())
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The first place where a line ends in `Content-Length: <digits>`, for lines ending at or after `from`.
fn find_frame_start(bytes: &[u8], from: usize) -> Option<usize> {
    let mut offset = from;
    loop {
        let rest = bytes.get(offset..)?;
        let line_end = offset + rest.iter().position(|byte| *byte == b'\n')?;
        let line = bytes.get(line_end.saturating_sub(64)..line_end)?;
        if let Some(back) = length_header_at_end(line) {
            return Some(line_end - back);
        }
        offset = line_end + 1;
    }
}

/// How many bytes before the end of `line` a well-formed Content-Length header begins.
fn length_header_at_end(line: &[u8]) -> Option<usize> {
    let carriage_return = usize::from(line.last() == Some(&b'\r'));
    let text = line.get(..line.len() - carriage_return)?;
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.get(..text.len() - digits).filter(|_| digits > 0)?;
    let spaces = text.iter().rev().take_while(|byte| **byte == b' ').count();
    let text = text.get(..text.len() - spaces)?;
    let name = text.get(text.len().checked_sub(CONTENT_LENGTH.len())?..)?;
    name.eq_ignore_ascii_case(CONTENT_LENGTH)
        .then_some(CONTENT_LENGTH.len() + spaces + digits + carriage_return)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..40).unwrap_or(bytes)).into_owned()
}

#[cfg(test)]
mod tests;
