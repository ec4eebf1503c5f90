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
use sandbox::Walls;
use tempfile::NamedTempFile;
use tokio::net::unix::pipe;

use super::{
    containment::{Containment, Lifeline, NoHelper},
    family::{Family, JOB_VARIABLE, Mark},
};

/// The kernel takes no longer argument than 128 KiB.
const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

/// The keys the server itself is given; a command has no business with them.
const SECRETS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];

/// From these a shell takes commands, options and prompts that are run, besides functions.
const START_UP: [&str; 6] = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND"];

/// Runs the second argument as if it were the whole script, and reports the folder it ends in to the first: by a
/// trap, so that `exit` does not prevent it, and once more after it, so that a trap of the command's own does
/// not; and before all else, which says that the shell did run. All on one line, so that the numbers in error messages are right; the space keeps a command that begins
/// with a dash from being taken for an option. The limits are set here because no process of the command can be
/// older than they are.
const SCRIPT: &str = concat!(
    r#"command pwd 2>|/dev/null >|"$1" || :; REVERIE_FOLDER=$1 REVERIE_LINE=$2; "#,
    r#"{ [ -z "$3" ] || ulimit -S -q "$3"; [ -z "$4" ] || ulimit -S -u "$4"; } 2>/dev/null; shift 4; "#,
    r#"trap 'command pwd 2>|/dev/null >|"$REVERIE_FOLDER" || :' EXIT; eval " $REVERIE_LINE"; "#,
    r#"REVERIE_STATUS=$?; command pwd 2>|/dev/null >|"$REVERIE_FOLDER" || :; exit $REVERIE_STATUS"#,
);

/// Nobody is there to page, to edit or to answer.
const FIXED: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Where and with what a command runs.
pub(super) struct Setting<'a> {
    pub(super) cwd: &'a Path,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) containment: &'a Containment,
    pub(super) start_up: StartUp,
    pub(super) most_processes: usize,
}

/// What a shell takes from its environment before the command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StartUp {
    /// Whatever the user has put there.
    AsGiven,
    /// Nothing that could give a word of the command another meaning.
    Bare,
}

pub(super) struct Spawned {
    pub(super) family: Family,
    /// `None` without a helper.
    pub(super) lifeline: Option<Lifeline>,
    pub(super) walled: bool,
    /// stdout and stderr, merged by the kernel in the order they are written.
    pub(super) output: pipe::Receiver,
    pub(super) folder: FolderReport,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SpawnError {
    #[error("the command is too long for the system (128 KiB); write it to a file and run that")]
    TooLong,
    #[error(transparent)]
    NoWalls(#[from] NoHelper),
    #[error("the shell could not be started: {0}")]
    Io(#[from] io::Error),
}

/// The file a shell writes its last folder to.
pub(super) struct FolderReport(NamedTempFile);

impl FolderReport {
    /// A file the shell can write to, inside the walls if there are any.
    fn new(walls: Option<&Walls>) -> io::Result<Self> {
        let usual = std::env::temp_dir();
        let writable = walls.map_or(&[][..], |walls| &walls.writable);
        let outside = walls.is_some() && !writable.iter().any(|folder| usual.starts_with(folder));
        let folder = writable.iter().rev().find(|folder| outside && folder.is_dir()).unwrap_or(&usual);
        Ok(Self(tempfile::Builder::new().prefix("reverie-cwd-").tempfile_in(folder)?))
    }

    /// Whether the shell never got so far as to write anything.
    pub(super) fn is_empty(&self) -> bool {
        std::fs::metadata(self.0.path()).is_ok_and(|metadata| metadata.len() == 0)
    }

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
pub(super) fn spawn(command: &str, setting: &Setting<'_>) -> Result<Spawned, SpawnError> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(SpawnError::TooLong);
    }
    let folder = FolderReport::new(setting.containment.main_walls.as_ref())?;
    let mark = Mark::new(setting.most_processes);
    let (reader, writer) = io::pipe()?;
    let path =
        setting.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let prefix = setting.containment.prefix()?;
    let (mut process, lifeline) = match prefix.split_first() {
        Some((helper, arguments)) => {
            let (lifeline, input) = Lifeline::new()?;
            let mut process = Command::new(helper);
            process.arg0("reverie").args(arguments).arg(shell(&folders(path))).stdin(input);
            (process, Some(lifeline))
        }
        None => {
            let mut process = apart_from_us(&folders(path));
            process.stdin(Stdio::null());
            (process, None)
        }
    };
    process
        .arg("-c")
        .arg(SCRIPT)
        // What the shell calls itself in its messages.
        .arg("bash")
        .arg(folder.0.path())
        .arg(command)
        .args(mark.limits())
        .current_dir(setting.cwd)
        .env_clear()
        .envs(setting.environment.iter().filter(|(name, _)| is_passed_on(name, setting.start_up)).cloned())
        .envs(FIXED)
        // Keeps the folder's name as the user knows it when a link is on the way.
        .env("PWD", setting.cwd)
        .env(JOB_VARIABLE, mark.name())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    let child = process.spawn()?;
    // `process` holds our copies of the pipe's writing end; without them gone the end would never be seen.
    drop(process);
    let child = Pid::from_child(&child);
    let family = match lifeline {
        Some(_) => Family::of_warden(child, mark),
        None => Family::of_shell(child, mark),
    };
    let walled = setting.containment.main_walls.is_some();
    Ok(Spawned { family, lifeline, walled, output, folder })
}

fn is_passed_on(name: &OsStr, start_up: StartUp) -> bool {
    let changes_the_shell = || {
        START_UP.iter().any(|variable| name == *variable)
            || name.as_encoded_bytes().starts_with(b"BASH_FUNC_")
    };
    !SECRETS.iter().any(|secret| name == *secret) && (start_up == StartUp::AsGiven || !changes_the_shell())
}

/// The shell, to be started as a group of its own, which can be signalled as one. If the server has a terminal,
/// then in a session of its own: a program that asks there fails instead of waiting for ever. A helper does both
/// by itself.
fn apart_from_us(folders: &[PathBuf]) -> Command {
    match find_program("setsid", folders) {
        Some(setsid) if has_terminal() => {
            // It must not lead a group yet, else setsid would fork and we would watch the wrong process.
            let mut command = Command::new(setsid);
            command.arg(shell(folders));
            command
        }
        _ => {
            let mut command = Command::new(shell(folders));
            command.process_group(0);
            command
        }
    }
}

fn shell(folders: &[PathBuf]) -> PathBuf {
    find_program("bash", folders).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

fn folders(path: Option<&OsStr>) -> Vec<PathBuf> {
    path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
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
