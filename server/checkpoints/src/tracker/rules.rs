//! Which files are not looked at: what `.gitignore` files say, as git reads them.
//!
//! Outside a repository `.gitignore` files count as well, but not those above the folder: a home may have one that
//! ignores everything.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::present::read_at;

/// What nobody keeps in a repository, whether or not a `.gitignore` says so; any of them can allow it again.
const USUAL: &str = "node_modules/\n";
/// A file of rules that is larger is none.
const LARGEST: u64 = 1 << 20;
/// The mark of a folder that can be made anew by the program that made it (bford.info/cachedir): `target` has it.
pub(super) const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// The rules that hold in a folder. The innermost that knows the name decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules(Option<Arc<Layer>>);

#[derive(Debug)]
struct Layer {
    rules: Arc<Gitignore>,
    above: Rules,
}

impl Rules {
    pub fn with(&self, rules: &Arc<Gitignore>) -> Self {
        if rules.is_empty() {
            return self.clone();
        }
        Self(Some(Arc::new(Layer { rules: Arc::clone(rules), above: self.clone() })))
    }

    pub fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let mut layer = self.0.as_deref();
        while let Some(Layer { rules, above }) = layer {
            match rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => layer = above.0.as_deref(),
            }
        }
        false
    }
}

/// The `.gitignore` in an opened folder.
pub(super) fn of_folder(handle: impl AsFd, path: &Path) -> Arc<Gitignore> {
    let mut bytes = Vec::new();
    let read = read_at(handle, OsStr::new(".gitignore"), LARGEST, &mut bytes);
    let text = if matches!(read, Ok(Some(_))) { String::from_utf8_lossy(&bytes) } else { "".into() };
    Arc::new(parse(path, &text))
}

pub(super) fn is_cache(handle: impl AsFd) -> bool {
    let mut bytes = Vec::new();
    let read = read_at(handle, OsStr::new(CACHE_TAG), LARGEST, &mut bytes);
    matches!(read, Ok(Some(_))) && bytes.starts_with(CACHE_SIGNATURE)
}

/// The rules that come from outside a root; read again for every walk, and made again if they changed.
#[derive(Debug, Default)]
pub(super) struct Outside {
    sources: Vec<(PathBuf, String)>,
    pub rules: Rules,
}

impl Outside {
    /// Whether they are others than before.
    pub fn refresh(&mut self, root: &Path, files: &[PathBuf]) -> bool {
        let sources = sources(root, files);
        if sources == self.sources {
            return false;
        }
        self.rules = sources
            .iter()
            .fold(Rules::default(), |rules, (folder, text)| rules.with(&Arc::new(parse(folder, text))));
        self.sources = sources;
        true
    }
}

/// Weakest first, each with the folder that it holds in.
fn sources(root: &Path, files: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let mut sources = vec![(root.to_owned(), USUAL.to_owned())];
    for file in files {
        sources.extend(read(file).map(|text| (root.to_owned(), text)));
    }
    let Some(repository) = root.ancestors().find(|folder| folder.join(".git").exists()) else {
        return sources;
    };
    let exclude = read(&repository.join(".git/info/exclude"));
    sources.extend(exclude.map(|text| (repository.to_owned(), text)));
    let mut above: Vec<&Path> =
        root.ancestors().skip(1).take_while(|folder| folder.starts_with(repository)).collect();
    above.reverse();
    for folder in above {
        sources.extend(read(&folder.join(".gitignore")).map(|text| (folder.to_owned(), text)));
    }
    sources
}

fn read(path: &Path) -> Option<String> {
    // Not to wait for a pipe.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(folder: &Path, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        if let Err(error) = builder.add_line(None, line) {
            tracing::debug!(folder = %folder.display(), line, %error, "a rule of a .gitignore is skipped");
        }
    }
    builder.build().unwrap_or_else(|error| {
        tracing::debug!(folder = %folder.display(), %error, "a .gitignore is skipped");
        Gitignore::empty()
    })
}
