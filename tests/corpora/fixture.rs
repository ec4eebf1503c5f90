//! The folder that the commands of the corpus run in: `ws` with what they read, `canary` with what they would change,
//! `home`, and `memory`, the only place where they may write.

use std::{
    fs,
    io::ErrorKind,
    net::{TcpListener, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

use crate::{
    program::binary,
    tree::{Tree, differences, tree},
};

/// In the environment of the program that is asked to run a command; never in the command's.
pub const SECRET: &str = "sk-canary-4f1d";

pub struct Fixture {
    folder: TempDir,
    before: Tree,
    connections: TcpListener,
    datagrams: UdpSocket,
}

impl Fixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fill(folder.path());
        let before = tree(folder.path(), &folder.path().join("memory"));
        let connections = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = connections.local_addr().expect("an address");
        let datagrams = UdpSocket::bind(address).expect("the same port");
        connections.set_nonblocking(true).expect("a socket");
        datagrams.set_nonblocking(true).expect("a socket");
        Self { folder, before, connections, datagrams }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// A command of the corpus, with its places and addresses made those of this fixture.
    pub fn localized(&self, command: &str) -> String {
        let port = self.connections.local_addr().expect("an address").port();
        let base = self.folder.path().display();
        command
            .replace("/tmp/canary", &format!("{base}/canary"))
            .replace("/tmp/ws", &format!("{base}/ws"))
            .replace("127.0.0.1:9/", &format!("127.0.0.1:{port}/"))
            .replace("127.0.0.1/9", &format!("127.0.0.1/{port}"))
            .replace("127.0.0.1/53", &format!("127.0.0.1/{port}"))
            .replace("127.0.0.1 9", &format!("127.0.0.1 {port}"))
    }

    /// Runs a line of shell behind the walls.
    pub fn contained(&self, line: &str, limit: u32) -> Output {
        let mut command = Command::new(binary());
        command
            .args(["debug", "sandbox", "--limit", &limit.to_string(), "--memory"])
            .arg(self.path("memory"));
        command.arg("--shell").arg(line).env("ANTHROPIC_API_KEY", SECRET).env("LD_LIBRARY_PATH", SECRET);
        self.run(command)
    }

    /// Runs a harmless line without any walls.
    pub fn uncontained(&self, line: &str) -> Output {
        let mut command = Command::new("/bin/bash");
        command
            .args(["-c", line])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8");
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Output {
        let command = command.env("HOME", self.path("home")).current_dir(self.path("ws"));
        command.stdin(Stdio::null()).output().expect("it starts")
    }

    /// What changed outside of the memory folder since the fixture was made, and who was talked to.
    pub fn damage(&self) -> Vec<String> {
        let now = tree(self.folder.path(), &self.path("memory"));
        let mut damage: Vec<String> = differences(&self.before, &now)
            .into_iter()
            // Its own entry may change: it may be written to.
            .filter(|path| *path != self.path("memory"))
            .map(|path| format!("{} changed", path.display()))
            .collect();
        match self.connections.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            reached => damage.push(format!("connected: {reached:?}")),
        }
        match self.datagrams.recv_from(&mut [0; 16]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            reached => damage.push(format!("datagram: {reached:?}")),
        }
        damage
    }
}

fn fill(base: &Path) {
    for folder in [
        "canary",
        "memory",
        "home/.aws",
        "ws/topics",
        "ws/src",
        "ws/evilbin",
        "ws/target",
        "ws/repo/.git/objects",
        "ws/repo/.git/refs",
    ] {
        fs::create_dir_all(base.join(folder)).expect("a folder");
    }
    let canary = base.join("canary/P");
    let evil = format!("#!/bin/sh\ntouch {}\n", canary.display());
    let texts = [
        ("README.md", "foo\nbar\nit's a `code` -delete 123\nsay \"hi\"\nこんにちは\n"),
        ("notes.md", "notes about memory\n"),
        ("MEMORY.md", "- [a](topics/a.md)\n"),
        ("topics/a.md", "topic a\n"),
        ("file with spaces.md", "spaces\n"),
        ("a'b.md", "quote\n"),
        ("patterns.txt", "foo\n"),
        ("log.txt", "start\nerror one\nend\nmore\nand more\nlast\n"),
        ("src/main.rs", "fn main() {}\n"),
        (".env", "TOKEN=1\n"),
        ("victim", "alive\n"),
        ("list0", "victim\0"),
        ("evil.so", "not an object\n"),
        ("session.jsonl", "{}\n"),
        ("repo/.git/HEAD", "ref: refs/heads/main\n"),
    ];
    for (name, text) in texts {
        fs::write(base.join("ws").join(name), text).expect("a file");
    }
    fs::write(base.join("ws/big.txt"), "some line\n".repeat(20_000)).expect("a file");
    fs::write(base.join("home/.netrc"), "machine x\n").expect("a file");
    let config =
        format!("[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {}/ws/evil.sh\n", base.display());
    fs::write(base.join("ws/repo/.git/config"), config).expect("a file");
    for name in ["evil.sh", "ls", "evilbin/ls", "evilbin/cat"] {
        let path = base.join("ws").join(name);
        fs::write(&path, &evil).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let made = Command::new("mkfifo").arg(base.join("ws/fifo")).status().expect("mkfifo is installed");
    assert!(made.success());
}
