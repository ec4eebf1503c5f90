//! What a repository is and how it is built: its own README and manifests, quoted.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    answer,
    plan::{Step, ToolCall},
    results::{numbered_lines, paths},
    situation::{Call, Situation},
};

pub(super) fn about(situation: &Situation) -> Step {
    gather(situation).unwrap_or_else(|| {
        let mut parts = Vec::new();
        for call in reads(situation) {
            let path = call.input_text("file_path");
            let lines = numbered_lines(call);
            let shown = if is_readme(path) { first_paragraphs(&lines) } else { manifest(&lines) };
            if !shown.is_empty() {
                parts.push(answer::quote(situation, path, &shown));
            }
        }
        let folders = folders(situation);
        if !folders.is_empty() {
            parts.push(format!("Folders:\n{}", answer::bullets(folders.iter().map(String::as_str))));
        }
        if parts.is_empty() {
            parts.push("There is no README and no manifest I know in this folder.".to_owned());
        }
        Step::Answer(parts.join("\n\n"))
    })
}

pub(super) fn how_to(situation: &Situation, topic: &str) -> Step {
    gather(situation).unwrap_or_else(|| {
        let mut parts = Vec::new();
        for call in reads(situation) {
            let path = call.input_text("file_path");
            let lines = numbered_lines(call);
            if is_readme(path) {
                let section = section(&lines, topic);
                if !section.is_empty() {
                    parts.push(answer::quote(situation, path, &section));
                }
            } else if let Some(command) = usual_command(path, topic) {
                parts.push(format!("There is a `{}`, so: `{command}`.", situation.relative(path)));
                let named: Vec<(usize, String)> = lines
                    .iter()
                    .filter(|(_, text)| text.contains(&format!("\"{topic}")))
                    .take(3)
                    .cloned()
                    .collect();
                if !named.is_empty() {
                    parts.push(answer::quote(situation, path, &named));
                }
            }
        }
        if parts.is_empty() {
            parts.push(format!("I found nothing in this folder that says how to {topic} it."));
        }
        Step::Answer(parts.join("\n\n"))
    })
}

/// Look at the top of the tree, then read what describes it; `None` when both are done.
fn gather(situation: &Situation) -> Option<Step> {
    match situation.rounds.len() {
        0 => {
            let glob = |pattern: &str| ToolCall::new("Glob", json!({ "pattern": pattern }));
            Some(Step::Calls(vec![glob("*"), glob("*/*")]))
        }
        1 => {
            let calls: Vec<ToolCall> = described_by(situation)
                .into_iter()
                .map(|path| {
                    ToolCall::new("Read", json!({"file_path": situation.absolute(&path), "limit": 200}))
                })
                .collect();
            (!calls.is_empty()).then_some(Step::Calls(calls))
        }
        _ => None,
    }
}

fn listed(situation: &Situation) -> Vec<String> {
    let globs = situation.rounds.iter().flatten().filter(|call| call.tool == "Glob");
    globs.flat_map(paths).map(|path| situation.relative(&path).to_owned()).collect()
}

fn reads(situation: &Situation) -> impl Iterator<Item = &Call> {
    situation.rounds.iter().flatten().filter(|call| call.tool == "Read" && !call.failed)
}

fn described_by(situation: &Situation) -> Vec<String> {
    const NAMES: [&str; 9] = [
        "README.md",
        "readme.md",
        "README",
        "README.rst",
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "go.mod",
        "Makefile",
    ];
    let listed = listed(situation);
    let mut found: Vec<String> = NAMES
        .iter()
        .filter(|name| listed.iter().any(|path| path == *name))
        .map(|name| (*name).to_owned())
        .collect();
    if found.is_empty() {
        found.extend(listed.into_iter().filter(|path| is_readme(path)));
    }
    found.truncate(4);
    found
}

fn folders(situation: &Situation) -> Vec<String> {
    let names: BTreeSet<String> = listed(situation)
        .iter()
        .filter_map(|path| path.split_once('/'))
        .filter(|(folder, _)| !folder.starts_with('.'))
        .map(|(folder, _)| format!("{folder}/"))
        .collect();
    names.into_iter().take(20).collect()
}

fn is_readme(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.to_lowercase().starts_with("readme"))
}

/// The title and two paragraphs of prose; pictures and badges say nothing in a quote.
fn first_paragraphs(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    const MOST: usize = 16;
    let mut shown: Vec<(usize, String)> = Vec::new();
    let mut paragraphs = 0;
    let mut in_paragraph = false;
    for (number, text) in lines {
        let trimmed = text.trim();
        let picture = ["![", "[![", "<"].iter().any(|start| trimmed.starts_with(start));
        let prose = !trimmed.is_empty() && !trimmed.starts_with('#') && !picture;
        if in_paragraph && !prose {
            paragraphs += 1;
        }
        in_paragraph = prose;
        if paragraphs == 2 || shown.len() == MOST {
            break;
        }
        if !picture {
            shown.push((*number, text.clone()));
        }
    }
    trimmed(shown)
}

/// The lines of a manifest that say what the thing is called and what it is for.
fn manifest(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let says = |text: &str| {
        let key = text.trim_start().trim_start_matches('"');
        ["name", "description", "members", "module "].iter().any(|start| key.starts_with(start))
    };
    lines.iter().filter(|(_, text)| says(text)).take(4).cloned().collect()
}

/// The first section of the README that has the topic in its heading, else around the first command with it.
fn section(lines: &[(usize, String)], topic: &str) -> Vec<(usize, String)> {
    const MOST: usize = 24;
    let is_heading = |text: &str| text.starts_with('#');
    let has_topic = |text: &str| text.to_lowercase().contains(topic);
    let heading = lines.iter().position(|(_, text)| is_heading(text) && has_topic(text));
    if let Some(at) = heading {
        let body = lines.iter().skip(at + 1).take_while(|(_, text)| !is_heading(text)).cloned();
        return trimmed(lines.iter().skip(at).take(1).cloned().chain(body).take(MOST).collect());
    }
    let mut in_fence = false;
    let command = lines.iter().position(|(_, text)| {
        if text.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        in_fence && has_topic(text)
    });
    let Some(at) = command else { return Vec::new() };
    trimmed(lines.iter().skip(at.saturating_sub(4)).take(10).cloned().collect())
}

fn usual_command(path: &str, topic: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let command = match (name, topic) {
        ("Cargo.toml", "install") => "cargo install --path .".to_owned(),
        ("Cargo.toml", topic) => format!("cargo {topic}"),
        ("package.json", "install") => "npm install".to_owned(),
        ("package.json", "test") => "npm test".to_owned(),
        ("package.json", topic) => format!("npm run {topic}"),
        ("pyproject.toml", "test") => "python -m pytest".to_owned(),
        ("pyproject.toml", _) => "pip install .".to_owned(),
        ("go.mod", "test") => "go test ./...".to_owned(),
        ("go.mod", topic) => format!("go {topic} ./..."),
        ("Makefile", "build") => "make".to_owned(),
        ("Makefile", topic) => format!("make {topic}"),
        _ => return None,
    };
    Some(command)
}

fn trimmed(mut lines: Vec<(usize, String)>) -> Vec<(usize, String)> {
    while lines.last().is_some_and(|(_, text)| text.trim().is_empty()) {
        lines.pop();
    }
    lines
}
