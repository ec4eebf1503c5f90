//! Reads files one after another into [`Instructions`]: each once, each checked for where it really is, within limits.

mod folder;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use settings::directories;

use super::{
    DEEPEST, Instructions, Loaded, Piece, Problem, Reason, Source, Sources, Stamp,
    document::{Document, shortened},
    include::{self, Include},
    text::{self, Text},
    walk::Workspace,
};

/// Of all that is in force.
const MOST_BYTES: usize = 2 << 20;
const MOST_FILES: usize = 200;
/// In one go: more than any honest project needs, and soon done.
const MOST_INCLUDES: usize = 2_000;
const MOST_OPENED: usize = 500;
const MOST_PROBLEMS: usize = 100;
const OUTSIDE: &str = "is outside the workspace and left out until you allow it";

/// Why it is read now.
pub(super) struct Occasion<'a> {
    pub(super) reason: Reason,
    /// What the agent reads or changes; rules that match it need not wait.
    pub(super) touched: Option<&'a Path>,
}

/// How a file came to be read.
#[derive(Clone, Copy)]
enum Origin<'a> {
    /// It is where instructions are looked for.
    Place,
    Include {
        parent: &'a Path,
        include: &'a Include,
        depth: usize,
    },
}

/// A file that was read and is not in force yet.
struct Found<'a> {
    /// As a piece is called.
    path: PathBuf,
    real: PathBuf,
    source: Source,
    origin: Origin<'a>,
    document: Document,
}

