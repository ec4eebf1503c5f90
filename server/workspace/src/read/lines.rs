//! A run of lines out of a text or a file of any size.
//!
//! A large file is streamed: memory is bounded by what is asked for, a line of 100 MB included, and nothing after
//! the last line asked for is read.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::ReadError;
use crate::fingerprint::Fingerprint;
use crate::format;

/// Files up to this size are read whole, which also tells their hash and how many lines they have.
const MAX_FOR_TOTAL: u64 = 8 << 20;

const CHUNK: usize = 128 << 10;

/// A run of lines of a file or buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// `\n` line ends, no byte order mark. The last line has none only where the file's has none or it was cut.
    pub text: String,
    /// The number of the first line, from 1.
    pub first_line: usize,
    /// How many lines `text` holds, a cut one included.
    pub line_count: usize,
    /// How many lines the file has, where that was cheap to know.
    pub total_lines: Option<usize>,
    /// Whether `max_bytes` cut the text short.
    pub truncated: bool,
    /// Whether the file goes on after `text`.
    pub more: bool,
    pub fingerprint: Fingerprint,
}

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// From 1; 0 is taken as 1.
    pub(crate) first_line: usize,
    pub(crate) max_lines: usize,
    pub(crate) max_bytes: usize,
}

/// Lines of a text that is a view.
pub(crate) fn lines_of_text(view: &str, wanted: Wanted, fingerprint: Fingerprint) -> Lines {
    let first_line = wanted.first_line.max(1);
    let mut lines = view.split_inclusive('\n');
    let start: usize = lines.by_ref().take(first_line - 1).map(str::len).sum();
    let mut length = 0;
    let mut line_count = 0;
    let mut truncated = false;
    for line in lines.take(wanted.max_lines) {
        if length + line.len() > wanted.max_bytes {
            truncated = true;
            break;
        }
        length += line.len();
        line_count += 1;
    }
    let rest = view.get(start..).unwrap_or_default();
    if truncated && line_count == 0 {
        // Not even one line fits: a piece of it is better than nothing.
        length = rest.floor_char_boundary(wanted.max_bytes);
        line_count = usize::from(length > 0);
    }
    Lines {
        text: rest.get(..length).unwrap_or_default().to_owned(),
        first_line,
        line_count,
        total_lines: Some(view.split_inclusive('\n').count()),
        truncated,
        more: length < rest.len(),
        fingerprint,
    }
}

/// Lines of a file.
pub(crate) fn lines_of_file(path: &Path, wanted: Wanted) -> Result<Lines, ReadError> {
    let file = super::open(path)?;
    let metadata = file.metadata()?;
    if metadata.len() <= MAX_FOR_TOTAL {
        let file = super::decode(super::bytes(file, &metadata)?, &metadata)?;
        return Ok(lines_of_text(&file.view(), wanted, file.fingerprint.clone()));
    }
    stream(file, wanted, super::fingerprint_of(&metadata))
}

fn stream(mut file: File, wanted: Wanted, fingerprint: Fingerprint) -> Result<Lines, ReadError> {
    let mut buffer = vec![0; CHUNK];
    let mut stream = Stream::new(wanted);
    let mut first = true;
    let mut at_end = false;
    while !stream.done {
        let length = match file.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if length == 0 {
            at_end = true;
            break;
        }
        let mut chunk = buffer.get(..length).unwrap_or_default();
        if std::mem::take(&mut first) {
            format::refuse_binary(chunk)?;
            chunk = chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(chunk);
        }
        stream.feed(chunk);
    }
    stream.finish(at_end, fingerprint)
}

/// The state between two chunks.
struct Stream {
    wanted: Wanted,
    /// Line ends still to pass before the first wanted line.
    to_skip: usize,
    /// The wanted bytes so far, line ends unified; at most one more than wanted.
    taken: Vec<u8>,
    line_count: usize,
    /// Where in `taken` the last whole line ends.
    whole_lines: usize,
    /// The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    /// The bytes so far stop in the middle of a line.
    inside_line: bool,
    truncated: bool,
    more: bool,
    done: bool,
}

