//! Runs the built `reverie`, with pipes for its three streams.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use testkit::{fixture::Fixture, model_server::ModelServer, within};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdout, Command},
};

pub struct Program {
    pub fixture: Fixture,
    pub environment: BTreeMap<String, String>,
    /// Absent where the offline model answers.
    model: Option<ModelServer>,
}

/// What a run left.
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Program {
    /// Talks to a scripted model.
    pub async fn scripted(files: &str) -> Self {
        let fixture = Fixture::new(files);
        let model = ModelServer::start().await;
        let environment = fixture.environment(&model.url());
        Self { fixture, environment, model: Some(model) }
    }

    /// Has neither a key nor a server.
    pub fn offline(files: &str) -> Self {
        let fixture = Fixture::new(files);
        let mut environment = fixture.environment("");
        environment.retain(|name, _| !name.starts_with("ANTHROPIC"));
        Self { fixture, environment, model: None }
    }

    pub fn model(&self) -> &ModelServer {
        self.model.as_ref().expect("a scripted program")
    }

    /// With nothing on stdin.
    pub async fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, b"").await
    }

    /// With this on stdin.
    pub async fn run_with(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A program that has read enough closes its end.
        drop(stdin.write_all(input).await);
        drop(stdin);
        let output = within(child.wait_with_output(), "the program to end").await.expect("it ran");
        self.seen(output)
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        Running { child, stdout, stderr }
    }

    /// A line of shell in which `$REVERIE` is the program.
    pub async fn shell(&self, line: &str) -> Run {
        let mut command = Command::new("bash");
        command.arg("-c").arg(line).stdin(Stdio::null());
        let output = self.prepared(command).output();
        self.seen(within(output, "the line to end").await.expect("bash runs"))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments);
        self.prepared(command)
    }

    pub fn prepared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .envs(&self.environment)
            .env("REVERIE", binary())
            .env("TZ", "UTC")
            .current_dir(&self.fixture.workspace)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Fails if the model was used in another way than scripted.
    pub fn finish(self) {
        if let Some(model) = self.model {
            model.finish();
        }
    }

    /// What differs from run to run replaced.
    pub fn stable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in self.fixture.replacements() {
            text = text.replace(&path, &name);
        }
        if let Some(model) = &self.model {
            text = text.replace(&model.url(), "<model>");
        }
        without_ids(&text)
    }

    fn seen(&self, output: Output) -> Run {
        Run {
            stdout: self.stable(&text(output.stdout)),
            stderr: self.stable(&text(output.stderr)),
            code: output.status.code(),
        }
    }
}

impl Run {
    /// Everything, for one snapshot.
    pub fn transcript(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        format!("{}--- stderr\n{}--- exit code {code}\n", self.stdout, self.stderr)
    }
}

/// A program that runs.
pub struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    /// The next line on stdout.
    pub async fn line(&mut self) -> String {
        let mut line = String::new();
        within(self.stdout.read_line(&mut line), "a line").await.expect("stdout is open");
        assert!(!line.is_empty(), "stdout ended");
        line
    }

    /// The first line on stdout that contains this.
    pub async fn line_with(&mut self, part: &str) -> String {
        loop {
            let line = self.line().await;
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits until this was printed on stdout, which may be in the middle of a line.
    pub async fn seen(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let mut bytes = [0; 1];
            within(self.stdout.read_exact(&mut bytes), text).await.expect("stdout is open");
            seen.push(char::from(bytes[0]));
        }
    }

    /// The first line on stderr that contains this.
    pub async fn error_with(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            within(self.stderr.read_line(&mut line), part).await.expect("stderr is open");
            assert!(!line.is_empty(), "stderr ended without {part}");
            if line.contains(part) {
                return line;
            }
        }
    }

    pub async fn write(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is open");
        stdin.write_all(text.as_bytes()).await.expect("it reads");
        stdin.flush().await.expect("it reads");
    }

    pub fn close_input(&mut self) {
        self.child.stdin = None;
    }

    /// As `kill -NAME` does.
    pub async fn signal(&self, name: &str) {
        let process = self.child.id().expect("it runs").to_string();
        let status = Command::new("kill").args(["-s", name, &process]).status().await.expect("kill runs");
        assert!(status.success());
    }

    /// What it still prints, and its exit code.
    pub async fn end(mut self) -> Run {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let reading = async {
            tokio::try_join!(self.stdout.read_to_end(&mut stdout), self.stderr.read_to_end(&mut stderr))
        };
        within(reading, "the program's last words").await.expect("both are open");
        let status = within(self.child.wait(), "the program to end").await.expect("it ran");
        Run { stdout: text(stdout), stderr: text(stderr), code: status.code() }
    }
}

/// The built `reverie` beside this test's executable.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps/cli");
    let binary = profile.join("reverie");
    assert!(binary.is_file(), "{} is missing: run `cargo build --package cli` first", binary.display());
    binary
}

/// The command lines of all running processes that contain the marker.
pub fn processes_with(marker: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    // A process may be gone by the time it is looked at.
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .filter(|line| line.contains(marker))
        .collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the program prints UTF-8")
}

/// Puts `<id>` where a UUID stands.
fn without_ids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_id = |candidate: &str| {
        candidate.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let mut shown = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match rest.get(..LENGTH).filter(|candidate| is_id(candidate)) {
            Some(_) => {
                shown.push_str("<id>");
                rest = &rest[LENGTH..];
            }
            None => {
                shown.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    shown
}
