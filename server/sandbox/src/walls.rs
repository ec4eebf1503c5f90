//! What is put around a program, and the order in which it is put there.
//!
//! Landlock says where files may be written (`files.rs`), seccomp what may be asked of the kernel (`calls.rs`), and
//! limits how much of it (`limits.rs`). Each alone leaves something open: Landlock knows nothing of modes, times and
//! datagrams, seccomp nothing of paths. Reading and executing are left as they are: whoever reads secrets still has
//! no way to send them.
//!
//! Landlock cannot take a part of a tree out again. So the files inside a workspace that programs run or obey
//! (`.git/hooks`, `.git/config`, `.claude/settings.json`, `.mcp.json`) are not protected by [`Strength::Workbench`];
//! only the question before the command protects them.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod limits;

#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::memory_folder;

/// Around one program and all that it starts; they cannot be taken down again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// Where files may be changed: below these folders, and in no other place.
    pub writable: Vec<PathBuf>,
    pub network: Network,
    #[serde(default)]
    pub strength: Strength,
}

/// Whom a program may talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Network {
    /// Nobody outside. Unix sockets can be made, for programs that talk to themselves, but not connected.
    #[default]
    None,
    /// Unix sockets: build daemons, language servers, but whatever else listens on one, too.
    Unix,
    Open,
}

/// For whom the walls are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strength {
    /// For commands that nobody watches: no modes, no times, nobody else's processes, little memory, a rebuilt
    /// environment.
    #[default]
    Sealed,
    /// For the user's own work: compilers, package managers and tests must run.
    Workbench,
}

/// Why no walls could be put up; the program must not run then.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub(crate) String);

impl Walls {
    /// For a background agent: its memory folder and nothing else. Not raised around a folder that is wider than a
    /// memory (see [`crate::too_wide`]) or holds a file that is also elsewhere.
    ///
    /// Below that folder all names are alike to the kernel: what only the server writes there (`.history`, locks, a
    /// `.git`) is protected by the judgement of commands alone.
    pub fn sealed(memory: PathBuf) -> Self {
        Self { writable: vec![memory], network: Network::None, strength: Strength::Sealed }
    }

    /// For a background agent's commands that were found to change nothing: no folder at all, so that a mistake in
    /// finding it out does not matter in the memory folder either.
    pub fn closed() -> Self {
        Self { writable: Vec::new(), network: Network::None, strength: Strength::Sealed }
    }

    /// For the commands of the session itself, where the user wants them walled in: the workspace's folders, the
    /// memory folder, and a private folder for temporary files (see [`crate::private_folder`]) that the program must be
    /// told of in `TMPDIR`: `/tmp` itself is also where others keep theirs, and so is `/dev/shm`.
    ///
    /// Modes, owners and times of files can be changed everywhere: builds need the calls, and no filter sees the paths.
    pub fn workbench(
        folders: impl IntoIterator<Item = PathBuf>,
        temporary: PathBuf,
        network: Network,
    ) -> Self {
        let writable = folders.into_iter().chain([temporary]).collect();
        Self { writable, network, strength: Strength::Workbench }
    }

    /// Puts them around this thread and what it starts from now on.
    #[cfg(target_os = "linux")]
    pub(crate) fn raise(&self) -> Result<(), Unavailable> {
        if self.strength == Strength::Sealed {
            self.writable.iter().try_for_each(|folder| is_a_memory(folder))?;
        }
        limits::lower(self)?;
        let signals = files::restrict(self)?;
        calls::restrict(self, signals)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn raise(&self) -> Result<(), Unavailable> {
        Err(Unavailable("walls around programs need Linux".to_owned()))
    }
}

/// Whether a folder may be written to by whoever is not watched.
#[cfg(target_os = "linux")]
fn is_a_memory(folder: &Path) -> Result<(), Unavailable> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    if let Some(why) = memory_folder::too_wide(folder, Path::new(&home)) {
        return Err(Unavailable(format!("{} {why}", folder.display())));
    }
    match memory_folder::door(folder) {
        Ok(None) => Ok(()),
        Ok(Some(path)) => {
            let what = "is also a file outside of the memory folder, or a device: take it out";
            Err(Unavailable(format!("{} {what}", path.display())))
        }
        Err(error) => Err(Unavailable(format!("{} cannot be looked through: {error}", folder.display()))),
    }
}

/// Whether Landlock keeps signals inside the walls; older kernels leave that to the list of calls.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signals {
    Contained,
    Loose,
}
