//! How the helper is asked for, and what it does: the binary starts itself again as
//! `reverie __contained {…} -- PROGRAM ARGUMENTS…`, puts the walls around itself, and becomes the program.
//!
//! With a lifeline or a parent to watch there is a warden between (`warden.rs`, `warden/attendant.rs`). It stays outside of the walls and starts the helper once
//! more for the inside, so that a program behind walls can neither stop it nor read its memory.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode},
};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::walls::Strength;
use crate::{environment::rebuilt_environment, walls::Walls, warden};

/// The first argument of the helper.
pub const HELPER: &str = "__contained";

/// What shells say of a program that was found but did not run, and of one that was not found.
const NOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// How a program is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walls: Option<Walls>,
    /// Whether stdin is the lifeline of a warden; without it the program gets stdin and is on its own.
    #[serde(default)]
    pub lifeline: bool,
    /// The number of the process that starts this: nothing of the program outlives it, nor the program itself. For
    /// programs that need their stdin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_with: Option<u32>,
}

impl Launch {
    /// For a program that is started by this process, and of which nothing is to be left when either ends.
    pub fn ending_with_this_process() -> Self {
        Self { ends_with: Some(std::process::id()), ..Self::default() }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the helper was not asked properly: {0}")]
    Asked(String),
    #[error("not run, because no walls can be put around it: {0}")]
    Walls(#[from] crate::walls::Unavailable),
    #[error("not run: {0}")]
    Prepared(io::Error),
    #[error("{}: {error}", program.to_string_lossy())]
    Program { program: OsString, error: io::Error },
}

/// What goes before a program and its arguments. Whoever starts it for sealed walls gives it nothing but
/// [`rebuilt_environment`].
pub fn wrap(reverie: &Path, launch: &Launch) -> Vec<OsString> {
    // Only a path that is not UTF-8 cannot be written; the helper refuses to run anything then.
    let launch = serde_json::to_string(launch).unwrap_or_default();
    vec![reverie.into(), HELPER.into(), launch.into(), "--".into()]
}

/// To be called first in `main`, while there is one thread: walls hold for the thread that raises them. `None` if this
/// process is not the helper. Returns for a helper only with a warden or an error, else the process becomes the program.
pub fn enter() -> Option<ExitCode> {
    warden::note_entered();
    let mut arguments = std::env::args_os();
    let reverie = arguments.next()?;
    if arguments.next()? != HELPER {
        return None;
    }
    Some(contain(&reverie, arguments).unwrap_or_else(|failure| {
        drop(writeln!(io::stderr(), "reverie: {failure}"));
        let missing =
            matches!(&failure, Failure::Program { error, .. } if error.kind() == io::ErrorKind::NotFound);
        ExitCode::from(if missing { NOT_FOUND } else { NOT_RUN })
    }))
}

fn contain(reverie: &OsStr, mut arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, Failure> {
    let asked = |words: &str| Failure::Asked(words.to_owned());
    let launch = arguments.next().ok_or_else(|| asked("it says nothing"))?;
    let launch: Launch = serde_json::from_slice(launch.as_encoded_bytes())
        .map_err(|error| Failure::Asked(error.to_string()))?;
    if arguments.next().is_none_or(|word| word != "--") {
        return Err(asked("-- is missing before the program"));
    }
    let program = arguments.next().ok_or_else(|| asked("the program is missing"))?;
    let arguments: Vec<OsString> = arguments.collect();
    let mut command = Command::new(&program);
    command.args(&arguments);
    if launch.lifeline || launch.ends_with.is_some() {
        if let Some(walls) = launch.walls {
            let inner = Launch { walls: Some(walls), ..Launch::default() };
            command = inside(reverie, &inner, &program, &arguments)?;
        }
        let ended = match launch.ends_with {
            Some(parent) if !launch.lifeline => warden::attendant::run(command, parent),
            _ => warden::run(command),
        };
        return ended.map_err(|error| Failure::Program { program, error });
    }
    if let Some(walls) = &launch.walls {
        #[cfg(target_os = "linux")]
        if walls.strength == Strength::Sealed {
            crate::cleanness::establish(&launch, &program, &arguments).map_err(Failure::Prepared)?;
            crate::cleanness::only_read_stdin().map_err(Failure::Prepared)?;
            command.env_clear().envs(environment_here().map_err(Failure::Prepared)?);
        }
        walls.raise()?;
    }
    let error = command.exec();
    Err(Failure::Program { program, error })
}

/// The command line for the inside of the walls.
fn inside(
    reverie: &OsStr,
    launch: &Launch,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Command, Failure> {
    // By its own name if the system cannot say which file this is.
    let reverie = warden::helper_of_this_process().unwrap_or_else(|| reverie.into());
    let mut line = wrap(&reverie, launch).into_iter();
    let own = line.next().ok_or_else(|| Failure::Asked("it has no name".to_owned()))?;
    let mut command = Command::new(own);
    command.args(line).arg(program).args(arguments);
    Ok(command)
}

/// The environment of a sealed program that runs here.
pub(crate) fn environment_here() -> io::Result<Vec<(OsString, OsString)>> {
    let cwd = std::env::current_dir()?;
    // Programs want some home, and one that can be read.
    let home = std::env::var_os("HOME").filter(|home| Path::new(home).is_absolute());
    Ok(rebuilt_environment(Path::new(home.as_deref().unwrap_or(OsStr::new("/"))), &cwd))
}
