//! The server as a process of its own, with an environment that holds nothing but what the test gives it.

use std::{
    collections::BTreeMap,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
};

use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStdin, ChildStdout, Command},
};

pub struct ServerProcess {
    child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl ServerProcess {
    pub fn spawn(
        program: &Path,
        arguments: &[&str],
        environment: &BTreeMap<String, String>,
        cwd: &Path,
    ) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let mut pipe = child.stderr.take().expect("stderr is piped");
        let kept = stderr.clone();
        tokio::spawn(async move {
            let mut piece = vec![0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut piece).await {
                kept.lock().expect("nobody panics with it").extend_from_slice(&piece[..count]);
            }
        });
        Self { child, stderr }
    }

    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What the server wrote to stderr so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("nobody panics with it")).into_owned()
    }

    /// The exit code, once the process is gone; `None` after a signal.
    pub async fn wait(&mut self) -> Option<i32> {
        crate::within(self.child.wait(), "the server's process to end")
            .await
            .expect("a child can be waited for")
            .code()
    }

    pub(super) async fn kill(&mut self) {
        self.child.kill().await.expect("a child can be killed");
    }

    pub(super) fn take_streams(&mut self) -> (ChildStdout, ChildStdin) {
        let stdout = self.child.stdout.take().expect("stdout is piped");
        (stdout, self.child.stdin.take().expect("stdin is piped"))
    }
}
