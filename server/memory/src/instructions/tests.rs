//! One tree per case, written as one text with `//- path` headers: `etc` is the administrator's, `home` the user's, `w`
//! the workspace.

mod hostile;
mod includes;
mod limits;
mod order;
mod parts;
mod touching;

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::*;

struct Tree {
    _folder: TempDir,
    root: PathBuf,
    environment: Environment,
}

impl Tree {
    fn of(files: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let environment = Environment::new(root.join("home"), []).with_managed(root.join("etc"));
        let tree = Self { _folder: folder, root, environment };
        tree.write("w/.git/HEAD", "ref: refs/heads/main\n");
        for (path, text) in files.split("//- ").skip(1).filter_map(|file| file.split_once('\n')) {
            tree.write(path.trim(), text);
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    fn load_in(&self, folder: &str, may_leave: &dyn Fn(&Path) -> bool) -> (Instructions, Loaded) {
        let mut loaded = Loaded::default();
        let folder = self.path(folder);
        let sources = Sources { environment: &self.environment, folder: &folder, may_leave };
        let instructions = load(&sources, Reason::SessionStart, &mut loaded);
        (self.own(instructions), loaded)
    }

    fn load(&self) -> Instructions {
        self.load_in("w", &|_| false).0
    }

    fn touch(&self, path: &str, loaded: &mut Loaded) -> Instructions {
        let folder = self.path("w");
        let sources = Sources { environment: &self.environment, folder: &folder, may_leave: &|_| false };
        self.own(touched(&sources, &self.path(path), loaded))
    }

    /// Without what the machine has above the tree.
    fn own(&self, mut instructions: Instructions) -> Instructions {
        instructions.pieces.retain(|piece| piece.path.starts_with(&self.root));
        instructions.problems.retain(|problem| problem.path.starts_with(&self.root));
        instructions
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// One line a piece.
    fn pieces(&self, instructions: &Instructions) -> String {
        let line = |piece: &Piece| {
            let parent = piece.parent.as_ref().map(|parent| format!(" < {}", self.name(parent)));
            let kind = piece.source.words().split(' ').next().unwrap();
            let first = piece.text.lines().next().unwrap_or_default();
            let first: String = first.chars().take(40).collect();
            let (name, reason) = (self.name(&piece.path), piece.reason.as_str());
            format!("{name} {kind} {reason}{}: {first}\n", parent.unwrap_or_default())
        };
        instructions.pieces.iter().map(line).collect()
    }

    fn names(&self, instructions: &Instructions) -> Vec<String> {
        instructions.pieces.iter().map(|piece| self.name(&piece.path)).collect()
    }

    fn problems(&self, instructions: &Instructions) -> String {
        let line = |problem: &Problem| {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{}{line} {}\n", self.name(&problem.path), problem.words)
        };
        instructions.problems.iter().map(line).collect()
    }
}
