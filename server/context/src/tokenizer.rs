//! Exact counts of o200k_base, for decisions near a threshold and for reports.
//!
//! The vocabulary costs half a second and 45 MB, so it lives on a thread of its own, is loaded by the first
//! count and dropped when idle. Whatever fails there falls back to the estimate.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread,
    time::Duration,
};

use tiktoken_rs::CoreBPE;

use crate::estimate::tokens_of_text;

/// Longer texts can exhaust the pattern engine's stack.
const LARGEST_PIECE: usize = 128 * 1024;
const IDLE: Duration = Duration::from_secs(60);
const QUEUE: usize = 256;

struct Job {
    text: String,
    reply: SyncSender<u64>,
}

static WORKER: Mutex<Option<SyncSender<Job>>> = Mutex::new(None);

/// The number of tokens. Blocks: never call it from an async task, nor between a prompt and its request.
pub fn count(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let (reply, answer) = mpsc::sync_channel(1);
    submit(Job { text: text.to_owned(), reply });
    answer.recv().unwrap_or_else(|_| tokens_of_text(text))
}

fn submit(job: Job) {
    let mut worker = WORKER.lock().unwrap_or_else(PoisonError::into_inner);
    let refused = match worker.as_ref() {
        Some(sender) => sender.try_send(job),
        None => Err(TrySendError::Disconnected(job)),
    };
    // The thread was never started or went away when idle: start it anew.
    let refused = match refused {
        Err(TrySendError::Disconnected(job)) => match start() {
            Some(sender) => worker.insert(sender).try_send(job),
            None => Err(TrySendError::Full(job)),
        },
        other => other,
    };
    drop(worker);
    if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = refused {
        job.answer(tokens_of_text(&job.text));
    }
}

impl Job {
    /// There is room for the one answer; whoever asked may be gone.
    fn answer(&self, tokens: u64) {
        self.reply.try_send(tokens).unwrap_or_default();
    }
}

fn start() -> Option<SyncSender<Job>> {
    let (sender, jobs) = mpsc::sync_channel(QUEUE);
    match thread::Builder::new().name("tokenizer".to_owned()).spawn(move || work(&jobs)) {
        Ok(_) => Some(sender),
        Err(error) => {
            tracing::warn!(%error, "no tokenizer thread; tokens are estimated");
            None
        }
    }
}

fn work(jobs: &Receiver<Job>) {
    let vocabulary = match catch_unwind(tiktoken_rs::o200k_base) {
        Ok(Ok(vocabulary)) => Some(vocabulary),
        Ok(Err(error)) => {
            tracing::warn!(%error, "no vocabulary; tokens are estimated");
            None
        }
        Err(_) => None,
    };
    while let Some(job) = next(jobs) {
        let tokens = match &vocabulary {
            Some(vocabulary) => pieces(&job.text).map(|piece| count_piece(vocabulary, piece)).sum(),
            None => tokens_of_text(&job.text),
        };
        job.answer(tokens);
    }
}

/// The next job; `None` ends the thread. Jobs are sent under the lock, so what is not here when the lock is
/// held will go to the next thread.
fn next(jobs: &Receiver<Job>) -> Option<Job> {
    if let Ok(job) = jobs.recv_timeout(IDLE) {
        return Some(job);
    }
    let mut worker = WORKER.lock().unwrap_or_else(PoisonError::into_inner);
    let late = jobs.try_recv().ok();
    if late.is_none() {
        *worker = None;
    }
    late
}

fn count_piece(vocabulary: &CoreBPE, piece: &str) -> u64 {
    match catch_unwind(AssertUnwindSafe(|| vocabulary.count_ordinary(piece))) {
        Ok(tokens) => tokens as u64,
        Err(_) => tokens_of_text(piece),
    }
}

/// Cuts before white space that follows a word, where the vocabulary's own pattern would cut too.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() <= LARGEST_PIECE { rest.len() } else { cut(rest) };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fn cut(text: &str) -> usize {
    let end = text.floor_char_boundary(LARGEST_PIECE);
    let head = text.get(..end).unwrap_or(text);
    let mut after = 'x';
    for (at, character) in head.char_indices().rev().take(4_096) {
        if after.is_whitespace() && !character.is_whitespace() {
            return at + character.len_utf8();
        }
        after = character;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_vocabulary() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("fn main() { println!(\"grüße 🦀\"); }"), 14);
    }

    #[test]
    fn what_breaks_the_pattern_engine_is_still_counted() {
        let spaces = " ".repeat(1_000_000);
        let tokens = count(&spaces);
        assert!((1..=1_000_000).contains(&tokens), "{tokens}");
        assert_eq!(count("hello world"), 2, "the thread lives on");
    }

    #[test]
    fn pieces_are_bounded_whole_and_end_at_words() {
        let text = "word and ünïcode ".repeat(20_000);
        let parts: Vec<&str> = pieces(&text).collect();
        assert_eq!(parts.concat(), text);
        assert!(parts.iter().all(|part| part.len() <= LARGEST_PIECE));
        assert!(parts.iter().skip(1).all(|part| part.starts_with(' ')), "cut inside a word");
        let unbroken = "é".repeat(LARGEST_PIECE);
        assert_eq!(pieces(&unbroken).collect::<String>(), unbroken);
    }
}
