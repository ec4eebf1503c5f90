//! Watches over one command from its start until nothing of it is left.
//!
//! A task of its own, so that a caller may go away at any time. Every wait in it has a limit but the one for the
//! command itself, which the caller sets.

use std::{io, sync::Arc, time::Duration};

use rustix::process::Signal;
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    signal::unix::{SignalKind, signal},
    time::{Instant, interval_at, sleep_until, timeout_at},
};

use super::{
    family::Family,
    job::{Cause, Ending, Job, Manner, lock},
    spawn::Spawned,
    stream::Stream,
};

/// How long the pipe may stay open after the shell has ended before what holds it is stopped.
const DRAIN: Duration = Duration::from_millis(100);

/// How long processes may take to end after they were asked to, and after they were made to.
const GRACE: Duration = Duration::from_millis(500);
const KILL: Duration = Duration::from_secs(1);

/// How long the last words of the dying are listened to.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// How often orphans of a long command are reaped, and its end looked for should a signal have been missed.
const ROUND: Duration = Duration::from_secs(2);

/// How often a background job whose shell has ended is looked at.
const AFTERLIFE_ROUND: Duration = Duration::from_millis(250);

/// The longest pause between two looks at processes that should be ending.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

const READ_BYTES: usize = 64 * 1024;

/// Starts the watch. Must be called inside a runtime.
pub(super) fn supervise(job: Arc<Job>, spawned: Spawned, manner: Manner) -> io::Result<()> {
    let guard = Guard { job: Arc::clone(&job), family: Some(spawned.family.clone()) };
    let (limit, progress) = match manner {
        Manner::Foreground { limit, progress } => (Some(Instant::now() + limit), Some(progress)),
        Manner::Background => (None, None),
    };
    let mut supervisor = Supervisor {
        family: spawned.family,
        guard,
        children: signal(SignalKind::child())?,
        reader: Reader {
            job: Arc::clone(&job),
            output: Some(spawned.output),
            buffer: vec![0; READ_BYTES],
            stream: Stream::new(progress),
        },
    };
    tokio::spawn(async move {
        let (cause, leftovers) = supervisor.run(limit).await;
        let shell = supervisor.guard.release();
        job.set_ending(Ending { cause, shell, leftovers, folder: spawned.folder.read() });
    });
    Ok(())
}

struct Supervisor {
    family: Family,
    guard: Guard,
    children: tokio::signal::unix::Signal,
    reader: Reader,
}

impl Supervisor {
    /// Returns when all processes are gone: why, and how many of them had outlived the shell.
    async fn run(&mut self, limit: Option<Instant>) -> (Cause, usize) {
        let mut cause = self.watch(limit).await;
        let mut leftovers = 0;
        if cause == Cause::Ended && limit.is_some() {
            self.reader.drain_until(Instant::now() + DRAIN).await;
            leftovers = self.living().await;
        } else if cause == Cause::Ended {
            cause = self.watch_afterlife().await;
        }
        if cause != Cause::Ended || leftovers > 0 {
            self.terminate().await;
        }
        self.reader.drain_until(Instant::now() + LAST_WORDS).await;
        self.reader.stream.show();
        (cause, leftovers)
    }

    async fn watch(&mut self, limit: Option<Instant>) -> Cause {
        let mut round = interval_at(Instant::now() + ROUND, ROUND);
        loop {
            if self.family.shell_has_ended() {
                return Cause::Ended;
            }
            tokio::select! {
                biased;
                () = self.guard.job.stop.cancelled() => return Cause::Stopped,
                () = at(limit) => return Cause::TimedOut,
                _ = self.children.recv() => {}
                _ = round.tick() => {
                    self.living().await;
                }
                () = self.reader.step() => {}
            }
        }
    }

    /// A background job lives as long as any process of it.
    async fn watch_afterlife(&mut self) -> Cause {
        loop {
            if self.living().await == 0 {
                return Cause::Ended;
            }
            tokio::select! {
                biased;
                () = self.guard.job.stop.cancelled() => return Cause::Stopped,
                () = sleep_until(Instant::now() + AFTERLIFE_ROUND) => {}
                () = self.reader.read_on() => {}
            }
        }
    }

