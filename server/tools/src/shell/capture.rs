//! What a command wrote, in bounded memory: the beginning, the end, and a count of all.
//!
//! Knows nothing of processes. Turning bytes into text for a reader is `text.rs`.

use std::ops::Range;

use super::text;

/// Together far below the megabyte that may be kept of a command, whatever it writes.
const HEAD_BYTES: usize = 48 * 1024;
const TAIL_BYTES: usize = 160 * 1024;

/// The bytes of one command's output, stdout and stderr in the order they were written.
#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: Tail,
    total: u64,
}

/// The last [`TAIL_BYTES`] of what came after the head. A ring of its own, because a flood goes through here: two
/// copies at most for each push, whatever its length.
#[derive(Default)]
struct Tail {
    ring: Vec<u8>,
    /// Where the oldest byte is, once the ring is full.
    oldest: usize,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        let (new, rest) = bytes.split_at((TAIL_BYTES - self.ring.len()).min(bytes.len()));
        self.ring.extend_from_slice(new);
        let (first, second) = rest.split_at((TAIL_BYTES - self.oldest).min(rest.len()));
        for part in [first, second] {
            if let Some(place) = self.ring.get_mut(self.oldest..self.oldest + part.len()) {
                place.copy_from_slice(part);
                self.oldest = (self.oldest + part.len()) % TAIL_BYTES;
            }
        }
    }

    fn len(&self) -> usize {
        self.ring.len()
    }

    /// The bytes in the order they came.
    fn parts(&self) -> (&[u8], &[u8]) {
        let (newer, older) = self.ring.split_at(self.oldest.min(self.ring.len()));
        (older, newer)
    }
}

impl Capture {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (HEAD_BYTES - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.push(rest);
    }

    /// How many bytes were written so far, kept or not.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes at the end are only the beginning of a character.
    pub(super) fn unfinished(&self) -> usize {
        let (older, newer) = self.tail.parts();
        let backwards = newer.iter().rev().chain(older.iter().rev()).chain(self.head.iter().rev());
        let mut last: Vec<u8> = backwards.take(4).copied().collect();
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
        let (older, newer) = self.tail.parts();
        let from_older = older.get(skip.min(older.len())..).unwrap_or_default();
        let from_newer = newer.get(skip.saturating_sub(older.len())..).unwrap_or_default();
        ([from_older, from_newer].concat(), start)
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
    fn the_last_bytes_are_kept_in_order_however_they_come() {
        for step in [1, 7, 4096, 65_536, TAIL_BYTES - 1, TAIL_BYTES, TAIL_BYTES + 1, 3 * TAIL_BYTES] {
            let all: Vec<u8> = (0..2 * TAIL_BYTES + 12_345).map(|number| (number % 251) as u8).collect();
            let mut tail = Tail::default();
            for piece in all.chunks(step) {
                tail.push(piece);
            }
            let (older, newer) = tail.parts();
            assert!([older, newer].concat() == all[all.len() - TAIL_BYTES..], "in steps of {step}");
        }
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
