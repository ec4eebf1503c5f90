//! What a prompt may begin with: `/name arguments`. Built-in commands answer by themselves, without a model; a command
//! file or a skill goes to the model behind the user's own words.

mod background;

use std::{fmt::Write, path::Path, sync::Arc};

use context::fragment;
use conversation::{Body, Flags};
use skills::Library;

use crate::{
    agent::Agent,
    doctor,
    event::ContextLevel,
    extensions, meter, opening, report,
    session::Session,
    shared::Shared,
    store,
    types::{AgentError, CheckStatus, CommandSource, Prompt, PromptPart, Reach, SlashCommand},
};

/// A longer command file is cut: it is a prompt, not a book.
const EXPANSION_CAP: usize = 100_000;

/// Sessions that `/resume` shows.
const RECENT: usize = 10;

/// Memories that `/memory` shows.
const RECENT_MEMORIES: usize = 50;

/// The subtype of what a built-in command said.
const LOCAL: &str = "local_command";

const BUILT_IN: &[(BuiltIn, &str, Option<&str>, &str)] = &[
    (BuiltIn::Help, "help", None, "Lists the commands"),
    (
        BuiltIn::Background,
        "background",
        None,
        "Shows what runs by itself, why or why not, and what it cost today",
    ),
    (BuiltIn::Clear, "clear", None, "Begins the conversation anew; the old one stays as a branch"),
    (
        BuiltIn::Compact,
        "compact",
        Some("[what to keep in mind]"),
        "Replaces what was said by a summary, in what the model sees",
    ),
    (BuiltIn::Context, "context", None, "Shows what fills the context window"),
    (BuiltIn::Cost, "cost", None, "Shows what this session cost, by model"),
    (BuiltIn::Doctor, "doctor", None, "Examines the installation"),
    (
        BuiltIn::Dream,
        "dream",
        Some("[dry-run | status | stop]"),
        "Puts the memories in order, in the background",
    ),
    (
        BuiltIn::Memory,
        "memory",
        Some("[reload]"),
        "Shows what is remembered and which instructions are in force",
    ),
    (BuiltIn::Mcp, "mcp", None, "Shows the MCP servers and their tools"),
    (BuiltIn::Mode, "mode", Some("default | acceptEdits | plan"), "Shows or sets the permission mode"),
    (BuiltIn::Model, "model", Some("[provider/model]"), "Shows or sets the model"),
    (BuiltIn::Resume, "resume", None, "Lists the latest sessions"),
    (BuiltIn::Snip, "snip", None, "Leaves all but the newest round out of what the model sees"),
    (BuiltIn::Uncompact, "uncompact", None, "Takes the last compaction back, until the next prompt"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    Help,
    Background,
    Clear,
    Compact,
    Context,
    Cost,
    Doctor,
    Dream,
    Memory,
    Mcp,
    Mode,
    Model,
    Resume,
    Snip,
    Uncompact,
}

/// A built-in command as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub command: BuiltIn,
    pub arguments: String,
    /// The whole prompt.
    words: String,
}

/// All that a prompt may begin with in this folder, built-in commands first.
pub(crate) fn list(shared: &Shared, folder: &Path) -> Vec<SlashCommand> {
    let built_in = BUILT_IN.iter().map(|(_, name, hint, description)| SlashCommand {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        argument_hint: hint.map(str::to_owned),
        source: CommandSource::BuiltIn,
    });
    let Library { skills, commands, .. } = shared.library(folder);
    let files = commands.into_iter().map(|command| SlashCommand {
        source: source(command.source),
        name: command.name,
        description: command.description,
        argument_hint: command.argument_hint,
    });
    let skills = skills.into_iter().map(|skill| SlashCommand {
        source: source(skill.source),
        name: skill.name,
        description: skill.description,
        argument_hint: None,
    });
    let mut commands: Vec<SlashCommand> = built_in.collect();
    for command in files.chain(skills) {
        // The first of a name is the one that runs.
        if !commands.iter().any(|known| known.name == command.name) {
            commands.push(command);
        }
    }
    commands
}

fn source(source: skills::Source) -> CommandSource {
    match source {
        skills::Source::User => CommandSource::User,
        skills::Source::Project => CommandSource::Project,
    }
}

