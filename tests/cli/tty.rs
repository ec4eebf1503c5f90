//! Runs `reverie` in a terminal: `script` gives it one, and what is written here is typed there.

use std::process::Stdio;

use testkit::within;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::program::Program;

pub const CTRL_C: &str = "\x03";
pub const CTRL_D: &str = "\x04";

pub struct Tty {
    child: Child,
    keyboard: ChildStdin,
    output: ChildStdout,
    /// Everything that came to the screen.
    seen: String,
    /// How much of it was waited for.
    read: usize,
}

impl Tty {
    /// A terminal of 60 columns without colours. `line` is for a shell, where `$REVERIE` is the program.
    pub fn plain(program: &Program, line: &str) -> Self {
        Self::start(program, line, &[("NO_COLOR", "1")])
    }

    pub fn coloured(program: &Program, line: &str) -> Self {
        Self::start(program, line, &[])
    }

    fn start(program: &Program, line: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new("script");
        let line = format!("stty cols 60 rows 24; exec {line}");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
        let mut command = program.prepared(command);
        command.env("TERM", "xterm").env("SHELL", "/bin/sh").envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("script (util-linux) is installed");
        Self {
            keyboard: child.stdin.take().expect("it is piped"),
            output: child.stdout.take().expect("it is piped"),
            child,
            seen: String::new(),
            read: 0,
        }
    }

    /// Waits until this stands on the screen, behind what was waited for before.
    pub async fn see(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen[self.read..].find(text) {
                self.read += at + text.len();
                return;
            }
            let mut bytes = [0; 4_096];
            let count = within(self.output.read(&mut bytes), text).await.expect("the screen is open");
            assert!(count > 0, "the program ended without {text:?}; the screen:\n{}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    pub async fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).await.expect("the terminal is open");
        self.keyboard.flush().await.expect("the terminal is open");
    }

    /// Everything that came to the screen, and the exit code.
    pub async fn end(mut self) -> (String, Option<i32>) {
        let mut rest = Vec::new();
        within(self.output.read_to_end(&mut rest), "the end of the program")
            .await
            .expect("the screen is open");
        let status = within(self.child.wait(), "script to end").await.expect("it ran");
        self.seen.push_str(&String::from_utf8_lossy(&rest));
        (self.seen.replace("\r\n", "\n"), status.code())
    }
}
