//! A session's updates as a person reads them in a terminal.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    time::Instant,
};

use protocol::{
    AskPermissionParams, CacheEffect, MemoryEventKind, MemoryEventParams, NoticeLevel, PermissionPreview,
    StopReason, TodoItem, TodoStatus, ToolDisplay, Update,
};
use serde_json::Value;

use crate::{
    context_report::{self, grouped},
    terminal::{
        Terminal, complain,
        style::{self, Style, cut, revealed, safe, settled, width},
    },
};

/// Results longer than this are cut on screen; the whole is in the transcript.
const SHOWN_LINES: usize = 20;
/// How many of them are the first ones.
const FIRST_LINES: usize = 5;
/// How long a line may be where no terminal says.
const SHOWN_COLUMNS: usize = 160;

const THINKING: &str = "thinking";
const COMPACTING: &str = "compacting the conversation";

/// From here on it is said how much room is left.
const LITTLE_LEFT: u64 = 20;

pub struct View {
    /// Paths inside it are shown without it.
    folder: PathBuf,
    /// The calls that run, by id, as they are shown.
    calls: HashMap<String, String>,
    /// The calls whose diff the user has seen when asked for permission.
    previewed: HashSet<String>,
    /// Whether something of the current answer was shown.
    answering: bool,
    /// Why the last request was repeated: said once.
    retry_reason: String,
    /// What the session has cost so far, in dollars.
    cost: f64,
    /// Until the conversation is compacted, in percent, and what happens next; unknown before the first response.
    room: Option<(u64, String)>,
}

