//! Saving what the user asks to keep: a topic file and its line in the index, in two steps; and telling it.

use memory::{
    compose::{Draft, has_secret, index_line},
    daily,
    dates::absolute,
};
use serde_json::json;

use super::{
    answer,
    plan::{Step, ToolCall},
    results::{hits, numbered_lines, paths},
    situation::{Call, Situation},
};

const INDEX: &str = "MEMORY.md";

/// List the folder, read what will be changed, write, tell.
pub(super) fn step(situation: &Situation, statement: &str) -> Step {
    let Some(folder) = &situation.memory_dir else {
        return Step::Answer("Memory is switched off in this session, so I cannot keep that.".to_owned());
    };
    if has_secret(statement) {
        let text = "That looks like a secret, and memories are plain files: I do not keep it. Tell me where it is stored instead.";
        return Step::Answer(text.to_owned());
    }
    let memory = Draft::of(&absolute(statement, situation.today));
    if let Some(today) = situation.today.filter(|_| situation.keeps_log) {
        return log(situation, &memory, &format!("{folder}/{}", daily::path(today)));
    }
    let topic_path = format!("{folder}/{}", memory.file_name);
    let index_path = format!("{folder}/{INDEX}");
    if let Some(written) = situation.rounds.iter().find(|round| round.iter().any(is_write)) {
        return Step::Answer(told(situation, &memory, &topic_path, written));
    }
    let Some(listing) = situation.rounds.first() else {
        let input = json!({"pattern": "**/*.md", "path": folder});
        return Step::Calls(vec![ToolCall::new("Glob", input)]);
    };
    let listed: Vec<String> = listing.iter().flat_map(paths).collect();
    // Listed in full, or relative to the folder.
    let exists = |path: &str| {
        listed.iter().any(|found| {
            path.strip_suffix(found.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    };
    let reminded = situation.reminders.iter().any(|reminder| reminder.contains(&index_path));
    let unread: Vec<ToolCall> =
        [(&index_path, exists(&index_path) || reminded), (&topic_path, exists(&topic_path))]
            .into_iter()
            .filter(|(path, exists)| *exists && read_of(situation, path).is_none())
            .map(|(path, _)| ToolCall::new("Read", json!({ "file_path": path })))
            .collect();
    if !unread.is_empty() {
        return Step::Calls(unread);
    }
    let topic_before = read_of(situation, &topic_path).map(text_of);
    if topic_before.as_deref().is_some_and(|text| text.contains(&memory.statement)) {
        return Step::Answer(format!("I already know that: it is in `{topic_path}`."));
    }
    let content = memory.content(topic_before.as_deref(), "");
    let mut calls = vec![ToolCall::new("Write", json!({"file_path": topic_path, "content": content}))];
    let index_before = read_of(situation, &index_path).map(text_of).unwrap_or_default();
    if !index_before.contains(&format!("]({})", memory.file_name)) {
        calls.push(index_call(&index_path, &index_before, &index_line(&memory)));
    }
    Step::Calls(calls)
}

/// Read the log of the day, add a line, tell. One that cannot be read is not there yet.
fn log(situation: &Situation, memory: &Draft, path: &str) -> Step {
    let line = daily::line(None, memory);
    if let Some(call) = situation.rounds.iter().flatten().find(|call| is_write(call)) {
        return Step::Answer(match call.failed {
            true => format!("I could not save that. {}", answer::failure(call)),
            false => format!("Noted in the log of the day: {}\n\n`{path}`", memory.statement),
        });
    }
    let Some(read) = read_of(situation, path) else {
        return Step::Calls(vec![ToolCall::new("Read", json!({ "file_path": path }))]);
    };
    let before = if read.failed { String::new() } else { text_of(read) };
    if before.lines().any(|known| known == line) {
        return Step::Answer(format!("I already know that: it is in `{path}`."));
    }
    Step::Calls(vec![index_call(path, &before, &line)])
}

/// All that is in memory, one line each.
pub(super) fn recall(situation: &Situation) -> Step {
    let Some(folder) = &situation.memory_dir else {
        return Step::Answer("Memory is switched off in this session.".to_owned());
    };
    let Some(call) = situation.rounds.first().and_then(|round| round.first()) else {
        let input = json!({"pattern": "^description:", "path": folder, "glob": "*.md", "output_mode": "content", "-n": true, "head_limit": 100});
        return Step::Calls(vec![ToolCall::new("Grep", input)]);
    };
    if call.failed {
        return Step::Answer(answer::failure(call));
    }
    let mut lines: Vec<String> = hits(call)
        .into_iter()
        .map(|hit| {
            let said = hit.text.trim_start_matches("description:").trim().trim_matches('"').to_owned();
            format!("- {said} (`{}:{}`)", hit.path, hit.line)
        })
        .collect();
    lines.sort();
    match lines.len() {
        0 => Step::Answer(format!("Nothing yet. What I am told to remember is kept in `{folder}`.")),
        count => Step::Answer(format!("I remember {count} things:\n{}", lines.join("\n"))),
    }
}

fn is_write(call: &Call) -> bool {
    matches!(call.tool.as_str(), "Write" | "Edit")
}

fn read_of<'a>(situation: &'a Situation, path: &str) -> Option<&'a Call> {
    let calls = situation.rounds.iter().flatten();
    calls.rev().find(|call| call.tool == "Read" && call.input_text("file_path") == path)
}

fn text_of(call: &Call) -> String {
    numbered_lines(call).into_iter().map(|(_, text)| text + "\n").collect()
}

/// Adds lines at the end: by an edit of the last line that occurs once, because what Read shows of a large
/// file may be cut and must not be written back.
pub(super) fn index_call(path: &str, before: &str, line: &str) -> ToolCall {
    let unique =
        before.lines().rev().find(|last| !last.trim().is_empty() && before.matches(last).count() == 1);
    match unique {
        Some(last) => {
            let input =
                json!({"file_path": path, "old_string": last, "new_string": format!("{last}\n{line}")});
            ToolCall::new("Edit", input)
        }
        None => ToolCall::new("Write", json!({"file_path": path, "content": format!("{before}{line}\n")})),
    }
}

fn told(situation: &Situation, memory: &Draft, topic_path: &str, written: &[Call]) -> String {
    let topic = written.iter().find(|call| call.input_text("file_path") == topic_path);
    if topic.is_none_or(|call| call.failed) {
        return format!("I could not save that. {}", answer::failures(situation));
    }
    let said = format!("Saved as a {} memory: {}\n\n`{topic_path}`", memory.kind.as_str(), memory.statement);
    match written.iter().find(|call| call.failed) {
        None => format!("{said}, listed in `{INDEX}`."),
        Some(call) => format!("{said}, but its line in `{INDEX}` is missing. {}", answer::failure(call)),
    }
}
