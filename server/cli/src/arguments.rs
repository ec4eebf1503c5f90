//! The command line, parsed into one closed enum.

use std::{ffi::OsString, path::PathBuf};

use lexopt::prelude::*;

pub enum Command {
    /// Help or version.
    Print(String),
    Lsp,
    Ask(AskOptions),
    Chat(SessionOptions),
    SessionsList {
        query: Option<String>,
        json: bool,
    },
    SessionsShow {
        id: String,
    },
    Doctor {
        json: bool,
    },
    DebugTokens {
        model: String,
    },
}

#[derive(Default)]
pub struct SessionOptions {
    pub which: Which,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub allow: Vec<String>,
    pub cwd: Option<PathBuf>,
}

#[derive(Default)]
pub enum Which {
    #[default]
    New,
    Newest,
    Id(String),
}

pub struct AskOptions {
    pub session: SessionOptions,
    /// `None`: the prompt comes from stdin.
    pub prompt: Option<String>,
    pub json: bool,
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
            "doctor" => {
                let (words, json) = words_and_json(parser)?;
                none_left(words.into_iter())?;
                Ok(json.map_or_else(|| Command::Print(help()), |json| Command::Doctor { json }))
            }
            "debug" => debug(parser),
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
    let Some((session, words, json)) = session_arguments(parser)? else { return Ok(Command::Print(help())) };
    let prompt = words.join(" ");
    let prompt = (!prompt.trim().is_empty() && prompt != "-").then_some(prompt);
    Ok(Command::Ask(AskOptions { session, prompt, json }))
}

fn chat(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let Some((session, words, json)) = session_arguments(parser)? else { return Ok(Command::Print(help())) };
    none_left(words.into_iter())?;
    if json {
        return Err("--json goes with ask".into());
    }
    Ok(Command::Chat(session))
}

/// The options of `ask` and `chat`, the plain words, and whether `--json` was given; `None` when help was asked for.
fn session_arguments(
    parser: &mut lexopt::Parser,
) -> Result<Option<(SessionOptions, Vec<String>, bool)>, lexopt::Error> {
    let mut session = SessionOptions::default();
    let (mut words, mut json) = (Vec::new(), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("json") => json = true,
            Value(word) => words.push(word.string()?),
            Short('c') | Long("continue") => session.which = Which::Newest,
            Long("resume") => session.which = Which::Id(parser.value()?.string()?),
            Short('m') | Long("model") => session.model = Some(parser.value()?.string()?),
            Long("mode") => session.mode = Some(parser.value()?.string()?),
            Long("allow") => session.allow.push(parser.value()?.string()?),
            Short('C') | Long("cwd") => session.cwd = Some(parser.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some((session, words, json)))
}

fn sessions(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (words, json) = words_and_json(parser)?;
    let Some(json) = json else { return Ok(Command::Print(help())) };
    let mut words = words.into_iter();
    match (words.next().as_deref(), words.next()) {
        (None, _) => Ok(Command::SessionsList { query: None, json }),
        (Some("list"), query) => {
            none_left(words)?;
            Ok(Command::SessionsList { query, json })
        }
        (Some("show"), Some(id)) => {
            none_left(words)?;
            Ok(Command::SessionsShow { id })
        }
        (Some("show"), None) => Err("'sessions show' needs the id of a session".into()),
        (Some(other), _) => Err(format!("there is no command 'sessions {other}'").into()),
    }
}

fn debug(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut model = String::new();
    let mut words = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Print(help())),
            Short('m') | Long("model") => model = parser.value()?.string()?,
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    match words.as_slice() {
        [word] if word == "tokens" => Ok(Command::DebugTokens { model }),
        [] => Err("'debug' needs the name of a part: tokens".into()),
        _ => Err(format!("there is no command 'debug {}'", words.join(" ")).into()),
    }
}

/// The plain words, and whether `--json` was among them; `None` when help was asked for.
fn words_and_json(parser: &mut lexopt::Parser) -> Result<(Vec<String>, Option<bool>), lexopt::Error> {
    let (mut words, mut json) = (Vec::new(), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok((words, None)),
            Long("json") => json = true,
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    Ok((words, Some(json)))
}

fn none_left(mut words: impl Iterator<Item = String>) -> Result<(), lexopt::Error> {
    match words.next() {
        Some(word) => Err(format!("unexpected argument '{word}'").into()),
        None => Ok(()),
    }
}

fn help() -> String {
    include_str!("help.txt").to_owned()
}
