//! The session's shell: the folder commands run in, and the commands that run.
//!
//! Each command is a process tree of its own, started with a fresh environment; only the folder carries over.
//! Nothing started here outlives the session, nor the server: see `shell/containment.rs`.

mod capture;
mod containment;
mod family;
mod job;
mod spawn;
mod stream;
mod supervisor;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;
use permissions::{
    Judged,
    shell::{Programs, Trusted, judge_in},
};

pub use self::containment::Containment;
pub(crate) use self::{
    family::ShellEnd,
    job::{Cause, Ending, Job, Manner},
};
use self::{
    job::lock,
    spawn::{Setting, StartUp},
};
use crate::tool::ToolFailure;

/// More than this many background jobs at once are a mistake.
const MAX_RUNNING_JOBS: usize = 32;

/// Ended background jobs whose output can still be read.
const MAX_ENDED_JOBS: usize = 32;

/// How many processes a command may add to those on the machine: far above any build, far below what a fork bomb
/// needs to stop the machine.
const MOST_PROCESSES: usize = 8192;

/// How long [`Shell::kill_all`] waits for the processes to be gone.
const KILL_ALL: Duration = Duration::from_millis(1900);

/// One per session.
pub struct Shell {
    /// The session's folder: where the first command starts, and any whose own folder has gone.
    home: PathBuf,
    surroundings: Mutex<Arc<Surroundings>>,
    most_processes: usize,
    state: Mutex<State>,
}

/// What commands find around them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// The variables they see, instead of the server's.
    pub environment: Vec<(OsString, OsString)>,
    pub containment: Containment,
    /// Which of them may be found to change nothing.
    pub programs: Programs,
}

struct State {
    cwd: PathBuf,
    foreground: Vec<Arc<Job>>,
    /// With their numbers, oldest first.
    background: Vec<(u32, Arc<Job>)>,
    last_number: u32,
}

/// A background job as an editor lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// `bash_1`: what `BashOutput` and `KillShell` take.
    pub id: String,
    pub command: String,
    pub status: JobStatus,
    pub started: SystemTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    Running,
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    /// Stopped by the model, the user or the end of the session.
    Killed,
}

/// A command that was started, and what its reader should know about the folder.
pub(crate) struct Started {
    pub(crate) job: Arc<Job>,
    /// The folder the shell was in, now gone; the command runs in the session's.
    pub(crate) lost_folder: Option<PathBuf>,
}

/// What to start: the command as it is shown, and what is run of it.
struct Order<'a> {
    command: &'a str,
    script: &'a str,
    start_up: StartUp,
    /// It may run nowhere else.
    folder: Option<&'a Path>,
}

impl Shell {
    /// A shell whose commands see these variables instead of the server's, without a helper to hold them.
    pub fn with_environment(cwd: PathBuf, environment: Vec<(OsString, OsString)>) -> Arc<Self> {
        Self::within(cwd, Surroundings { environment, ..Surroundings::default() })
    }

    pub fn within(cwd: PathBuf, surroundings: Surroundings) -> Arc<Self> {
        let state =
            State { cwd: cwd.clone(), foreground: Vec::new(), background: Vec::new(), last_number: 0 };
        let state = Mutex::new(state);
        let surroundings = Mutex::new(Arc::new(surroundings));
        Arc::new(Self { home: cwd, surroundings, most_processes: MOST_PROCESSES, state })
    }

    /// Other surroundings, from the next command on.
    pub fn surround(&self, surroundings: Surroundings) {
        *lock(&self.surroundings) = Arc::new(surroundings);
    }

    /// Where the next command starts.
    pub fn cwd(&self) -> PathBuf {
        lock(&self.state).cwd.clone()
    }

    /// The background jobs, oldest first: those that run, and the latest that have ended.
    pub fn jobs(&self) -> Vec<JobInfo> {
        let state = lock(&self.state);
        let info = |(number, job): &(u32, Arc<Job>)| JobInfo {
            id: job_id(*number),
            command: job.command.clone(),
            status: status(job),
            started: job.started,
        };
        state.background.iter().map(info).collect()
    }

    /// Has a background job end; does not wait for it.
    pub fn stop(&self, id: &str) -> Result<(), ToolFailure> {
        self.job(id)?.stop();
        Ok(())
    }

    /// Ends every command and job with all their processes. Takes at most two seconds.
    pub async fn kill_all(&self) {
        let running = self.running();
        for job in &running {
            job.stop();
        }
        let all_ended = join_all(running.iter().map(|job| job.ended()));
        if tokio::time::timeout(KILL_ALL, all_ended).await.is_err() {
            for job in &running {
                job.kill_now();
            }
        }
    }

    /// Whether the command changes nothing if it is run next. What is judged here is what
    /// [`Shell::start_judged`] runs, to the letter.
    pub(crate) fn judge(&self, command: &str) -> Option<Judged> {
        let (folder, _) = self.folder();
        let programs = lock(&self.surroundings).programs;
        let trusted = Trusted::Installed;
        let surroundings = permissions::shell::Surroundings { cwd: &folder, home: None, programs, trusted };
        judge_in(command, &surroundings).ok()
    }

