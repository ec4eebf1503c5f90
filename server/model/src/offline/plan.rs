//! The next step of a turn: tool calls, or the answer. Everything is worked out anew from the request, so the
//! model has no state and the same conversation always goes the same way.

use serde_json::{Value, json};

use super::{
    answer, find, forget,
    intent::{Intent, understand},
    overview, remember,
    results::{numbered_lines, paths},
    situation::{Call, Situation},
};

#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Not empty.
    Calls(Vec<ToolCall>),
    Answer(String),
}

#[derive(Debug, PartialEq)]
pub(super) struct ToolCall {
    pub(super) tool: &'static str,
    pub(super) input: Value,
}

impl ToolCall {
    pub(super) fn new(tool: &'static str, input: Value) -> Self {
        Self { tool, input }
    }
}

/// "Every loop has a breaker."
const MOST_ROUNDS: usize = 4;

pub(super) fn next(situation: &Situation) -> Step {
    let calls = match step(situation) {
        Step::Calls(calls) => calls,
        answer @ Step::Answer(_) => return answer,
    };
    if situation.rounds.len() >= MOST_ROUNDS {
        let failures = answer::failures(situation);
        return Step::Answer(format!("I stopped after {MOST_ROUNDS} rounds without a result.\n\n{failures}"));
    }
    let missing: Vec<&str> =
        calls.iter().map(|call| call.tool).filter(|tool| !situation.has_tool(tool)).collect();
    let offered: Vec<ToolCall> = calls.into_iter().filter(|call| situation.has_tool(call.tool)).collect();
    match missing.first() {
        Some(tool) if offered.is_empty() => {
            Step::Answer(format!("That needs the tool {tool}, which this session does not offer."))
        }
        _ => Step::Calls(offered),
    }
}

fn step(situation: &Situation) -> Step {
    match understand(&situation.question) {
        Intent::Help => Step::Answer(answer::HELP.to_owned()),
        Intent::Remember { statement } => remember::step(situation, &statement),
        Intent::Forget { topic } => forget::step(situation, &topic),
        Intent::Recall => remember::recall(situation),
        Intent::Read { path, lines } => read(situation, &path, lines),
        Intent::List { pattern } => list(situation, &pattern),
        Intent::Run { command, background } => run(situation, &command, background),
        Intent::JobOutput { job } => once(situation, "BashOutput", json!({ "bash_id": job }), |call| {
            format!("Output of `{job}`:\n{}", answer::fenced(&answer::shortened(&call.output, 60), ""))
        }),
        Intent::StopJob { job } => {
            once(situation, "KillShell", json!({ "shell_id": job }), |_| format!("Stopped `{job}`."))
        }
        Intent::Replace { path, changes, everywhere } => replace(situation, &path, &changes, everywhere),
        Intent::Create { path, content } => {
            let input = json!({"file_path": situation.absolute(&path), "content": content});
            once(situation, "Write", input, |_| format!("Wrote `{path}`, {} bytes.", content.len()))
        }
        Intent::Todo { items } => todo(situation, &items),
        Intent::AskBack { question } => once(situation, "AskUser", json!({ "question": question }), |call| {
            format!("You answered: {}", call.output.trim())
        }),
        Intent::About => overview::about(situation),
        Intent::HowTo { topic } => overview::how_to(situation, &topic),
        Intent::Search { terms } => find::step(situation, &terms),
    }
}

/// One call, then what came of it.
fn once(situation: &Situation, tool: &'static str, input: Value, say: impl FnOnce(&Call) -> String) -> Step {
    match last_call(situation) {
        None => Step::Calls(vec![ToolCall::new(tool, input)]),
        Some(call) if call.failed => Step::Answer(answer::failure(call)),
        Some(call) => Step::Answer(say(call)),
    }
}

pub(super) fn last_call(situation: &Situation) -> Option<&Call> {
    situation.rounds.last().and_then(|round| round.last())
}

