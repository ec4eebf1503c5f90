//! What the notes of a session are made of, by the same rules as a summary.

use conversation::RequestMessage;
use serde_json::Value;

use super::{
    sections,
    story::Story,
    words::{item, line},
};

pub(in crate::offline) struct Told {
    /// On one line; `None` before anything was asked.
    pub(in crate::offline) title: Option<String>,
    pub(in crate::offline) current: Vec<String>,
    pub(in crate::offline) requests: Vec<String>,
    pub(in crate::offline) files: Vec<String>,
    pub(in crate::offline) commands: Vec<String>,
    pub(in crate::offline) errors: Vec<String>,
    pub(in crate::offline) results: Vec<String>,
    pub(in crate::offline) worklog: Vec<String>,
    /// Nothing stands in for messages that are gone.
    pub(in crate::offline) is_whole: bool,
}

/// `directive` asks for it and is no part of what happened.
pub(in crate::offline) fn told(messages: &[RequestMessage], directive: &str) -> Told {
    let story = Story::of(messages, directive);
    let title =
        story.requests().next().map(|request| line(request.trim_start_matches(['#', '_', '*', ' ']), 60));
    let mut commands: Vec<String> = Vec::new();
    for command in story.deeds().filter_map(|deed| deed.input.get("command").and_then(Value::as_str)) {
        let shown = item(&format!("`{}`", line(command, 200)));
        if !commands.contains(&shown) {
            commands.push(shown);
        }
    }
    let corrections = story.requests().filter(|request| is_correction(request));
    let corrections = corrections.map(|request| item(&format!("The user: “{}”", line(request, 300))));
    let worklog = story.turns.iter().filter(|turn| !turn.request.is_empty()).map(|turn| {
        let calls = match turn.deeds.len() {
            0 => String::new(),
            1 => ": 1 call".to_owned(),
            calls => format!(": {calls} calls"),
        };
        item(&format!("“{}”{calls}", line(&turn.request, 120)))
    });
    Told {
        title: title.filter(|title| !title.is_empty()),
        current: sections::current(&story),
        requests: sections::requests(&story),
        files: sections::files(&story),
        errors: sections::errors(&story).into_iter().chain(corrections).collect(),
        results: sections::answers(&story),
        worklog: worklog.collect(),
        commands,
        is_whole: story.earlier.is_empty(),
    }
}

/// Words with which people correct somebody.
fn is_correction(request: &str) -> bool {
    const BEGINNINGS: [&str; 8] =
        ["no,", "no ", "don't ", "do not ", "stop ", "wrong", "that's wrong", "actually"];
    let request = request.trim_start().to_lowercase();
    let first = request.lines().next().unwrap_or_default();
    BEGINNINGS.iter().any(|words| first.starts_with(words)) || first.contains(" instead")
}
