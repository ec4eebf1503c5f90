//! The one decision: may this call run?
//!
//! Deny rules win, then ask rules; then the mode, allow rules and what is harmless by itself; the rest is
//! asked.

use std::path::{Path, PathBuf};

use crate::{
    access::{Access, Judged, Reach},
    modes::Mode,
    names::{self, folded},
    paths::Place,
    protected::{protected_below, protected_part},
    rules::{Reading, Rule, Rules},
    secrets::{may_hold_secrets, secret, secret_part},
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
    /// Nobody has said yet that this folder is to be trusted: every command is asked about, judged or not. What its
    /// own settings files allow is not among the rules then.
    pub untrusted: bool,
    /// Nobody can be asked: what looks like a credential is not read in the workspace either.
    pub unattended: bool,
}

/// In a memory dir, what keeps the history and who dreams is written by the server alone.
const SERVER_OWNED: &[&str] = &[".history", ".consolidate-lock"];

pub fn decide(tool: &str, access: &Access, policy: &Policy) -> Decision {
    let place = match access {
        Access::Read { path } => Some(Place::of(path)),
        Access::Write { path, real } => Some(Place::seen(path, real.as_deref())),
        Access::Session
        | Access::Command { .. }
        | Access::Fetch { .. }
        | Access::Search { .. }
        | Access::External { .. } => None,
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
                Access::Command { judged: None, .. } => Some(deny(
                    "plan mode: only commands that change nothing run until the user approves the plan",
                )),
                Access::External { read_only: false, .. } => Some(deny(
                    "plan mode: only tools that say they change nothing run until the user approves the plan",
                )),
                Access::Write { .. } => {
                    Some(deny("plan mode: nothing is changed until the user approves the plan"))
                }
                Access::Session
                | Access::Read { .. }
                | Access::Command { judged: Some(_), .. }
                | Access::Fetch { .. }
                | Access::Search { .. }
                | Access::External { read_only: true, .. } => None,
            },
            Mode::Default | Mode::AcceptEdits => None,
        }
    }

    fn permissions(&self) -> Option<Decision> {
        // "Untrusted → every Bash asks": `cargo test` is harmless only where the code it runs is.
        let asks = self.policy.untrusted && matches!(self.access, Access::Command { .. });
        if !asks && let Some(rule) = self.first_permit(&self.policy.rules.allow) {
            return Some(allow(format!("the rule `{rule}` allows it")));
        }
        let rule = self.first_permit(&self.policy.session_rules)?;
        Some(allow(format!("`{rule}` was allowed for this session")))
    }

    fn by_itself(&self) -> Decision {
        match (self.access, &self.place) {
            (Access::Read { path }, Some(place)) => self.read(path, place),
            (Access::Write { path, .. }, Some(place)) => self.write(path, place),
            (Access::Command { judged: Some(_), .. }, _) if self.policy.untrusted => {
                ask("this folder is not trusted yet: every command is asked about")
            }
            (Access::Command { judged: Some(judged), .. }, _) => self.judged(judged),
            (Access::Command { judged: None, .. }, _) => ask("the command may change something"),
            (Access::Fetch { host, .. }, _) => ask(format!("it fetches a page from {host}")),
            (Access::Search { .. }, _) => ask("it searches the web"),
            (Access::External { tool, .. }, _) => ask(format!("`{tool}` is a tool of another program")),
            (Access::Session | Access::Read { .. } | Access::Write { .. }, _) => {
                allow("it touches only the session")
            }
        }
    }

    fn read(&self, path: &Path, place: &Place) -> Decision {
        let Policy { roots, readable_dirs, free_write_dirs, home, unattended, .. } = self.policy;
        let path = path.display();
        let inside = place.is_inside(roots);
        let in_workspace = || roots.iter().filter_map(|root| place.below(root)).find_map(secret);
        if let Some(secret) = secret_part(place, inside, home).or_else(|| unattended.then(in_workspace)?) {
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
        let free = self.policy.free_write_dirs.iter().find_map(|folder| place.below(folder));
        // Where a free folder lies does not matter, what is put into it does.
        let protected = free.map_or_else(|| protected_part(place), protected_below);
        if let Some(name) = protected {
            return ask(format!("{path} is protected: what `{name}` says may be run later"));
        }
        if free.is_some() {
            return allow("it writes in a folder that may be written");
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
                .flat_map(folded)
                .find_map(|part| SERVER_OWNED.iter().find(|name| names::is(&part, name)).copied())
        })
    }

    /// A command that changes nothing is as free as what it reads.
    fn judged(&self, judged: &Judged) -> Decision {
        if judged.reach == Reach::ThroughLinks {
            return ask("the command only reads, but follows links, which may lead out of the workspace");
        }
        for path in &judged.reads {
            let place = Place::of(path);
            match self.read(path, &place) {
                Decision::Allow { .. } => {}
                Decision::Ask { why } | Decision::Deny { why } => {
                    return ask(format!("the command only reads, but {why}"));
                }
            }
            if judged.reach == Reach::Below
                && let Some(why) = self.hidden_below(&place)
            {
                return ask(format!("the command only reads, but {why}"));
            }
        }
        allow("the command changes nothing")
    }

    /// Why a walk over all files below a folder may come across what is not to be read.
    fn hidden_below(&self, place: &Place) -> Option<String> {
        let Policy { rules, home, .. } = self.policy;
        let home = Place::of(home);
        let path = place.written.display();
        if place.spellings().any(|path| may_hold_secrets(path, &home)) {
            return Some(format!("credentials may lie below {path}"));
        }
        let rule = rules.deny.iter().chain(&rules.ask).find(|rule| rule.read_pattern().is_some())?;
        Some(format!("below {path} may be files that the rule `{rule}` is about"))
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