fn read(situation: &Situation, path: &str, lines: Option<(usize, usize)>) -> Step {
    const MOST_LINES: usize = 80;
    let read_call = |path: &str| {
        let (first, last) = lines.unwrap_or((1, MOST_LINES));
        let limit = (last - first + 1).min(MOST_LINES);
        let input = json!({"file_path": path, "offset": first, "limit": limit});
        Step::Calls(vec![ToolCall::new("Read", input)])
    };
    let Some(call) = last_call(situation) else { return read_call(&situation.absolute(path)) };
    match call.tool.as_str() {
        "Read" if !call.failed => {
            Step::Answer(answer::quote(situation, call.input_text("file_path"), &numbered_lines(call)))
        }
        // The name may be right and the folder wrong.
        "Read" if situation.rounds.len() == 1 && !is_refusal(call) => {
            let name = path.rsplit('/').next().unwrap_or(path);
            Step::Calls(vec![ToolCall::new("Glob", json!({"pattern": format!("**/{name}*")}))])
        }
        "Glob" => {
            let mut found = paths(call);
            found.sort_by_key(|path| path.len());
            match found.first() {
                Some(found) => read_call(&situation.absolute(found)),
                None => Step::Answer(format!("There is no `{path}` in this workspace.")),
            }
        }
        _ => Step::Answer(answer::failures(situation)),
    }
}

/// Whether somebody said no, so that trying another way would be rude.
fn is_refusal(call: &Call) -> bool {
    let output = call.output.to_lowercase();
    ["denied", "permission", "refused", "rejected", "not allowed"].iter().any(|word| output.contains(word))
}

fn list(situation: &Situation, pattern: &str) -> Step {
    const MOST_PATHS: usize = 60;
    let input = json!({ "pattern": pattern });
    once(situation, "Glob", input, |call| {
        let found = paths(call);
        if found.is_empty() {
            return format!("No files match `{pattern}`.");
        }
        let shown = found.iter().take(MOST_PATHS).map(|path| situation.relative(path));
        let more = match found.len().saturating_sub(MOST_PATHS) {
            0 => String::new(),
            count => format!("\n\nand {count} more."),
        };
        format!("{} files match `{pattern}`:\n{}{more}", found.len(), answer::bullets(shown))
    })
}

fn run(situation: &Situation, command: &str, background: bool) -> Step {
    let mut input = json!({"command": command, "description": format!("Run {command}")});
    if background && let Some(fields) = input.as_object_mut() {
        fields.insert("run_in_background".to_owned(), Value::Bool(true));
    }
    once(situation, "Bash", input, |call| match call.output.trim() {
        "" => format!("`{command}` finished without output."),
        output => format!("`{command}`:\n{}", answer::fenced(&answer::shortened(output, 60), "")),
    })
}

fn replace(situation: &Situation, path: &str, changes: &[(String, String)], everywhere: bool) -> Step {
    let path = situation.absolute(path);
    let Some(call) = last_call(situation) else {
        return Step::Calls(vec![ToolCall::new("Read", json!({ "file_path": path }))]);
    };
    if call.failed {
        return Step::Answer(answer::failure(call));
    }
    if call.tool != "Read" {
        let count = changes.len();
        let what = if count == 1 { "the replacement".to_owned() } else { format!("{count} replacements") };
        return Step::Answer(format!("Made {what} in `{}`.", situation.relative(&path)));
    }
    let edit = |(old, new): &(String, String)| {
        let mut edit = json!({"old_string": old, "new_string": new});
        if everywhere && let Some(fields) = edit.as_object_mut() {
            fields.insert("replace_all".to_owned(), Value::Bool(true));
        }
        edit
    };
    if let [change] = changes {
        let mut input = edit(change);
        if let Some(fields) = input.as_object_mut() {
            fields.insert("file_path".to_owned(), Value::String(path));
        }
        return Step::Calls(vec![ToolCall::new("Edit", input)]);
    }
    let edits: Vec<Value> = changes.iter().map(edit).collect();
    Step::Calls(vec![ToolCall::new("MultiEdit", json!({"file_path": path, "edits": edits}))])
}

fn todo(situation: &Situation, items: &[String]) -> Step {
    let todos: Vec<Value> =
        items.iter().map(|item| json!({"content": item, "status": "pending", "activeForm": item})).collect();
    once(situation, "TodoWrite", json!({ "todos": todos }), |_| {
        let lines: Vec<String> = items.iter().map(|item| format!("- [ ] {item}")).collect();
        format!("Noted:\n{}", lines.join("\n"))
    })
}
