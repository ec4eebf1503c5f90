//! What a command wrote, in bounded memory: the beginning, the end, and a count of all.
//!
//! Knows nothing of processes. Turning bytes into text for a reader is `text.rs`.

use std::{collections::VecDeque, ops::Range};

use super::text;

/// Together far below the megabyte that may be kept of a command, whatever it writes.
const HEAD_BYTES: usize = 48 * 1024;
const TAIL_BYTES: usize = 160 * 1024;

/// The bytes of one command's output, stdout and stderr in the order they were written.
#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (HEAD_BYTES - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let rest = rest.get(rest.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// How many bytes were written so far, kept or not.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes at the end are only the beginning of a character.
    pub(super) fn unfinished(&self) -> usize {
        let mut last: Vec<u8> =
            self.tail.iter().rev().chain(self.head.iter().rev()).take(4).copied().collect();
        last.reverse();
        text::incomplete_end(&last)
    }

    /// What was written from byte `from` on, without the last `held_back` bytes, as text of at most about
    /// `limit` characters.
    pub(super) fn text_since(&self, from: u64, held_back: usize, limit: usize) -> String {
        let mut head = self.kept_head(from);
        let (mut tail, tail_start) = self.kept_tail(from);
        let from_tail = held_back.min(tail.len());
        tail.truncate(tail.len() - from_tail);
        head = head.get(..head.len().saturating_sub(held_back - from_tail)).unwrap_or_default();
        let gap = tail_start.saturating_sub(from.max(self.head.len() as u64));
        if gap == 0 {
            let whole = [head, &tail].concat();
            return text::cut(&text::readable(&whole), limit);
        }
        let beginning = text::first_part(&text::readable(head), limit / 3);
        let end = text::last_part(&text::readable(&tail), limit - limit / 3);
        let shown = (beginning.len() + end.len()) as u64;
        let left_out = (self.total - from).saturating_sub(shown);
        text::join_around_gap(&beginning, left_out, &end)
    }

    fn kept_head(&self, from: u64) -> &[u8] {
        let start = usize::try_from(from).unwrap_or(usize::MAX).min(self.head.len());
        self.head.get(start..).unwrap_or_default()
    }

    /// The part of the tail at or after `from`, and the place of its first byte in all of the output.
    fn kept_tail(&self, from: u64) -> (Vec<u8>, u64) {
        let kept: Range<u64> = self.total - self.tail.len() as u64..self.total;
        let start = from.clamp(kept.start, kept.end);
        let skip = usize::try_from(start - kept.start).unwrap_or(usize::MAX);
        (self.tail.iter().skip(skip).copied().collect(), start)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn short_output_is_kept_whole_and_read_from_any_offset() {
        let mut capture = Capture::default();
        capture.push(b"one\n");
        capture.push(b"two\n");
        assert_eq!(capture.text_since(0, 0, 1000), "one\ntwo\n");
        assert_eq!(capture.text_since(4, 0, 1000), "two\n");
        assert_eq!(capture.text_since(8, 0, 1000), "");
        assert_eq!(capture.text_since(99, 0, 1000), "");
    }

    #[test]
    fn an_unfinished_character_can_be_held_back() {
        let mut capture = Capture::default();
        capture.push(&"a€".as_bytes()[..3]);
        assert_eq!(capture.unfinished(), 2);
        assert_eq!(capture.text_since(0, 2, 1000), "a");
        capture.push(&"€".as_bytes()[2..]);
        assert_eq!(capture.unfinished(), 0);
        assert_eq!(capture.text_since(1, 0, 1000), "€");
    }

    #[test]
    fn output_longer_than_the_head_is_still_seamless() {
        let mut capture = Capture::default();
        let line = [b'x'; 1023];
        for _ in 0..100 {
            capture.push(&line);
            capture.push(b"\n");
        }
        assert_eq!(capture.text_since(0, 0, usize::MAX).len(), 100 * 1024);
        assert_eq!(capture.text_since(47 * 1024, 0, usize::MAX).len(), 53 * 1024);
        assert_eq!(capture.text_since(60 * 1024, 0, usize::MAX).len(), 40 * 1024);
    }

    #[test]
    fn a_flood_keeps_its_ends_and_counts_the_rest() {
        let mut capture = Capture::default();
        capture.push(b"the beginning\n");
        for _ in 0..1000 {
            capture.push(&[b'.'; 4096]);
        }
        capture.push(b"\nthe end\n");
        assert!(capture.head.len() + capture.tail.len() <= HEAD_BYTES + TAIL_BYTES);
        assert_eq!(capture.total(), 14 + 1000 * 4096 + 9);
        expect![[r#"
            the beginning
            ......

            [... 4,095,963 bytes left out ...]

            ...............................
            the end
        "#]]
        .assert_eq(&capture.text_since(0, 0, 60));
    }
}