impl View {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            calls: HashMap::new(),
            previewed: HashSet::new(),
            answering: false,
            retry_reason: String::new(),
            cost: 0.0,
            room: None,
        }
    }

    /// The user is asked about this call.
    pub fn previewed(&mut self, question: &AskPermissionParams) {
        if let Some(PermissionPreview::Diff { .. }) = question.preview {
            self.previewed.insert(question.tool_use_id.clone());
        }
    }

    /// Nobody could be asked about this call, so it ends here.
    pub fn refused(&mut self, terminal: &mut Terminal, question: &AskPermissionParams, why: &str) {
        self.calls.remove(&question.tool_use_id);
        show_failure(terminal, &headline(&question.tool, &question.input, &self.folder), why);
    }

    /// A prompt is on its way.
    pub fn turn_started(&mut self, terminal: &mut Terminal, prompt: &str) {
        self.retry_reason.clear();
        self.answering = false;
        let is_compaction = prompt.split_whitespace().next() == Some("/compact");
        terminal.status.work(if is_compaction { COMPACTING } else { THINKING }, Instant::now());
    }

    pub fn show(&mut self, terminal: &mut Terminal, update: &Update) {
        match update {
            Update::TextDelta { text } => {
                terminal.answer(text);
                self.answering = true;
                terminal.status.work("writing", Instant::now());
            }
            Update::ThinkingDelta { .. } => terminal.status.work(THINKING, Instant::now()),
            Update::ToolStart { tool_use_id, tool, input } => {
                let call = headline(tool, input, &self.folder);
                self.tool_started(terminal, tool_use_id, call);
            }
            Update::ToolProgress { text, .. } => terminal.status.detail(&settled(text)),
            Update::ToolEnd { tool_use_id, ok, display } => {
                self.tool_ended(terminal, tool_use_id, *ok, display);
            }
            Update::Retry { attempt, delay_ms, reason, discard } => {
                self.retried(terminal, attempt + 1, *delay_ms, reason, *discard);
            }
            Update::Notice { level: NoticeLevel::Info, text } => {
                terminal.aside(&format!("· {text}"));
                // Often it is about what is going on now, and may take a while.
                terminal.status.detail(text);
            }
            Update::Notice { text, .. } => terminal.warn(text),
            Update::Context { layer, detail, tokens_freed, cache, .. } => {
                terminal.aside(&context_line(layer, detail, *tokens_freed, *cache));
                terminal.status.rest();
                terminal.status.work(THINKING, Instant::now());
                self.room = None;
            }
            // The question that comes with it shows it.
            Update::Plan { .. } => {}
            Update::Todo { items } => terminal.aside(&todo_list(items)),
            Update::Usage { cost_usd, percent_left, next_step, .. } => {
                self.cost = *cost_usd;
                self.room = Some((*percent_left, next_step.clone()));
            }
            Update::Title { .. } | Update::Joined {} | Update::Configured { .. } => {}
            Update::TurnEnd { stop_reason, error, .. } => {
                terminal.status.rest();
                terminal.end_answer();
                match error {
                    Some(error) => complain(&error.message),
                    None => self.ended(terminal, *stop_reason),
                }
                self.calls.clear();
            }
        }
    }

    /// Nothing is remembered, recalled or forgotten in the dark.
    pub fn remembered(&mut self, terminal: &mut Terminal, event: &MemoryEventParams) {
        for file in &event.files {
            let name =
                Path::new(&file.path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let name = safe(&name);
            let reason = safe(&file.reason).replace('\n', " ");
            let line = match event.kind {
                MemoryEventKind::Recalled => format!("recalled {name}: {reason}"),
                MemoryEventKind::Saved => format!("remembered {name}: {reason}"),
                MemoryEventKind::Updated => format!("memory {name} updated: {reason}"),
                MemoryEventKind::Deleted => format!("forgot {name}: {reason}"),
                MemoryEventKind::Undone => format!("memory {name} is as it was"),
                MemoryEventKind::Stale => format!("memory {name} names what is gone: {reason}"),
            };
            let undo = match (event.kind, &file.change_id) {
                (MemoryEventKind::Saved | MemoryEventKind::Updated | MemoryEventKind::Deleted, Some(_)) => {
                    " (undo: reverie memory undo)"
                }
                _ => "",
            };
            terminal.aside(&format!("✎ {line}{undo}"));
        }
    }

    fn tool_started(&mut self, terminal: &mut Terminal, id: &str, call: String) {
        terminal.end_answer();
        self.answering = false;
        terminal.status.work(&call, Instant::now());
        // Where a status line shows what runs, the call is printed with its result.
        if !terminal.status.is_shown() {
            terminal.aside(&format!("• {}", fitting(terminal, &call, "")));
        }
        self.calls.insert(id.to_owned(), call);
    }

    fn tool_ended(&mut self, terminal: &mut Terminal, id: &str, ok: bool, display: &ToolDisplay) {
        // A call that was refused has been shown.
        let Some(call) = self.calls.remove(id) else { return };
        let paint = terminal.aside_paint;
        if !ok {
            show_failure(terminal, &call, &reason_of(display));
        } else {
            if terminal.status.is_shown() {
                let summary = summary(display);
                terminal.aside(&format!("• {}{summary}", fitting(terminal, &call, &summary)));
            }
            match display {
                ToolDisplay::Diff { .. } if self.previewed.remove(id) => {}
                ToolDisplay::Diff { diff, .. } => {
                    terminal.painted_aside(&paint.diff(&excerpt(diff, terminal.aside_columns())));
                }
                ToolDisplay::Terminal { output, exit_code, .. } => {
                    let mut text = excerpt(&settled(output), terminal.aside_columns());
                    if let Some(code) = exit_code.filter(|code| *code != 0) {
                        text.push_str(&format!("\n  exit code {code}"));
                    }
                    if !text.trim().is_empty() {
                        terminal.aside(text.trim_start_matches('\n'));
                    }
                }
                ToolDisplay::Text { .. } | ToolDisplay::Files { .. } => {}
            }
        }
        let next = self.calls.values().next().map_or(THINKING, String::as_str);
        terminal.status.work(next, Instant::now());
    }

    fn retried(&mut self, terminal: &mut Terminal, attempt: u32, delay_ms: u64, reason: &str, discard: bool) {
        let seconds = delay_ms as f64 / 1_000.0;
        let mut again = format!("trying again in {seconds:.1} s (attempt {attempt})");
        if discard && self.answering {
            again.push_str(", from the start of this answer");
            self.answering = false;
        }
        if self.retry_reason == reason {
            terminal.warn(&again);
        } else {
            terminal.warn(&format!("{reason}; {again}"));
            self.retry_reason = reason.to_owned();
        }
        terminal.status.work("waiting", Instant::now());
    }

    fn ended(&mut self, terminal: &mut Terminal, stop: StopReason) {
        match stop {
            StopReason::EndTurn => {}
            StopReason::Cancelled => terminal.warn("stopped"),
            StopReason::MaxRounds => {
                terminal.warn("stopped: the turn took too many rounds (setting maxRounds)")
            }
            StopReason::Budget => terminal.warn("stopped: the budget is used up (setting budgets)"),
            StopReason::Refused => terminal.warn("the model refused to answer"),
            StopReason::Blocked => terminal.warn("the prompt was blocked"),
            StopReason::Error => terminal.warn("the turn failed"),
        }
        // Of interest to someone who watches, not to a pipe.
        if terminal.status.is_shown() {
            let cost = (self.cost > 0.0).then(|| format!("${:.4} so far in this session", self.cost));
            let little = self.room.as_ref().filter(|(left, _)| *left < LITTLE_LEFT);
            let room = little.map(|(left, next)| format!("{left} % of the room left: {next}"));
            let facts: Vec<String> = cost.into_iter().chain(room).collect();
            if !facts.is_empty() {
                terminal.aside(&facts.join(" · "));
            }
        }
    }
}

