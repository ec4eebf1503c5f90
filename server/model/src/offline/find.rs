//! Answering by searching: grep in parallel, read the best places, quote them. Memories first.

use serde_json::{Value, json};

use super::{
    answer,
    plan::{Step, ToolCall},
    rank::{Place, best_places, memory_places},
    results::{Hit, hits, numbered_lines, paths},
    situation::{Call, Situation},
    terms::{Term, TermKind, escaped},
};

const DEFINES: &str =
    r"\b(fn|struct|enum|trait|type|const|static|mod|class|def|function|func|interface)\s+\w*";

pub(super) fn step(situation: &Situation, terms: &[Term]) -> Step {
    if terms.is_empty() {
        return Step::Answer(format!(
            "I need a word to look for, such as a name or a file.\n\n{}",
            answer::HELP
        ));
    }
    let rounds = situation.rounds.len();
    let names = terms.iter().any(|term| term.kind != TermKind::Word);
    // What came to mind answers a question in plain words; whoever names something wants to see it.
    if rounds == 0 && !names && !situation.recalled.is_empty() {
        return Step::Answer(remembered(situation));
    }
    if rounds == 0 {
        return Step::Calls(search(situation, terms));
    }
    if situation.rounds.iter().flatten().any(|call| call.tool == "Read") {
        return Step::Answer(found(situation, terms));
    }
    let reads = reads(situation, terms);
    if !reads.is_empty() {
        return Step::Calls(reads);
    }
    if rounds == 1 { Step::Calls(widen(terms)) } else { Step::Answer(nothing(situation, terms)) }
}

/// What the recalled memories say, with their files.
pub(super) fn remembered(situation: &Situation) -> String {
    let quotes: Vec<String> = situation
        .recalled
        .iter()
        .map(|memory| answer::quote(situation, &memory.path, &without_frontmatter(&memory.lines)))
        .collect();
    format!("I remember:\n\n{}", quotes.join("\n\n"))
}

/// From precise to broad: names as they are, two words in one line, definitions, any of the words.
fn search(situation: &Situation, terms: &[Term]) -> Vec<ToolCall> {
    let names: Vec<String> = terms
        .iter()
        .filter(|term| matches!(term.kind, TermKind::Quoted | TermKind::Identifier))
        .map(|term| escaped(&term.text))
        .collect();
    let words: Vec<String> =
        terms.iter().filter(|term| term.kind == TermKind::Word).map(|term| escaped(&term.stem)).collect();
    let together = pairs(&words);
    let mut patterns = Vec::new();
    if !names.is_empty() {
        patterns.push((either(&names), 60));
    }
    if !together.is_empty() {
        patterns.push((either(&together), 60));
    }
    let defined = if names.is_empty() { &words } else { &names };
    if !defined.is_empty() {
        patterns.push((format!("{DEFINES}{}", either(defined)), 100));
    }
    if !words.is_empty() {
        patterns.push((either(&words), 200));
    }
    let mut calls: Vec<ToolCall> =
        patterns.iter().take(3).map(|(pattern, most)| grep(pattern, *most, None)).collect();
    for file in terms.iter().filter(|term| term.kind == TermKind::File).take(2) {
        let name = file.text.trim_start_matches("./").trim_start_matches('/');
        calls.push(ToolCall::new("Glob", json!({"pattern": format!("**/{name}*")})));
    }
    if let Some(memory) = &situation.memory_dir {
        let all: Vec<String> = terms.iter().map(|term| escaped(&term.stem)).collect();
        calls.push(grep(&either(&all), 60, Some(memory)));
    }
    calls
}

/// Two of the first few words in one line, in either order.
fn pairs(words: &[String]) -> Vec<String> {
    const WORDS: usize = 4;
    let mut pairs = Vec::new();
    for (at, one) in words.iter().take(WORDS).enumerate() {
        for other in words.iter().take(WORDS).skip(at + 1) {
            pairs.push(format!("{one}.*{other}"));
            pairs.push(format!("{other}.*{one}"));
        }
    }
    pairs
}