/// The built-in command that a prompt is, if it is one. A name that nothing has is refused, unless it may be a path.
pub(crate) fn built_in(session: &Session, prompt: &Prompt) -> Result<Option<Spoken>, AgentError> {
    let Some((name, arguments, words)) = slash(prompt) else { return Ok(None) };
    if let Some((command, ..)) = BUILT_IN.iter().find(|(_, known, ..)| *known == name) {
        let (arguments, words) = (arguments.to_owned(), words.to_owned());
        return Ok(Some(Spoken { command: *command, arguments, words }));
    }
    let library = session.shared.library(&session.cwd);
    let command = library.commands.iter().find(|command| command.name == name).map(|it| it.untrusted);
    let skill = || library.skills.iter().find(|skill| skill.name == name).map(|it| it.untrusted);
    match command.or_else(skill) {
        Some(false) => return Ok(None),
        Some(true) => {
            return Err(AgentError::Invalid(format!(
                "/{name} comes with this folder, which is not trusted; look at it, then trust the folder (reverie trust)"
            )));
        }
        None if Path::new("/").join(name).exists() => return Ok(None),
        None => {}
    }
    Err(AgentError::Invalid(format!("there is no command /{name}; /help lists them")))
}

/// What a command file or a skill adds to the prompt that names it. Reads a file.
pub(crate) fn expansion(session: &Session, prompt: &Prompt) -> Option<String> {
    let (name, arguments, _) = slash(prompt)?;
    let library = session.shared.library(&session.cwd);
    let named = |command: &&skills::Command| command.name == name && !command.untrusted;
    let (what, path, text) = match library.commands.iter().find(named) {
        Some(command) => ("command", &command.path, command.expand(arguments)),
        None => {
            let skill = library.skills.iter().find(|skill| skill.name == name && !skill.untrusted)?;
            ("skill", &skill.path, skill.body())
        }
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return Some(format!("The {what} /{name} could not be read: {error}.")),
    };
    if what == "skill" {
        session.uses_skill(name, &text);
    }
    let shown = fragment::file_fragment(path, what, &text);
    let given = match (what, arguments) {
        ("skill", arguments) if !arguments.is_empty() => format!(" with the arguments: {arguments}"),
        _ => String::new(),
    };
    Some(fragment::reminder(
        &format!("The user runs the {what} /{name}{given}. Do what it says:\n\n{shown}"),
        EXPANSION_CAP,
    ))
}

/// `/name arguments` and the whole line, of a prompt that begins so.
fn slash(prompt: &Prompt) -> Option<(&str, &str, &str)> {
    let words = prompt.parts.iter().find_map(|part| match part {
        PromptPart::Text(text) => Some(text.trim()),
        PromptPart::Mention { .. } | PromptPart::Image { .. } => None,
    })?;
    let (name, arguments) =
        words.strip_prefix('/')?.split_once(char::is_whitespace).unwrap_or((words.strip_prefix('/')?, ""));
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|character| character.is_alphanumeric() || "-_:.".contains(character));
    is_name.then_some((name, arguments.trim(), words))
}

impl Spoken {
    /// Whether it changes the conversation, and so cannot run beside a turn.
    pub fn needs_quiet(&self) -> bool {
        matches!(self.command, BuiltIn::Clear | BuiltIn::Compact | BuiltIn::Snip | BuiltIn::Uncompact)
            || (self.command == BuiltIn::Memory && !self.arguments.trim().is_empty())
    }

    /// Runs the command and keeps what it said with the session; never sent to a model. May read files.
    pub fn run(&self, agent: &Arc<Agent>, session: &Arc<Session>) -> String {
        let text = self.answer(agent, session).unwrap_or_else(|error| error.to_string());
        let body = Body::notice(LOCAL, format!("{}\n\n{text}", self.words));
        // A session that has said nothing needs no file for it.
        if !session.state().thread.is_empty() {
            session.append(body, Flags { meta: true, ..Flags::default() });
        }
        text
    }

    fn answer(&self, agent: &Arc<Agent>, session: &Arc<Session>) -> Result<String, AgentError> {
        match self.command {
            BuiltIn::Help => Ok(help(&list(&session.shared, &session.cwd))),
            BuiltIn::Background => background::report(agent),
            BuiltIn::Clear => Ok(clear(session)),
            BuiltIn::Context => context(session),
            BuiltIn::Cost => Ok(cost(session)),
            BuiltIn::Doctor => Ok(examine(agent, session)),
            BuiltIn::Dream => background::dream(agent, session, self.arguments.trim()),
            BuiltIn::Mcp => Ok(extensions::report(&session.shared, &session.cwd)),
            BuiltIn::Mode if self.arguments.is_empty() => {
                Ok(format!("The permission mode is {}.", session.mode().as_str()))
            }
            BuiltIn::Mode => {
                session.configure(None, Some(&self.arguments))?;
                report::tell_standing(session, None);
                Ok(format!("The permission mode is now {}.", self.arguments))
            }
            BuiltIn::Model if self.arguments.is_empty() => Ok(models(session)),
            BuiltIn::Model => {
                session.configure(Some(&self.arguments), None)?;
                report::tell_standing(session, None);
                Ok(format!("From the next prompt on {} answers.", self.arguments))
            }
            BuiltIn::Memory => memory(session, self.arguments.trim()),
            BuiltIn::Resume => resume(session),
            BuiltIn::Snip => snip(session),
            BuiltIn::Uncompact => uncompact(session),
            // Asks a model: see `Agent::prompt`.
            BuiltIn::Compact => Err(AgentError::Invalid("/compact cannot run here".to_owned())),
        }
    }
}

