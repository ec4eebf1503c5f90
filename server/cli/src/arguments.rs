//! The command line, parsed into one closed enum.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use jiff::tz::TimeZone;
use lexopt::prelude::*;
use protocol::{ExportFormat, SearchRole};
use serde::Deserialize as _;
use settings::PermissionMode;

use crate::{dream::Dream, memory::Memory};

use crate::debug::{
    path::Deed,
    sandbox::{Contained, LIMIT, What},
};

#[derive(Debug)]
pub enum Command {
    /// Help or version.
    Print(String),
    Lsp {
        /// A log for each day instead of an index.
        assistant: bool,
    },
    Ask(AskOptions),
    Chat(SessionOptions),
    SessionsList {
        query: Option<String>,
        /// Of all projects.
        all: bool,
        scope: Scope,
    },
    SessionsShow {
        id: String,
        scope: Scope,
    },
    SessionsSearch {
        search: Search,
        scope: Scope,
    },
    SessionsExport {
        id: String,
        format: ExportFormat,
        to: Option<PathBuf>,
        scope: Scope,
    },
    SessionsFork {
        id: String,
        scope: Scope,
    },
    SessionsRewind {
        id: String,
        /// Its id, the beginning of it, or the number of a prompt.
        message: String,
        restore_files: bool,
        /// Also files that the user changed since.
        force: bool,
        scope: Scope,
    },
    Trust {
        /// Only shown if absent.
        change: Option<bool>,
        scope: Scope,
    },
    Doctor {
        repair: bool,
        /// Whether all of the last repairs are shown, not only the newest.
        repairs: bool,
        scope: Scope,
    },
    Memory {
        what: Memory,
        scope: Scope,
    },
    Dream {
        what: Dream,
        scope: Scope,
    },
    DebugTokens,
    DebugSecrets,
    DebugLayout {
        session: String,
        cwd: Option<PathBuf>,
    },
    DebugRank {
        directory: PathBuf,
    },
    DebugShell,
    DebugPath {
        root: PathBuf,
        deed: Deed,
    },
    DebugSandbox(Contained),
}

/// What `sessions` and `doctor` look at, and for whom.
#[derive(Debug, Default)]
pub struct Scope {
    pub cwd: Option<PathBuf>,
    pub json: bool,
}

#[derive(Debug, Default)]
pub struct Search {
    pub words: String,
    pub since: Option<String>,
    pub until: Option<String>,
    pub role: Option<SearchRole>,
    pub session: Option<String>,
    pub limit: Option<u32>,
    /// In all projects.
    pub all: bool,
}

#[derive(Debug, Default)]
pub struct SessionOptions {
    pub which: Which,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub allow: Vec<String>,
    /// No memory and no secondary features, as with `CLAUDE_CODE_SIMPLE`.
    pub bare: bool,
    /// A log for each day instead of an index.
    pub assistant: bool,
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Default)]
pub enum Which {
    #[default]
    New,
    Newest,
    Id(String),
    /// One of its branches, as `sessions show` numbers them.
    Branch {
        id: String,
        number: usize,
    },
}

#[derive(Debug)]
pub struct AskOptions {
    pub session: SessionOptions,
    pub prompt: PromptWords,
    pub json: bool,
}

/// What the command line says about the prompt.
#[derive(Debug)]
pub struct PromptWords {
    pub text: Option<String>,
    /// Whether `-` asks for what comes on stdin, however long that takes.
    pub stdin: bool,
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut parser = lexopt::Parser::from_iter(arguments);
    parse_command(&mut parser).map_err(|error| error.to_string())
}

fn parse_command(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let Some(first) = parser.next()? else {
        return Ok(Command::Print(help()));
    };
    match first {
        Short('h') | Long("help") => Ok(Command::Print(help())),
        Short('V') | Long("version") => {
            Ok(Command::Print(format!("reverie {}\n", env!("CARGO_PKG_VERSION"))))
        }
        Value(word) => match word.string()?.as_str() {
            "help" => Ok(Command::Print(help())),
            "lsp" => lsp(parser),
            "ask" => ask(parser),
            "chat" => chat(parser),
            "sessions" => sessions(parser),
            "memory" => memory(parser),
            "dream" => dream(parser),
            "trust" => trust(parser),
            "doctor" => doctor(parser),
            "debug" => debug(parser),
            other if other.contains(char::is_whitespace) => {
                Err("that is no command; a prompt goes behind one: reverie ask \"…\"".into())
            }
            other => Err(format!("there is no command '{other}'").into()),
        },
        other => Err(other.unexpected()),
    }
}

