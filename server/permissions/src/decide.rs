//! The one decision: may this call run?
//!
//! Deny rules win, then ask rules; then the mode, allow rules and what is harmless by itself; the rest is
//! asked.

use std::path::{Path, PathBuf};

use crate::{
    access::Access,
    modes::Mode,
    paths::Place,
    protected::{protected_part, secret_part},
    rules::{Reading, Rule, Rules, path::words_that_may_be_paths},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow { why: String },
    Ask { why: String },
    Deny { why: String },
}

/// All that a decision depends on.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub mode: Mode,
    pub rules: Rules,
    /// What the user allowed until the session ends.
    pub session_rules: Vec<Rule>,
    /// The workspace's folders.
    pub roots: Vec<PathBuf>,
    /// Folders that may be written without a question, such as the memory dir.
    pub free_write_dirs: Vec<PathBuf>,
    /// Folders outside the workspace that may be read without a question.
    pub readable_dirs: Vec<PathBuf>,
    pub home: PathBuf,
}

/// In a memory dir, what keeps the history and who dreams is written by the server alone.
const SERVER_OWNED: &[&str] = &[".history", ".consolidate-lock"];

pub fn decide(tool: &str, access: &Access, policy: &Policy) -> Decision {
    let place = match access {
        Access::Read { path } | Access::Write { path } => Some(Place::of(path)),
        Access::Session | Access::Command { .. } => None,
    };
    let call = Call { tool, access, place, policy };
    call.restrictions()
        .or_else(|| call.mode())
        .or_else(|| call.permissions())
        .unwrap_or_else(|| call.by_itself())
}

struct Call<'a> {
    tool: &'a str,
    access: &'a Access,
    /// Of reads and writes.
    place: Option<Place>,
    policy: &'a Policy,
}