fn snip(session: &Arc<Session>) -> Result<String, AgentError> {
    let settings = session.shared.settings(&session.cwd).settings;
    let change = {
        let (thread, projection) = {
            let state = session.state();
            (state.thread.clone(), state.window.projection.clone())
        };
        let rendered = session.state().rendered.as_ref().map(|rendered| rendered.model.clone());
        let models = session.shared.models(&settings);
        let resolved = models.resolve(rendered.as_deref());
        let (spec, _) = resolved.map_err(|error| AgentError::Invalid(error.to_string()))?;
        context::snip::by_command(&thread, &projection, &meter::of_message(session, &spec))
    };
    let Some(change) = change else {
        return Ok("There is nothing to leave out: the newest round is all there is.".to_owned());
    };
    let said = change.entry.as_ref().map(|entry| entry.detail.clone()).unwrap_or_default();
    session.decide(None, change.event, change.entry);
    Ok(format!("Done: {said}. The history still has them."))
}

fn uncompact(session: &Arc<Session>) -> Result<String, AgentError> {
    match session.uncompact() {
        true => Ok("The conversation is as it was before the compaction.".to_owned()),
        false => Err(nothing_to_uncompact()),
    }
}

pub(crate) fn nothing_to_uncompact() -> AgentError {
    AgentError::Invalid(
        "there is no compaction to take back: it can be done until the next request. The whole conversation is in the \
         transcript; rewind to an earlier message to go on from there"
            .to_owned(),
    )
}

/// What is remembered, and which files of instructions the session goes by.
fn memory(session: &Arc<Session>, arguments: &str) -> Result<String, AgentError> {
    let is_begun = session.state().rendered.is_some();
    let files = match arguments {
        "" if is_begun => session.instructions().files(),
        "" | "reload" => opening::reload(session),
        other => {
            return Err(AgentError::Invalid(format!(
                "/memory {other} means nothing; /memory reload reads anew"
            )));
        }
    };
    let mut text = String::new();
    if session.state().rendered.is_none() {
        text.push_str("Instructions are read with the first prompt.\n");
    } else if files.is_empty() {
        text.push_str("No instructions are in force: no CLAUDE.md was found.\n");
    } else {
        text.push_str("Instructions in force:\n");
    }
    for file in files {
        let _infallible = writeln!(text, "- {} ({}, {})", file.path.display(), file.source, file.reason);
    }
    let Some(memories) = session.memories() else {
        text.push_str("\nMemory is switched off.");
        return Ok(text);
    };
    let remembered = memories.store.memories();
    let noun = if remembered.len() == 1 { "memory" } else { "memories" };
    let directory = memories.directory().display();
    let _infallible = writeln!(text, "\n{} {noun} in {directory}", remembered.len());
    for memory in remembered.iter().take(RECENT_MEMORIES) {
        let said = if memory.description.is_empty() { &memory.name } else { &memory.description };
        let _infallible = writeln!(text, "- {}: {said}", memory.path);
    }
    if let Some(more) = remembered.len().checked_sub(RECENT_MEMORIES).filter(|more| *more > 0) {
        let _infallible = writeln!(text, "- and {more} more");
    }
    Ok(text)
}

fn help(commands: &[SlashCommand]) -> String {
    let mut text = "Commands:\n".to_owned();
    for SlashCommand { name, description, argument_hint, .. } in commands {
        let hint = argument_hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
        let _infallible = writeln!(text, "- `/{name}{hint}` {description}");
    }
    text
}

fn clear(session: &Arc<Session>) -> String {
    let thread = session.state().thread.clone();
    session.rewind_to(&thread, 0);
    opening::reload(session);
    let detail = "the conversation begins anew; what was said stays in the transcript as a branch";
    session.remark(None, "clear", detail.to_owned(), true);
    "The conversation begins anew. The old one is still there: resume the session to go back to it."
        .to_owned()
}

