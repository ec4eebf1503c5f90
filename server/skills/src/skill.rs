//! A skill: what the model is told about it in every session, and the text that it gets when it uses one.

use std::{io, path::PathBuf};

use markdown::{file, frontmatter};

use crate::{LARGEST, Source};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Letters, digits, `_`, `-`, `.`; at most 64.
    pub name: String,
    /// One line.
    pub description: String,
    /// Of the `SKILL.md`; what it refers to lies beside it.
    pub path: PathBuf,
    pub source: Source,
    /// From a folder that the user has not trusted.
    pub untrusted: bool,
    pub argument_hint: Option<String>,
    /// Only the user may start it: `disable-model-invocation: true`.
    pub user_only: bool,
    /// The folder that the file may not lead out of.
    pub root: PathBuf,
}

impl Skill {
    /// The text without its frontmatter, as it is now.
    pub fn body(&self) -> io::Result<String> {
        let text = file::read_below(&self.path, &self.root, LARGEST).map_err(io::Error::other)?;
        Ok(frontmatter::parse(&text).body.trim().to_owned())
    }
}