impl Call<'_> {
    fn restrictions(&self) -> Option<Decision> {
        let rules = &self.policy.rules;
        if let Some(rule) = self.first_match(&rules.deny, Reading::Restricts) {
            return Some(deny(format!("the rule `{rule}` denies it")));
        }
        if let (Access::Write { .. }, Some(place)) = (self.access, &self.place)
            && let Some(name) = self.server_owned(place)
        {
            return Some(deny(format!("`{name}` in the memory folder is written by the server alone")));
        }
        let rule = self.first_match(&rules.ask, Reading::Restricts)?;
        Some(ask(format!("the rule `{rule}` asks for it")))
    }

    fn mode(&self) -> Option<Decision> {
        match self.policy.mode {
            Mode::Bypass => Some(allow("permissions are bypassed in this session")),
            Mode::Plan => match self.access {
                Access::Command { read_only: false, .. } => Some(deny(
                    "plan mode: only commands that change nothing run until the user approves the plan",
                )),
                Access::Write { .. } => {
                    Some(deny("plan mode: nothing is changed until the user approves the plan"))
                }
                Access::Session | Access::Read { .. } | Access::Command { read_only: true, .. } => None,
            },
            Mode::Default | Mode::AcceptEdits => None,
        }
    }

    fn permissions(&self) -> Option<Decision> {
        if let Some(rule) = self.first_permit(&self.policy.rules.allow) {
            return Some(allow(format!("the rule `{rule}` allows it")));
        }
        let rule = self.first_permit(&self.policy.session_rules)?;
        Some(allow(format!("`{rule}` was allowed for this session")))
    }

    fn by_itself(&self) -> Decision {
        match (self.access, &self.place) {
            (Access::Read { path }, Some(place)) => self.read(path, place),
            (Access::Write { path }, Some(place)) => self.write(path, place),
            (Access::Command { command, read_only: true }, _) => match self.leaves_the_workspace(command) {
                Some(word) => {
                    ask(format!("the command only reads, but `{word}` may be outside the workspace"))
                }
                None => allow("the command changes nothing"),
            },
            (Access::Command { .. }, _) => ask("the command may change something"),
            (Access::Session | Access::Read { .. } | Access::Write { .. }, _) => {
                allow("it touches only the session")
            }
        }
    }

    fn read(&self, path: &Path, place: &Place) -> Decision {
        let Policy { roots, readable_dirs, free_write_dirs, home, .. } = self.policy;
        let path = path.display();
        let inside = place.is_inside(roots);
        if let Some(secret) = secret_part(place, inside, home) {
            return ask(format!("{path} may hold credentials (`{secret}`)"));
        }
        if inside {
            return allow("it reads inside the workspace");
        }
        if place.is_inside(readable_dirs) || place.is_inside(free_write_dirs) {
            return allow("it reads in a folder that may be read");
        }
        ask(self.outside(place, &format!("{path} is outside the workspace")))
    }

    fn write(&self, path: &Path, place: &Place) -> Decision {
        let path = path.display();
        if place.is_inside(&self.policy.free_write_dirs) {
            return allow("it writes in a folder that may be written");
        }
        if let Some(name) = protected_part(place) {
            return ask(format!("{path} is protected: what `{name}` says may be run later"));
        }
        if !place.is_inside(&self.policy.roots) {
            return ask(self.outside(place, &format!("{path} is outside the workspace")));
        }
        match self.policy.mode {
            Mode::AcceptEdits => allow("edits inside the workspace are accepted in this session"),
            _ => ask(format!("it changes {path}")),
        }
    }

    fn outside(&self, place: &Place, otherwise: &str) -> String {
        match &place.real {
            None => format!("{} goes through a link that leads nowhere", place.written.display()),
            Some(real) if self.policy.roots.iter().any(|root| place.written.starts_with(root)) => {
                format!("{} is a link out of the workspace, to {}", place.written.display(), real.display())
            }
            Some(_) => otherwise.to_owned(),
        }
    }

    fn server_owned(&self, place: &Place) -> Option<&'static str> {
        self.policy.free_write_dirs.iter().find_map(|folder| {
            let folder = Place::of(folder);
            let inside = place
                .spellings()
                .flat_map(|path| folder.spellings().filter_map(move |folder| path.strip_prefix(folder).ok()));
            inside
                .flat_map(Path::iter)
                .find_map(|part| SERVER_OWNED.iter().find(|name| part.eq_ignore_ascii_case(name)).copied())
        })
    }

    /// A word of a reading command that leads out of what may be read. A guess by the words alone: the shell's
    /// folder is not known here, and a variable may hold anything.
    fn leaves_the_workspace(&self, command: &str) -> Option<String> {
        let Policy { roots, readable_dirs, free_write_dirs, home, .. } = self.policy;
        let has_variable = command.split('$').skip(1).any(|rest| {
            rest.starts_with(|character: char| character.is_ascii_alphabetic() || "_{".contains(character))
        });
        if has_variable {
            return Some("$".to_owned());
        }
        let other_home = command.split_whitespace().find(|word| {
            word.strip_prefix('~').is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        });
        if let Some(word) = other_home {
            return Some(word.to_owned());
        }
        let leaves = |path: &PathBuf| {
            let place = Place::of(&before_wildcard(path));
            if place.written == Path::new("/dev/null") || !(place.written.exists() || place.real.is_none()) {
                return false;
            }
            let inside = place.is_inside(roots);
            secret_part(&place, inside, home).is_some()
                || !(inside || place.is_inside(readable_dirs) || place.is_inside(free_write_dirs))
        };
        words_that_may_be_paths(command, self.policy)
            .into_iter()
            .find(leaves)
            .map(|path| path.display().to_string())
    }

    fn first_match<'r>(&self, rules: &'r [Rule], reading: Reading) -> Option<&'r Rule> {
        rules
            .iter()
            .find(|rule| rule.matches(self.tool, self.access, self.place.as_ref(), self.policy, reading))
    }

    /// A protected or secret file is permitted only by a rule that names it: `Edit(.vscode/**)`, not `Edit`.
    fn first_permit<'r>(&self, rules: &'r [Rule]) -> Option<&'r Rule> {
        let guarded = match (self.access, &self.place) {
            (Access::Write { .. }, Some(place)) => protected_part(place),
            (Access::Read { .. }, Some(place)) => {
                secret_part(place, place.is_inside(&self.policy.roots), &self.policy.home)
            }
            _ => None,
        };
        rules.iter().find(|rule| {
            guarded.is_none_or(|name| rule.spells_out(name))
                && rule.matches(self.tool, self.access, self.place.as_ref(), self.policy, Reading::Permits)
        })
    }
}

/// The folders before the first part with a wildcard in it.
fn before_wildcard(path: &Path) -> PathBuf {
    path.iter().take_while(|part| !part.to_string_lossy().contains(['*', '?', '['])).collect()
}

fn allow(why: impl Into<String>) -> Decision {
    Decision::Allow { why: why.into() }
}

fn ask(why: impl Into<String>) -> Decision {
    Decision::Ask { why: why.into() }
}

fn deny(why: impl Into<String>) -> Decision {
    Decision::Deny { why: why.into() }
}

#[cfg(test)]
mod tests;
