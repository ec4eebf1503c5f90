//! A server as a child process: started in a group of its own, with an environment made for it, heard on stderr, and
//! ended with all that it has started.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    io,
    path::Path,
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use settings::Environment;
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// What is passed on of our environment. Everything else, keys above all, a server gets only if its configuration
/// names it.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// From the end of its input to SIGTERM, and from there to SIGKILL.
const UNTIL_ASKED: Duration = Duration::from_millis(300);
const UNTIL_KILLED: Duration = Duration::from_millis(700);
/// For what a dead process had written last.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What to run.
pub(crate) struct Program<'a> {
    /// Goes before the command: a program that runs another inside walls.
    pub(crate) wrapper: &'a [OsString],
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: &'a Path,
}

/// A running server. Dropping it ends the process and its children.
pub(crate) struct Process {
    exit: watch::Receiver<Option<String>>,
    stderr: Arc<Mutex<Tail>>,
    stop: DropGuard,
}

impl Process {
    /// `tracker` knows when everything of the process is over.
    pub(crate) fn start(
        program: &Program<'_>,
        environment: &Environment,
        tracker: &TaskTracker,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut words = program.wrapper.iter().cloned();
        let command = OsString::from(program.command);
        let mut child = match words.next() {
            Some(first) => {
                let mut wrapped = Command::new(first);
                wrapped.args(words).arg(command);
                wrapped
            }
            None => Command::new(command),
        };
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((*name, environment.get(name)?)));
        child
            .args(program.args)
            .env_clear()
            .envs(passed_on)
            .envs(program.env)
            .current_dir(program.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = child.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(errors)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        let stop = CancellationToken::new();
        let stderr = Arc::new(Mutex::new(Tail::default()));
        let (tell, exit) = watch::channel(None);
        let group = Group(child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)));
        let listening = listen(errors, Arc::clone(&stderr));
        tracker.spawn(supervise(child, group, stop.clone(), listening, tell));
        Ok((Self { exit, stderr, stop: stop.drop_guard() }, stdin, stdout))
    }

    /// Has it ended, with its children, soon.
    pub(crate) fn stop(&self) {
        self.stop.token().cancel();
    }

    /// How it ended, when it has; in words that stand in parentheses.
    pub(crate) fn ended(&self) -> Option<String> {
        self.exit.borrow().clone()
    }

    /// Waits for the end.
    pub(crate) async fn end(&self) -> String {
        let mut exit = self.exit.clone();
        let ended = exit.wait_for(Option::is_some).await.map(|exit| exit.clone().unwrap_or_default());
        ended.unwrap_or_default()
    }

    /// The last lines that it wrote to stderr.
    pub(crate) fn last_lines(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

async fn supervise(
    mut child: Child,
    group: Group,
    stop: CancellationToken,
    listening: impl Future<Output = ()>,
    tell: watch::Sender<Option<String>>,
) {
    let mut listening = std::pin::pin!(listening);
    let mut heard_all = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            () = &mut listening, if !heard_all => heard_all = true,
            () = stop.cancelled() => break end(&mut child, &group, listening.as_mut(), &mut heard_all).await,
        }
    };
    // What it has started and left behind; this also closes its stderr.
    group.signal(Signal::KILL);
    drop(group);
    if !heard_all {
        timeout(LAST_WORDS, listening).await.unwrap_or_default();
    }
    tell.send_replace(Some(describe(status)));
}

/// "Close its input, wait, SIGTERM, wait, SIGKILL". Its input was closed by whoever stopped it.
async fn end(
    child: &mut Child,
    group: &Group,
    mut listening: Pin<&mut impl Future<Output = ()>>,
    heard_all: &mut bool,
) -> io::Result<ExitStatus> {
    for (patience, signal) in [(UNTIL_ASKED, Signal::TERM), (UNTIL_KILLED, Signal::KILL)] {
        let waiting = async {
            // A full pipe would keep it from ending.
            tokio::select! {
                status = child.wait() => return status,
                () = &mut listening, if !*heard_all => *heard_all = true,
            }
            child.wait().await
        };
        match timeout(patience, waiting).await {
            Ok(status) => return status,
            Err(_) => group.signal(signal),
        }
    }
    child.wait().await
}

fn describe(status: io::Result<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Err(error) => format!("its end could not be waited for: {error}"),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => status.to_string(),
        },
    }
}

/// The process and all that it has started. Killed when dropped, also when a whole runtime is.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(Err(error)) = self.0.map(|pid| kill_process_group(pid, signal)) {
            tracing::trace!(%error, "nothing left to end");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

async fn listen(mut stderr: ChildStderr, tail: Arc<Mutex<Tail>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let piece = buffer.get(..count).unwrap_or_default();
        tail.lock().unwrap_or_else(PoisonError::into_inner).add(piece);
    }
}

/// The last lines of a stream.
#[derive(Default)]
struct Tail {
    lines: VecDeque<String>,
    open: Vec<u8>,
}

impl Tail {
    const LINES: usize = 20;
    const LONGEST: usize = 500;

    fn add(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                b'\n' => self.finish(),
                byte if self.open.len() < Self::LONGEST => self.open.push(*byte),
                _ => {}
            }
        }
    }

    fn finish(&mut self) {
        let line = readable(&std::mem::take(&mut self.open));
        if !line.is_empty() {
            self.lines.push_back(line);
        }
        if self.lines.len() > Self::LINES {
            self.lines.pop_front();
        }
    }

    fn text(&self) -> String {
        let open = Some(readable(&self.open)).filter(|line| !line.is_empty());
        self.lines.iter().chain(&open).map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

fn readable(line: &[u8]) -> String {
    crate::text::visible(&String::from_utf8_lossy(line)).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
