//! What settings and environment decide together. The environment given is the process's own: the `env` setting is laid
//! over it here, so that a variable counts wherever it was set.

use std::path::{Path, PathBuf};

use super::Settings;
use crate::{Environment, Features, directories};

impl Settings {
    /// The process's environment with the `env` setting applied: what providers and tools should see.
    pub fn environment(&self, environment: &Environment) -> Environment {
        environment.clone().with_variables(&self.env)
    }

    /// "The DISABLE variable, SIMPLE, REMOTE without a dir, the setting, default on", in this order.
    pub fn auto_memory(&self, environment: &Environment) -> bool {
        let environment = self.own_environment(environment);
        if let Some(disabled) = environment.switch("CLAUDE_CODE_DISABLE_AUTO_MEMORY") {
            return !disabled;
        }
        let remote = environment.switch("CLAUDE_CODE_REMOTE") == Some(true)
            && environment.get("CLAUDE_CODE_REMOTE_MEMORY_DIR").is_none();
        !is_simple(&environment) && !remote && self.auto_memory_enabled
    }

    /// Where memories of the folder's project are: override variable, setting, default.
    pub fn memory_dir(&self, environment: &Environment, folder: &Path) -> PathBuf {
        let environment = &self.own_environment(environment);
        let configured = || directories::memory_path(environment, self.auto_memory_directory.as_deref()?);
        directories::memory_override(environment)
            .or_else(configured)
            .unwrap_or_else(|| directories::memory_dir(environment, folder))
    }

    /// Further policy for memories, in words: `CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES`.
    pub fn memory_guidelines(&self, environment: &Environment) -> Option<String> {
        self.variable(environment, "CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES")
    }

    /// Whether there is no memory and there are no secondary features: `CLAUDE_CODE_SIMPLE`, `--bare`.
    pub fn is_bare(&self, environment: &Environment) -> bool {
        is_simple(&self.own_environment(environment))
    }

    /// Which features are on here and now.
    pub fn features(&self, environment: &Environment) -> Features {
        let environment = self.own_environment(environment);
        let mut features = self.reverie.features.clone();
        if let Some(collapse) = environment.switch("CLAUDE_CONTEXT_COLLAPSE") {
            features.collapse = collapse;
        }
        features.team_memory &= self.team.url.is_some();
        if is_simple(&environment) {
            features.make_bare();
        }
        features
    }

    /// What compaction takes for the size of the window: `CLAUDE_CODE_AUTO_COMPACT_WINDOW`, in tokens.
    pub fn auto_compact_window(&self, environment: &Environment) -> Option<u64> {
        let window = self.variable(environment, "CLAUDE_CODE_AUTO_COMPACT_WINDOW")?;
        window.trim().parse().ok().filter(|tokens| *tokens > 0)
    }

    /// The model of small tasks: the setting, else `ANTHROPIC_SMALL_FAST_MODEL`.
    pub fn small_model_name(&self, environment: &Environment) -> Option<String> {
        let set = self.small_model.clone();
        set.or_else(|| self.variable(environment, "ANTHROPIC_SMALL_FAST_MODEL"))
    }

    /// The model that picks memories: its setting, else the small model.
    pub fn selector_model_name(&self, environment: &Environment) -> Option<String> {
        self.selector_model.clone().or_else(|| self.small_model_name(environment))
    }

    fn variable(&self, environment: &Environment, name: &str) -> Option<String> {
        self.own_environment(environment).get(name).map(str::to_owned)
    }

    /// What Reverie itself goes by. Settings cannot move the folder they were read from.
    fn own_environment(&self, environment: &Environment) -> Environment {
        let mut variables = self.env.clone();
        variables.remove("CLAUDE_CONFIG_DIR");
        environment.clone().with_variables(&variables)
    }
}

fn is_simple(environment: &Environment) -> bool {
    environment.switch("CLAUDE_CODE_SIMPLE") == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Dream, Sources};

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::new(PathBuf::from("/home/a"), variables).with_managed(PathBuf::from("/none"))
    }

    fn settings(value: serde_json::Value) -> Settings {
        let environment = environment(&[]);
        let sources =
            Sources { environment: &environment, folder: None, editor: None, command_line: Some(&value) };
        Settings::load(&sources).settings
    }

    #[test]
    fn a_variable_counts_wherever_it_was_set() {
        let set = settings(json!({"env": {
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE": "/srv/memories/x",
            "CLAUDE_CONFIG_DIR": "/elsewhere/x",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
            "CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES": "Be brief.",
        }}));
        let none = environment(&[]);
        assert!(!set.auto_memory(&none));
        assert_eq!(set.memory_dir(&none, Path::new("/p")), Path::new("/srv/memories/x"));
        assert_eq!(set.auto_compact_window(&none), Some(100_000));
        assert_eq!(set.memory_guidelines(&none).as_deref(), Some("Be brief."));

        // The folder that settings were read from is not moved by them.
        let moved = settings(json!({"env": {"CLAUDE_CONFIG_DIR": "/elsewhere/x"}}));
        assert!(moved.memory_dir(&none, Path::new("/p")).starts_with("/home/a/.claude"));
        let plain = Settings::default();
        let process =
            environment(&[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "many"), ("CLAUDE_CODE_SIMPLE", "1")]);
        assert_eq!(plain.auto_compact_window(&process), None);
        assert_eq!(plain.memory_guidelines(&process), None);
        assert!(plain.is_bare(&process) && !plain.is_bare(&none));
    }

    #[test]
    fn the_small_model_is_the_settings_or_the_environments() {
        let process = environment(&[("ANTHROPIC_SMALL_FAST_MODEL", "haiku")]);
        let names = |settings: &Settings| {
            (settings.small_model_name(&process), settings.selector_model_name(&process))
        };
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(names(&Settings::default()), (some("haiku"), some("haiku")));
        assert_eq!(names(&settings(json!({"smallModel": "a"}))), (some("a"), some("a")));
        assert_eq!(names(&settings(json!({"selectorModel": "b"}))), (some("haiku"), some("b")));
        assert_eq!(Settings::default().small_model_name(&environment(&[])), None);
    }

    #[test]
    fn the_environment_has_a_say_in_features() {
        let set = settings(json!({"reverie": {"features": {"dream": {"minHours": 1}, "snip": true}}}));
        let features = set.features(&environment(&[("CLAUDE_CONTEXT_COLLAPSE", "1")]));
        assert_eq!(features.dream, Some(Dream { min_hours: 1, ..Dream::default() }));
        assert!(features.collapse && features.snip && !set.features(&environment(&[])).collapse);
        let bare =
            set.features(&environment(&[("CLAUDE_CODE_SIMPLE", "1"), ("CLAUDE_CONTEXT_COLLAPSE", "1")]));
        assert_eq!((bare.dream, bare.snip, bare.collapse), (None, false, false));
        assert!(bare.tool_result_storage && bare.reactive_compaction);
    }

    #[test]
    fn team_memory_is_on_where_a_server_is_configured() {
        let team = |value| settings(value).features(&environment(&[])).team_memory;
        assert!(!team(json!({})));
        assert!(team(json!({"team": {"url": "https://team.example"}})));
        let off = json!({"teamMemory": false});
        assert!(!team(json!({"team": {"url": "https://t.example"}, "reverie": {"features": off}})));
    }
}
