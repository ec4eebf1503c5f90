//! The folder that the commands of the corpus run in: `ws` with what they read, `canary` with what they would change,
//! `home`, and `memory`, the only place where they may write.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

use crate::{
    places::Places,
    program::binary,
    sink::Sink,
    tree::{Tree, differences, tree},
};

/// In the environment of the program that is asked to run a command; never in the command's.
pub const SECRET: &str = "sk-canary-4f1d";

pub struct Fixture {
    folder: TempDir,
    places: Places,
    before: Tree,
    sink: Sink,
}

impl Fixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        let places =
            Places { workspace: base.join("ws"), canary: base.join("canary"), home: base.join("home") };
        places.fill();
        fs::create_dir(base.join("memory")).expect("a folder");
        let before = tree(base, &base.join("memory"));
        Self { folder, places, before, sink: Sink::new() }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// A command of the corpus, with its places and addresses made those of this fixture.
    pub fn localized(&self, command: &str) -> String {
        self.places.localized(command, self.sink.port())
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
        damage.extend(self.sink.visits());
        damage
    }
}
