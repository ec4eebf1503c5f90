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
    containment::{Lifeline, News},
    family::{Child, Family, ShellEnd},
    job::{Cause, Ending, Job, Manner, lock},
    spawn::{FolderReport, Spawned},
    stream::Stream,
};

/// How long the pipe may stay open after the shell has ended before what holds it is stopped.
const DRAIN: Duration = Duration::from_millis(100);

/// How long processes may take to end after they were asked to, and after they were made to.
const GRACE: Duration = Duration::from_millis(500);
const KILL: Duration = Duration::from_millis(800);

/// How long a warden whose lifeline is cut may take before it is killed, and what is left then after it.
const DISMISSAL: Duration = Duration::from_millis(200);

/// How long the last words of the dying are listened to.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// How often a long command is looked at: its orphans are reaped, its size is checked, and its end is seen should
/// a signal have been missed.
const ROUND: Duration = Duration::from_secs(1);

/// How often a background job whose shell has ended is looked at.
const AFTERLIFE_ROUND: Duration = Duration::from_millis(250);

/// The pauses between two looks at processes that should be ending.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

const READ_BYTES: usize = 64 * 1024;

/// Starts the watch. Must be called inside a runtime.
pub(super) fn supervise(job: Arc<Job>, spawned: Spawned, manner: Manner) -> io::Result<()> {
    let Spawned { family, lifeline, walled, output, folder } = spawned;
    let guard = Guard { job: Arc::clone(&job), family: Some(family.clone()) };
    if family.has_begun() {
        job.begun.cancel();
    }
    let (limit, progress) = match manner {
        Manner::Foreground { limit, progress } => (Some(Instant::now() + limit), Some(progress)),
        Manner::Background => (None, None),
    };
    let mut supervisor = Supervisor {
        family,
        lifeline,
        guard,
        children: signal(SignalKind::child())?,
        reader: Reader {
            job: Arc::clone(&job),
            output: Some(output),
            buffer: vec![0; READ_BYTES],
            stream: Stream::new(progress),
        },
    };
    tokio::spawn(async move {
        let (cause, leftovers) = supervisor.run(limit).await;
        let shell = supervisor.release();
        let never_ran = cause == Cause::Ended && supervisor.never_ran(&folder, shell, walled);
        let cause = if never_ran { Cause::NeverRan } else { cause };
        job.set_ending(Ending { cause, shell, leftovers, folder: folder.read() });
    });
    Ok(())
}