fn context_line(layer: &str, detail: &str, tokens_freed: u64, cache: CacheEffect) -> String {
    let mut line = format!("◦ context, {layer}: {detail}");
    // A compaction says how many there were before and after.
    if tokens_freed > 0 && !detail.contains(" tokens ") {
        line.push_str(&format!("; {} tokens freed", grouped(tokens_freed)));
    }
    format!("{line}; {}", context_report::cache(cache))
}

fn show_failure(terminal: &mut Terminal, call: &str, why: &str) {
    let paint = terminal.aside_paint;
    let failed = paint.paint(Style::Red, &format!("✗ {}", fitting(terminal, call, "")));
    let why = paint.paint(Style::Dim, &excerpt(why, terminal.aside_columns()));
    terminal.painted_aside(format!("{failed}\n{why}").trim_end());
}

/// What a call is about, in one line that hides nothing of what it shows.
pub fn headline(tool: &str, input: &Value, folder: &Path) -> String {
    let key = match tool {
        external if external.starts_with("mcp__") => {
            let first = input.as_object().and_then(|fields| fields.values().next());
            let text = first.map(|first| first.as_str().map_or_else(|| first.to_string(), str::to_owned));
            let (first, more) = first_line(text.as_deref().unwrap_or_default());
            return revealed(format!("{external} {first}{more}").trim_end()).into_owned();
        }
        "Read" | "Write" | "Edit" | "MultiEdit" => "file_path",
        "Grep" | "Glob" => "pattern",
        "Bash" => "command",
        "BashOutput" => "bash_id",
        "KillShell" => "shell_id",
        "AskUser" => "question",
        "WebFetch" => "url",
        "WebSearch" => "query",
        _ => return revealed(tool).into_owned(),
    };
    let text = input.get(key).and_then(Value::as_str).unwrap_or_default();
    let text = if key == "file_path" { relative(text, folder) } else { text };
    let (first, more) = first_line(text);
    let place = match input.get("path").and_then(Value::as_str).map(Path::new) {
        Some(path) if path != folder => {
            path.file_name().map(|name| format!(" in {}", name.to_string_lossy()))
        }
        _ => None,
    };
    revealed(format!("{tool} {first}{more}{}", place.unwrap_or_default()).trim_end()).into_owned()
}

/// And a mark where there are more.
fn first_line(text: &str) -> (&str, &'static str) {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    (first, if lines.next().is_some() { " …" } else { "" })
}

/// Inside the folder, the path within it.
fn relative<'a>(path: &'a str, folder: &Path) -> &'a str {
    Path::new(path).strip_prefix(folder).ok().and_then(Path::to_str).unwrap_or(path)
}

/// The call in one line, with room for what stands around it.
fn fitting(terminal: &Terminal, call: &str, summary: &str) -> String {
    let columns = terminal.aside_columns().unwrap_or(SHOWN_COLUMNS);
    cut(&safe(call), columns.saturating_sub(width(summary) + 3)).into_owned()
}

