//! Dreaming by rules: the memories are read, put in order, written, and what was merged is removed; then it is told.
//!
//! Here: the rounds. What the order is, is worked out by `order` from what was read, anew in each round and always
//! alike; the index is made by `index`.

mod index;
mod logs;
mod order;

use memory::index as memory_index;
use serde_json::json;

use self::order::Order;
use super::{
    fork::Task,
    plan::{Step, ToolCall},
    situation::Call,
};

const NOTHING: &str = "Nothing to tidy.";

/// Files that are read in one round.
const BATCH: usize = 40;

/// What others share is changed by them.
const TEAM: &str = "team/";

pub(super) fn step(task: &Task<'_>) -> Step {
    let asked = &task.asked;
    if asked.memories.is_empty() && asked.logs.is_empty() && !asked.has_findings {
        return Step::Answer(NOTHING.to_owned());
    }
    let has_written = task.writes().next().is_some();
    let removal = task.calls().find(|call| call.tool == "Bash");
    if !has_written && removal.is_none() {
        let unread = unread(task);
        if !unread.is_empty() {
            let read = |path: &String| ToolCall::new("Read", json!({ "file_path": task.path(path) }));
            return Step::Calls(unread.iter().take(BATCH).map(read).collect());
        }
    }
    let order = Order::of(task);
    if !has_written && removal.is_none() && !order.writes.is_empty() {
        let write = |(path, content): (&String, &String)| {
            ToolCall::new("Write", json!({"file_path": task.path(path), "content": content}))
        };
        // The index last: a line without its file is worse than a file without its line.
        let (index, topics): (Vec<_>, Vec<_>) =
            order.writes.iter().partition(|(path, _)| path.as_str() == memory_index::NAME);
        return Step::Calls(topics.into_iter().chain(index).map(write).collect());
    }
    // What one says besides must be in the other before it may go.
    let failed =
        |path: &str| task.writes().any(|call| call.failed && call.input_text("file_path") == task.path(path));
    let gone = order.removed.iter().filter(|(_, keeper)| !failed(keeper)).map(|(path, _)| task.path(path));
    let gone: Vec<String> = gone.collect();
    if removal.is_none() && !gone.is_empty() {
        let paths: Vec<String> = gone.iter().map(|path| quoted(path)).collect();
        let description = "Removes what was merged or refuted";
        let input = json!({"command": format!("rm {}", paths.join(" ")), "description": description});
        return Step::Calls(vec![ToolCall::new("Bash", input)]);
    }
    Step::Answer(report(task, &order))
}

/// The index, the memories and the logs; then what the index names besides, to know whether it is there.
fn unread(task: &Task<'_>) -> Vec<String> {
    let memories = task.asked.memories.iter().map(|known| known.path.clone());
    let all =
        [memory_index::NAME.to_owned()].into_iter().chain(memories).chain(task.asked.logs.iter().cloned());
    let unread: Vec<String> = all.filter(|path| task.reading(path).is_none()).collect();
    if !unread.is_empty() {
        return unread;
    }
    let text = task.text(memory_index::NAME).unwrap_or_default();
    let mut named: Vec<String> =
        memory_index::entries(&text).iter().filter_map(|entry| index::inside(entry.target)).collect();
    named.retain(|path| task.reading(path).is_none());
    named.sort();
    named.dedup();
    named
}

/// As a shell takes it for one word.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

fn report(task: &Task<'_>, order: &Order) -> String {
    let failed: Vec<&Call> = task.calls().filter(|call| call.failed && call.tool != "Read").collect();
    if order.notes.is_empty() && failed.is_empty() {
        return NOTHING.to_owned();
    }
    let mut text = String::from("Tidied the memories:");
    for note in &order.notes {
        text.push_str(&format!("\n- {note}"));
    }
    for call in failed {
        let what = call.input_text("file_path");
        let what = if what.is_empty() { call.input_text("command") } else { what };
        text.push_str(&format!("\n- Not done: {} {what}: {}", call.tool, call.output.trim()));
    }
    text
}

#[cfg(test)]
mod tests;
