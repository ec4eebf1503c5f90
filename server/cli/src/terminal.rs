//! The terminal as a view: answers on stdout, everything else on stderr, questions on the tty.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Write},
};

use protocol::{
    AskPermissionParams, AskPermissionResult, AskUserParams, AskUserResult, PermissionChoice,
    PermissionPreview, TodoStatus, ToolDisplay, Update,
};
use serde_json::Value;

/// Previews and results longer than this are cut on screen; the whole is in the transcript.
const SHOWN_LINES: usize = 20;

pub fn complain(message: &str) {
    let mut stderr = io::stderr().lock();
    // Nothing can be done about a closed stderr.
    drop(writeln!(stderr, "reverie: {message}"));
}

/// Whether somebody is there to answer questions.
pub fn can_ask() -> bool {
    io::stderr().is_terminal() && File::open("/dev/tty").is_ok()
}

/// Shows a session's updates as they come.
pub struct Screen {
    colour: bool,
    /// Whether the last thing printed on stdout ended its line.
    line_open: bool,
    /// stdout is gone: nobody reads the answer any more.
    pub closed: bool,
}

impl Screen {
    pub fn new() -> Self {
        let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { colour, line_open: false, closed: false }
    }

    pub fn show(&mut self, update: &Update) {
        match update {
            Update::TextDelta { text } => self.answer(text),
            Update::ToolStart { tool, input, .. } => {
                self.aside(&format!("• {tool} {}", headline(tool, input)))
            }
            Update::ToolEnd { ok, display, .. } => {
                if let Some(text) = outcome(*ok, display) {
                    self.aside(&text);
                }
            }
            Update::Retry { attempt, delay_ms, reason, .. } => {
                let seconds = *delay_ms as f64 / 1_000.0;
                self.aside(&format!(
                    "! {reason}; attempt {} follows in {seconds:.1} s, from the start",
                    attempt + 1
                ));
            }
            Update::Notice { text, .. } => self.aside(&format!("! {text}")),
            Update::Context { layer, detail, .. } => self.aside(&format!("! context: {layer}: {detail}")),
            Update::Todo { items } => {
                for item in items {
                    let mark = match item.status {
                        TodoStatus::Completed => "[x]",
                        TodoStatus::InProgress => "[>]",
                        TodoStatus::Pending => "[ ]",
                    };
                    self.aside(&format!("  {mark} {}", item.content));
                }
            }
            Update::TurnEnd { error, .. } => {
                self.end_line();
                if let Some(error) = error {
                    complain(&error.message);
                }
            }
            Update::ThinkingDelta { .. }
            | Update::ToolProgress { .. }
            | Update::Usage { .. }
            | Update::Title { .. } => {}
        }
    }

    /// A line beside the answer.
    pub fn aside(&mut self, text: &str) {
        self.end_line();
        let text = printable(text);
        let (dim, plain) = if self.colour { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let mut stderr = io::stderr().lock();
        for line in text.lines() {
            drop(writeln!(stderr, "{dim}{line}{plain}"));
        }
    }

    /// A line of what was asked for.
    pub fn line(&mut self, text: &str) {
        self.answer(&format!("{text}\n"));
    }

    /// A line of JSON, for programs.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        let mut stdout = io::stdout().lock();
        let written = serde_json::to_string(value)
            .map_err(io::Error::from)
            .and_then(|line| writeln!(stdout, "{line}"))
            .and_then(|()| stdout.flush());
        self.closed |= written.is_err();
    }

    fn answer(&mut self, text: &str) {
        let text = printable(text);
        let mut stdout = io::stdout().lock();
        self.closed |= stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err();
        self.line_open = !text.ends_with('\n');
    }

    fn end_line(&mut self) {
        if self.line_open {
            self.answer("\n");
        }
    }
}

