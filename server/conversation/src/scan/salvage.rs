//! Finds the whole records in a damaged line: behind a run of NUL bytes, run together with others, or behind the
//! torn beginning of a record whose writer died.

use serde_json::Deserializer;

use super::Envelope;

/// How often, and over how many times its length, a line is searched: hostile nesting must not cost quadratic
/// time.
const ATTEMPTS: usize = 4_096;
const PASSES: usize = 8;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) records: u64,
    pub(super) nul_runs: u64,
    /// Something on the line belongs to no record.
    pub(super) rubbish: bool,
}

/// Calls `visit` with the position, the bytes and the envelope of every record on the line.
pub(super) fn records(line: &[u8], mut visit: impl FnMut(usize, &[u8], &Envelope<'_>)) -> Found {
    let mut found = Found::default();
    let mut budget = Budget { attempts: ATTEMPTS, bytes: line.len().saturating_mul(PASSES) };
    let mut position = 0;
    // A NUL is never part of JSON: it can only stand between records or inside of torn ones.
    found.nul_runs =
        line.chunk_by(|a, b| (*a == 0) == (*b == 0)).filter(|run| run.first() == Some(&0)).count() as u64;
    for piece in line.split(|byte| *byte == 0) {
        search(piece, position, &mut budget, &mut found, &mut visit);
        position += piece.len() + 1;
    }
    found
}

struct Budget {
    attempts: usize,
    bytes: usize,
}

fn search(
    piece: &[u8],
    position: usize,
    budget: &mut Budget,
    found: &mut Found,
    visit: &mut impl FnMut(usize, &[u8], &Envelope<'_>),
) {
    let mut at = 0;
    while let Some(rest) = piece.get(at..) {
        let blanks = rest.len() - rest.trim_ascii_start().len();
        let rest = rest.trim_ascii_start();
        at += blanks;
        if rest.is_empty() {
            return;
        }
        if budget.attempts == 0 || budget.bytes == 0 {
            found.rubbish = true;
            return;
        }
        budget.attempts -= 1;
        let mut values = Deserializer::from_slice(rest).into_iter::<Envelope<'_>>();
        let read = if rest.starts_with(b"{") { values.next() } else { None };
        let end = values.byte_offset();
        match read {
            Some(Ok(envelope)) if envelope.is_record() => {
                found.records += 1;
                visit(position + at, rest.get(..end).unwrap_or(rest), &envelope);
                at += end;
            }
            Some(Ok(_)) => {
                found.rubbish = true;
                at += end;
            }
            failed => {
                found.rubbish = true;
                let read = failed.and_then(Result::err).map_or(0, |error| error.column());
                budget.bytes = budget.bytes.saturating_sub(read);
                let Some(next) = next_object(rest) else { return };
                at += next;
            }
        }
    }
}

/// Where the next object could begin, not counting the first byte.
fn next_object(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.get(1..)?;
    tail.windows(2).position(|pair| pair == b"{\"").map(|position| position + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8], records: &[&str], nul_runs: u64, rubbish: bool) {
        let mut seen = Vec::new();
        let found = super::records(line, |position, bytes, _| {
            assert_eq!(&line[position..position + bytes.len()], bytes);
            seen.push(String::from_utf8_lossy(bytes).into_owned());
        });
        assert_eq!(seen, records);
        assert_eq!(found, Found { records: records.len() as u64, nul_runs, rubbish });
    }

    const A: &str = r#"{"type":"user","message":{"content":[{"type":"text","text":"a"}]},"uuid":"1"}"#;
    const B: &str = r#"{"type":"custom-title","customTitle":"b","sessionId":"s"}"#;

    #[test]
    fn records_run_together_are_all_found() {
        check(format!("{A}{B}{A}").as_bytes(), &[A, B, A], 0, false);
    }

    #[test]
    fn a_record_behind_nul_bytes_is_found() {
        check(format!("\0\0\0{A}").as_bytes(), &[A], 1, false);
        check(format!("\0\0{A}\0\0\0{B}\0").as_bytes(), &[A, B], 3, false);
        check(b"\0\0\0\0", &[], 1, false);
    }

    #[test]
    fn a_record_behind_the_torn_beginning_of_another_is_found() {
        for cut in 1..A.len() {
            check(format!("{}{B}", &A[..cut]).as_bytes(), &[B], 0, true);
        }
    }

    #[test]
    fn the_parts_of_a_torn_record_are_no_records() {
        for cut in 1..A.len() {
            check(&A.as_bytes()[..cut], &[], 0, true);
        }
    }

    #[test]
    fn hostile_nesting_ends_soon() {
        let line = r#"{"a":["#.repeat(50_000);
        check(line.as_bytes(), &[], 0, true);
    }
}
