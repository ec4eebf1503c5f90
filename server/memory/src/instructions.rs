//! What users wrote for the agent to know: CLAUDE.md files and rules, from the machine's down to the folder's.
//!
//! Lowest priority first: the administrator's, the user's, then each directory's from the root of the file system down
//! to the session's folder. What lies below the folder comes into force when the agent touches something there, and
//! rules with `paths:` when it touches a file that matches. Nothing is read that a checkout names and the user has not
//! allowed: a file whose real place is outside the workspace is listed in [`Instructions::outside`] instead.
//!
//! Files are read here, nothing is written and nothing runs. How the pieces are wrapped for the model is the agent's.

mod document;
mod include;
mod reader;
mod rules;
mod stamp;
mod text;
mod walk;

use std::{
    collections::BTreeSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use markdown::{
    frontmatter::{self, one_line},
    hidden,
};
use serde::{Deserialize, Serialize};
use settings::Environment;

use reader::{Occasion, Reader};
pub use rules::Rule;
pub use stamp::{Stamp, changed};
pub use walk::place_of;

/// "Over 40,000 characters: loaded, with a warning."
pub const LONG: usize = 40_000;
/// "Depth ≤ 5": a file that is included by a file that … that is included by CLAUDE.md.
pub const DEEPEST: usize = 5;

/// Where instructions come from.
pub struct Sources<'a> {
    /// Says where the home, the config home and the administrator's folder are.
    pub environment: &'a Environment,
    /// The session's folder.
    pub folder: &'a Path,
    /// Whether the user has allowed to read this file, or to list this folder of rules, though it is outside the
    /// workspace. Asked with links resolved. Who allowed a folder will have meant what is in it.
    pub may_leave: &'a dyn Fn(&Path) -> bool,
}

/// Whose instructions they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Managed,
    User,
    Project,
    /// CLAUDE.local.md: the user's own, for this project.
    Local,
}

impl Source {
    pub fn words(self) -> &'static str {
        match self {
            Self::Managed => "managed instructions",
            Self::User => "user instructions",
            Self::Project => "project instructions",
            Self::Local => "local instructions",
        }
    }

    /// A checkout can bring these along, so they may name only what is in it.
    fn is_from_a_checkout(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}

/// Why a piece was loaded; hooks are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    SessionStart,
    NestedTraversal,
    PathGlobMatch,
    Include,
    Compact,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::NestedTraversal => "nested_traversal",
            Self::PathGlobMatch => "path_glob_match",
            Self::Include => "include",
            Self::Compact => "compact",
        }
    }
}

/// One file's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it was found; of an included file with links resolved.
    pub path: PathBuf,
    pub source: Source,
    pub reason: Reason,
    /// Who included it.
    pub parent: Option<PathBuf>,
    /// Without frontmatter and comments, lines ended by `\n`, hidden characters spelled out.
    pub text: String,
    /// What its `paths:` says.
    pub globs: Vec<String>,
}

impl Piece {
    /// Path and kind on one line. A file's name can hide characters just as its text can.
    pub fn label(&self) -> String {
        label(&self.path, self.source)
    }
}

/// What a piece from there is called.
pub fn label(path: &Path, source: Source) -> String {
    let path = path.to_string_lossy();
    format!("{} ({})", one_line(&hidden::shown(&path)), source.words())
}

/// `@path` in a file, for whoever shows the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// With its `@`, in bytes of the text.
    pub range: Range<usize>,
    pub target: String,
    /// Whether or not there is such a file.
    pub path: PathBuf,
}

/// Whether a target ends as the name of a text does.
pub fn has_text_ending(target: &str) -> bool {
    include::has_text_ending(Path::new(target))
}

/// What a file includes, each target once.
pub fn includes(path: &Path, text: &str, home: &Path) -> Vec<Included> {
    let body = frontmatter::parse(text.strip_prefix('\u{feff}').unwrap_or(text)).body;
    let begin = text.len() - body.len();
    let found = include::find(body).into_iter().map(|include| Included {
        range: begin + include.range.start..begin + include.range.end,
        path: include::resolve(&include.target, path, home),
        target: include.target,
    });
    found.collect()
}

/// What the user should know about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    /// From 0.
    pub line: Option<usize>,
    /// A predicate, with the file as its subject. Safe to print, whatever the file holds.
    pub words: String,
}

/// What is in force, or what came into force, and what there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Lowest priority first; an included file follows the one that includes it.
    pub pieces: Vec<Piece>,
    /// Rules with `paths:` that wait for a matching file.
    pub waiting: Vec<Rule>,
    pub problems: Vec<Problem>,
    /// What was not read because it is outside the workspace, with links resolved: the user is asked once.
    pub outside: Vec<PathBuf>,
    /// What was read, listed or looked for, as it was then.
    pub files: Vec<(PathBuf, Stamp)>,
}

/// What a session has loaded, kept with it so that a resume does not load it twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loaded {
    /// With links resolved. Text, because a record must be writable whatever a file is called.
    files: BTreeSet<String>,
    /// Of text in force.
    bytes: usize,
    waiting: Vec<Rule>,
    /// Rules that have waited long enough.
    woken: Vec<Rule>,
    /// Paths that the user has been told about.
    told: BTreeSet<String>,
}

impl Loaded {
    fn has(&self, real: &Path) -> bool {
        self.files.contains(&*real.to_string_lossy())
    }

    /// Rules that wait for a matching file.
    pub fn waiting(&self) -> &[Rule] {
        &self.waiting
    }

    /// A piece is no longer in force, because the conversation no longer has it: the next touch brings it back.
    pub fn forget(&mut self, path: &Path) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.files.remove(&*real.to_string_lossy());
        let is_it = |rule: &Rule| rule.path == path || rule.path == real;
        self.waiting.extend(self.woken.extract_if(.., |rule| is_it(rule)));
    }
}

/// What is in force from the start, or again after the conversation was cleared or compacted; `loaded` begins anew.
pub fn load(sources: &Sources<'_>, reason: Reason, loaded: &mut Loaded) -> Instructions {
    *loaded = Loaded::default();
    let occasion = Occasion { reason, touched: None };
    let mut reader = Reader::new(sources, &occasion, loaded);
    walk::managed(&mut reader, sources.environment);
    walk::user(&mut reader, sources.environment);
    for level in walk::down_to(&reader.workspace.folder.clone()) {
        walk::directory(&mut reader, &level);
    }
    reader.finish()
}

/// What comes into force because the agent reads or changes this file: rules that waited for it, and the CLAUDE.md
/// files and rules of the directories between the session's folder and it.
pub fn touched(sources: &Sources<'_>, path: &Path, loaded: &mut Loaded) -> Instructions {
    let path = place_of(&sources.folder.join(path));
    let occasion = Occasion { reason: Reason::NestedTraversal, touched: Some(&path) };
    let mut reader = Reader::new(sources, &occasion, loaded);
    reader.wake();
    for level in walk::below(&reader.workspace, &path) {
        walk::directory(&mut reader, &level);
    }
    let mut news = reader.finish();
    // What was there before was stamped when it was loaded, and what is missing is looked for at the next touch.
    let is_new = |path: &Path| {
        let mut paths = news.pieces.iter().map(|piece| &piece.path);
        paths.any(|new| new.starts_with(path)) || news.waiting.iter().any(|rule| rule.path.starts_with(path))
    };
    let mut files = std::mem::take(&mut news.files);
    files.retain(|(path, stamp)| *stamp != Stamp::Missing && is_new(path));
    news.files = files;
    news
}

#[cfg(test)]
mod tests;
