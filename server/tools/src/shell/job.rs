//! One running command: what it wrote, how it ended, and the way to stop it.
//!
//! Watching over it is `supervisor.rs`; which jobs a session has, and the folder they start in, is `shell.rs`.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use rustix::process::Signal;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture,
    family::{Family, ShellEnd},
    spawn::Spawned,
    supervisor,
};
use crate::tool::{Progress, ToolFailure};

/// Far more than a helper says.
const MAX_REFUSAL_CHARS: usize = 2_000;

pub(crate) struct Job {
    pub(crate) command: String,
    pub(crate) started: SystemTime,
    /// `None` once it is reaped: its number may then be another's.
    pub(super) family: Mutex<Option<Family>>,
    pub(super) capture: Mutex<Capture>,
    /// How much of the output a reader has had.
    read: Mutex<u64>,
    pub(super) stop: CancellationToken,
    pub(super) begun: CancellationToken,
    walled: bool,
    ending: watch::Sender<Option<Ending>>,
}

/// Whether someone waits for the command.
pub(crate) enum Manner {
    /// Ends with its shell or at the limit; what it leaves running is stopped.
    Foreground { limit: Duration, progress: Progress },
    /// Runs until its last process has ended.
    Background,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) cause: Cause,
    /// `None` when the shell could not be reaped.
    pub(crate) shell: Option<ShellEnd>,
    /// Processes that outlived the shell and were stopped.
    pub(crate) leftovers: usize,
    /// Where the shell was when it ended.
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Ended,
    TimedOut,
    Stopped,
    /// It had more processes than a command may have.
    Swarmed,
    /// The shell was not started; what was written says why.
    NeverRan,
}

impl Job {
    /// Takes over what was spawned. Must be called inside a runtime.
    pub(super) fn start(command: String, spawned: Spawned, manner: Manner) -> io::Result<Arc<Self>> {
        let job = Arc::new(Self {
            command,
            started: SystemTime::now(),
            family: Mutex::new(Some(spawned.family.clone())),
            capture: Mutex::default(),
            read: Mutex::default(),
            stop: CancellationToken::new(),
            begun: CancellationToken::new(),
            walled: spawned.walled,
            ending: watch::Sender::new(None),
        });
        supervisor::supervise(Arc::clone(&job), spawned, manner)?;
        Ok(job)
    }

    /// Asks for the end of all its processes; [`Job::ended`] tells when they are gone.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Stops the job if the caller goes away.
    pub(crate) fn stop_on_drop(&self) -> tokio_util::sync::DropGuard {
        self.stop.clone().drop_guard()
    }

    pub(crate) fn ending(&self) -> Option<Ending> {
        self.ending.borrow().clone()
    }

    pub(crate) async fn ended(&self) -> Ending {
        let mut receiver = self.ending.subscribe();
        match receiver.wait_for(Option::is_some).await {
            Ok(ending) => ending.clone().unwrap_or(Ending::UNKNOWN),
            Err(_) => Ending::UNKNOWN,
        }
    }

    /// Waits until the shell runs, or has ended without.
    pub(crate) async fn settled(&self) {
        tokio::select! {
            () = self.begun.cancelled() => {}
            _ = self.ended() => {}
        }
    }

    /// Why the command was never run, if so.
    pub(crate) fn refusal(&self) -> Option<ToolFailure> {
        let ending = self.ending().filter(|ending| ending.cause == Cause::NeverRan)?;
        let written = self.text(MAX_REFUSAL_CHARS);
        let words = match written.trim().trim_start_matches("reverie: ") {
            "" => format!("its helper process ended with {:?}", ending.shell),
            words => words.to_owned(),
        };
        Some(ToolFailure(if self.walled {
            format!(
                "the sandbox cannot be applied here: {words}; switch sandbox.mainBash off or run on a system that has it"
            )
        } else {
            format!("the command was not run: {words}")
        }))
    }

    /// All that was written, the middle left out where it is long.
    pub(crate) fn text(&self, limit: usize) -> String {
        lock(&self.capture).text_since(0, 0, limit)
    }

    /// What was written since the last call, but for a character whose rest is still to come.
    pub(crate) fn new_text(&self, limit: usize) -> String {
        let ended = self.ending.borrow().is_some();
        let mut read = lock(&self.read);
        let capture = lock(&self.capture);
        let held_back = if ended { 0 } else { capture.unfinished() };
        let text = capture.text_since(*read, held_back, limit);
        *read = capture.total().saturating_sub(held_back as u64).max(*read);
        text
    }

    /// Kills at once and without waiting, for when no runtime may be left to do better.
    pub(super) fn kill_now(&self) {
        self.stop.cancel();
        if let Some(family) = &*lock(&self.family) {
            family.signal(Signal::KILL);
        }
    }

    pub(super) fn set_ending(&self, ending: Ending) {
        self.ending.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(ending);
            }
            first
        });
    }
}

impl Ending {
    /// Of a job whose watcher was lost.
    pub(super) const UNKNOWN: Self = Self { cause: Cause::Stopped, shell: None, leftovers: 0, folder: None };

    /// The code as a shell would give it; `None` when the command was stopped or its code is not known.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        match (self.cause, self.shell?) {
            (Cause::Ended, ShellEnd::Exited(code)) => Some(code),
            (Cause::Ended, ShellEnd::Signalled(signal)) => Some(128 + signal),
            (Cause::TimedOut | Cause::Stopped | Cause::Swarmed | Cause::NeverRan, _) => None,
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
