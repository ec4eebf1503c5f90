//! The changed part before and after, short enough for a log.

use super::{Cause, Sent};
use crate::{SystemBlock, ToolDefinition, anthropic, cache_watch::fingerprint::head};

const MOST_LINES: usize = 12;
const LONGEST_LINE: usize = 200;

pub(super) fn of(cause: &Cause, old: &Sent, new: &Sent) -> Option<String> {
    let (old, new) = match cause {
        Cause::Tool { name } => (tool(old, name)?, tool(new, name)?),
        Cause::System { index, .. } => {
            (system(old.system.as_deref()?, *index), system(new.system.as_deref()?, *index))
        }
        Cause::Message { .. } => {
            let pairs = old.print.blocks.iter().zip(&new.print.blocks);
            let (old, new) = pairs.into_iter().find(|(old, new)| old != new)?;
            (old.head.to_string(), new.head.to_string())
        }
        _ => return None,
    };
    Some(lines(&old, &new))
}

fn tool(sent: &Sent, name: &str) -> Option<String> {
    let ToolDefinition { description, input_schema, .. } =
        sent.tools.as_deref()?.iter().find(|tool| tool.name == name)?;
    Some(format!("{description}\n{input_schema:#}"))
}

fn system(blocks: &[SystemBlock], index: usize) -> String {
    let sent = blocks.iter().filter(|block| anthropic::system_is_sent(block)).nth(index);
    sent.map(|block| block.text.clone()).unwrap_or_default()
}

/// The lines that differ, those of before with `-`, those of after with `+`.
fn lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(before..).unwrap_or_default(), new.get(before..).unwrap_or_default());
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let old = old.get(..old.len() - after).unwrap_or_default();
    let new = new.get(..new.len() - after).unwrap_or_default();
    if old.is_empty() && new.is_empty() {
        return "(it differs behind what was kept of it)".to_owned();
    }
    // Long lines are shown from where they part.
    let same = match (old.first(), new.first()) {
        (Some(old), Some(new)) => {
            let same = old.char_indices().zip(new.chars()).find(|((_, old), new)| old != new);
            same.map_or(old.len().min(new.len()), |((at, _), _)| at)
        }
        _ => 0,
    };
    let mut out = Vec::new();
    for (sign, lines) in [('-', old), ('+', new)] {
        for (number, line) in lines.iter().take(MOST_LINES).enumerate() {
            out.push(format!("{sign} {}", window(line, if number == 0 { same } else { 0 })));
        }
        if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
            out.push(format!("{sign} … {more} more lines"));
        }
    }
    out.join("\n")
}

/// A part of the line around `place`.
fn window(line: &str, place: usize) -> String {
    let start = if line.len() > LONGEST_LINE { place.saturating_sub(LONGEST_LINE / 4) } else { 0 };
    let rest = line.get(line.floor_char_boundary(start)..).unwrap_or_default();
    let shown = head(rest, LONGEST_LINE);
    let begin = if rest.len() < line.len() { "…" } else { "" };
    let end = if shown.len() < rest.len() { "…" } else { "" };
    format!("{begin}{shown}{end}")
}
