//! The messages of a transcript, from some place on, for the index and for searches that cannot wait for it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use super::said::{Said, said};
use crate::scan::{LONGEST_LINE, records_in, trim};

const BUFFER: usize = 128 << 10;

/// Calls with each message and its place. Only whole lines count; returns where the first that is not begins.
/// `visit` says whether to go on.
pub(super) fn each_message(
    path: &Path,
    from: u64,
    mut visit: impl FnMut(Said, u64, u32) -> io::Result<bool>,
) -> io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let mut offset = from;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut length = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            if length < LONGEST_LINE {
                return Ok(offset);
            }
            // Longer than anybody reads.
            length += reader.skip_until(b'\n')? as u64;
            line.clear();
        }
        let record = trim(&line);
        let lead = (record.as_ptr() as usize).saturating_sub(line.as_ptr() as usize) as u64;
        let mut goes_on = Ok(true);
        match said(record) {
            Ok(None) => {}
            Ok(Some(said)) => goes_on = visit(said, offset + lead, short(record.len())),
            Err(_) => records_in(record, |position, bytes| {
                if let (Ok(true), Ok(Some(said))) = (&goes_on, said(bytes)) {
                    goes_on = visit(said, offset + lead + position as u64, short(bytes.len()));
                }
            }),
        }
        offset += length;
        if !goes_on? {
            return Ok(offset);
        }
        if line.capacity() > 16 * BUFFER {
            line = Vec::new();
        }
    }
}

/// Lines are far shorter than that.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The record at a place, if it is still a message.
pub(super) fn message_at(file: &mut File, offset: u64, length: u32) -> io::Result<Option<Said>> {
    let mut bytes = Vec::with_capacity(length as usize);
    file.seek(SeekFrom::Start(offset))?;
    file.by_ref().take(u64::from(length)).read_to_end(&mut bytes)?;
    Ok(said(&bytes).unwrap_or_default())
}
