//! Words that may name files: where they lead, and whether that may be read at all.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use super::{pattern, word::Word};
use crate::{
    paths::{Lead, clean, follow, lead},
    secrets::{self, secret},
};

/// Devices never end, and what the kernel shows of processes holds their environment.
const SPECIAL: &[&str] = &["/dev", "/proc", "/sys", "/run/secrets", "/var/run/secrets"];

/// A file that is not there yet cannot be looked at; these names say what it will be.
const PIPE_ENDINGS: &[&str] = &["fifo", ".pipe", ".sock", ".socket"];

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Its name and what the folder says of it are shown.
    Named,
    /// It is opened, which does not end if it is a pipe that nobody writes to.
    Opened,
}

/// What a pattern may become that begins with a dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dashes {
    /// It would be an option that nobody wrote.
    Refused,
    /// It comes behind `--`, or no option does any harm.
    Harmless,
}

/// The files that an operand stands for, absolute. A pattern is told what it becomes.
pub(super) fn files(word: &Word, cwd: &Path, usage: Use, dashes: Dashes) -> Result<Vec<PathBuf>, String> {
    if let Some(path) = word.literal() {
        return Ok(vec![file(path, cwd, usage)?]);
    }
    for part in pattern::parts(word) {
        let hidden = |name: &&&str| name.starts_with('.') && pattern::matches(&part, name);
        if pattern::is_wild(&part) && secrets::NAMES.iter().any(|name| hidden(&name)) {
            return Err("it has a pattern that also matches files with credentials".to_owned());
        }
    }
    // A wildcard right below the root would find the devices.
    let start = word.literal_start();
    let base = folder_of(start);
    let real = follow(&cwd.join(base)).ok_or_else(|| format!("`{base}` leads nowhere"))?;
    if real.parent().is_none() {
        return Err("it has a pattern over the whole file system".to_owned());
    }
    let words = word.become_words(pattern::expand(word, cwd)?);
    // A dash alone is stdin, even behind `--`.
    let is_option = |word: &&String| word.starts_with('-') && (dashes == Dashes::Refused || *word == "-");
    if let Some(name) = words.iter().find(is_option) {
        return Err(format!("it has a pattern that matches `{name}`, an option; begin it with ./"));
    }
    words.iter().map(|path| file(path, cwd, usage)).collect()
}

/// An option with a pattern in it, such as `--include=*.md`: whatever files are called so, it is the same option.
pub(super) fn option(word: &Word, cwd: &Path) -> Result<(), String> {
    let words = word.become_words(pattern::expand(word, cwd)?);
    match words.iter().find_map(|word| word.split_once('=').and_then(|(_, value)| secret_in(value))) {
        Some(name) => Err(format!("it looks for credentials (`{name}`)")),
        None => Ok(()),
    }
}

/// A pattern for a program that takes it as it is: it must stay that, as it does where no file is called so.
pub(super) fn matching_nothing(word: &Word, cwd: &Path) -> Result<(), String> {
    let words = word.become_words(pattern::expand(word, cwd)?);
    if *words == [word.spelled()] {
        return Ok(());
    }
    Err(format!("`{}` matches files here; quote it", word.spelled()))
}

/// One path, checked as written and where its links lead.
pub(super) fn file(path: &str, cwd: &Path, usage: Use) -> Result<PathBuf, String> {
    let joined = cwd.join(path);
    if path == "/dev/null" {
        return Ok(joined);
    }
    // The system follows a link before it goes up from there, so `..` is not a matter of letters, unless it goes up
    // from nowhere.
    let goes_up = joined.components().any(|component| component == Component::ParentDir);
    let absolute = match lead(&joined) {
        Lead::ByProcess => return Err(by_process(path)),
        Lead::To(real) if goes_up => real,
        _ => clean(&joined),
    };
    let real = match lead(&absolute) {
        Lead::ByProcess => return Err(by_process(path)),
        Lead::To(real) => Some(real),
        Lead::Nowhere => None,
    };
    for spelling in [Some(absolute.as_path()), real.as_deref()].into_iter().flatten() {
        if let Some(folder) = SPECIAL.iter().find(|folder| spelling.starts_with(folder)) {
            return Err(format!("`{path}` lies in {folder}"));
        }
        if let Some(name) = secret(spelling) {
            return Err(format!("`{path}` may hold credentials (`{name}`)"));
        }
    }
    match fs::metadata(&absolute) {
        _ if usage == Use::Named => {}
        Ok(metadata) => {
            let kind = metadata.file_type();
            if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
                return Err(format!("`{path}` is a pipe, a socket or a device"));
            }
        }
        Err(_) if PIPE_ENDINGS.iter().any(|ending| path.to_ascii_lowercase().ends_with(ending)) => {
            return Err(format!("`{path}` is not there, and may be a pipe when it is read"));
        }
        Err(_) => {}
    }
    Ok(absolute)
}

