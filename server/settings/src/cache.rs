//! What is kept between loads: the last result for as long as none of its files has changed, and the last good text of
//! each settings file, so that one that is torn, or half written, keeps saying what it said before.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use serde_json::Value;

use crate::{
    Known, Loaded, Sources, directories,
    load::{self, Files},
};

/// A process looks at a handful of files for each folder.
const MOST: usize = 256;

/// Shared by its clones. For a process that loads settings more than once.
#[derive(Clone, Debug, Default)]
pub struct Cache(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    texts: Mutex<HashMap<PathBuf, String>>,
    loads: Known<Key, Loaded>,
}

/// What a load depends on besides files.
#[derive(Debug, PartialEq)]
struct Key {
    home: PathBuf,
    config_home: PathBuf,
    managed: PathBuf,
    folder: Option<PathBuf>,
    editor: Option<Value>,
    command_line: Option<Value>,
}

impl Cache {
    /// `Settings::load`, with the last good text of files that cannot be read now. While nothing changes, no file is
    /// read again.
    pub fn load(&self, sources: &Sources) -> Loaded {
        self.load_at(SystemTime::now(), sources)
    }

    fn load_at(&self, now: SystemTime, sources: &Sources) -> Loaded {
        let key = Key {
            home: sources.environment.home().to_owned(),
            config_home: directories::config_home(sources.environment),
            managed: sources.environment.managed().to_owned(),
            folder: sources.folder.map(Path::to_owned),
            editor: sources.editor.cloned(),
            command_line: sources.command_line.cloned(),
        };
        let make = |seen: &mut _| load::load(sources, Files { open: None, cache: Some(self), seen });
        self.0.loads.get(now, key, make)
    }

    pub(crate) fn get(&self, path: &Path) -> Option<String> {
        self.texts().get(path).cloned()
    }

    pub(crate) fn keep(&self, path: &Path, text: &str) {
        let mut texts = self.texts();
        if texts.get(path).is_some_and(|known| known == text) {
            return;
        }
        if texts.len() >= MOST {
            texts.clear();
        }
        texts.insert(path.to_path_buf(), text.to_owned());
    }

    /// A file that is gone says nothing any more.
    pub(crate) fn forget(&self, path: &Path) {
        self.texts().remove(path);
    }