/// Asks on the tty. Blocks until the user has answered.
pub fn ask_permission(params: &AskPermissionParams) -> AskPermissionResult {
    let mut question = format!("\nAllow {}? ({})\n", params.tool, params.reason);
    if let Some(preview) = &params.preview {
        let (PermissionPreview::Diff { text }
        | PermissionPreview::Command { text }
        | PermissionPreview::Text { text }) = preview;
        question.push_str(&indent(text, SHOWN_LINES));
    }
    for option in &params.options {
        let key = key_of(option.id);
        question.push_str(&format!("  [{key}] {}\n", option.label));
    }
    loop {
        let Some(line) = ask_line(&format!("{question}> ")) else {
            return AskPermissionResult { option: PermissionChoice::Deny, message: None };
        };
        let line = line.trim();
        let (key, words) = line.split_once(' ').unwrap_or((line, ""));
        let chosen = params.options.iter().find(|option| key.eq_ignore_ascii_case(key_of(option.id)));
        if let Some(option) = chosen {
            let message = (!words.trim().is_empty()).then(|| words.trim().to_owned());
            return AskPermissionResult { option: option.id, message };
        }
        question =
            "Please answer with one of the letters; words after 'n' are told to the model.\n".to_owned();
    }
}

pub fn ask_user(params: &AskUserParams) -> AskUserResult {
    let mut question = format!("\n{}\n", params.question);
    for (number, option) in params.options.iter().enumerate() {
        question.push_str(&format!("  [{}] {option}\n", number + 1));
    }
    let line = ask_line(&format!("{question}> "));
    let answer = line.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).map(|line| {
        let picked = line.parse::<usize>().ok().and_then(|number| params.options.get(number.checked_sub(1)?));
        picked.cloned().unwrap_or(line)
    });
    AskUserResult { answer }
}

fn key_of(choice: PermissionChoice) -> &'static str {
    match choice {
        PermissionChoice::AllowOnce => "y",
        PermissionChoice::AllowSession => "s",
        PermissionChoice::AllowAlways => "a",
        PermissionChoice::Deny => "n",
    }
}

/// `None` when the tty is closed.
fn ask_line(question: &str) -> Option<String> {
    drop(write!(io::stderr().lock(), "{}", printable(question)));
    let mut line = String::new();
    let tty = File::open("/dev/tty").ok()?;
    let read = BufReader::new(tty).read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

/// What a call is about, in one line.
fn headline(tool: &str, input: &Value) -> String {
    let key = match tool {
        "Read" | "Write" | "Edit" | "MultiEdit" => "file_path",
        "Grep" | "Glob" => "pattern",
        "Bash" => "command",
        "BashOutput" => "bash_id",
        "KillShell" => "shell_id",
        "AskUser" => "question",
        _ => return String::new(),
    };
    let text = input.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(100).collect();
    if cut.len() < text.len() { format!("{cut} …") } else { cut }
}

fn outcome(ok: bool, display: &ToolDisplay) -> Option<String> {
    match display {
        ToolDisplay::Diff { diff, .. } if ok => Some(indent(diff, SHOWN_LINES)),
        ToolDisplay::Terminal { output, exit_code, .. } => {
            let mut text = indent(output, SHOWN_LINES);
            if let Some(code) = exit_code.filter(|code| *code != 0) {
                text.push_str(&format!("  exit code {code}\n"));
            }
            (!text.is_empty()).then_some(text)
        }
        ToolDisplay::Text { text } if !ok => Some(format!("  failed: {}", indent(text, SHOWN_LINES).trim())),
        _ => None,
    }
}

fn indent(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for line in text.lines().take(most) {
        shown.push_str("  ");
        shown.push_str(line);
        shown.push('\n');
    }
    let rest = text.lines().count().saturating_sub(most);
    if rest > 0 {
        shown.push_str(&format!("  … {rest} more lines\n"));
    }
    shown
}

/// Model output and files may hold escape sequences; a terminal must not obey them.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
