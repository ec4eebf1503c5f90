//! The words of the offline model: what it says about itself, quotes, lists, failures.

use super::situation::{Call, Situation};

/// Said once, in front of the first answer of a conversation.
pub(super) const INTRODUCTION: &str = "I am Reverie's offline model: a set of rules that searches, quotes and remembers, but does not reason. To connect a real model, set `ANTHROPIC_API_KEY`, or `OPENAI_BASE_URL` and the setting `model` for a local server.";

pub(super) const HELP: &str = "\
I can:
- find things in this workspace and quote them with file and line: \"where is the parser?\"
- say what this repository is and how to build or test it
- remember: \"remember that …\", \"always …\", \"never …\", \"I am …\", \"we decided …\", or a leading `#`; tell what I remember, and \"forget …\"
- read, list and search files: \"read src/main.rs:10-40\", \"list *.toml files\"
- edit: \"edit notes.txt: replace \"a\" with \"b\"\", \"create notes.txt with \"hello\"\"
- run commands: \"run cargo test\", \"run npm start in the background\"
- keep a list: \"todo: first; second\"";

/// Lines of a file under their place: `path:line`, then a fenced block.
pub(super) fn quote(situation: &Situation, path: &str, lines: &[(usize, String)]) -> String {
    let Some((first, _)) = lines.first() else {
        return format!("`{}` has no such lines.", situation.relative(path));
    };
    let mut text: Vec<&str> = Vec::new();
    let mut expected = *first;
    for (number, line) in lines {
        if *number != expected {
            text.push("…");
        }
        text.push(line);
        expected = number.saturating_add(1);
    }
    format!("`{}:{first}`\n{}", situation.relative(path), fenced(&text.join("\n"), language(path)))
}

/// The text in a fence that it cannot close.
pub(super) fn fenced(text: &str, language: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// The first and last lines of an output that is too long to repeat.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.len() <= most {
        return lines.join("\n");
    }
    let head = most / 3;
    let tail = most - head;
    let left_out = lines.len() - most;
    let mut shown: Vec<String> = lines.iter().take(head).map(|line| (*line).to_owned()).collect();
    shown.push(format!("[{left_out} lines left out]"));
    shown.extend(lines.iter().skip(lines.len() - tail).map(|line| (*line).to_owned()));
    shown.join("\n")
}

pub(super) fn failure(call: &Call) -> String {
    let what = ["file_path", "command", "pattern", "bash_id", "shell_id", "question"]
        .iter()
        .map(|field| call.input_text(field))
        .find(|value| !value.is_empty());
    let what = what.map(|what| format!(" of `{what}`")).unwrap_or_default();
    let reason = shortened(&call.output, 12);
    let reason = if reason.trim().is_empty() { "it said nothing about why" } else { reason.trim() };
    format!("{}{what} did not work: {reason}", call.tool)
}

/// Every failure of the turn, each once.
pub(super) fn failures(situation: &Situation) -> String {
    let mut said: Vec<String> = Vec::new();
    for call in situation.rounds.iter().flatten().filter(|call| call.failed) {
        let text = failure(call);
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.join("\n\n")
}

pub(super) fn bullets<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    items.into_iter().map(|item| format!("- `{item}`")).collect::<Vec<_>>().join("\n")
}

fn language(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "rs" => "rust",
        "md" => "markdown",
        "toml" => "toml",
        "json" => "json",
        "ts" | "tsx" => "typescript",
        "js" | "jsx" | "mjs" => "javascript",
        "py" => "python",
        "lua" => "lua",
        "go" => "go",
        "c" | "h" => "c",
        "cpp" | "hpp" | "cc" => "cpp",
        "sh" => "sh",
        "yml" | "yaml" => "yaml",
        _ => "",
    }
}