/// Editors pass `--stdio` out of habit.
fn lsp(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut assistant = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("stdio") => {}
            Long("assistant") => assistant = true,
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Lsp { assistant })
}

fn ask(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let Some((session, mut words, json)) = session_arguments(parser)? else {
        return Ok(Command::Print(help()));
    };
    let stdin = words.iter().any(|word| word == "-");
    words.retain(|word| word != "-");
    let text = Some(words.join(" ")).filter(|text| !text.trim().is_empty());
    Ok(Command::Ask(AskOptions { session, prompt: PromptWords { text, stdin }, json }))
}

fn chat(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let Some((session, words, json)) = session_arguments(parser)? else { return Ok(Command::Print(help())) };
    if json {
        return Err("--json goes with ask".into());
    }
    if !words.is_empty() {
        return Err("chat takes no prompt: type it there, or use reverie ask \"…\"".into());
    }
    Ok(Command::Chat(session))
}

/// The options of `ask` and `chat`, the plain words, and whether `--json` was given; `None` when help was asked for.
fn session_arguments(
    parser: &mut lexopt::Parser,
) -> Result<Option<(SessionOptions, Vec<String>, bool)>, lexopt::Error> {
    let mut session = SessionOptions::default();
    let (mut words, mut json, mut newest, mut id, mut branch) = (Vec::new(), false, false, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("json") => json = true,
            Value(word) => words.push(word.string()?),
            Short('c') | Long("continue") => newest = true,
            Long("resume") => id = Some(parser.value()?.string()?),
            Long("branch") => branch = Some(parser.value()?.parse()?),
            Short('m') | Long("model") => session.model = Some(parser.value()?.string()?),
            Long("mode") => session.mode = Some(mode(parser.value()?.string()?)?),
            Long("allow") => session.allow.push(parser.value()?.string()?),
            Long("bare") => session.bare = true,
            Long("assistant") => session.assistant = true,
            Short('C') | Long("cwd") => session.cwd = Some(parser.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    session.which = match (newest, id, branch) {
        (true, Some(_), _) => return Err("--continue and --resume exclude each other".into()),
        (_, None, Some(_)) => return Err("--branch goes with --resume".into()),
        (true, None, None) => Which::Newest,
        (false, Some(id), Some(number)) => Which::Branch { id, number },
        (false, Some(id), None) => Which::Id(id),
        (false, None, None) => Which::New,
    };
    Ok(Some((session, words, json)))
}

fn mode(name: String) -> Result<String, lexopt::Error> {
    let known = PermissionMode::deserialize(serde_json::Value::String(name.clone())).is_ok();
    if known {
        return Ok(name);
    }
    Err(format!("there is no mode '{name}'; the modes are default, acceptEdits, plan and bypass").into())
}

fn sessions(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut words, mut scope, mut search) = (Vec::new(), Scope::default(), Search::default());
    let (mut format, mut to, mut restore_files, mut force) = (None, None, true, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("since") => search.since = Some(time(&parser.value()?.string()?)?),
            Long("until") => search.until = Some(time(&parser.value()?.string()?)?),
            Long("role") => search.role = Some(role(&parser.value()?.string()?)?),
            Long("session") => search.session = Some(parser.value()?.string()?),
            Long("limit") => search.limit = Some(parser.value()?.parse()?),
            Long("all") => search.all = true,
            Long("no-files") => restore_files = false,
            Long("force") => force = true,
            Long("format") => format = Some(export_format(&parser.value()?.string()?)?),
            Short('o') | Long("output") => to = Some(PathBuf::from(parser.value()?)),
            Value(word) => words.push(word.string()?),
            Long("json") => scope.json = true,
            Short('C') | Long("cwd") => scope.cwd = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["list"] => Ok(Command::SessionsList { query: None, all: search.all, scope }),
        ["list", query @ ..] => {
            Ok(Command::SessionsList { query: Some(query.join(" ")), all: search.all, scope })
        }
        ["search"] => Err("'sessions search' needs words to look for".into()),
        ["search", words @ ..] => {
            search.words = words.join(" ");
            Ok(Command::SessionsSearch { search, scope })
        }
        ["show", id] => Ok(Command::SessionsShow { id: (*id).to_owned(), scope }),
        ["export", id] => {
            let is_json =
                scope.json || to.as_ref().is_some_and(|to| to.extension().is_some_and(|end| end == "json"));
            let format = format.unwrap_or(if is_json { ExportFormat::Json } else { ExportFormat::Markdown });
            Ok(Command::SessionsExport { id: (*id).to_owned(), format, to, scope })
        }
        ["fork", id] => Ok(Command::SessionsFork { id: (*id).to_owned(), scope }),
        ["rewind", id, message] => {
            let (id, message) = ((*id).to_owned(), (*message).to_owned());
            Ok(Command::SessionsRewind { id, message, restore_files, force, scope })
        }
        ["rewind", ..] => Err("'sessions rewind' needs the id of a session and a prompt of it".into()),
        [verb @ ("show" | "export" | "fork"), ..] => {
            Err(format!("'sessions {verb}' needs the id of one session").into())
        }
        [other, ..] => Err(format!("there is no command 'sessions {other}'").into()),
    }
}

/// A day is enough: `2026-03-01` is its first moment, by the clock on the wall.
fn time(text: &str) -> Result<String, lexopt::Error> {
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(TimeZone::system()).ok();
    let time = text.parse::<jiff::Timestamp>().ok().or_else(|| day().map(|day| day.timestamp()));
    time.map(|time| time.to_string())
        .ok_or_else(|| format!("'{text}' is no time; write 2026-03-01 or 2026-03-01T09:30:00Z").into())
}

fn role(text: &str) -> Result<SearchRole, lexopt::Error> {
    SearchRole::deserialize(serde_json::Value::String(text.to_owned()))
        .map_err(|_| format!("there is no role '{text}'; the roles are user, assistant and tool").into())
}

fn export_format(text: &str) -> Result<ExportFormat, lexopt::Error> {
    ExportFormat::deserialize(serde_json::Value::String(text.to_owned()))
        .map_err(|_| format!("there is no format '{text}'; the formats are markdown and json").into())
}

fn memory(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut words, mut scope, mut since) = (Vec::new(), Scope::default(), None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("since") => since = Some(time(&parser.value()?.string()?)?),
            Value(word) => words.push(word.string()?),
            Long("json") => scope.json = true,
            Short('C') | Long("cwd") => scope.cwd = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let what = match (words.as_slice(), since) {
        (["undo"], Some(time)) => Memory::UndoSince { time },
        (_, Some(_)) => return Err("--since goes with 'memory undo'".into()),
        ([] | ["list"], None) => Memory::List,
        (["show", path], None) => Memory::Show { path: (*path).to_owned() },
        (["search"], None) => return Err("'memory search' needs words to look for".into()),
        (["search", words @ ..], None) => Memory::Search { words: words.join(" ") },
        (["lint"], None) => Memory::Lint,
        (["history"], None) => Memory::History { path: None },
        (["history", path], None) => Memory::History { path: Some((*path).to_owned()) },
        (["undo"], None) => Memory::Undo { change: None },
        (["undo", change], None) => Memory::Undo { change: Some((*change).to_owned()) },
        (["forget", path], None) => Memory::Forget { path: (*path).to_owned() },
        ([verb @ ("show" | "forget"), ..], None) => {
            return Err(format!("'memory {verb}' needs one file").into());
        }
        ([other, ..], None) => return Err(format!("there is no command 'memory {other}'").into()),
    };
    Ok(Command::Memory { what, scope })
}

fn dream(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut words, mut scope, mut dry_run, mut model) = (Vec::new(), Scope::default(), false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("dry-run") => dry_run = true,
            Short('m') | Long("model") => model = Some(parser.value()?.string()?),
            Value(word) => words.push(word.string()?),
            Long("json") => scope.json = true,
            Short('C') | Long("cwd") => scope.cwd = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let what = match words.as_slice() {
        [] => Dream::Start { dry_run, model },
        [verb, ..] if dry_run || model.is_some() => {
            return Err(format!("'dream {verb}' takes neither --dry-run nor --model").into());
        }
        ["status"] => Dream::Status,
        ["report"] => Dream::Report { id: None },
        ["report", id] => Dream::Report { id: Some((*id).to_owned()) },
        ["undo"] => Dream::Undo { id: None },
        ["undo", id] => Dream::Undo { id: Some((*id).to_owned()) },
        [verb @ ("status" | "report" | "undo"), ..] => {
            return Err(format!("'dream {verb}' takes no more than one dream").into());
        }
        [other, ..] => return Err(format!("there is no command 'dream {other}'").into()),
    };
    Ok(Command::Dream { what, scope })
}

fn trust(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut change, mut scope) = (None, Scope::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Short('y') | Long("yes") => change = Some(true),
            Long("revoke") => change = Some(false),
            Long("json") => scope.json = true,
            Short('C') | Long("cwd") => scope.cwd = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Trust { change, scope })
}