fn by_process(path: &str) -> String {
    format!("`{path}` leads elsewhere for every process")
}

/// Whether a walk from here would see the whole file system.
pub(super) fn is_root(path: &Path) -> bool {
    follow(path).is_none_or(|real| real.parent().is_none())
}

/// Whether whoever reads all that is below comes across credentials.
pub(super) fn is_full_of_secrets(path: &Path) -> bool {
    [Some(path), follow(path).as_deref()].into_iter().flatten().any(secrets::full_of_secrets)
}

/// The credentials that a path or a pattern of names speaks of.
pub(super) fn secret_in(text: &str) -> Option<&'static str> {
    let bare: String = text.chars().filter(|character| !"*?[]".contains(*character)).collect();
    secret(Path::new(&bare))
}

fn folder_of(start: &str) -> &str {
    match start.rfind('/') {
        Some(0) => "/",
        Some(end) => start.get(..end).unwrap_or(start),
        None => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_in(folder: &Path, source: &str) -> Result<Vec<PathBuf>, String> {
        files(&Word::decode(source, None).unwrap(), folder, Use::Opened, Dashes::Refused)
    }

    #[test]
    fn secrets_devices_and_pipes_are_refused_however_they_are_reached() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::write(base.join(".env"), "").unwrap();
        fs::write(base.join("fifo"), "").unwrap();
        std::os::unix::fs::symlink(".env", base.join("innocent")).unwrap();
        std::os::unix::fs::symlink("/proc", base.join("kernel")).unwrap();
        std::os::unix::fs::symlink("/proc/self", base.join("process")).unwrap();
        std::os::unix::fs::symlink("/dev/fd", base.join("descriptors")).unwrap();
        std::os::unix::net::UnixListener::bind(base.join("listening")).unwrap();
        for source in [
            ".env",
            "./.env",
            "x/../.env",
            ".ENV",
            ".env.local",
            ".en?",
            ".e*",
            ".*",
            "innocent",
            "inno*",
            "kernel/self/environ",
            "kernel/cpuinfo",
            "process/cwd/README.md",
            "process/cwd/missing",
            "process/cwd/../README.md",
            "process/cwd/*.md",
            "descriptors/0",
            "kernel/*",
            "listening",
            "listen*",
            "missing.fifo",
            "/dev/zero",
            "/dev/stdin",
            "/proc/self/environ",
            "/etc/shadow",
            "/*",
            "/*/x",
            "a/.ssh/config",
            ".git/config",
            "key.pem",
            "missing/../.env",
        ] {
            assert!(files_in(&base, source).is_err(), "{source}");
        }
        for source in
            ["fifo", "README.md", "*.md", "/dev/null", "env", "src/.environment", ".", "..", "/usr/*"]
        {
            assert!(files_in(&base, source).is_ok(), "{source}: {:?}", files_in(&base, source));
        }
    }

    #[test]
    fn going_up_goes_where_the_link_leads() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("in")).unwrap();
        fs::create_dir_all(base.join("out/deep")).unwrap();
        fs::write(base.join("out/file"), "").unwrap();
        std::os::unix::fs::symlink(base.join("out/deep"), base.join("in/link")).unwrap();
        assert_eq!(files_in(&base.join("in"), "link/../file"), Ok(vec![base.join("out/file")]));
        assert_eq!(files_in(&base.join("in"), "../out/file"), Ok(vec![base.join("out/file")]));
        assert_eq!(files_in(&base.join("in"), "link/x"), Ok(vec![base.join("in/link/x")]));
    }

    #[test]
    fn patterns_of_names_may_speak_of_secrets() {
        assert_eq!(secret_in("id_rsa*"), Some("id_rsa"));
        assert_eq!(secret_in("*.env"), Some(".env"));
        assert_eq!(secret_in("*.md"), None);
    }
}
