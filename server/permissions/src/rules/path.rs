//! The specifier of a rule about files: a gitignore-like pattern.
//!
//! `//folder/x` is absolute, `~/x` is in the user's home, `/x` and `a/x` are in a folder of the workspace, and a
//! name without a slash is at any depth. A pattern that ends in a plain name covers what lies below it too.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobMatcher};

use super::Reading;
use crate::{
    decide::Policy,
    paths::{Place, clean, follow},
};

#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    base: Base,
    /// The thing itself.
    exact: GlobMatcher,
    /// What lies below it; of a pattern that ends in a wildcard, only restrictions reach there.
    below: GlobMatcher,
    ends_in_wildcard: bool,
}

#[derive(Clone, Debug)]
enum Base {
    /// An absolute folder without wildcards.
    Folder(PathBuf),
    /// A folder in the user's home.
    Home(PathBuf),
    Roots,
    /// Roots for permissions, anywhere for restrictions.
    AnyDepth,
}

impl PathPattern {
    pub(super) fn parse(specifier: &str) -> Result<Self, String> {
        if specifier.split('/').any(|part| part == "..") {
            return Err("`..` is not allowed in a pattern".to_owned());
        }
        let (base, pattern) = if let Some(rest) = specifier.strip_prefix("//") {
            let (folder, pattern) = split_at_wildcard(rest);
            (Base::Folder(Path::new("/").join(folder)), pattern)
        } else if let Some(rest) = specifier.strip_prefix("~/") {
            let (folder, pattern) = split_at_wildcard(rest);
            (Base::Home(PathBuf::from(folder)), pattern)
        } else if specifier == "~" {
            (Base::Home(PathBuf::new()), String::new())
        } else {
            let rest = specifier.strip_prefix("./").unwrap_or(specifier);
            match rest.strip_prefix('/') {
                Some(rest) => (Base::Roots, rest.to_owned()),
                None if rest.trim_end_matches('/').contains('/') => (Base::Roots, rest.to_owned()),
                None => (Base::AnyDepth, format!("**/{rest}")),
            }
        };
        // `x/**` is what lies below x, and x itself when it is searched.
        let trimmed = pattern.trim_end_matches('/');
        let trimmed = trimmed.strip_suffix("/**").unwrap_or(trimmed);
        let trimmed = if trimmed == "**" { "" } else { trimmed };
        let last = trimmed.rsplit('/').next().unwrap_or(trimmed);
        let below = if trimmed.is_empty() { "**".to_owned() } else { format!("{trimmed}/**") };
        Ok(Self {
            base,
            exact: compile(trimmed)?,
            below: compile(&below)?,
            ends_in_wildcard: has_wildcard(last) && !pattern.ends_with("/**"),
        })
    }

    pub(super) fn matches(&self, place: &Place, policy: &Policy, reading: Reading) -> bool {
        match reading {
            // Only where it really leads counts: a link must not carry a permission elsewhere.
            Reading::Permits => place.real.as_deref().is_some_and(|real| self.covers(real, policy, reading)),
            Reading::Restricts => place.spellings().any(|path| self.covers(path, policy, reading)),
        }
    }

    /// Whether a word of a shell line names something that the pattern covers.
    pub(super) fn matches_a_word(&self, command: &str, policy: &Policy) -> bool {
        words_that_may_be_paths(command, policy)
            .iter()
            .any(|path| self.matches(&Place::of(path), policy, Reading::Restricts))
    }

    /// What a restriction covers below each of its [`Self::bases`].
    pub(crate) fn restricted(&self) -> [&Glob; 2] {
        [self.exact.glob(), self.below.glob()]
    }

    fn covers(&self, path: &Path, policy: &Policy, reading: Reading) -> bool {
        let reaches_below = reading == Reading::Restricts || !self.ends_in_wildcard;
        self.bases(policy, reading).iter().any(|base| {
            path.strip_prefix(base)
                .is_ok_and(|rest| self.exact.is_match(rest) || (reaches_below && self.below.is_match(rest)))
        })
    }

    /// The folders that the pattern is relative to, as written and as they really are. Looks at the disk.
    pub(crate) fn bases(&self, policy: &Policy, reading: Reading) -> Vec<PathBuf> {
        let written = match &self.base {
            Base::Folder(folder) => vec![folder.clone()],
            Base::Home(folder) => vec![policy.home.join(folder)],
            Base::AnyDepth if reading == Reading::Restricts => vec![PathBuf::from("/")],
            Base::Roots | Base::AnyDepth => policy.roots.clone(),
        };
        let real: Vec<PathBuf> = written.iter().filter_map(|base| follow(&clean(base))).collect();
        written.into_iter().chain(real).collect()
    }
}

/// The words of a shell line, quotes taken off, as paths: from the first slash on if one begins inside the
/// word (`--file=/x`), below each root if relative.
pub(crate) fn words_that_may_be_paths(command: &str, policy: &Policy) -> Vec<PathBuf> {
    let separators = |character: char| character.is_whitespace() || ";&|`()<>{}=,:".contains(character);
    let bare: String = command.chars().filter(|character| !"'\"\\".contains(*character)).collect();
    let mut paths = Vec::new();
    for word in bare.split(separators).filter(|word| !word.is_empty()) {
        // `-f/x` and `@/x` carry a path behind their letters.
        if word.starts_with(['-', '@', '+'])
            && let Some((_, rest)) = word.split_once('/')
        {
            paths.push(Path::new("/").join(rest));
        }
        match word.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                paths.push(policy.home.join(rest.trim_start_matches('/')));
            }
            _ => paths.extend(policy.roots.iter().map(|root| root.join(word))),
        }
    }
    paths
}

fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

/// The folders before the first wildcard, and the pattern from there.
fn split_at_wildcard(pattern: &str) -> (&str, String) {
    let plain_end = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let plain = pattern.get(..plain_end).unwrap_or(pattern);
    match plain.rsplit_once('/') {
        Some((folder, _)) => (folder, pattern.get(folder.len() + 1..).unwrap_or_default().to_owned()),
        None => ("", pattern.to_owned()),
    }
}

fn has_wildcard(part: &str) -> bool {
    part.contains(['*', '?', '[', '{'])
}