    /// Starts a command that someone waits for.
    pub(crate) fn start(&self, command: &str, manner: Manner) -> Result<Started, ToolFailure> {
        let order = Order { command, script: command, start_up: StartUp::AsGiven, folder: None };
        let started = self.launch(order, manner)?;
        self.keep(&started.job);
        Ok(started)
    }

    /// Likewise, one that was judged: its script, in its folder, with nothing in between that could make it another.
    pub(crate) fn start_judged(
        &self,
        command: &str,
        judged: &Judged,
        manner: Manner,
    ) -> Result<Started, ToolFailure> {
        let order =
            Order { command, script: &judged.script, start_up: StartUp::Bare, folder: Some(&judged.folder) };
        let started = self.launch(order, manner)?;
        self.keep(&started.job);
        Ok(started)
    }

    /// Starts a job and gives it its id. Waits until it runs, which is a matter of milliseconds.
    pub(crate) async fn start_in_background(&self, command: &str) -> Result<(String, Started), ToolFailure> {
        let count = lock(&self.state).background.iter().filter(|(_, job)| job.ending().is_none()).count();
        if count >= MAX_RUNNING_JOBS {
            return Err(ToolFailure(format!(
                "{count} background jobs are running already; stop one with KillShell first"
            )));
        }
        let order = Order { command, script: command, start_up: StartUp::AsGiven, folder: None };
        let started = self.launch(order, Manner::Background)?;
        self.keep(&started.job);
        let guard = started.job.stop_on_drop();
        started.job.settled().await;
        if let Some(refusal) = started.job.refusal() {
            return Err(refusal);
        }
        guard.disarm();

        let mut state = lock(&self.state);
        state.foreground.retain(|job| !Arc::ptr_eq(job, &started.job));
        state.last_number += 1;
        let number = state.last_number;
        state.background.push((number, Arc::clone(&started.job)));
        let ended = state.background.iter().filter(|(_, job)| job.ending().is_some()).count();
        let mut surplus = ended.saturating_sub(MAX_ENDED_JOBS);
        state.background.retain(|(_, job)| {
            let goes = surplus > 0 && job.ending().is_some();
            surplus -= usize::from(goes);
            !goes
        });
        Ok((job_id(number), started))
    }

    pub(crate) fn job(&self, id: &str) -> Result<Arc<Job>, ToolFailure> {
        let state = lock(&self.state);
        if let Some((_, job)) = state.background.iter().find(|(number, _)| job_id(*number) == id) {
            return Ok(Arc::clone(job));
        }
        let known: Vec<String> = state.background.iter().map(|(number, _)| job_id(*number)).collect();
        let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
        Err(ToolFailure(format!("no background job has the id {id}; known: {known}")))
    }

    /// Moves to where a command ended.
    pub(crate) fn set_cwd(&self, cwd: &Path) {
        lock(&self.state).cwd = cwd.to_owned();
    }

    fn launch(&self, order: Order<'_>, manner: Manner) -> Result<Started, ToolFailure> {
        let (cwd, lost_folder) = self.folder();
        if !cwd.is_dir() {
            return Err(ToolFailure(format!("the folder to run in does not exist: {}", cwd.display())));
        }
        if order.folder.is_some_and(|folder| folder != cwd) {
            return Err(ToolFailure(format!(
                "the working directory has changed to {}; try again",
                cwd.display()
            )));
        }
        if lost_folder.is_some() {
            self.set_cwd(&cwd);
        }
        let surroundings = Arc::clone(&lock(&self.surroundings));
        let setting = Setting {
            cwd: &cwd,
            environment: &surroundings.environment,
            containment: &surroundings.containment,
            start_up: order.start_up,
            most_processes: self.most_processes,
        };
        let spawned = spawn::spawn(order.script, &setting).map_err(|error| ToolFailure(error.to_string()))?;
        let job = Job::start(order.command.to_owned(), spawned, manner)
            .map_err(|error| ToolFailure(format!("the command could not be watched: {error}")))?;
        Ok(Started { job, lost_folder })
    }

    /// Where the next command runs, and the folder it should have run in if that is gone.
    fn folder(&self) -> (PathBuf, Option<PathBuf>) {
        let wanted = self.cwd();
        if wanted.is_dir() { (wanted, None) } else { (self.home.clone(), Some(wanted)) }
    }

    fn keep(&self, job: &Arc<Job>) {
        let mut state = lock(&self.state);
        state.foreground.retain(|job| job.ending().is_none());
        state.foreground.push(Arc::clone(job));
    }

    fn running(&self) -> Vec<Arc<Job>> {
        let state = lock(&self.state);
        let background = state.background.iter().map(|(_, job)| job);
        let all = state.foreground.iter().chain(background);
        all.filter(|job| job.ending().is_none()).cloned().collect()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        for job in self.running() {
            job.kill_now();
        }
    }
}

pub(crate) fn status(job: &Job) -> JobStatus {
    match job.ending() {
        None => JobStatus::Running,
        Some(Ending { cause: Cause::Ended, shell: Some(ShellEnd::Exited(code)), .. }) => {
            JobStatus::Exited { code }
        }
        Some(Ending { cause: Cause::Ended, shell: Some(ShellEnd::Signalled(signal)), .. }) => {
            JobStatus::Signalled { signal }
        }
        Some(_) => JobStatus::Killed,
    }
}

fn job_id(number: u32) -> String {
    format!("bash_{number}")
}
