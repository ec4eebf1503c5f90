//! What users wrote for the agent to do: `SKILL.md` folders and command files.
//!
//! Finds and reads; never runs anything: a line of a command that begins with `!` is text like any other, and what a
//! skill tells the model is the model's to do, with the tools' own permissions. Whether entries of an untrusted
//! folder are offered is the caller's decision.

mod command;
mod discover;
mod skill;

pub use command::Command;
pub use discover::discover;
pub use skill::Skill;

/// In bytes; larger ones are left out.
const LARGEST: u64 = 256 * 1024;

/// All that was found, sorted by name; and, in words for the user, what was left out and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    pub skills: Vec<Skill>,
    pub commands: Vec<Command>,
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Below the config home.
    User,
    /// Below the workspace folder or a folder above it, up to the root of its repository.
    Project,
}
