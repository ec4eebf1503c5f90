use tempfile::TempDir;

use super::*;

struct Fixture {
    root: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { root: TempDir::new().unwrap() }
    }

    fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn folder(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.path(path)).unwrap();
        self.path(path)
    }

    /// `main` with a linked worktree `linked`, as git lays them out.
    fn repository(&self) {
        self.write("main/.git/HEAD", "ref: refs/heads/main\n");
        self.write("main/.git/worktrees/linked/commondir", "../..\n");
        self.write("main/.git/worktrees/linked/HEAD", "ref: refs/heads/x\n");
        let git_file = self.write(
            "linked/.git",
            &format!("gitdir: {}\n", self.path("main/.git/worktrees/linked").display()),
        );
        self.write("main/.git/worktrees/linked/gitdir", &format!("{}\n", git_file.display()));
    }

    fn environment(&self) -> Environment {
        Environment::new(self.path("home"), [])
    }
}

#[test]
fn slugs_replace_utf_16_units() {
    for (path, expected) in [
        ("/home/ann/my_app.rs", "-home-ann-my-app-rs"),
        ("/a/grüße", "-a-gr--e"),
        ("/a/🦀b", "-a---b"),
        ("C:\\Users\\x", "C--Users-x"),
    ] {
        assert_eq!(slug(Path::new(path)), expected);
    }
}

#[test]
fn the_config_home_can_be_moved() {
    let moved = Environment::new(PathBuf::from("/h"), [("CLAUDE_CONFIG_DIR".to_owned(), "/c".to_owned())]);
    assert_eq!(config_home(&moved), Path::new("/c"));
    assert_eq!(config_home(&Environment::new(PathBuf::from("/h"), [])), Path::new("/h/.claude"));
}

#[test]
fn a_worktree_belongs_to_its_main_repository() {
    let fixture = Fixture::new();
    fixture.repository();
    let deep = fixture.folder("linked/src/deep");
    assert_eq!(git_root(&deep), Some(fixture.path("linked")));
    assert_eq!(canonical_git_root(&deep), Some(fixture.path("main")));
    assert_eq!(canonical_git_root(&fixture.folder("main/src")), Some(fixture.path("main")));
    let environment = fixture.environment();
    assert_eq!(memory_dir(&environment, &deep), memory_dir(&environment, &fixture.path("main")));
    assert_ne!(project_dir(&environment, &deep), project_dir(&environment, &fixture.path("main")));
}

#[test]
fn a_worktree_that_the_repository_does_not_know_stands_alone() {
    let fixture = Fixture::new();
    fixture.repository();
    let pointer = format!("gitdir: {}\n", fixture.path("main/.git/worktrees/linked").display());
    fixture.write("thief/.git", &pointer);
    assert_eq!(canonical_git_root(&fixture.path("thief")), Some(fixture.path("thief")));
}

