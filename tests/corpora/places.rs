//! What the corpora expect to find on disk: a workspace with what their commands read, a memory folder with what their
//! paths lead to. Also used by tests that put both before the server.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where the commands run, what they would change, and whose home it is.
pub struct Places {
    pub workspace: PathBuf,
    pub canary: PathBuf,
    pub home: PathBuf,
}

impl Places {
    /// A command of the corpus, with its places and addresses made these.
    pub fn localized(&self, command: &str, port: u16) -> String {
        command
            .replace("/tmp/canary", &self.canary.display().to_string())
            .replace("/tmp/ws", &self.workspace.display().to_string())
            .replace("127.0.0.1:9/", &format!("127.0.0.1:{port}/"))
            .replace("127.0.0.1/9", &format!("127.0.0.1/{port}"))
            .replace("127.0.0.1/53", &format!("127.0.0.1/{port}"))
            .replace("127.0.0.1 9", &format!("127.0.0.1 {port}"))
    }

    pub fn fill(&self) {
        let workspace = &self.workspace;
        for folder in ["topics", "src", "evilbin", "target", "repo/.git/objects", "repo/.git/refs"] {
            fs::create_dir_all(workspace.join(folder)).expect("a folder");
        }
        fs::create_dir_all(&self.canary).expect("a folder");
        fs::create_dir_all(self.home.join(".aws")).expect("a folder");
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
            fs::write(workspace.join(name), text).expect("a file");
        }
        fs::write(workspace.join("big.txt"), "some line\n".repeat(20_000)).expect("a file");
        fs::write(self.home.join(".netrc"), "machine x\n").expect("a file");
        let evil = workspace.join("evil.sh");
        let config = format!("[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {}\n", evil.display());
        fs::write(workspace.join("repo/.git/config"), config).expect("a file");
        for name in ["evil.sh", "ls", "evilbin/ls", "evilbin/cat"] {
            let path = workspace.join(name);
            let evil = format!("#!/bin/sh\ntouch {}\n", self.canary.join("P").display());
            fs::write(&path, evil).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        assert!(make_special("mkfifo", &[], &workspace.join("fifo")));
    }
}

/// The folder of a project, with a memory folder in it, and what links lead to.
pub struct Project {
    pub folder: PathBuf,
    pub outside: PathBuf,
    pub home: PathBuf,
    pub workspace: PathBuf,
}

impl Project {
    pub fn memory(&self) -> PathBuf {
        self.folder.join("memory")
    }

    /// A path of the corpus, as it stands in JSON, with its places made these.
    pub fn localized(&self, path: &str) -> String {
        path.replace("@MEM@", &self.memory().display().to_string())
            .replace("@PROJ@", &self.folder.display().to_string())
            .replace("@HOME@", &self.home.display().to_string())
            .replace("@OUT@", &self.outside.display().to_string())
            .replace("@WS@", &self.workspace.display().to_string())
    }

    pub fn fill(&self) {
        let (memory, outside) = (self.memory(), &self.outside);
        for made in [
            &memory.join("topics"),
            &memory.join("team"),
            &memory.join("dir.md"),
            &memory.join(".git/hooks"),
            &self.folder.join("other"),
            outside,
            &self.workspace.join(".git/hooks"),
            &self.workspace.join(".claude"),
        ] {
            fs::create_dir_all(made).expect("a folder");
        }
        let files = [
            memory.join("MEMORY.md"),
            memory.join("user.md"),
            memory.join("topics/a.md"),
            memory.join(".consolidate-lock"),
            self.folder.join("session.jsonl"),
            outside.join("secret.md"),
            self.home.join(".bashrc"),
        ];
        for file in files {
            fs::write(file, "old").expect("a file");
        }
        let links = [
            ("link_file.md", outside.join("secret.md")),
            ("link_dir", outside.clone()),
            ("link_rel", PathBuf::from("../../..")),
            ("chain1", PathBuf::from("chain2")),
            ("chain2", outside.clone()),
            ("dangling_dir", outside.join("nodir")),
            ("dangling.md", outside.join("nothing.md")),
            ("topics/proc", PathBuf::from("/proc/self")),
            ("loop.md", PathBuf::from("loop.md")),
            ("a_loop", PathBuf::from("b_loop")),
            ("b_loop", PathBuf::from("a_loop")),
            ("topics/up", PathBuf::from("../..")),
            ("inner_link.md", PathBuf::from("MEMORY.md")),
            ("dir_inner", PathBuf::from("topics")),
            ("link_lock.md", PathBuf::from(".consolidate-lock")),
        ];
        for (name, target) in links {
            symlink(target, memory.join(name)).expect("a link");
        }
        fs::hard_link(outside.join("secret.md"), memory.join("hard.md")).expect("a link");
        UnixListener::bind(memory.join("socket.md")).expect("a socket");
        make_special("mkfifo", &[], &memory.join("fifo.md"));
        // Only root makes devices; a pipe is as special.
        if !make_special("mknod", &["c", "1", "3"], &memory.join("dev_null.md")) {
            make_special("mkfifo", &[], &memory.join("dev_null.md"));
        }
    }
}

fn make_special(program: &str, arguments: &[&str], path: &Path) -> bool {
    let status = Command::new(program).arg(path).args(arguments).stderr(Stdio::null()).status();
    status.expect("it is installed").success()
}
