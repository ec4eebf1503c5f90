//! Rules: Markdown files in folders called `rules`, and the globs in their `paths:` that say what they wait for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize, Serializer};

use super::Source;

/// Entries of one folder that are looked at; the rest is left out, in no order that could be promised.
const MOST_ENTRIES: usize = 2_000;

/// A rule that waits until a matching file is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    pub source: Source,
    /// What the globs are relative to: the directory that holds `.claude`; of the user's and the administrator's rules
    /// the session's folder.
    #[serde(serialize_with = "as_text")]
    pub base: PathBuf,
    pub globs: Vec<String>,
}

impl Rule {
    /// The last glob that matches decides, so that `!x` takes back what came before it.
    pub fn matches(&self, path: &Path) -> bool {
        let Ok(path) = path.strip_prefix(&self.base) else { return false };
        let mut matches = self.globs.iter().all(|glob| glob.starts_with('!'));
        for glob in &self.globs {
            let (pattern, negated) = match glob.strip_prefix('!') {
                Some(pattern) => (pattern, true),
                None => (glob.as_str(), false),
            };
            // What cannot be read as a glob was reported when the rule was found.
            if matches == negated && Pattern::parse(pattern).is_ok_and(|it| it.matches(path)) {
                matches = !negated;
            }
        }
        matches
    }
}

/// Why some of the globs never match, in words that follow the file's name.
pub(super) fn objections(globs: &[String]) -> impl Iterator<Item = String> {
    globs.iter().filter_map(|glob| {
        let error = Pattern::parse(glob.strip_prefix('!').unwrap_or(glob)).err()?;
        let glob = super::document::shortened(glob, 80);
        Some(format!("has `{glob}` in `paths`, which matches nothing: {}", error.kind()))
    })
}

/// Whether these match every file, so that there is nothing to wait for.
pub(super) fn match_everything(globs: &[String]) -> bool {
    !globs.is_empty() && globs.iter().all(|glob| matches!(glob.as_str(), "**" | "**/*" | "**/**" | "/**"))
}

enum Pattern {
    /// Without wildcards: a file, or a folder with all that is in it.
    Place(PathBuf),
    Glob(GlobMatcher),
}

impl Pattern {
    /// `*` stays within a folder.
    fn parse(text: &str) -> Result<Self, globset::Error> {
        let text = text.strip_prefix("./").unwrap_or(text).trim_start_matches('/');
        if !text.contains(['*', '?', '[', '{', '\\']) {
            return Ok(Self::Place(PathBuf::from(text)));
        }
        let below = if text.ends_with('/') { "**" } else { "" };
        let glob = GlobBuilder::new(&format!("{text}{below}")).literal_separator(true).build()?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    fn matches(&self, path: &Path) -> bool {
        match self {
            Self::Place(place) => path.starts_with(place),
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}

/// The Markdown files and the folders in a folder, in the order of their names.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.take(MOST_ENTRIES).filter_map(|entry| Some(entry.ok()?.path()));
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let is_markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| !is_hidden(path) && (is_markdown(path) || path.is_dir())).collect();
    paths.sort();
    paths
}

/// A record must be writable whatever a file is called.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
