//! The command line, parsed into one closed enum.

use std::{ffi::OsString, path::PathBuf};

use lexopt::prelude::*;
use serde::Deserialize as _;
use settings::PermissionMode;

#[derive(Debug)]
pub enum Command {
    /// Help or version.
    Print(String),
    Lsp,
    Ask(AskOptions),
    Chat(SessionOptions),
    SessionsList {
        query: Option<String>,
        scope: Scope,
    },
    SessionsShow {
        id: String,
        scope: Scope,
    },
    Doctor(Scope),
    DebugTokens,
}

/// What `sessions` and `doctor` look at, and for whom.
#[derive(Debug, Default)]
pub struct Scope {
    pub cwd: Option<PathBuf>,
    pub json: bool,
}

#[derive(Debug, Default)]
pub struct SessionOptions {
    pub which: Which,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub allow: Vec<String>,
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Default)]
pub enum Which {
    #[default]
    New,
    Newest,
    Id(String),
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
    while let Some(argument) = parser.next()? {
        match argument {
            Long("stdio") => {}
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Lsp)
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
    let (mut words, mut json, mut newest, mut id) = (Vec::new(), false, false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("json") => json = true,
            Value(word) => words.push(word.string()?),
            Short('c') | Long("continue") => newest = true,
            Long("resume") => id = Some(parser.value()?.string()?),
            Short('m') | Long("model") => session.model = Some(parser.value()?.string()?),
            Long("mode") => session.mode = Some(mode(parser.value()?.string()?)?),
            Long("allow") => session.allow.push(parser.value()?.string()?),
            Short('C') | Long("cwd") => session.cwd = Some(parser.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    session.which = match (newest, id) {
        (true, Some(_)) => return Err("--continue and --resume exclude each other".into()),
        (true, None) => Which::Newest,
        (false, Some(id)) => Which::Id(id),
        (false, None) => Which::New,
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
    let Some((words, scope)) = words_and_scope(parser)? else { return Ok(Command::Print(help())) };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["list"] => Ok(Command::SessionsList { query: None, scope }),
        ["list", query @ ..] => Ok(Command::SessionsList { query: Some(query.join(" ")), scope }),
        ["show", id] if !scope.json => Ok(Command::SessionsShow { id: (*id).to_owned(), scope }),
        ["show", _] => Err("--json goes with 'sessions list'".into()),
        ["show", ..] => Err("'sessions show' needs the id of one session".into()),
        [other, ..] => Err(format!("there is no command 'sessions {other}'").into()),
    }
}

fn doctor(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let Some((words, scope)) = words_and_scope(parser)? else { return Ok(Command::Print(help())) };
    match words.first() {
        Some(word) => Err(format!("unexpected argument '{word}'").into()),
        None => Ok(Command::Doctor(scope)),
    }
}

fn debug(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut words = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            // Changes no count; `debug::tokens` says why.
            Short('m') | Long("model") => drop(parser.value()?.string()?),
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    match words.as_slice() {
        [word] if word == "tokens" => Ok(Command::DebugTokens),
        [] => Err("'debug' needs the name of a part: tokens".into()),
        _ => Err(format!("there is no command 'debug {}'", words.join(" ")).into()),
    }
}

/// The plain words, and where to look; `None` when help was asked for.
fn words_and_scope(parser: &mut lexopt::Parser) -> Result<Option<(Vec<String>, Scope)>, lexopt::Error> {
    let (mut words, mut scope) = (Vec::new(), Scope::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("json") => scope.json = true,
            Short('C') | Long("cwd") => scope.cwd = Some(parser.value()?.into()),
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some((words, scope)))
}

fn help() -> String {
    include_str!("help.txt").to_owned()
}

#[cfg(test)]
mod tests;