/// Second try when nothing was found: files named so, and beginnings of the words.
fn widen(terms: &[Term]) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = terms
        .iter()
        .take(2)
        .map(|term| ToolCall::new("Glob", json!({"pattern": format!("**/*{}*", glob_safe(&term.stem))})))
        .collect();
    let starts: Vec<String> = terms
        .iter()
        .map(|term| {
            let keep = (term.stem.chars().count() * 2 / 3).max(4);
            escaped(&term.stem.chars().take(keep).collect::<String>())
        })
        .collect();
    calls.push(grep(&either(&starts), 100, None));
    calls
}

pub(super) fn grep(pattern: &str, most: usize, path: Option<&str>) -> ToolCall {
    let mut input =
        json!({"pattern": pattern, "output_mode": "content", "-n": true, "-i": true, "head_limit": most});
    if let (Some(path), Some(fields)) = (path, input.as_object_mut()) {
        fields.insert("path".to_owned(), Value::from(path));
    }
    ToolCall::new("Grep", input)
}

pub(super) fn either(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        _ => format!("({})", parts.join("|")),
    }
}

fn glob_safe(stem: &str) -> String {
    stem.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).collect()
}

/// The places worth reading, as calls.
fn reads(situation: &Situation, terms: &[Term]) -> Vec<ToolCall> {
    const BEFORE: usize = 6;
    const LINES: usize = 30;
    const FILE_LINES: usize = 60;
    let mut calls = Vec::new();
    for place in memory_places(situation, &all_hits(situation), terms) {
        calls.push(ToolCall::new(
            "Read",
            json!({"file_path": situation.absolute(&place.path), "limit": FILE_LINES}),
        ));
    }
    let remembered = !calls.is_empty();
    for path in named_files(situation) {
        calls.push(ToolCall::new(
            "Read",
            json!({"file_path": situation.absolute(&path), "limit": FILE_LINES}),
        ));
    }
    // With a memory that answers, only a line that has everything is worth showing beside it.
    let room = 3_usize.saturating_sub(calls.len()).max(1);
    let places = best_places(situation, &all_hits(situation), terms);
    let wanted = places.iter().filter(|place| {
        let lower = place.text.to_lowercase();
        !remembered || terms.iter().all(|term| term.matches(&lower))
    });
    for place in wanted.take(room) {
        let path = situation.absolute(&place.path);
        if calls.iter().any(|call| call.input.get("file_path").and_then(Value::as_str) == Some(&path)) {
            continue;
        }
        let offset = place.line.saturating_sub(BEFORE).max(1);
        calls.push(ToolCall::new("Read", json!({"file_path": path, "offset": offset, "limit": LINES})));
    }
    calls
}

pub(super) fn all_hits(situation: &Situation) -> Vec<Hit> {
    let greps = situation.rounds.iter().flatten().filter(|call| call.tool == "Grep");
    let asked = situation.question.trim().trim_end_matches('?').to_lowercase();
    greps
        .flat_map(|call| {
            let folder = call.input_text("path");
            hits(call).into_iter().map(move |mut hit| {
                // Some searches name their matches relative to where they looked.
                if !folder.is_empty() && !hit.path.starts_with('/') {
                    hit.path = format!("{folder}/{}", hit.path);
                }
                hit
            })
        })
        // A line that asks the same, such as an example in a README, is no answer.
        .filter(|hit| asked.len() < 12 || !hit.text.to_lowercase().contains(&asked))
        .collect()
}

/// Files that the question names, shortest path first; at most two.
fn named_files(situation: &Situation) -> Vec<String> {
    let globs = situation.rounds.iter().flatten().filter(|call| call.tool == "Glob");
    let mut found: Vec<String> = globs.flat_map(paths).collect();
    found.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    found.dedup();
    found.truncate(2);
    found
}

