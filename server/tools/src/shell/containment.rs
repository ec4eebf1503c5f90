//! What stands between a command and the rest: the helper process, and walls where the user wants them.
//!
//! The helper itself is the crate `sandbox`.

use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
};

use rustix::process::Pid;
use sandbox::{Launch, Walls, warden::Report};
use tokio::io::AsyncReadExt;

use super::family::ShellEnd;

/// How the commands of a shell are held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Containment {
    /// The program that answers to [`sandbox::HELPER`]. `None`: no helper; then what a command leaves running
    /// survives a server that is killed, and there can be no walls.
    pub reverie: Option<PathBuf>,
    /// Applied to every command; one to which they cannot be applied is not run.
    pub main_walls: Option<Walls>,
}

impl Containment {
    /// The running program as the helper, if it can be one; no walls.
    pub fn of_this_process() -> Self {
        Self { reverie: sandbox::warden::helper_of_this_process(), main_walls: None }
    }

    /// What goes before the shell in the command line; empty without a helper.
    pub(super) fn prefix(&self) -> Result<Vec<OsString>, NoHelper> {
        match (&self.reverie, &self.main_walls) {
            (Some(reverie), walls) => Ok(sandbox::wrap(
                reverie,
                &Launch { walls: walls.clone(), lifeline: true, ..Launch::default() },
            )),
            (None, None) => Ok(Vec::new()),
            (None, Some(_)) => Err(NoHelper),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the sandbox cannot be applied here: this program has no helper process; switch sandbox.mainBash off or run the `reverie` program itself"
)]
pub(super) struct NoHelper;

/// The server's end of what ties a command to it, and what the helper said over it. Dropped or cut, it is the end
/// of every process of the command.
pub(super) struct Lifeline {
    stream: Option<tokio::net::UnixStream>,
    /// The bytes that have come of the next report.
    partial: Vec<u8>,
    end: Option<ShellEnd>,
}

/// What a [`Lifeline`] brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The shell runs and leads this group.
    Started(Pid),
    /// The shell has ended, or the helper with it.
    Ended,
}

impl Lifeline {
    /// Both ends; the second is for the helper's stdin. Must be called inside a runtime.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let stream = Some(tokio::net::UnixStream::from_std(ours)?);
        Ok((Self { stream, partial: Vec::new(), end: None }, theirs.into()))
    }

    /// Never returns after a cut or when the helper has gone. Loses nothing when it is dropped half way.
    pub(super) async fn next(&mut self) -> News {
        loop {
            match self.report().await {
                Some(Report::Started(group)) => {
                    if let Some(group) = Pid::from_raw(group) {
                        return News::Started(group);
                    }
                }
                Some(Report::Exited(code)) => self.end = Some(ShellEnd::Exited(code)),
                Some(Report::Signalled(signal)) => self.end = Some(ShellEnd::Signalled(signal)),
                None => self.stream = None,
            }
            if self.has_ended() {
                return News::Ended;
            }
        }
    }

    /// Whether the shell has ended; so it has for all we can know when the lifeline is cut.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some() || self.stream.is_none()
    }

    /// How the shell ended, if the helper said so.
    pub(super) fn end(&self) -> Option<ShellEnd> {
        self.end
    }

    /// Whether nothing can be heard over it any more.
    pub(super) fn is_cut(&self) -> bool {
        self.stream.is_none()
    }

    /// Has the helper kill all that is left.
    pub(super) fn cut(&mut self) {
        self.stream = None;
    }

    async fn report(&mut self) -> Option<Report> {
        let Some(stream) = &mut self.stream else { return std::future::pending().await };
        while self.partial.len() < Report::BYTES {
            let missing = Report::BYTES - self.partial.len();
            if stream.take(missing as u64).read_buf(&mut self.partial).await.ok()? == 0 {
                return None;
            }
        }
        let bytes = <[u8; Report::BYTES]>::try_from(std::mem::take(&mut self.partial)).ok()?;
        Report::from_bytes(bytes)
    }
}