#[test]
fn a_submodule_is_its_own_repository() {
    let fixture = Fixture::new();
    fixture.repository();
    fixture.write("main/.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    fixture.write("main/sub/.git", "gitdir: ../.git/modules/sub\n");
    assert_eq!(canonical_git_root(&fixture.path("main/sub")), Some(fixture.path("main/sub")));
}

#[test]
fn a_worktree_of_a_bare_repository_belongs_to_the_bare_repository() {
    let fixture = Fixture::new();
    fixture.write("bare.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("bare.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    fixture.write("bare.git/worktrees/w/commondir", "../..\n");
    fixture.write("w/.git", "gitdir: ../bare.git/worktrees/w\n");
    fixture.write("bare.git/worktrees/w/gitdir", &format!("{}\n", fixture.path("w/.git").display()));
    assert_eq!(canonical_git_root(&fixture.path("w")), Some(fixture.path("bare.git")));
}

#[test]
fn damaged_git_files_make_no_root() {
    let fixture = Fixture::new();
    fixture.write("a/.git", "no pointer");
    fixture.folder("b/.git");
    assert_eq!(git_root(&fixture.path("a")), None);
    assert_eq!(git_root(&fixture.path("b")), None);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_the_folder() {
    let fixture = Fixture::new();
    let real = fixture.folder("real");
    std::os::unix::fs::symlink(&real, fixture.path("link")).unwrap();
    let environment = fixture.environment();
    assert_eq!(project_dir(&environment, &fixture.path("link")), project_dir(&environment, &real));
}

#[test]
fn long_paths_get_names_that_fit() {
    let environment = Environment::new(PathBuf::from("/h"), []);
    let long = format!("/{}", "a/".repeat(400));
    let one = project_dir(&environment, Path::new(&format!("{long}x")));
    let other = project_dir(&environment, Path::new(&format!("{long}y")));
    assert_ne!(one, other);
    assert!(one.file_name().unwrap().len() < 255);
}

#[test]
fn memory_folders_that_would_swallow_too_much_are_refused() {
    let environment = Environment::new(PathBuf::from("/home/ann"), []);
    for text in [
        "notes",
        "/",
        "/tmp",
        "//server/share",
        "\\\\server\\x",
        "/home/ann",
        "~/",
        "/home",
        "/a/b/../..",
        "/a/b\0c",
    ] {
        assert_eq!(memory_path(&environment, text), None, "{text:?}");
    }
    assert_eq!(memory_path(&environment, "~/notes"), Some(PathBuf::from("/home/ann/notes")));
    assert_eq!(memory_path(&environment, "/data/notes"), Some(PathBuf::from("/data/notes")));
}

#[test]
fn the_memory_folder_follows_its_variables() {
    let fixture = Fixture::new();
    let folder = fixture.folder("p");
    let with = |name: &str, value: &str| {
        memory_dir(&Environment::new(fixture.path("home"), [(name.to_owned(), value.to_owned())]), &folder)
    };
    assert_eq!(with("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", "/data/m"), Path::new("/data/m"));
    assert_eq!(
        with("CLAUDE_CODE_REMOTE_MEMORY_DIR", "/remote"),
        Path::new("/remote/projects").join(slug(&folder)).join("memory")
    );
}

#[test]
fn related_folders_are_those_of_the_repository() {
    let fixture = Fixture::new();
    fixture.repository();
    let environment = fixture.environment();
    let add = |folder: &str, cwd: Option<&str>| {
        let name = slug(&fixture.path(folder));
        let record = cwd.map_or("{}".to_owned(), |cwd| {
            format!("{{\"type\":\"summary\"}}\n{{\"cwd\":{:?},\"type\":\"user\"}}\n", fixture.path(cwd))
        });
        fixture.write(&format!("home/.claude/projects/{name}/s.jsonl"), &record);
    };
    add("main", Some("main"));
    add("main/server", Some("main/server"));
    add("linked", None);
    add("linked/docs", Some("linked/docs"));
    // Begins like `main` and is another folder beside it.
    add("main-other", Some("main-other"));
    add("main/unknown", None);
    add("elsewhere", Some("elsewhere"));
    let names = |folder: &str| -> Vec<String> {
        let base = slug(&fixture.path(""));
        related_project_dirs(&environment, &fixture.path(folder))
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().replace(base.trim_end_matches('-'), ""))
            .collect()
    };
    assert_eq!(names("main/server"), ["-linked", "-linked-docs", "-main", "-main-server"]);
    assert_eq!(names("linked"), names("main"));
    assert_eq!(names("main-other"), ["-main-other"]);
}

#[test]
fn the_git_folders_of_a_worktree_are_found() {
    let fixture = Fixture::new();
    fixture.repository();
    let own = fixture.path("main/.git/worktrees/linked");
    assert_eq!(git_dir(&fixture.folder("linked/src")), Some(own.clone()));
    assert_eq!(canonical(&common_git_dir(&own)), fixture.path("main/.git"));
    let main = git_dir(&fixture.folder("main/src")).unwrap();
    assert_eq!(main, fixture.path("main/.git"));
    assert_eq!(common_git_dir(&main), main);
    assert_eq!(git_dir(&fixture.folder("elsewhere")), None);
}

#[test]
fn pipes_in_place_of_gits_files_are_not_waited_for() {
    let fixture = Fixture::new();
    let pipe = |path: &str| {
        let path = fixture.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe("one/.git");
    pipe("two/.git/HEAD");
    fixture.write("three/.git", "gitdir: ../two/.git\n");
    for folder in ["one", "two", "three"] {
        assert_eq!(git_dir(&fixture.path(folder)), None, "{folder}");
    }
    fixture.write("four/.git/HEAD", "ref: refs/heads/main\n");
    pipe("four/.git/commondir");
    let git_dir = git_dir(&fixture.path("four")).unwrap();
    assert_eq!(common_git_dir(&git_dir), git_dir);
}
