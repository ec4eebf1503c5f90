//! Taking a memory away: find it, remove its file, drop its line from the index and its lines from the logs, tell.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    answer,
    find::{all_hits, either, grep},
    plan::{Step, ToolCall},
    rank::{covered, memory_places},
    results::{Hit, numbered_lines},
    situation::Situation,
    terms::{Term, escaped, terms},
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
    let wanted: i64 = terms.iter().map(Term::weight).sum();
    let is_about = |text: &str| covered(&text.to_lowercase(), &terms) * 2 >= wanted;
    // What came to mind at the words is what they mean, if it has them; else whole words decide.
    let recalled = situation.recalled.iter().find(|memory| {
        let lines: Vec<&str> = memory.lines.iter().map(|(_, line)| line.as_str()).collect();
        is_about(&lines.join("\n"))
    });
    let recalled = recalled.map(|memory| memory.path.clone());
    if rounds.is_empty() {
        let words: Vec<String> = terms.iter().map(|term| escaped(&term.stem)).collect();
        let pattern = format!(r"\b{}", either(&words));
        let read = ToolCall::new("Read", json!({ "file_path": index }));
        return Step::Calls(vec![grep(&pattern, 100, Some(folder)), read]);
    }
    // A log has much else in it.
    let (logged, hits): (Vec<Hit>, Vec<Hit>) =
        all_hits(situation).into_iter().partition(|hit| hit.path.starts_with(&format!("{folder}/logs/")));
    let found = || memory_places(situation, &hits, &terms).into_iter().next();
    let path = recalled.or_else(|| found().map(|place| place.path));
    let logged: Vec<Hit> = logged.into_iter().filter(|hit| is_about(&hit.text)).collect();
    let Some(place) = path.as_ref().or(logged.first().map(|hit| &hit.path)) else {
        return Step::Answer(format!("I remember nothing about \"{topic}\", so there is nothing to forget."));
    };
    // The file first: a line without a file is worse than a file without a line.
    let Some(removed) = rounds.get(1) else {
        let remove = path.iter().map(|path| {
            let command = format!("rm -- '{}'", path.replace('\'', "'\\''"));
            let input = json!({"command": command, "description": "Removes the memory's file"});
            ToolCall::new("Bash", input)
        });
        let logs: BTreeSet<&str> = logged.iter().map(|hit| hit.path.as_str()).collect();
        let read = logs.into_iter().map(|log| ToolCall::new("Read", json!({ "file_path": log })));
        return Step::Calls(remove.chain(read).collect());
    };
    if removed.iter().any(|call| call.failed) {
        return Step::Answer(format!(
            "I could not remove `{place}`, so it stays. {}",
            answer::failures(situation)
        ));
    }
    let mut edits = match &path {
        Some(path) => line_edits(situation, &index, path.strip_prefix(folder.as_str()).unwrap_or(path)),
        None => Vec::new(),
    };
    edits.extend(logged.iter().map(|hit| without_line(&hit.path, &hit.text)));
    if rounds.len() == 2 && !edits.is_empty() {
        return Step::Calls(edits);
    }
    if path.is_none() {
        return Step::Answer(match rounds.get(2).is_some_and(|round| round.iter().any(|call| call.failed)) {
            true => format!("I could not take it out of `{place}`. {}", answer::failures(situation)),
            false => format!("Forgotten: what `{place}` said of it is gone. Undo brings it back."),
        });
    }
    let index_note = match rounds.get(2).is_some_and(|round| round.iter().any(|call| call.failed)) {
        true => format!("but its line in `{INDEX}` is still there. {}", answer::failures(situation)),
        false => format!("and its line in `{INDEX}` too. Undo brings both back."),
    };
    Step::Answer(format!("Forgotten: `{place}` is gone, {index_note}"))
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
        .map(|line| without_line(index, line))
        .collect()
}

fn without_line(path: &str, line: &str) -> ToolCall {
    ToolCall::new("Edit", json!({"file_path": path, "old_string": format!("{line}\n"), "new_string": ""}))
}