fn found(situation: &Situation, terms: &[Term]) -> String {
    let all = all_hits(situation);
    let places = best_places(situation, &all, terms);
    let mut memories = Vec::new();
    let mut quotes = Vec::new();
    let mut quoted: Vec<String> = Vec::new();
    for call in situation.rounds.iter().flatten().filter(|call| call.tool == "Read" && !call.failed) {
        let path = call.input_text("file_path").to_owned();
        let lines = numbered_lines(call);
        let line =
            places.iter().find(|place| situation.absolute(&place.path) == path).map(|place| place.line);
        if situation.in_memory(&path) {
            memories.push(answer::quote(situation, &path, &without_frontmatter(&lines)));
        } else {
            quotes.push(answer::quote(situation, &path, &snippet(&lines, line)));
        }
        quoted.push(path);
    }
    if memories.is_empty() && quotes.is_empty() {
        return unread(situation, &places);
    }
    let mut parts = Vec::new();
    if !memories.is_empty() {
        parts.push(format!("I remember:\n\n{}", memories.join("\n\n")));
    }
    if !quotes.is_empty() {
        parts.push(format!("Best matches for {} in the workspace:\n\n{}", named(terms), quotes.join("\n\n")));
    }
    let others: Vec<String> = places
        .iter()
        .filter(|place| !quoted.contains(&situation.absolute(&place.path)))
        .take(5)
        .map(|place| format!("{}:{}", situation.relative(&place.path), place.line))
        .collect();
    if !others.is_empty() {
        parts.push(format!("Also mentioned in:\n{}", answer::bullets(others.iter().map(String::as_str))));
    }
    parts.join("\n\n")
}

/// The reads failed; the matching lines themselves are still an answer.
fn unread(situation: &Situation, places: &[Place]) -> String {
    let lines: Vec<String> = places
        .iter()
        .take(6)
        .map(|place| format!("- `{}:{}` {}", situation.relative(&place.path), place.line, place.text.trim()))
        .collect();
    [lines.join("\n"), answer::failures(situation)].join("\n\n").trim().to_owned()
}

fn nothing(situation: &Situation, terms: &[Term]) -> String {
    let told: Vec<&str> = situation
        .reminders
        .iter()
        .flat_map(|reminder| reminder.lines())
        .filter(|line| {
            let lower = line.to_lowercase();
            terms.iter().all(|term| term.matches(&lower))
        })
        .take(5)
        .collect();
    if !told.is_empty() {
        return format!("The instructions of this session say:\n{}", answer::fenced(&told.join("\n"), ""));
    }
    let searched = |call: &&Call| matches!(call.tool.as_str(), "Grep" | "Glob");
    let patterns = situation.rounds.iter().flatten().filter(searched).map(|call| call.input_text("pattern"));
    let tried = patterns.filter(|pattern| !pattern.starts_with(DEFINES));
    let failures = answer::failures(situation);
    let text = format!(
        "I found nothing about {} in the workspace or in memory. I tried these patterns:\n{}\n\nI find words, not meanings: the name of a function, a file or a setting works best.\n\n{failures}",
        named(terms),
        answer::bullets(tried)
    );
    text.trim_end().to_owned()
}

fn named(terms: &[Term]) -> String {
    terms.iter().map(|term| format!("\"{}\"", term.text)).collect::<Vec<_>>().join(", ")
}

/// The lines around the match: the comment above it, and on to the end of its paragraph.
fn snippet(lines: &[(usize, String)], line: Option<usize>) -> Vec<(usize, String)> {
    const ABOVE: usize = 4;
    const MOST: usize = 14;
    const WHOLE: usize = 40;
    let Some(at) = line.and_then(|line| lines.iter().position(|(number, _)| *number == line)) else {
        return lines.iter().take(WHOLE).cloned().collect();
    };
    let is_comment = |text: &str| {
        let text = text.trim_start();
        ["//", "#", "*", "/*", "--"].iter().any(|start| text.starts_with(start))
    };
    let above = lines.iter().take(at).rev().take(ABOVE).take_while(|(_, text)| is_comment(text)).count();
    let rest = lines.iter().skip(at - above).take(MOST);
    let mut shown: Vec<(usize, String)> = Vec::new();
    for (number, text) in rest {
        let past_the_match = *number > line.unwrap_or_default().saturating_add(3);
        if text.trim().is_empty() && past_the_match {
            break;
        }
        shown.push((*number, text.clone()));
    }
    while shown.last().is_some_and(|(_, text)| text.trim().is_empty()) {
        shown.pop();
    }
    shown
}

fn without_frontmatter(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let is_fence = |(_, text): &(usize, String)| text.trim_end() == "---";
    let body = match lines.first() {
        Some(first) if is_fence(first) => lines.iter().skip(1).position(is_fence).map_or(0, |end| end + 2),
        _ => 0,
    };
    let mut shown: Vec<(usize, String)> =
        lines.iter().skip(body).skip_while(|(_, text)| text.trim().is_empty()).cloned().collect();
    while shown.last().is_some_and(|(_, text)| text.trim().is_empty()) {
        shown.pop();
    }
    shown
}
