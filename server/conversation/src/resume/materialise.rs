//! Places in the file to messages, on two threads when there is much to read.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use super::{Report, Wanted};
use crate::{
    message::{Block, Body, Message},
    record::{Record, decode, repaired_json},
    scan::Place,
};

const WINDOW: u64 = 1 << 20;
/// Fewer bytes are not worth a second thread.
const SHARE: u64 = 2 << 20;

/// In the order given; what cannot be read is left out and counted.
pub(super) fn materialise(
    path: &Path,
    wanted: &[Wanted],
    report: &mut Report,
) -> io::Result<Vec<Arc<Message>>> {
    let bytes: u64 = wanted.iter().map(|wanted| u64::from(wanted.place.length)).sum();
    if bytes < 2 * SHARE {
        return read(path, wanted, report);
    }
    let mut size = 0;
    let half = wanted.partition_point(|wanted| {
        size += u64::from(wanted.place.length);
        size < bytes / 2
    });
    let (older, newer) = wanted.split_at(half);
    let mut newer_report = Report::default();
    let (older, newer) = std::thread::scope(|scope| {
        let worker = scope.spawn(|| read(path, newer, &mut newer_report));
        let older = read(path, older, report);
        let stopped = || Err(io::Error::other("the reader of the transcript panicked"));
        (older, worker.join().unwrap_or_else(|_| stopped()))
    });
    report.unreadable += newer_report.unreadable;
    report.broken_text += newer_report.broken_text;
    report.silent_attachments += newer_report.silent_attachments;
    let mut messages = older?;
    messages.append(&mut newer?);
    Ok(messages)
}

fn read(path: &Path, wanted: &[Wanted], report: &mut Report) -> io::Result<Vec<Arc<Message>>> {
    let mut messages = Vec::with_capacity(wanted.len());
    if wanted.is_empty() {
        return Ok(messages);
    }
    let mut window = Window::open(path, WINDOW)?;
    for wanted in wanted {
        let line = window.bytes(wanted.place)?;
        let record = decode(line).or_else(|_| {
            let repaired = decode(repaired_json(line).as_bytes());
            report.broken_text += u64::from(repaired.is_ok());
            repaired
        });
        let Ok(Record::Message(mut message)) = record else {
            report.unreadable += 1;
            continue;
        };
        if let Body::Attachment(attachment) = &message.body
            && attachment.text.is_empty()
        {
            report.silent_attachments += 1;
        }
        let parent = wanted.parent.unwrap_or(message.parent);
        if (message.uuid, message.parent) != (wanted.uuid, parent) {
            let message = Arc::make_mut(&mut message);
            message.uuid = wanted.uuid;
            message.parent = parent;
        }
        messages.push(message);
    }
    Ok(messages)
}

/// A part of the file; reading places in ascending order costs one pass.
pub(super) struct Window {
    file: File,
    least: u64,
    start: u64,
    buffer: Vec<u8>,
}

impl Window {
    /// Reads `least` bytes at once: as many as are likely to be wanted.
    pub(super) fn open(path: &Path, least: u64) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, least, start: 0, buffer: Vec::new() })
    }

    pub(super) fn bytes(&mut self, place: Place) -> io::Result<&[u8]> {
        let length = place.length as usize;
        let start = place.offset.checked_sub(self.start).and_then(|start| usize::try_from(start).ok());
        let start = match start.filter(|start| self.buffer.get(*start..start + length).is_some()) {
            Some(start) => start,
            None => {
                if self.buffer.capacity() as u64 > 4 * WINDOW {
                    self.buffer = Vec::new();
                }
                self.buffer.clear();
                self.file.seek(SeekFrom::Start(place.offset))?;
                let wanted = self.least.max(u64::from(place.length));
                self.file.by_ref().take(wanted).read_to_end(&mut self.buffer)?;
                self.start = place.offset;
                0
            }
        };
        self.buffer.get(start..start + length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Whether a user message is what the user said, rather than the results of tools.
pub(super) fn is_prompt(message: &Message) -> bool {
    match &message.body {
        Body::User { content } => {
            !message.flags.meta
                && !message.flags.compact_summary
                && content.iter().any(|block| matches!(block, Block::Text { .. } | Block::Image { .. }))
        }
        _ => false,
    }
}
