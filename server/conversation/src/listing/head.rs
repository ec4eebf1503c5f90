//! The beginning of a transcript: the first prompt and the working directory.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

use super::{own_summary, tail::short_kind, title};
use crate::{
    message::{Block, Body, Message},
    record::{FORKED_FROM, ForkedFrom, GENERATED_TITLE, Record, decode},
    scan::Envelope,
};

/// Read at once; enough for most files.
const WINDOW: usize = 16 << 10;
/// The rendered prefix of the first request may stand before the first prompt.
const LIMIT: u64 = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) prompt: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) custom_title: Option<String>,
    pub(super) generated_title: Option<String>,
    pub(super) cost_usd: Option<f64>,
    pub(super) forked_from: Option<ForkedFrom>,
    /// The whole file was seen, and all of its lines are sound.
    pub(super) is_whole: bool,
    pub(super) has_messages: bool,
}

impl Head {
    pub(super) fn read(file: &mut File) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(WINDOW, file.take(LIMIT));
        let mut head = Self { is_whole: true, ..Self::default() };
        let mut summaries = Vec::new();
        let mut seen = Vec::new();
        let mut command = None;
        loop {
            let start = seen.len();
            if reader.read_until(b'\n', &mut seen)? == 0 {
                head.is_whole &= (seen.len() as u64) < LIMIT;
                break;
            }
            let line = seen.get(start..).unwrap_or_default();
            if short_kind(line) == Some(b"summary") {
                summaries.push(start..seen.len());
                continue;
            }
            head.line(line, &mut command);
            if head.prompt.is_some() {
                head.is_whole = false;
                break;
            }
        }
        // Nothing was typed but a command: better than nothing.
        head.prompt = head.prompt.or(command);
        if head.generated_title.is_none() {
            let own = summaries.into_iter().rev().filter_map(|range| seen.get(range));
            head.generated_title = own.into_iter().find(|line| own_summary(line, &seen)).and_then(title);
        }
        Ok(head)
    }

    fn line(&mut self, line: &[u8], command: &mut Option<String>) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        let Some(envelope) = Envelope::parse(line) else {
            self.is_whole = false;
            return;
        };
        match envelope.kind() {
            "user" => {
                self.has_messages = true;
                self.cwd = self.cwd.take().or_else(|| envelope.cwd());
                let Ok(Record::Message(message)) = decode(line) else { return };
                self.prompt = prompt(&message);
                *command = command.take().or_else(|| typed_command(&message));
            }
            "assistant" | "system" | "attachment" => {
                self.has_messages = true;
                self.cwd = self.cwd.take().or_else(|| envelope.cwd());
            }
            "custom-title" => self.custom_title = title(line).or(self.custom_title.take()),
            GENERATED_TITLE => self.generated_title = title(line).or(self.generated_title.take()),
            FORKED_FROM => {
                if let (None, Ok(Record::ForkedFrom(from))) = (&self.forked_from, decode(line)) {
                    self.forked_from = Some(from);
                }
            }
            crate::record::COST => self.cost_usd = super::cost_usd(line).or(self.cost_usd),
            _ => {}
        }
    }
}

/// What the user typed, if this message is that: not a result, not made by a program, not the wrapper of a
/// command.
pub(crate) fn prompt(message: &Message) -> Option<String> {
    let Body::User { content } = &message.body else { return None };
    if message.flags.meta || message.flags.sidechain || message.flags.compact_summary {
        return None;
    }
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.trim()),
        _ => None,
    });
    texts.into_iter().find(|text| !text.is_empty() && !is_wrapper(text)).map(str::to_owned)
}

fn is_wrapper(text: &str) -> bool {
    if text.starts_with("[Request interrupted") || text.starts_with("Caveat: The messages below") {
        return true;
    }
    let Some(rest) = text.strip_prefix('<') else { return false };
    let name = rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_'));
    name.is_some_and(|end| end > 0 && rest.get(end..).is_some_and(|after| after.starts_with(['>', ' '])))
}

fn typed_command(message: &Message) -> Option<String> {
    let Body::User { content } = &message.body else { return None };
    content.iter().find_map(|block| match block {
        Block::Text { text } => {
            let (_, after) = text.split_once("<command-name>")?;
            let (command, _) = after.split_once("</command-name>")?;
            Some(command.trim().to_owned())
        }
        _ => None,
    })
}
