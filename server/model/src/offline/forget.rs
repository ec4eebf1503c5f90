//! Taking a memory away: find it, drop its line from the index, remove its file, tell.

use serde_json::json;

use super::{
    answer,
    find::{all_hits, either, grep},
    plan::{Step, ToolCall},
    rank::memory_places,
    results::numbered_lines,
    situation::Situation,
    terms::{escaped, terms},
};

const INDEX: &str = "MEMORY.md";

pub(super) fn step(situation: &Situation, topic: &str) -> Step {
    let Some(folder) = &situation.memory_dir else {
        return Step::Answer(
            "Memory is switched off in this session: there is nothing to forget.".to_owned(),
        );
    };
    let terms = terms(topic);
    if terms.is_empty() {
        return Step::Answer("Say what to forget, such as \"forget about the Friday deploys\".".to_owned());
    }
    let index = format!("{folder}/{INDEX}");
    let rounds = situation.rounds.as_slice();
    // What came to mind at the words is what they mean; else whole words decide.
    let recalled = situation.recalled.first().map(|memory| memory.path.clone());
    if rounds.is_empty() {
        let words: Vec<String> = terms.iter().map(|term| escaped(&term.stem)).collect();
        let pattern = format!(r"\b{}", either(&words));
        let read = ToolCall::new("Read", json!({ "file_path": index }));
        return Step::Calls(vec![grep(&pattern, 100, Some(folder)), read]);
    }
    let found = || memory_places(situation, &all_hits(situation), &terms).into_iter().next();
    let Some(path) = recalled.or_else(|| found().map(|place| place.path)) else {
        return Step::Answer(format!("I remember nothing about \"{topic}\", so there is nothing to forget."));
    };
    // The file first: a line without a file is worse than a file without a line.
    let Some(removed) = rounds.get(1) else {
        let command = format!("rm -- '{}'", path.replace('\'', "'\\''"));
        let input = json!({"command": command, "description": "Removes the memory's file"});
        return Step::Calls(vec![ToolCall::new("Bash", input)]);
    };
    if removed.iter().any(|call| call.failed) {
        return Step::Answer(format!(
            "I could not remove `{path}`, so it stays. {}",
            answer::failures(situation)
        ));
    }
    let edits = line_edits(situation, &index, path.strip_prefix(folder.as_str()).unwrap_or(&path));
    if rounds.len() == 2 && !edits.is_empty() {
        return Step::Calls(edits);
    }
    let index_note = match rounds.get(2).is_some_and(|round| round.iter().any(|call| call.failed)) {
        true => format!("but its line in `{INDEX}` is still there. {}", answer::failures(situation)),
        false => format!("and its line in `{INDEX}` too. Undo brings both back."),
    };
    Step::Answer(format!("Forgotten: `{path}` is gone, {index_note}"))
}

/// What takes the entries of a file out of the index.
fn line_edits(situation: &Situation, index: &str, name: &str) -> Vec<ToolCall> {
    let calls = situation.rounds.iter().flatten();
    let lines = calls
        .filter(|call| call.tool == "Read" && !call.failed)
        .map(numbered_lines)
        .next()
        .unwrap_or_default();
    let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
    memory::index::entries(&text)
        .into_iter()
        .filter(|entry| memory::index::same_target(entry.target, name.trim_start_matches('/')))
        .filter_map(|entry| text.lines().nth(entry.line))
        .map(|line| {
            let input = json!({"file_path": index, "old_string": format!("{line}\n"), "new_string": ""});
            ToolCall::new("Edit", input)
        })
        .collect()
}