impl Stream {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            to_skip: wanted.first_line.saturating_sub(1),
            taken: Vec::new(),
            line_count: 0,
            whole_lines: 0,
            after_cr: false,
            inside_line: false,
            truncated: false,
            more: false,
            done: false,
        }
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        if let (true, [b'\n', rest @ ..]) = (self.after_cr, chunk) {
            chunk = rest;
        }
        if let Some(last) = chunk.last() {
            self.after_cr = *last == b'\r';
            self.inside_line = !matches!(last, b'\n' | b'\r');
        } else {
            self.after_cr = false;
        }
        let chunk = self.skip(chunk);
        self.take(chunk);
    }

    /// Passes lines before the wanted ones and returns what is left of the chunk.
    fn skip<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        if self.to_skip == 0 {
            return chunk;
        }
        // Counting is some twenty times faster than looking at each end, and enough for all chunks but the last.
        let ends = count_line_ends(chunk);
        if ends < self.to_skip {
            self.to_skip -= ends;
            return &[];
        }
        let mut rest = chunk;
        while self.to_skip > 0 {
            let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else { return &[] };
            let length = if rest.get(at..at + 2) == Some(b"\r\n") { 2 } else { 1 };
            rest = rest.get(at + length..).unwrap_or_default();
            self.to_skip -= 1;
        }
        rest
    }

    fn take(&mut self, chunk: &[u8]) {
        let mut previous = 0;
        for byte in chunk {
            let last = std::mem::replace(&mut previous, *byte);
            if last == b'\r' && *byte == b'\n' {
                continue;
            }
            if self.line_count == self.wanted.max_lines {
                self.more = true;
                self.done = true;
                return;
            }
            if self.taken.len() == self.wanted.max_bytes {
                self.truncated = true;
                self.more = true;
                self.done = true;
                return;
            }
            if matches!(byte, b'\n' | b'\r') {
                self.taken.push(b'\n');
                self.line_count += 1;
                self.whole_lines = self.taken.len();
            } else {
                self.taken.push(*byte);
            }
        }
    }

    fn finish(mut self, at_end: bool, fingerprint: Fingerprint) -> Result<Lines, ReadError> {
        let first_line = self.wanted.first_line.max(1);
        if self.truncated && self.whole_lines > 0 {
            self.taken.truncate(self.whole_lines);
        }
        let text = decode_part(self.taken, self.truncated)?;
        self.line_count += usize::from(!text.is_empty() && !text.ends_with('\n'));
        let total_lines = at_end.then(|| {
            let reached = self.line_count > 0;
            let skipped = first_line - 1 - self.to_skip;
            skipped + self.line_count + usize::from(!reached && self.inside_line)
        });
        Ok(Lines {
            text,
            first_line,
            line_count: self.line_count,
            total_lines,
            truncated: self.truncated,
            more: self.more,
            fingerprint,
        })
    }
}

/// Part of a file may be UTF-8 though the whole is not; it is only looked at, so that does no harm.
fn decode_part(bytes: Vec<u8>, cut: bool) -> Result<String, ReadError> {
    format::refuse_binary(&bytes)?;
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let only_cut = cut && error.utf8_error().error_len().is_none();
    let mut bytes = error.into_bytes();
    if only_cut {
        bytes.truncate(valid);
    } else {
        format::refuse_control_bytes(&bytes)?;
    }
    String::from_utf8(bytes).or_else(|error| Ok(format::latin1(error.as_bytes())))
}

fn count_line_ends(bytes: &[u8]) -> usize {
    let count = |wanted: u8| bytes.iter().filter(|byte| **byte == wanted).count();
    let returns = count(b'\r');
    let pairs = if returns == 0 { 0 } else { bytes.array_windows().filter(|pair| *pair == b"\r\n").count() };
    count(b'\n') + returns - pairs
}

/// The stream with chunks of chosen sizes, for tests.
#[cfg(test)]
pub(crate) fn stream_in_chunks(
    mut bytes: &[u8],
    mut sizes: impl Iterator<Item = usize>,
    wanted: Wanted,
    fingerprint: Fingerprint,
) -> Lines {
    let mut stream = Stream::new(wanted);
    while !stream.done && !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(sizes.next().unwrap_or(1).min(bytes.len()));
        stream.feed(chunk);
        bytes = rest;
    }
    let at_end = !stream.done;
    stream.finish(at_end, fingerprint).unwrap()
}
