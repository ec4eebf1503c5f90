//! Starts a command line: the shell that runs it, its environment, its pipe, and where it reports its folder.
//!
//! What happens to it afterwards is `job.rs`.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::{ffi::OsStringExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use rustix::process::Pid;
use tempfile::NamedTempFile;
use tokio::net::unix::pipe;

use super::family::{Family, JOB_VARIABLE, Mark};

/// The kernel takes no longer argument than 128 KiB.
const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

/// The keys the server itself is given; a command has no business with them.
const SECRETS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];

/// Runs the second argument as if it were the whole script, and reports the folder it ends in to the first: by a
/// trap, so that `exit` does not prevent it, and once more after it, so that a trap of the command's own does
/// not. All on one line, so that the numbers in error messages are right; the space keeps a command that begins
/// with a dash from being taken for an option. The limits are set here because no process of the command can be
/// older than they are.
const SCRIPT: &str = concat!(
    r#"REVERIE_FOLDER=$1 REVERIE_LINE=$2; "#,
    r#"{ [ -z "$3" ] || ulimit -S -q "$3"; [ -z "$4" ] || ulimit -S -u "$4"; } 2>/dev/null; shift 4; "#,
    r#"trap 'command pwd >|"$REVERIE_FOLDER" 2>/dev/null || :' EXIT; eval " $REVERIE_LINE"; "#,
    r#"REVERIE_STATUS=$?; command pwd >|"$REVERIE_FOLDER" 2>/dev/null || :; exit $REVERIE_STATUS"#,
);

/// Nobody is there to page, to edit or to answer.
const FIXED: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

pub(super) struct Spawned {
    pub(super) family: Family,
    /// stdout and stderr, merged by the kernel in the order they are written.
    pub(super) output: pipe::Receiver,
    pub(super) folder: FolderReport,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SpawnError {
    #[error("the command is too long for the system (128 KiB); write it to a file and run that")]
    TooLong,
    #[error("the shell could not be started: {0}")]
    Io(#[from] io::Error),
}

/// The file a shell writes its last folder to.
pub(super) struct FolderReport(NamedTempFile);

impl FolderReport {
    /// The folder the shell ended in, if it said so and the folder is still there.
    pub(super) fn read(&self) -> Option<PathBuf> {
        let mut bytes = std::fs::read(self.0.path()).ok()?;
        if bytes.pop() != Some(b'\n') {
            return None;
        }
        let folder = PathBuf::from(OsString::from_vec(bytes));
        (folder.is_absolute() && folder.is_dir()).then_some(folder)
    }
}

/// Must be called inside a runtime.
pub(super) fn spawn(
    command: &str,
    cwd: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Spawned, SpawnError> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(SpawnError::TooLong);
    }
    let folder = FolderReport(tempfile::Builder::new().prefix("reverie-cwd-").tempfile()?);
    let mark = Mark::new();
    let (reader, writer) = io::pipe()?;
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut process = apart_from_us(path);
    process
        .arg("-c")
        .arg(SCRIPT)
        // What the shell calls itself in its messages.
        .arg("bash")
        .arg(folder.0.path())
        .arg(command)
        .args(mark.limits())
        .current_dir(cwd)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| !SECRETS.iter().any(|secret| name == secret)).cloned())
        .envs(FIXED)
        // Keeps the folder's name as the user knows it when a link is on the way.
        .env("PWD", cwd)
        .env(JOB_VARIABLE, mark.name())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    let child = process.spawn()?;
    // `process` holds our copies of the pipe's writing end; without them gone the end would never be seen.
    drop(process);
    Ok(Spawned { family: Family::new(Pid::from_child(&child), mark), output, folder })
}

/// The shell, to be started as a group of its own, which can be signalled as one. If the server has a terminal,
/// then in a session of its own: a program that asks there fails instead of waiting for ever.
fn apart_from_us(path: Option<&OsStr>) -> Command {
    let folders: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let shell = find_program("bash", &folders).unwrap_or_else(|| PathBuf::from("/bin/sh"));
    match find_program("setsid", &folders) {
        Some(setsid) if has_terminal() => {
            // It must not lead a group yet, else setsid would fork and we would watch the wrong process.
            let mut command = Command::new(setsid);
            command.arg(shell);
            command
        }
        _ => {
            let mut command = Command::new(shell);
            command.process_group(0);
            command
        }
    }
}

fn has_terminal() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| std::fs::File::open("/dev/tty").is_ok())
}

fn find_program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let usual = ["/usr/bin", "/bin"].map(PathBuf::from);
    let absolute = usual.iter().chain(folders).filter(|folder| folder.is_absolute());
    absolute.map(|folder| folder.join(name)).find(|program| program.is_file())
}
