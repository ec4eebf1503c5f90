//! Whole lines to a file that may refuse them: what cannot be written waits, in order, within a bound.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Write},
};

use super::TranscriptError;

/// What may wait in memory while the disk is full.
const LARGEST_BACKLOG: usize = 8 << 20;

/// A signal may interrupt a write; a disk that says so forever is broken.
const MOST_INTERRUPTIONS: u32 = 100;

pub(super) struct Lines<W> {
    /// `None`: everything waits.
    writer: Option<W>,
    /// The file ends in the middle of a line.
    torn: bool,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    scratch: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn without_writer() -> Self {
        Self { writer: None, torn: false, waiting: VecDeque::new(), waiting_bytes: 0, scratch: Vec::new() }
    }

    /// What waits is written with the next line.
    pub(super) fn set_writer(&mut self, writer: W, torn: bool) {
        self.writer = Some(writer);
        self.torn = torn;
    }

    /// The file may end in the middle of a line, for all we know.
    pub(super) fn set_torn(&mut self) {
        self.torn = true;
    }

    pub(super) fn writer(&self) -> Option<&W> {
        self.writer.as_ref()
    }

    /// From now on everything waits.
    pub(super) fn take_writer(&mut self) -> Option<W> {
        self.writer.take()
    }

    /// Forgets what waits, until it is [put back](Self::put_back) behind what is written meanwhile.
    pub(super) fn take_waiting(&mut self) -> VecDeque<Vec<u8>> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn put_back(&mut self, waiting: VecDeque<Vec<u8>>) {
        self.waiting_bytes += waiting.iter().map(Vec::len).sum::<usize>();
        self.waiting.extend(waiting);
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// `line` ends with its line break.
    pub(super) fn append(&mut self, line: &[u8]) -> Result<(), TranscriptError> {
        let result = self.flush().and_then(|()| self.write(line));
        if result.is_err() {
            if self.waiting_bytes + line.len() > LARGEST_BACKLOG {
                return Err(TranscriptError::Full);
            }
            self.waiting_bytes += line.len();
            self.waiting.push_back(line.to_vec());
        }
        Ok(result?)
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while let Some(line) = self.waiting.pop_front() {
            if let Err(error) = self.write(&line) {
                self.waiting.push_front(line);
                return Err(error);
            }
            self.waiting_bytes -= line.len();
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if !self.torn {
            return self.write_bytes(line);
        }
        // A fresh line, in the same write: the torn piece stays one bad line.
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.push(b'\n');
        scratch.extend_from_slice(line);
        let result = self.write_bytes(&scratch);
        self.scratch = scratch;
        result
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Err(ErrorKind::NotConnected.into()) };
        let mut rest = bytes;
        let mut interruptions = 0;
        while !rest.is_empty() {
            match writer.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = rest.get(written..).unwrap_or_default();
                    // After the line break alone, too: a blank line more does no harm.
                    self.torn = !rest.is_empty();
                }
                Err(error)
                    if error.kind() == ErrorKind::Interrupted && interruptions < MOST_INTERRUPTIONS =>
                {
                    interruptions += 1;
                }
                // The record is there; its line break comes with the next one.
                Err(_) if rest == b"\n" && bytes.len() > 1 => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then refuses.
    struct Disk {
        content: Vec<u8>,
        space: usize,
        calls: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            let taken = bytes.len().min(self.space);
            if taken == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.content.extend_from_slice(&bytes[..taken]);
            self.space -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(space: usize) -> Lines<Disk> {
        let mut lines = Lines::without_writer();
        lines.set_writer(Disk { content: Vec::new(), space, calls: 0 }, false);
        lines
    }

    fn disk(lines: &mut Lines<Disk>) -> &mut Disk {
        lines.writer.as_mut().unwrap()
    }

    #[test]
    fn a_line_is_one_write() {
        let mut lines = lines(100);
        lines.append(b"one\n").unwrap();
        lines.append(b"two\n").unwrap();
        let disk = disk(&mut lines);
        assert_eq!((disk.content.as_slice(), disk.calls), (&b"one\ntwo\n"[..], 2));
    }

    #[test]
    fn whatever_the_space_nothing_is_lost_and_one_line_is_torn_at_most() {
        for space in 0..12 {
            let mut lines = lines(space);
            let fit = (space + 1) / 4;
            for (number, line) in [b"one\n", b"two\n", b"six\n"].iter().enumerate() {
                assert_eq!(lines.append(*line).is_ok(), number < fit);
            }
            disk(&mut lines).space = 1_000;
            lines.append(b"ten\n").unwrap();
            let text = String::from_utf8(disk(&mut lines).content.clone()).unwrap();
            let whole: Vec<&str> = text.lines().filter(|line| line.len() == 3).collect();
            assert_eq!(whole, ["one", "two", "six", "ten"], "{text:?}");
            assert!(text.lines().filter(|line| line.len() != 3).count() <= 1, "{text:?}");
        }
    }

    #[test]
    fn a_torn_file_gets_a_fresh_line_first() {
        let mut lines = lines(100);
        lines.torn = true;
        lines.append(b"one\n").unwrap();
        let disk = disk(&mut lines);
        assert_eq!((disk.content.as_slice(), disk.calls), (&b"\none\n"[..], 1));
    }

    #[test]
    fn the_backlog_is_bounded_and_says_so() {
        let mut lines = lines(0);
        let line = vec![b'x'; LARGEST_BACKLOG / 2];
        assert!(matches!(lines.append(&line), Err(TranscriptError::Io(_))));
        assert!(matches!(lines.append(&line), Err(TranscriptError::Io(_))));
        assert!(matches!(lines.append(&line), Err(TranscriptError::Full)));
    }
}
