//! Where things are kept: the config home, a project's folders, and which repository a folder belongs to.
//!
//! Git's files are read directly: no process is started, and nothing a repository configures can run.

use std::{
    fs,
    io::Read,
    path::{Component, Path, PathBuf},
};

use crate::{Environment, Seen};

/// `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn config_home(environment: &Environment) -> PathBuf {
    match environment.get("CLAUDE_CONFIG_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => environment.home().join(".claude"),
    }
}

/// Whether the folder's `.claude` is the config home, as in the home folder: then what is in it is the user's own, also
/// where it is a link.
pub(crate) fn holds_config_home(environment: &Environment, folder: &Path, seen: &mut Seen) -> bool {
    seen.canonical(&folder.join(".claude")) == seen.canonical(&config_home(environment))
}

/// The path with every UTF-16 unit outside `[A-Za-z0-9]` replaced by `-`: an astral character gives two.
pub fn slug(path: &Path) -> String {
    path.to_string_lossy()
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect()
}

/// Transcripts, tool results and notes of sessions in this folder.
pub fn project_dir(environment: &Environment, folder: &Path) -> PathBuf {
    projects(environment).join(project_name(&canonical(folder)))
}

/// The root of the worktree that holds the folder.
pub fn git_root(folder: &Path) -> Option<PathBuf> {
    let folder = canonical(folder);
    folder.ancestors().find(|ancestor| is_git_entry(&ancestor.join(".git"))).map(Path::to_path_buf)
}

/// The git folder of the worktree that holds the folder: where its `HEAD` is.
pub fn git_dir(folder: &Path) -> Option<PathBuf> {
    let git_entry = git_root(folder)?.join(".git");
    if git_entry.is_dir() { Some(git_entry) } else { pointed_git_dir(&git_entry) }
}

/// The git folder of the main repository, where refs and configuration are; of a main worktree it is the same.
pub fn common_git_dir(git_dir: &Path) -> PathBuf {
    match read_small(&git_dir.join("commondir")) {
        Some(common) => git_dir.join(common.trim()),
        None => git_dir.to_owned(),
    }
}

/// The root of the main repository, the same for all its worktrees. A submodule is a repository of its own.
pub fn canonical_git_root(folder: &Path) -> Option<PathBuf> {
    let root = git_root(folder)?;
    Some(main_repository(&root).unwrap_or(root))
}

/// `CLAUDE_COWORK_MEMORY_PATH_OVERRIDE`, else the memory folder of the canonical git root's project.
/// `Settings::memory_dir` also knows the setting in between.
pub fn memory_dir(environment: &Environment, folder: &Path) -> PathBuf {
    memory_override(environment).unwrap_or_else(|| {
        let base = match environment.get("CLAUDE_CODE_REMOTE_MEMORY_DIR") {
            Some(directory) => PathBuf::from(directory),
            None => config_home(environment),
        };
        let project = canonical_git_root(folder).unwrap_or_else(|| canonical(folder));
        base.join("projects").join(project_name(&project)).join("memory")
    })
}

pub(crate) fn memory_override(environment: &Environment) -> Option<PathBuf> {
    memory_path(environment, environment.get("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE")?)
}

/// A configured memory folder. "Refused: relative, root or near-root, drive roots, UNC, NUL, home itself":
/// everything below it may be written without a question, so it must not swallow what is not ours.
pub(crate) fn memory_path(environment: &Environment, text: &str) -> Option<PathBuf> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => environment.home().join(rest),
        None => PathBuf::from(text),
    };
    let names = path.components().filter(|component| matches!(component, Component::Normal(_))).count();
    let climbs = path.components().any(|component| component == Component::ParentDir);
    let refused = text.contains('\0')
        || text.starts_with("//")
        || text.starts_with("\\\\")
        || !path.is_absolute()
        || climbs
        || names < 2
        || canonical(environment.home()).starts_with(canonical(&path));
    (!refused).then_some(path)
}