fn summary(display: &ToolDisplay) -> String {
    match display {
        ToolDisplay::Files { paths } if paths.len() == 1 => " · 1 file".to_owned(),
        ToolDisplay::Files { paths } => format!(" · {} files", paths.len()),
        ToolDisplay::Text { .. } | ToolDisplay::Diff { .. } | ToolDisplay::Terminal { .. } => String::new(),
    }
}

fn reason_of(display: &ToolDisplay) -> String {
    match display {
        ToolDisplay::Text { text } => text.clone(),
        ToolDisplay::Terminal { output, .. } => settled(output),
        ToolDisplay::Diff { diff, .. } => diff.clone(),
        ToolDisplay::Files { .. } => String::new(),
    }
}

/// The first and the last lines, indented and no wider than the screen.
pub fn excerpt(text: &str, columns: Option<usize>) -> String {
    let most = columns.unwrap_or(SHOWN_COLUMNS).saturating_sub(3);
    let safe = style::safe(text);
    let lines: Vec<&str> = safe.trim_end().lines().collect();
    let shown = |line: &&str| format!("  {}", cut(line, most));
    let hidden = lines.len().saturating_sub(SHOWN_LINES);
    if hidden == 0 {
        return lines.iter().map(shown).collect::<Vec<_>>().join("\n");
    }
    let (first, rest) = lines.split_at(FIRST_LINES.min(lines.len()));
    let last = rest.iter().skip(hidden);
    let mut parts: Vec<String> = first.iter().map(shown).collect();
    parts.push(format!("  … {hidden} more lines …"));
    parts.extend(last.map(shown));
    parts.join("\n")
}

fn todo_list(items: &[TodoItem]) -> String {
    let line = |item: &TodoItem| {
        let mark = match item.status {
            TodoStatus::Completed => "[x]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Pending => "[ ]",
        };
        format!("  {mark} {}", item.content)
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_named_by_what_it_is_about() {
        let folder = Path::new("/home/me/project");
        let of = |tool: &str, input: Value| headline(tool, &input, folder);
        assert_eq!(of("Read", json!({"file_path": "/home/me/project/src/a.rs"})), "Read src/a.rs");
        assert_eq!(of("Read", json!({"file_path": "/etc/hosts"})), "Read /etc/hosts");
        assert_eq!(of("Bash", json!({"command": "make\nmake install"})), "Bash make …");
        assert_eq!(of("TodoWrite", json!({"todos": []})), "TodoWrite");
        assert_eq!(of("Grep", json!({"pattern": "fn", "path": "/home/me/project/src"})), "Grep fn in src");
        assert_eq!(of("Grep", json!({"pattern": "fn", "path": "/home/me/project"})), "Grep fn");
        assert_eq!(of("Grep", Value::Null), "Grep");
        assert_eq!(
            of("WebFetch", json!({"url": "https://a.b/?c", "prompt": "d"})),
            "WebFetch https://a.b/?c"
        );
        assert_eq!(of("WebSearch", json!({"query": "rust\u{200b}"})), "WebSearch rust<U+200B>");
        assert_eq!(of("Bash", json!({"command": "ls\rrm"})), "Bash ls␍rm");
        assert_eq!(of("mcp__db__run", json!({"sql": "drop\ntable", "a": 1})), "mcp__db__run drop …");
        assert_eq!(of("mcp__db__rows", json!({"of": {"a": 1}})), r#"mcp__db__rows {"a":1}"#);
        assert_eq!(of("mcp__db__all", json!({})), "mcp__db__all");
    }

    #[test]
    fn a_long_result_shows_its_beginning_and_its_end() {
        let text: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        let shown = excerpt(&text, None);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), SHOWN_LINES + 1);
        assert_eq!(lines[4..7], ["  line 5", "  … 10 more lines …", "  line 16"]);
        assert_eq!(shown.lines().last(), Some("  line 30"));
        assert_eq!(excerpt("a\x1b[2Jb\n", Some(80)), "  a␛[2Jb");
        assert_eq!(excerpt("0123456789", Some(9)), "  01234…");
    }
}
