//! Which directories are looked into, and for what, in which order.

use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

use settings::{Environment, directories};

use super::{Source, reader::Reader};

/// The session's folder and the checkout it is in, with links resolved.
pub(super) struct Workspace {
    pub(super) folder: PathBuf,
    pub(super) root: PathBuf,
}

impl Workspace {
    pub(super) fn of(environment: &Environment, folder: &Path) -> Self {
        let folder = directories::canonical(folder);
        let home = directories::canonical(environment.home());
        // Who keeps the whole home in a repository does not thereby let every folder in it read everything.
        let root = directories::git_root(&folder).filter(|root| !home.starts_with(root));
        Self { root: root.unwrap_or_else(|| folder.clone()), folder }
    }

    pub(super) fn holds(&self, real: &Path) -> bool {
        real.starts_with(&self.root)
    }
}

/// A directory of the walk.
pub(super) struct Level {
    folder: PathBuf,
    /// Its project files are the same repository's as those of a worktree inside it, which has its own.
    is_shadowed: bool,
}

/// The directories from the root of the file system down to the folder.
pub(super) fn down_to(folder: &Path) -> Vec<Level> {
    let worktree = directories::git_root(folder);
    let main = directories::canonical_git_root(folder);
    let nested = worktree.zip(main).filter(|(worktree, main)| worktree != main && worktree.starts_with(main));
    let is_shadowed = |level: &Path| {
        nested
            .as_ref()
            .is_some_and(|(worktree, main)| level.starts_with(main) && !level.starts_with(worktree))
    };
    let mut levels: Vec<Level> = folder
        .ancestors()
        .map(|level| Level { folder: level.to_owned(), is_shadowed: is_shadowed(level) })
        .collect();
    levels.reverse();
    levels
}

/// The directories of the workspace that lead to a path and were not on the way down to the session's folder.
pub(super) fn below(workspace: &Workspace, path: &Path) -> Vec<Level> {
    let is_new = |level: &Path| workspace.holds(level) && !workspace.folder.starts_with(level);
    let from = if path.is_dir() { Some(path) } else { path.parent() };
    let levels = from.into_iter().flat_map(Path::ancestors).filter(|level| is_new(level));
    let mut levels: Vec<Level> =
        levels.map(|level| Level { folder: level.to_owned(), is_shadowed: false }).collect();
    levels.reverse();
    levels
}

/// Where a file is, whether or not it exists yet: links on the way to it are resolved, one at its place is not.
pub fn place_of(path: &Path) -> PathBuf {
    let (mut place, mut missing) = (clean(path), Vec::<OsString>::new());
    while let (Some(parent), Some(name)) = (place.parent(), place.file_name()) {
        missing.push(name.to_owned());
        if let Ok(real) = fs::canonicalize(parent) {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        place = parent.to_owned();
    }
    clean(path)
}

/// Without `.` and `..`.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

pub(super) fn managed(reader: &mut Reader<'_>, environment: &Environment) {
    let folder = environment.managed();
    reader.file(&folder.join("CLAUDE.md"), Source::Managed);
    for rules in [folder.join("rules"), folder.join(".claude/rules")] {
        reader.rules(&rules, Source::Managed, None);
    }
}

pub(super) fn user(reader: &mut Reader<'_>, environment: &Environment) {
    let folder = directories::config_home(environment);
    reader.file(&folder.join("CLAUDE.md"), Source::User);
    reader.rules(&folder.join("rules"), Source::User, None);
}

/// "`CLAUDE.md`, `.claude/CLAUDE.md`, `.claude/rules/**/*.md`, then `CLAUDE.local.md`"; "`AGENTS.md` is read where a
/// directory has no CLAUDE.md".
pub(super) fn directory(reader: &mut Reader<'_>, level: &Level) {
    let folder = &level.folder;
    if !level.is_shadowed {
        let own = folder.join(".claude");
        // In the user's home `.claude` is the user's, and was loaded as such.
        let own = (directories::canonical(&own) != reader.config_home).then_some(own);
        let files = [Some(folder.join("CLAUDE.md")), own.as_ref().map(|own| own.join("CLAUDE.md"))];
        let is_there = |path: &PathBuf| fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
        let has_none = !files.iter().flatten().any(is_there);
        for file in files.iter().flatten() {
            reader.file(file, Source::Project);
        }
        if has_none {
            reader.file(&folder.join("AGENTS.md"), Source::Project);
        }
        if let Some(own) = own {
            reader.rules(&own.join("rules"), Source::Project, Some(folder));
        }
    }
    reader.file(&folder.join("CLAUDE.local.md"), Source::Local);
}