    fn texts(&self) -> MutexGuard<'_, HashMap<PathBuf, String>> {
        self.0.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, time::Duration};

    use tempfile::TempDir;

    use super::*;
    use crate::{Environment, check};

    #[test]
    fn a_torn_file_keeps_saying_what_it_said() {
        let home = TempDir::new().unwrap();
        let environment = Environment::new(home.path().to_owned(), []).with_managed(home.path().join("none"));
        let sources = Sources { environment: &environment, folder: None, editor: None, command_line: None };
        let file = home.path().join(".claude/settings.json");
        fs::create_dir_all(home.path().join(".claude")).unwrap();
        let cache = Cache::default();
        let denied = |text: &str| {
            fs::write(&file, text).unwrap();
            let loaded = cache.load(&sources);
            let messages: Vec<String> = loaded.diagnostics.into_iter().map(|found| found.message).collect();
            (loaded.settings.permissions.deny, messages.join("; "))
        };
        let good = r#"{"permissions": {"deny": ["Bash"]}}"#;
        let stays = "what it said before stays in force";
        let (deny, lost) = denied("{");
        assert!(deny.is_empty() && lost.contains("every command asks"), "{lost}");
        assert_eq!(denied(good), (vec!["Bash".to_owned()], String::new()));
        for torn in ["{\"permissions\": {\"de", "", " \n", "[]"] {
            let (deny, message) = denied(torn);
            assert_eq!(deny, ["Bash"], "{torn:?}");
            assert!(message.ends_with(stays), "{message}");
        }
        fs::write(&file, b"\xff").unwrap();
        let loaded = cache.load(&sources);
        assert_eq!(loaded.settings.permissions.deny, ["Bash"]);
        assert_eq!(loaded.diagnostics[0].message, format!("is not UTF-8 text; {stays}"));

        // An open document is judged by itself: it is not in force, and nothing stands in for it.
        let unsaved = check(&sources, &|path| (path == file).then(|| "{\"model\": 5}".to_owned()), &cache);
        assert_eq!(unsaved.len(), 1);
        assert_eq!(unsaved[0].key, "model");
        assert_eq!(cache.load(&sources).settings.permissions.deny, ["Bash"]);

        assert_eq!(denied("{}"), (vec![], String::new()));
        denied(good);
        fs::remove_file(&file).unwrap();
        assert_eq!(cache.load(&sources).settings.permissions.deny, [""; 0]);
        assert_eq!(denied("{").0, [""; 0]);
    }
    struct Project {
        root: TempDir,
        environment: Environment,
        cache: Cache,
    }

    impl Project {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = TempDir::new().unwrap();
            let environment =
                Environment::new(root.path().join("home"), []).with_managed(root.path().join("managed"));
            let project = Self { root, environment, cache: Cache::default() };
            for (path, text) in files {
                project.write(path, text);
            }
            project
        }

        fn path(&self, path: &str) -> PathBuf {
            self.root.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            fs::write(self.path(path), text).unwrap();
        }

        /// As if all files were old enough to be relied on.
        fn load(&self) -> Loaded {
            self.load_at(SystemTime::now() + Duration::from_secs(10))
        }

        fn load_at(&self, now: SystemTime) -> Loaded {
            let folder = self.path("project");
            let sources = Sources {
                environment: &self.environment,
                folder: Some(&folder),
                editor: None,
                command_line: None,
            };
            self.cache.load_at(now, &sources)
        }

        fn is_kept(&self) -> bool {
            Arc::ptr_eq(&self.load().trust, &self.load().trust)
        }
    }

    const FILES: [(&str, &str); 6] = [
        ("home/.claude/settings.json", r#"{"model": "a"}"#),
        ("project/.git/HEAD", "ref: refs/heads/main"),
        ("project/.claude/settings.json", r#"{"permissions": {"allow": ["Read"]}}"#),
        ("project/.claude/skills/one/SKILL.md", "One."),
        ("project/.claude/skills/one/deep/text.md", "Text."),
        ("project/.claude/commands/do.md", "Do."),
    ];

    #[test]
    fn nothing_is_read_again_until_something_changes() {
        let project = Project::new(&FILES);
        let folder = project.path("project");
        assert!(project.is_kept());
        let mut seen = vec![format!("{:?}", project.load())];
        let changes: [(&str, &dyn Fn()); 12] = [
            ("the user's file", &|| project.write("home/.claude/settings.json", r#"{"model": "b"}"#)),
            ("the administrator's file", &|| {
                project.write("managed/managed-settings.json", r#"{"language": "English"}"#)
            }),
            ("the project's file", &|| {
                project.write("project/.claude/settings.json", r#"{"permissions": {"allow": ["Edit"]}}"#)
            }),
            ("the local file", &|| {
                project.write("project/.claude/settings.local.json", r#"{"maxRounds": 5}"#)
            }),
            ("a server", &|| {
                project.write("project/.mcp.json", r#"{"mcpServers": {"x": {"command": "x"}}}"#)
            }),
            ("trust", &|| drop(crate::trust::set(&project.environment, &folder, true).unwrap())),
            ("a text below a skill, in place", &|| {
                project.write("project/.claude/skills/one/deep/text.md", "Evil.")
            }),
            ("a new skill", &|| project.write("project/.claude/skills/two/SKILL.md", "Two.")),
            ("a folder that was not there", &|| {
                project.write("project/.claude/agents/reviewer.md", "Review.")
            }),
            ("a command that is gone", &|| {
                fs::remove_file(project.path("project/.claude/commands/do.md")).unwrap()
            }),
            ("what was granted by an earlier version", &|| {
                let record =
                    directories::project_dir(&project.environment, &folder).join("reverie-allowed.json");
                fs::create_dir_all(record.parent().unwrap()).unwrap();
                fs::write(record, "{").unwrap();
            }),
            ("a link out of the folder", &|| {
                symlink("/etc", project.path("project/.claude/commands/etc")).unwrap()
            }),
        ];
        for (what, change) in changes {
            change();
            let now = format!("{:?}", project.load());
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
            assert!(project.is_kept(), "{what}");
        }
    }

    #[test]
    fn a_change_in_place_right_after_a_load_is_seen() {
        let project = Project::new(&FILES);
        for model in ["b", "c", "d", "e"] {
            project.write("home/.claude/settings.json", &format!(r#"{{"model": "{model}"}}"#));
            let loaded = project.load_at(SystemTime::now());
            assert_eq!(loaded.settings.model.as_deref(), Some(model));
        }
    }

    #[test]
    fn trust_does_not_follow_a_name_to_another_folder() {
        let project = Project::new(&[("mine/x", ""), ("theirs/x", "")]);
        crate::trust::set(&project.environment, &project.path("mine"), true).unwrap();
        symlink("mine", project.path("project")).unwrap();
        assert!(project.load().trust.is_trusted() && project.is_kept());
        fs::remove_file(project.path("project")).unwrap();
        symlink("theirs", project.path("project")).unwrap();
        assert!(!project.load().trust.is_trusted());
    }

    #[test]
    fn what_the_editor_and_the_command_line_say_is_not_mixed_up() {
        let project = Project::new(&FILES);
        let now = SystemTime::now() + Duration::from_secs(10);
        let model = |editor: Option<Value>, command_line: Option<Value>| {
            let sources = Sources {
                environment: &project.environment,
                folder: None,
                editor: editor.as_ref(),
                command_line: command_line.as_ref(),
            };
            project.cache.load_at(now, &sources).settings.model.unwrap()
        };
        let says = |model: &str| Some(serde_json::json!({ "model": model }));
        for _ in 0..2 {
            assert_eq!(model(None, None), "a");
            assert_eq!(model(says("x"), None), "x");
            assert_eq!(model(None, says("y")), "y");
        }
    }
}