/// The project folders of all worktrees and subfolders of the folder's repository that exist on disk.
///
/// A slug does not tell `/a/b/c` from `/a/b-c`, so for names that only begin like ours the `cwd` in one of the
/// folder's transcripts decides.
pub fn related_project_dirs(environment: &Environment, folder: &Path) -> Vec<PathBuf> {
    let own = project_dir(environment, folder);
    let roots = match canonical_git_root(folder) {
        Some(root) => worktree_roots(&root),
        None => vec![canonical(folder)],
    };
    let names: Vec<String> = roots.iter().map(|root| project_name(root)).collect();
    let Ok(entries) = fs::read_dir(projects(environment)) else { return Vec::new() };
    let mut related: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { return false };
            if entry.path() == own || names.iter().any(|root| root == name) {
                return true;
            }
            let begins_alike = names
                .iter()
                .any(|root| name.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('-')));
            begins_alike
                && transcript_cwd(&entry.path())
                    .is_some_and(|cwd| roots.iter().any(|root| canonical(&cwd).starts_with(root)))
        })
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    related.sort();
    related
}

/// With links resolved where the folder exists: one folder has one name.
pub fn canonical(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf())
}

fn projects(environment: &Environment) -> PathBuf {
    config_home(environment).join("projects")
}

/// The slug, shortened where it would not fit a file name; the hash keeps long neighbours apart.
fn project_name(path: &Path) -> String {
    const LONGEST: usize = 200;
    let slug = slug(path);
    if slug.len() <= LONGEST {
        return slug;
    }
    // FNV-1a: stable across releases, which std's hasher does not promise.
    let hash = path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    let start: String = slug.chars().take(LONGEST).collect();
    format!("{start}-{hash:016x}")
}

fn is_git_entry(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => has_head(path),
        Ok(metadata) => metadata.is_file() && pointed_git_dir(path).is_some_and(|folder| has_head(&folder)),
        Err(_) => false,
    }
}

/// A pipe of that name would be waited for by whoever reads it.
fn has_head(git_dir: &Path) -> bool {
    fs::metadata(git_dir.join("HEAD")).is_ok_and(|metadata| metadata.is_file())
}

/// What a `.git` file names with `gitdir: `.
fn pointed_git_dir(git_file: &Path) -> Option<PathBuf> {
    let text = read_small(git_file)?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(git_file.parent()?.join(target))
}

/// The main repository of a linked worktree. A link counts only if the repository knows the worktree, or any
/// checkout could name another project and share its memory.
fn main_repository(root: &Path) -> Option<PathBuf> {
    let git_file = root.join(".git");
    if !fs::metadata(&git_file).ok()?.is_file() {
        return None;
    }
    let git_dir = fs::canonicalize(pointed_git_dir(&git_file)?).ok()?;
    let common = read_small(&git_dir.join("commondir"))?;
    let common = fs::canonicalize(git_dir.join(common.trim())).ok()?;
    let back = read_small(&git_dir.join("gitdir"))?;
    let back = fs::canonicalize(git_dir.join(back.trim())).ok()?;
    if git_dir.parent()? != common.join("worktrees") || back != fs::canonicalize(&git_file).ok()? {
        return None;
    }
    if common.file_name()? == ".git" { common.parent().map(Path::to_path_buf) } else { Some(common) }
}

/// The main root and the roots of its linked worktrees.
fn worktree_roots(root: &Path) -> Vec<PathBuf> {
    // A bare repository is its own git folder.
    let git_dir = if root.join(".git").is_dir() { root.join(".git") } else { root.to_path_buf() };
    let linked = fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    let mut roots = vec![root.to_path_buf()];
    roots.extend(linked.filter_map(|entry| {
        let git_file = read_small(&entry.path().join("gitdir"))?;
        Some(canonical(entry.path().join(git_file.trim()).parent()?))
    }));
    roots
}

/// The working directory that the folder's first transcript names near its start.
fn transcript_cwd(project: &Path) -> Option<PathBuf> {
    const HEAD: u64 = 64 * 1024;
    const TRIES: usize = 4;
    let mut files: Vec<PathBuf> = fs::read_dir(project)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files.iter().take(TRIES).find_map(|path| {
        let mut head = Vec::new();
        fs::File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
        let head = String::from_utf8_lossy(&head);
        let (_, value) = head.split_once("\"cwd\":")?;
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
        values.next()?.ok().map(PathBuf::from)
    })
}

/// Git's own pointer files are a line each.
fn read_small(path: &Path) -> Option<String> {
    const LARGEST: u64 = 16 * 1024;
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests;
