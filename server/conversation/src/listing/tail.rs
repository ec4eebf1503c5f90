//! The last 64 KB of a transcript: titles, cost and the number of branches are written again and again, so that they are found there.

use std::{
    fs::File,
    io::{self, BufRead, Read, Seek, SeekFrom},
};

use jiff::Timestamp;

use super::own_summary;
use crate::record::{BRANCHES, COST, CUSTOM_TITLE, GENERATED_TITLE};

pub(crate) const TAIL: u64 = 64 << 10;
/// How far from the end the time of the last message is looked for.
const NEAR_END: usize = 4 << 10;

#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// The line, and how far from the end of the file it ends.
    pub(crate) custom_title: Option<(Vec<u8>, u64)>,
    pub(crate) generated_title: Option<(Vec<u8>, u64)>,
    /// Claude Code's, of this session.
    pub(super) summary: Option<Vec<u8>>,
    pub(crate) cost: Option<(Vec<u8>, u64)>,
    pub(crate) branches: Option<(Vec<u8>, u64)>,
    pub(crate) timestamp: Option<Timestamp>,
}

impl Tail {
    pub(crate) fn read(file: &mut File, length: u64) -> io::Result<Self> {
        let start = length.saturating_sub(TAIL);
        let mut bytes = vec![0; TAIL.min(length) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;

        let mut tail = Self { timestamp: last_timestamp(&bytes), ..Self::default() };
        let mut rest = bytes.as_slice();
        if start > 0 {
            rest.skip_until(b'\n')?;
        }
        while !rest.is_empty() {
            let before = rest;
            let length = rest.skip_until(b'\n')?;
            let line = before.get(..length).unwrap_or_default();
            let distance = rest.len() as u64;
            match short_kind(line) {
                Some(kind) if kind == CUSTOM_TITLE.as_bytes() => {
                    tail.custom_title = Some((line.to_vec(), distance));
                }
                Some(kind) if kind == COST.as_bytes() => tail.cost = Some((line.to_vec(), distance)),
                Some(kind) if kind == BRANCHES.as_bytes() => tail.branches = Some((line.to_vec(), distance)),
                Some(kind) if kind == GENERATED_TITLE.as_bytes() => {
                    tail.generated_title = Some((line.to_vec(), distance));
                }
                Some(b"summary") if tail.summary.is_none() && own_summary(line, &bytes) => {
                    tail.summary = Some(line.to_vec());
                }
                _ => {}
            }
        }
        Ok(tail)
    }
}

/// The kind of a record that begins with it, as all records do that are no messages.
pub(super) fn short_kind(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let end = rest.iter().take(64).position(|byte| *byte == b'"')?;
    rest.get(..end)
}

fn last_timestamp(bytes: &[u8]) -> Option<Timestamp> {
    const FIELD: &[u8] = b"\"timestamp\":\"";
    let near_end = bytes.get(bytes.len().saturating_sub(NEAR_END)..)?;
    let at = near_end.windows(FIELD.len()).rposition(|window| window == FIELD)?;
    let value = near_end.get(at + FIELD.len()..)?;
    let end = value.iter().take(40).position(|byte| *byte == b'"')?;
    std::str::from_utf8(value.get(..end)?).ok()?.parse().ok()
}
