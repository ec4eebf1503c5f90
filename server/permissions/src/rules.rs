//! Rules as settings write them: `Tool` or `Tool(specifier)`.
//!
//! The same rule is read in two ways. An allow rule must cover the whole call, or it does not match; a deny or
//! ask rule matches when it covers any part of it, so that it cannot be dodged simply.

pub(crate) mod command;
mod domain;
pub(crate) mod path;

use std::fmt;

use thiserror::Error;

use self::{command::CommandPattern, domain::DomainPattern, path::PathPattern};
use crate::{access::Access, decide::Policy, paths::Place};

#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    tool: String,
    matcher: Matcher,
}

/// A rule that cannot be understood: it is left out, and its text shown to whoever wrote it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the rule `{rule}` is not understood: {problem}")]
pub struct RuleError {
    pub rule: String,
    pub problem: String,
}

#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
}

#[derive(Clone, Debug)]
enum Matcher {
    Always,
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
    /// A specifier of a tool whose calls we cannot look into.
    Opaque,
}

/// Which way a rule is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The whole call must be covered.
    Permits,
    /// Any part will do.
    Restricts,
}

impl Rules {
    /// The rules of three lists; what cannot be understood comes back as errors, the rest still works.
    pub fn parse<List, Text>(allow: List, ask: List, deny: List) -> (Self, Vec<RuleError>)
    where
        List: IntoIterator<Item = Text>,
        Text: AsRef<str>,
    {
        let mut errors = Vec::new();
        let mut parse_all = |list: List| {
            let mut rules = Vec::new();
            for text in list {
                match Rule::parse(text.as_ref()) {
                    Ok(rule) => rules.push(rule),
                    Err(error) => errors.push(error),
                }
            }
            rules
        };
        let rules = Self { allow: parse_all(allow), ask: parse_all(ask), deny: parse_all(deny) };
        (rules, errors)
    }
}

impl Rule {
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let error = |problem: &str| RuleError { rule: text.to_owned(), problem: problem.to_owned() };
        let (tool, specifier) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let Some(specifier) = rest.strip_suffix(')') else {
                    return Err(error("the closing parenthesis is missing"));
                };
                (tool.trim(), Some(specifier.trim()).filter(|specifier| !specifier.is_empty()))
            }
        };
        // All tools of a server may be written with a star.
        let tool = match tool.strip_suffix("__*") {
            Some(server) if server.starts_with("mcp__") => server,
            _ => tool,
        };
        let is_name = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err(error("it must begin with the name of a tool, as in `Bash(cargo test:*)`"));
        }
        let matcher = match (tool, specifier) {
            (_, None | Some("*")) => Matcher::Always,
            ("Bash", Some(specifier)) => Matcher::Command(CommandPattern::parse(specifier)),
            ("Read" | "Edit" | "Write" | "MultiEdit" | "Grep" | "Glob", Some(specifier)) => {
                Matcher::Path(PathPattern::parse(specifier).map_err(|problem| error(&problem))?)
            }
            ("WebFetch", Some(specifier)) => {
                Matcher::Domain(DomainPattern::parse(specifier).map_err(|problem| error(&problem))?)
            }
            (_, Some(_)) => Matcher::Opaque,
        };
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), matcher })
    }

    /// Whether the rule speaks about this call. `place` is the access's path, if it has one.
    pub(crate) fn matches(
        &self,
        tool: &str,
        access: &Access,
        place: Option<&Place>,
        policy: &Policy,
        reading: Reading,
    ) -> bool {
        if let Access::Command { command, judged } = access
            && reading == Reading::Restricts
            && let Matcher::Path(pattern) = &self.matcher
        {
            let reads = judged.iter().flat_map(|judged| &judged.reads);
            let mut places = reads.map(|path| Place::of(path));
            return self.covers_words_of(access)
                && (places.any(|place| pattern.matches(&place, policy, reading))
                    || pattern.matches_a_word(command, policy));
        }
        if !self.covers_tool(tool, access) {
            return false;
        }
        match (&self.matcher, access, place) {
            (Matcher::Always, _, _) => true,
            (Matcher::Command(pattern), Access::Command { command, .. }, _) => match reading {
                Reading::Permits => pattern.permits(command),
                Reading::Restricts => pattern.restricts(command),
            },
            (Matcher::Domain(pattern), Access::Fetch { host, .. }, _) => pattern.matches(host, reading),
            (Matcher::Path(pattern), _, Some(place)) => pattern.matches(place, policy, reading),
            (Matcher::Opaque, _, _) => reading == Reading::Restricts,
            _ => false,
        }
    }

    /// The files that the rule is about, if it is about searching or reading some.
    pub(crate) fn read_pattern(&self) -> Option<&PathPattern> {
        match &self.matcher {
            Matcher::Path(pattern) if matches!(self.tool.as_str(), "Read" | "Grep" | "Glob") => Some(pattern),
            _ => None,
        }
    }

    /// Whether the rule was written with this name, or ending of a name, in it: `.github` does not spell out `.git`.
    pub(crate) fn spells_out(&self, name: &str) -> bool {
        let goes_on = |character: char| character.is_alphanumeric() || "-_".contains(character);
        let text = self.text.to_ascii_lowercase();
        let is_whole = text.match_indices(name).any(|(at, _)| {
            let (before, after) = (text.get(..at), text.get(at + name.len()..));
            !after.is_some_and(|after| after.starts_with(goes_on))
                && (name.starts_with('.') || !before.is_some_and(|before| before.ends_with(goes_on)))
        });
        matches!(self.matcher, Matcher::Path(_)) && is_whole
    }

    /// `Read` stands for everything that reads files, `Edit` for everything that writes them, and the name of
    /// an MCP server (`mcp__server`) for its tools.
    fn covers_tool(&self, tool: &str, access: &Access) -> bool {
        let kind = match access {
            Access::Read { .. } => "Read",
            Access::Write { .. } => "Edit",
            Access::Fetch { .. } => "WebFetch",
            Access::Search { .. } => "WebSearch",
            Access::External { tool, .. } => tool,
            Access::Session | Access::Command { .. } => tool,
        };
        [tool, kind].iter().any(|name| {
            self.tool == *name
                || (self.tool.starts_with("mcp__")
                    && name.strip_prefix(self.tool.as_str()).is_some_and(|rest| rest.starts_with("__")))
        })
    }

    /// A file that may not be read is not to be read by a command either, and so for edits.
    fn covers_words_of(&self, access: &Access) -> bool {
        match self.tool.as_str() {
            "Read" => true,
            "Edit" | "Write" => !access.is_read_only(),
            _ => false,
        }
    }
}

/// The rule as it was written.
impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