    /// Asks everyone to end, then makes them.
    async fn terminate(&mut self) {
        self.signal(Signal::TERM).await;
        // A stopped process hears nothing before it is continued.
        self.signal(Signal::CONT).await;
        if !self.gone_by(Instant::now() + GRACE, None).await
            && !self.gone_by(Instant::now() + KILL, Some(Signal::KILL)).await
        {
            tracing::warn!(command = self.guard.job.command, "processes of a command cannot be killed");
        }
    }

    async fn gone_by(&mut self, deadline: Instant, signal: Option<Signal>) -> bool {
        let mut pause = Duration::from_millis(1);
        let mut empty_looks = 0;
        loop {
            let left = match signal {
                Some(signal) => self.signal(signal).await,
                None => self.living().await,
            };
            // One look is not atomic: a process may change its parent while it is read. Two in a row are enough.
            empty_looks = if left == 0 { empty_looks + 1 } else { 0 };
            if empty_looks == 2 {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            if left > 0 {
                tokio::select! {
                    biased;
                    () = sleep_until(Instant::now() + pause) => {}
                    _ = self.children.recv() => {}
                    () = self.reader.read_on() => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    async fn living(&self) -> usize {
        if self.family.is_young() {
            return self.family.living().len();
        }
        let family = self.family.clone();
        tokio::task::spawn_blocking(move || family.living().len()).await.unwrap_or(0)
    }

    async fn signal(&self, signal: Signal) -> usize {
        let family = self.family.clone();
        tokio::task::spawn_blocking(move || family.signal(signal)).await.unwrap_or(0)
    }
}

/// The reading end of the command's pipe, and where its bytes go.
struct Reader {
    job: Arc<Job>,
    /// `None` after the last writer has closed it.
    output: Option<pipe::Receiver>,
    buffer: Vec<u8>,
    stream: Stream,
}

impl Reader {
    /// Reads once or shows what was read. Never returns when there is nothing more to do.
    async fn step(&mut self) {
        tokio::select! {
            biased;
            () = at(self.stream.due()) => self.stream.show(),
            read = read(self.output.as_mut(), &mut self.buffer) => match read {
                Ok(count) if count > 0 => {
                    let bytes = self.buffer.get(..count).unwrap_or_default();
                    lock(&self.job.capture).push(bytes);
                    self.stream.push(bytes);
                }
                Ok(_) | Err(_) => self.output = None,
            },
        }
    }

    async fn read_on(&mut self) {
        loop {
            self.step().await;
        }
    }

    async fn drain_until(&mut self, deadline: Instant) {
        while self.output.is_some() && timeout_at(deadline, self.step()).await.is_ok() {}
    }
}

async fn read(output: Option<&mut pipe::Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match output {
        Some(output) => output.read(buffer).await,
        None => std::future::pending().await,
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Sees to the end of the processes even if the watch itself is cut off, as at the end of a runtime.
struct Guard {
    job: Arc<Job>,
    family: Option<Family>,
}

impl Guard {
    /// Reaps the shell; from here on its number is not ours to signal.
    fn release(&mut self) -> Option<super::family::ShellEnd> {
        let mut shared = lock(&self.job.family);
        let end = self.family.as_ref()?.reap_shell();
        if end.is_some() {
            self.family = None;
            *shared = None;
        }
        end
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(family) = self.family.take() else { return };
        *lock(&self.job.family) = None;
        family.signal(Signal::KILL);
        self.job.set_ending(Ending::UNKNOWN);
        // Reaping can take a moment, and nothing may block here.
        let finish = std::thread::Builder::new().name("reap".to_owned()).spawn(move || family.finish_off());
        if let Err(error) = finish {
            tracing::warn!(%error, "the processes of a command were killed but not reaped");
        }
    }
}
