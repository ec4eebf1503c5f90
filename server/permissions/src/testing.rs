//! What the tests of this crate share: one small tree and calls on it.
//!
//! W is the workspace, H a home, M a memory folder, R a folder that may be read, and O is outside.

use std::fs;

use expect_test::Expect;

use crate::{
    Access, Decision, Mode, Policy, Rules, decide,
    shell::{Programs, Surroundings, Trusted, judge_in},
};

pub(crate) struct Tree {
    folder: tempfile::TempDir,
    pub(crate) policy: Policy,
}

pub(crate) fn tree() -> Tree {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for name in ["W/src/deep", "W/.git/hooks", "W/secrets", "O/data", "H/.ssh", "M/.history", "R"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    for name in ["W/src/main.rs", "W/.env", "O/data/list.txt", "H/.ssh/id_rsa", "R/notes.txt", "R/.env"] {
        fs::write(base.join(name), "").unwrap();
    }
    let link =
        |target: &str, name: &str| std::os::unix::fs::symlink(base.join(target), base.join(name)).unwrap();
    link("O/data", "W/out");
    link("W/src", "W/alias");
    link("O/nowhere", "W/dangling");
    link("W/.git", "W/innocent");
    link("W", "O/back");
    link("W/secrets", "W/plain");
    let policy = Policy {
        roots: vec![base.join("W")],
        free_write_dirs: vec![base.join("M")],
        readable_dirs: vec![base.join("R")],
        home: base.join("H"),
        ..Policy::default()
    };
    Tree { folder, policy }
}

impl Tree {
    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.policy.mode = mode;
        self
    }

    pub(crate) fn rules(mut self, allow: &[&str], ask: &[&str], deny: &[&str]) -> Self {
        let at = |rules: &[&str]| rules.iter().map(|rule| self.expand(rule)).collect::<Vec<_>>();
        let (rules, errors) = Rules::parse(at(allow), at(ask), at(deny));
        assert_eq!(errors, []);
        self.policy.rules = rules;
        self
    }

    /// `@W` is the workspace's path.
    pub(crate) fn expand(&self, text: &str) -> String {
        let base = self.folder.path().canonicalize().unwrap();
        text.replace('@', &format!("{}/", base.display()))
    }

    pub(crate) fn shorten(&self, text: &str) -> String {
        let base = self.folder.path().canonicalize().unwrap();
        text.replace(&format!("{}/", base.display()), "@").replace('\u{200c}', "\\u{200c}")
    }

    pub(crate) fn untrusted(mut self) -> Self {
        self.policy.untrusted = true;
        self
    }

    pub(crate) fn unattended(mut self) -> Self {
        self.policy.unattended = true;
        self
    }

    /// `Read @W/x`, `Write @W/x`, `Bash rm x`, `Look cat x` (a command that is judged first), `Fetch example.com`,
    /// `McpRead mcp__server__tool`.
    pub(crate) fn access(&self, call: &str) -> (&'static str, Access) {
        let (kind, rest) = call.split_once(' ').unwrap_or((call, ""));
        let rest = self.expand(rest);
        match kind {
            "Read" => ("Read", Access::Read { path: rest.into() }),
            "Grep" => ("Grep", Access::Read { path: rest.into() }),
            "Write" => ("Write", Access::write(rest.into())),
            "Edit" => ("Edit", Access::write(rest.into())),
            "MultiEdit" => ("MultiEdit", Access::write(rest.into())),
            "Bash" => ("Bash", Access::Command { command: rest, judged: None }),
            "Look" => ("Bash", self.judged(rest)),
            "Fetch" => ("WebFetch", Access::Fetch { url: format!("https://{rest}/page"), host: rest }),
            "Search" => ("WebSearch", Access::Search { query: rest }),
            "McpRead" => ("mcp", Access::External { tool: rest, read_only: true }),
            "McpCall" => ("mcp", Access::External { tool: rest, read_only: false }),
            "TodoWrite" => ("TodoWrite", Access::Session),
            other => panic!("unknown call {other}"),
        }
    }

    fn judged(&self, command: String) -> Access {
        let surroundings = Surroundings {
            cwd: self.policy.roots.first().unwrap(),
            home: Some(&self.policy.home),
            programs: Programs::All,
            trusted: Trusted::Folder("/bin".into()),
        };
        Access::Command { judged: judge_in(&command, &surroundings).ok(), command }
    }

    #[track_caller]
    pub(crate) fn check(&self, calls: &[&str], expected: Expect) {
        let lines: Vec<String> = calls
            .iter()
            .map(|call| {
                let (tool, access) = self.access(call);
                let (verdict, why) = match decide(tool, &access, &self.policy) {
                    Decision::Allow { why } => ("allow", why),
                    Decision::Ask { why } => ("ASK", why),
                    Decision::Deny { why } => ("DENY", why),
                };
                format!("{verdict:5} {call:?}: {}\n", self.shorten(&why))
            })
            .collect();
        expected.assert_eq(&lines.concat());
    }
}