pub(super) struct Reader<'a> {
    pub(super) workspace: Workspace,
    /// With links resolved.
    pub(super) config_home: PathBuf,
    sources: &'a Sources<'a>,
    occasion: &'a Occasion<'a>,
    loaded: &'a mut Loaded,
    out: Instructions,
    stamps: BTreeMap<PathBuf, Stamp>,
    includes: usize,
    opened: usize,
    is_full: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(sources: &'a Sources<'a>, occasion: &'a Occasion<'a>, loaded: &'a mut Loaded) -> Self {
        Self {
            workspace: Workspace::of(sources.environment, sources.folder),
            config_home: directories::canonical(&directories::config_home(sources.environment)),
            sources,
            occasion,
            loaded,
            out: Instructions::default(),
            stamps: BTreeMap::new(),
            includes: 0,
            opened: 0,
            is_full: false,
        }
    }

    /// A file where one is looked for, if it is there. The folder it is in has its links resolved.
    pub(super) fn file(&mut self, path: &Path, source: Source) {
        if let Some(found) = self.read(path, source, Origin::Place) {
            self.add(found, self.occasion.reason);
        }
    }

    /// What the user has been told once is not told again in this session.
    pub(super) fn finish(mut self) -> Instructions {
        let told = |path: &Path| self.loaded.told.contains(&*path.to_string_lossy());
        self.out.problems.retain(|problem| !told(&problem.path));
        self.out.outside.retain(|path| !told(path));
        let news = self.out.problems.iter().map(|problem| &problem.path).chain(&self.out.outside);
        self.loaded.told.extend(news.map(|path| path.to_string_lossy().into_owned()));
        self.out.files = self.stamps.into_iter().collect();
        self.out
    }

    /// Takes a document into force, and what it includes after it.
    fn add(&mut self, found: Found<'_>, reason: Reason) {
        let Found { path, real, source, origin, document } = found;
        let Document { globs, text, includes, findings } = document;
        if self.loaded.files.len() >= MOST_FILES || self.loaded.bytes + text.len() > MOST_BYTES {
            self.is_full = true;
            let limits = format!("{MOST_FILES} files and {} MB are the most", MOST_BYTES >> 20);
            return self.complain(&path, origin, &format!("is left out, with all after it: {limits}"));
        }
        self.loaded.files.insert(real.to_string_lossy().into_owned());
        self.loaded.bytes += text.len();
        // A rule that somebody includes need not wait.
        let woken = self.loaded.waiting.extract_if(.., |rule| rule.path == real);
        self.loaded.woken.extend(woken);
        self.out.waiting.retain(|rule| rule.path != real);
        for (line, words) in findings {
            self.problem(&path, line, words);
        }
        if !text.trim().is_empty() {
            let parent = match origin {
                Origin::Place => None,
                Origin::Include { parent, .. } => Some(parent.to_owned()),
            };
            self.out.pieces.push(Piece { path: path.clone(), source, reason, parent, text, globs });
        }
        let depth = match origin {
            Origin::Place => 1,
            Origin::Include { depth, .. } => depth + 1,
        };
        for include in &includes {
            self.includes += 1;
            if self.includes > MOST_INCLUDES {
                let words = format!("includes more than is looked for: {MOST_INCLUDES} files in all");
                return self.problem(&path, Some(include.line), words);
            }
            let target = include::resolve(&include.target, &real, self.sources.environment.home());
            let origin = Origin::Include { parent: &path, include, depth };
            if let Some(found) = self.read(&target, source, origin) {
                self.add(found, Reason::Include);
            }
        }
    }

    /// A file that is there, may be read, is text, and was not read before.
    fn read<'o>(&mut self, path: &Path, source: Source, origin: Origin<'o>) -> Option<Found<'o>> {
        let real = self.look(path, origin).filter(|_| !self.is_full)?;
        match self.text(path, &real, source, origin) {
            Ok(document) => {
                let path = match origin {
                    Origin::Place => path.to_owned(),
                    Origin::Include { .. } => real.clone(),
                };
                Some(Found { path, real, source, origin, document })
            }
            Err(words) => {
                self.complain(path, origin, &words);
                None
            }
        }
    }

    /// Errors are words that follow the path.
    fn text(
        &mut self,
        path: &Path,
        real: &Path,
        source: Source,
        origin: Origin<'_>,
    ) -> Result<Document, String> {
        if let Origin::Include { depth, .. } = origin {
            if depth > DEEPEST {
                return Err(format!("would be more than {DEEPEST} includes deep and is left out"));
            }
            if !include::is_text(real) {
                return Err("is not of a kind that is read as text".to_owned());
            }
        }
        if !self.may_read(path, real, source, origin) {
            return Err(OUTSIDE.to_owned());
        }
        self.opened += 1;
        if self.opened > MOST_OPENED {
            self.is_full = true;
            return Err(format!("is left out, with all after it: {MOST_OPENED} files were read"));
        }
        let Text { text, is_cut } = text::read(real)?;
        let is_prose = matches!(origin, Origin::Place) || include::is_prose(real);
        let mut document = Document::of(&text, is_prose);
        if is_cut {
            let words = format!("is larger than {} MB; the rest is cut off", text::LARGEST >> 20);
            document.findings.push((None, words));
        }
        Ok(document)
    }

    /// Where a file really is; nothing for what is missing, a folder, or in force already.
    fn look(&mut self, path: &Path, origin: Origin<'_>) -> Option<PathBuf> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return None,
            Ok(metadata) => metadata,
            Err(error) => {
                self.stamps.insert(path.to_owned(), Stamp::Missing);
                if !text::is_missing(&error) {
                    self.complain(path, origin, &format!("cannot be read: {error}"));
                }
                return None;
            }
        };
        let real = fs::canonicalize(path).ok().filter(|real| !self.loaded.has(real))?;
        self.stamps.insert(path.to_owned(), Stamp::of_file(&metadata));
        Some(real)
    }

    /// Whether the user would expect it to be read: it is their own, or it is in the workspace, or it was looked for
    /// at its place and is no link, or they said so.
    fn may_read(&mut self, path: &Path, real: &Path, source: Source, origin: Origin<'_>) -> bool {
        let is_allowed = !source.is_from_a_checkout()
            || self.workspace.holds(real)
            || (matches!(origin, Origin::Place) && path == real)
            || (self.sources.may_leave)(real);
        if !is_allowed && !self.out.outside.iter().any(|path| path == real) {
            self.out.outside.push(real.to_owned());
        }
        is_allowed
    }

    /// About a file as a whole: where it is included, if it is.
    fn complain(&mut self, path: &Path, origin: Origin<'_>, words: &str) {
        match origin {
            Origin::Place => self.problem(path, None, words.to_owned()),
            Origin::Include { parent, include, .. } => {
                let target = shortened(&include.target, 200);
                self.problem(parent, Some(include.line), format!("includes `@{target}`, which {words}"));
            }
        }
    }

    fn problem(&mut self, path: &Path, line: Option<usize>, words: String) {
        if self.out.problems.len() < MOST_PROBLEMS {
            self.out.problems.push(Problem { path: path.to_owned(), line, words });
        }
    }
}
