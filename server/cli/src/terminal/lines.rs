//! Lines of input, read on a thread of their own when they are wanted: a blocked read can neither be cancelled nor
//! keep the program from ending.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read, Write},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, OwnedFd},
    termios::{QueueSelector, tcflush},
};
use tokio::sync::mpsc;

/// Lines that come this close together were pasted, not typed.
const PASTE_GAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

pub struct Lines {
    wanted: Sender<()>,
    heard: mpsc::UnboundedReceiver<Option<String>>,
    outstanding: bool,
    source: OwnedFd,
}

impl Lines {
    /// From stdin. On a terminal a pasted text is one message; elsewhere a line is one.
    pub fn of_stdin() -> io::Result<Self> {
        let stdin = io::stdin();
        let pastes = if stdin.is_terminal() { Pastes::Join } else { Pastes::Split };
        // The file itself: what the standard library's buffer holds could not be polled for.
        let file = File::from(stdin.as_fd().try_clone_to_owned()?);
        Self::start(file, pastes)
    }

    /// From the terminal that the program runs in, whatever stdin is; `None` without one.
    pub fn of_terminal() -> Option<Self> {
        Self::start(File::open("/dev/tty").ok()?, Pastes::Split).ok()
    }

    fn start(source: impl Read + AsFd + Send + 'static, pastes: Pastes) -> io::Result<Self> {
        let copy = source.as_fd().try_clone_to_owned()?;
        let reader = BufReader::new(source);
        let (wanted, wants) = channel();
        let (lines, heard) = mpsc::unbounded_channel();
        thread::spawn(move || serve(reader, pastes, &wants, &lines));
        Ok(Self { wanted, heard, outstanding: false, source: copy })
    }

    /// Lets the next message be read; one at a time.
    pub fn want(&mut self) {
        if !self.outstanding {
            // Fails when the input has ended, which `next` tells.
            self.outstanding = self.wanted.send(()).is_ok();
        }
    }

    /// Drops what was typed and not yet read: it cannot have been meant for a question that was not there.
    pub fn forget_typed(&self) {
        if let Err(error) = tcflush(&self.source, QueueSelector::IFlush) {
            tracing::debug!(%error, "not a terminal");
        }
    }

    /// The next message that was wanted; `None` at the end of input. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<String> {
        let line = self.heard.recv().await.flatten();
        self.outstanding = false;
        line
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pastes {
    Join,
    Split,
}

fn serve(
    mut reader: BufReader<impl Read + AsFd>,
    pastes: Pastes,
    wants: &Receiver<()>,
    lines: &mpsc::UnboundedSender<Option<String>>,
) {
    while wants.recv().is_ok() {
        let message = read_message(&mut reader, pastes).unwrap_or_else(|error| {
            tracing::warn!(%error, "the input cannot be read");
            None
        });
        let ended = message.is_none();
        if lines.send(message).is_err() || ended {
            return;
        }
    }
}

/// A line, with those it is continued in by a backslash or that were pasted with it.
fn read_message(reader: &mut BufReader<impl Read + AsFd>, pastes: Pastes) -> io::Result<Option<String>> {
    let Some(mut message) = read_line(reader)? else { return Ok(None) };
    let mut pasted = false;
    loop {
        if let Some(before) = message.strip_suffix('\\') {
            message = format!("{before}\n");
        } else if pastes == Pastes::Join && is_ready(reader) {
            message.push('\n');
            pasted = true;
        } else if pasted {
            // The last line of a paste often has no end: it stands behind the cursor, waiting for the Enter key.
            write!(io::stderr(), "  (pasted: Enter sends it) ")?;
            message.push('\n');
            message.push_str(&read_line(reader)?.unwrap_or_default());
            return Ok(Some(message.trim_end().to_owned()));
        } else {
            return Ok(Some(message));
        }
        let Some(line) = read_line(reader)? else { return Ok(Some(message.trim_end().to_owned())) };
        message.push_str(&line);
    }
}

/// Without its end; `None` at the end of input. Bytes that are no text are replaced.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if reader.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned()))
}

/// Whether more comes right now.
fn is_ready(reader: &BufReader<impl Read + AsFd>) -> bool {
    let mut fds = [PollFd::new(reader.get_ref(), PollFlags::IN)];
    !reader.buffer().is_empty() || poll(&mut fds, Some(&PASTE_GAP)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(input: &str, pastes: Pastes) -> Vec<String> {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(input.as_bytes()).unwrap();
        drop(writer);
        let mut reader = BufReader::new(reader);
        std::iter::from_fn(|| read_message(&mut reader, pastes).unwrap()).collect()
    }

    #[test]
    fn a_line_is_a_message_and_a_backslash_goes_on() {
        assert_eq!(messages("one\r\ntwo \\\nmore\nlast", Pastes::Split), ["one", "two \nmore", "last"]);
        assert_eq!(messages("open \\\n", Pastes::Split), ["open"]);
        assert_eq!(messages("", Pastes::Split), Vec::<String>::new());
    }

    #[test]
    fn what_is_pasted_together_is_one_message() {
        assert_eq!(messages("one\ntwo\nthree", Pastes::Join), ["one\ntwo\nthree"]);
    }

    #[tokio::test]
    async fn nothing_is_read_unless_it_is_wanted() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"one\ntwo\n").unwrap();
        drop(writer);
        let mut lines = Lines::start(reader, Pastes::Split).unwrap();
        lines.want();
        lines.want();
        assert_eq!(lines.next().await.as_deref(), Some("one"));
        assert!(lines.heard.is_empty());
        lines.want();
        assert_eq!(lines.next().await.as_deref(), Some("two"));
        lines.want();
        assert_eq!(lines.next().await, None);
    }
}