fn doctor(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut repair, mut repairs, mut scope) = (false, false, Scope::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("repair") => repair = true,
            Long("repairs") => repairs = true,
            Long("json") => scope.json = true,
            Short('C') | Long("cwd") => scope.cwd = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Doctor { repair, repairs, scope })
}

fn debug(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut words: Vec<OsString> = Vec::new();
    let (mut root, mut deed, mut memory, mut line, mut limit) = (None, Deed::Judge, None, None, LIMIT);
    let (mut directory, mut session, mut cwd) = (None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            Short('C') | Long("cwd") => cwd = Some(PathBuf::from(parser.value()?)),
            Long("session") => session = Some(parser.value()?.string()?),
            // Changes no count; `debug::tokens` says why.
            Short('m') | Long("model") => drop(parser.value()?.string()?),
            Long("dir") => directory = Some(PathBuf::from(parser.value()?)),
            Long("root") => root = Some(PathBuf::from(parser.value()?)),
            Long("write") => deed = Deed::Write,
            Long("memory") => memory = Some(PathBuf::from(parser.value()?)),
            Long("shell") => line = Some(parser.value()?),
            Long("limit") => limit = Duration::from_secs(parser.value()?.parse()?),
            Value(word) => words.push(word),
            other => return Err(other.unexpected()),
        }
    }
    let mut words = words.into_iter();
    let Some(part) = words.next() else {
        return Err(
            "'debug' needs the name of a part: tokens, shell, path, sandbox, rank, secrets or layout".into(),
        );
    };
    match (part.string()?.as_str(), words.next()) {
        ("tokens", None) => Ok(Command::DebugTokens),
        ("shell", None) => Ok(Command::DebugShell),
        ("secrets", None) => Ok(Command::DebugSecrets),
        ("layout", None) => {
            let session = session.ok_or("'debug layout' needs --session ID")?;
            Ok(Command::DebugLayout { session, cwd })
        }
        ("rank", None) => {
            let directory = directory.ok_or("'debug rank' needs --dir DIR")?;
            Ok(Command::DebugRank { directory })
        }
        ("path", None) => {
            let root = root.ok_or("'debug path' needs --root DIR")?;
            Ok(Command::DebugPath { root, deed })
        }
        ("sandbox", program) => {
            let memory = memory.ok_or("'debug sandbox' needs --memory DIR")?;
            let what = match (program, line) {
                (Some(program), None) => What::Program { program, arguments: words.collect() },
                (None, Some(line)) => What::Shell(line),
                _ => return Err("'debug sandbox' needs -- and a program, or --shell and a line".into()),
            };
            Ok(Command::DebugSandbox(Contained { memory, what, limit }))
        }
        (part, None) => Err(format!("there is no command 'debug {part}'").into()),
        (part, Some(word)) => Err(format!("'debug {part}' takes no '{}'", word.to_string_lossy()).into()),
    }
}

fn help() -> String {
    include_str!("help.txt").to_owned()
}

#[cfg(test)]
mod tests;