struct Supervisor {
    family: Family,
    /// `None` without a warden: the shell is our own child.
    lifeline: Option<Lifeline>,
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
        self.dismiss_warden().await;
        self.reader.drain_until(Instant::now() + LAST_WORDS).await;
        self.reader.stream.show();
        (cause, leftovers)
    }

    async fn watch(&mut self, limit: Option<Instant>) -> Cause {
        let mut round = interval_at(Instant::now() + ROUND, ROUND);
        loop {
            if self.shell_has_ended() {
                return Cause::Ended;
            }
            tokio::select! {
                biased;
                () = self.guard.job.stop.cancelled() => return Cause::Stopped,
                () = at(limit) => return Cause::TimedOut,
                news = news(self.lifeline.as_mut()) => if let News::Started(group) = news {
                    self.family.set_group(group);
                    self.guard.job.begun.cancel();
                },
                _ = self.children.recv() => {}
                _ = round.tick() => if self.has_swarmed().await {
                    return Cause::Swarmed;
                },
                () = self.reader.step() => {}
            }
        }
    }

    fn shell_has_ended(&self) -> bool {
        match &self.lifeline {
            Some(lifeline) => lifeline.has_ended(),
            None => self.family.child() != Child::Runs,
        }
    }

    /// A background job lives as long as any process of it, and never without its warden.
    async fn watch_afterlife(&mut self) -> Cause {
        loop {
            if self.is_gone().await {
                return Cause::Ended;
            }
            if self.lifeline.is_some() && self.family.child() == Child::Killed {
                return Cause::Stopped;
            }
            tokio::select! {
                biased;
                () = self.guard.job.stop.cancelled() => return Cause::Stopped,
                _ = self.children.recv() => {}
                () = sleep_until(Instant::now() + AFTERLIFE_ROUND) => {}
                () = self.reader.read_on() => {}
            }
        }
    }

    /// A warden knows for sure. A look is not atomic: a process may change its parent while it is read.
    async fn is_gone(&self) -> bool {
        match self.family.child() {
            Child::Runs if self.lifeline.is_some() => false,
            Child::Exited if self.lifeline.is_some() => true,
            Child::Runs | Child::Exited | Child::Killed => self.living().await == 0,
        }
    }

    /// Asks everyone to end, then makes them.
    async fn terminate(&mut self) {
        if !self.family.has_begun() && !self.shell_has_ended() {
            // Nobody is there to be asked yet.
            return self.cut_lifeline();
        }
        self.signal(Signal::TERM).await;
        // A stopped process hears nothing before it is continued.
        self.signal(Signal::CONT).await;
        self.family.signal_child(Signal::CONT);
        if self.gone_by(Instant::now() + GRACE, None).await {
            return;
        }
        self.cut_lifeline();
        if !self.gone_by(Instant::now() + KILL, Some(Signal::KILL)).await {
            tracing::warn!(command = self.guard.job.command, "processes of a command cannot be killed");
        }
    }

    /// A warden ends by itself when nothing is left to it, and kills what is left when it is told to. If neither
    /// helps, it was tampered with, and what it had below it is left to us.
    async fn dismiss_warden(&mut self) {
        let Some(lifeline) = &self.lifeline else { return };
        if !lifeline.is_cut() && self.child_ended_by(Instant::now() + GRACE).await {
            return;
        }
        self.cut_lifeline();
        if !self.child_ended_by(Instant::now() + DISMISSAL).await {
            self.family.signal_child(Signal::KILL);
            self.gone_by(Instant::now() + DISMISSAL, Some(Signal::KILL)).await;
        }
    }

    async fn child_ended_by(&mut self, deadline: Instant) -> bool {
        let mut pause = SHORTEST_PAUSE;
        while self.family.child() == Child::Runs {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::select! {
                biased;
                _ = self.children.recv() => {}
                () = sleep_until(Instant::now() + pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
        true
    }

    fn cut_lifeline(&mut self) {
        if let Some(lifeline) = &mut self.lifeline {
            lifeline.cut();
            // Should the command have stopped its warden.
            self.family.signal_child(Signal::CONT);
        }
    }

    /// Whether the helper refused. A shell leaves a trace first of all, which counts if the helper did not live to say
    /// that it had started one; or if it did, but what it started had walls to put up before the shell.
    fn never_ran(&self, folder: &FolderReport, shell: Option<ShellEnd>, walled: bool) -> bool {
        let refused = walled && matches!(shell, Some(ShellEnd::Exited(126 | 127)));
        self.lifeline.is_some() && folder.is_empty() && (!self.family.has_begun() || refused)
    }

    fn release(&mut self) -> Option<ShellEnd> {
        let child = self.guard.release();
        match &self.lifeline {
            Some(lifeline) => lifeline.end().or(child),
            None => child,
        }
    }

    async fn gone_by(&mut self, deadline: Instant, signal: Option<Signal>) -> bool {
        let mut pause = SHORTEST_PAUSE;
        let mut empty_looks = 0;
        loop {
            if let Some(signal) = signal {
                self.signal(signal).await;
            }
            // Two looks in a row are enough, with a moment between them; a warden's word is at once.
            empty_looks = if self.is_gone().await { empty_looks + 1 } else { 0 };
            if empty_looks == 2 || (self.lifeline.is_some() && self.family.child() == Child::Exited) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            pause = if empty_looks > 0 { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            tokio::select! {
                biased;
                () = sleep_until(Instant::now() + pause) => {}
                _ = self.children.recv(), if empty_looks == 0 => {}
                () = self.reader.read_on() => {}
            }
        }
    }

    async fn living(&self) -> usize {
        if self.family.is_young() {
            return self.family.living();
        }
        let family = self.family.clone();
        tokio::task::spawn_blocking(move || family.living()).await.unwrap_or(0)
    }

    /// Looks for orphans too, which without a warden are left to us.
    async fn has_swarmed(&self) -> bool {
        let (family, alone) = (self.family.clone(), self.lifeline.is_none());
        let look = move || {
            if alone {
                family.living();
            }
            family.is_swarm()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
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

async fn news(lifeline: Option<&mut Lifeline>) -> News {
    match lifeline {
        Some(lifeline) => lifeline.next().await,
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
    /// Reaps our child; from here on its number is not ours to signal.
    fn release(&mut self) -> Option<ShellEnd> {
        let mut shared = lock(&self.job.family);
        let end = self.family.as_ref()?.reap();
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