fn context(session: &Session) -> Result<String, AgentError> {
    let report = report::context(session)?;
    let level = match report.level {
        ContextLevel::Normal => "",
        ContextLevel::Warning => ", filling up",
        ContextLevel::Error => ", nearly full",
        ContextLevel::Critical => ", full",
    };
    let share = report.used as f64 * 100.0 / report.window.max(1) as f64;
    let mut text = format!(
        "{} of {} tokens used ({share:.1} %{level}); {} % left until compaction: {}.\n\n",
        report.used, report.window, report.percent_left, report.next_step
    );
    for (name, tokens) in report.parts.iter().filter(|(_, tokens)| *tokens > 0) {
        let _infallible = writeln!(text, "- {name}: {tokens}");
    }
    if !report.ledger.is_empty() {
        text.push_str("\nWhat was changed in what the model sees:\n");
    }
    for (at, entry) in &report.ledger {
        let cache = if entry.cache_kept { "kept" } else { "broken" };
        let _infallible = writeln!(
            text,
            "- {at} {}: {} ({} tokens freed, cache {cache})",
            entry.layer, entry.detail, entry.tokens_freed
        );
    }
    if let Some(line) = report.compactions.in_words() {
        let _infallible = writeln!(text, "\n{line}");
    }
    Ok(text)
}

fn cost(session: &Session) -> String {
    let cost = session.state().cost.clone();
    if cost.models.is_empty() {
        return "Nothing was spent in this session yet.".to_owned();
    }
    let mut text = format!("This session cost ${:.4}.\n\n", cost.cost_usd());
    for (model, spent) in &cost.models {
        let usage = &spent.usage;
        let _infallible = writeln!(
            text,
            "- {model}: ${:.4} ({} in, {} out, {} read from the cache, {} written to it)",
            spent.cost_usd,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        );
    }
    if cost.sources.len() > 1 {
        text.push_str("\nBy who asked:\n");
    }
    for (source, spent) in cost.sources.iter().filter(|_| cost.sources.len() > 1) {
        let share = 100.0 * report::cache_hit_rate(&spent.usage);
        let _infallible =
            writeln!(text, "- {source}: ${:.4}, {share:.0} % of its input from the cache", spent.cost_usd);
    }
    text
}

fn examine(agent: &Agent, session: &Session) -> String {
    let mut text = String::new();
    for check in agent.examine(&session.cwd, doctor::Repair::Lossless) {
        let mark = match check.status {
            CheckStatus::Ok => "ok",
            CheckStatus::Warning => "warning",
            CheckStatus::Failed => "failed",
        };
        let detail = check.detail.replace('\n', "\n  - ");
        let _infallible = writeln!(text, "- {} ({mark}): {detail}", check.name);
        if let Some(fix) = check.fix {
            let _infallible = writeln!(text, "  To do: {fix}");
        }
    }
    text
}

fn models(session: &Session) -> String {
    let mut text = "Models (`/model provider/model` chooses one):\n".to_owned();
    for model in report::models(&session.shared, &session.cwd) {
        let note = match (model.default, model.available) {
            (true, _) => ", the default",
            (false, true) => "",
            (false, false) => ", no key",
        };
        let _infallible = writeln!(text, "- `{}` ({} tokens{note})", model.id, model.context_window);
    }
    text
}

fn resume(session: &Session) -> Result<String, AgentError> {
    let page = store::page(&session.shared, None, Some(RECENT), None, Reach::Workspace)?;
    let mut text = "The latest sessions of this project:\n".to_owned();
    for summary in page.sessions {
        let mut notes = vec![summary.updated_at.to_string()];
        notes.extend(summary.branches.filter(|count| *count > 1).map(|count| format!("{count} branches")));
        notes.extend(summary.forked_from.map(|from| format!("a fork of `{from}`")));
        let _infallible = writeln!(text, "- `{}` {} ({})", summary.id, summary.title, notes.join(", "));
    }
    text.push_str("\n`reverie chat --resume ID` goes on with one, with `--branch N` on one of its branches; so does the editor's list of sessions.");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(text: &str) -> Option<(String, String)> {
        let prompt = Prompt { parts: vec![PromptPart::Text(text.to_owned())], ..Prompt::default() };
        slash(&prompt).map(|(name, arguments, _)| (name.to_owned(), arguments.to_owned()))
    }

    #[test]
    fn a_command_is_a_slash_and_a_name() {
        let command = |name: &str, arguments: &str| Some((name.to_owned(), arguments.to_owned()));
        assert_eq!(spoken("/cost"), command("cost", ""));
        assert_eq!(spoken("  /git:commit fix  the parser \n"), command("git:commit", "fix  the parser"));
        assert_eq!(spoken("/usr/bin/env is missing"), None);
        assert_eq!(spoken("/ alone"), None);
        assert_eq!(spoken("//comment"), None);
        assert_eq!(spoken("what does /cost do?"), None);
    }
}
