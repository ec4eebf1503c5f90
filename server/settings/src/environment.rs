//! A snapshot of the environment, taken once at start, so that everything below is a function of values.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

#[derive(Clone, Debug)]
pub struct Environment {
    variables: HashMap<String, String>,
    home: PathBuf,
    managed: PathBuf,
}

impl Environment {
    /// What the process was started with.
    pub fn of_process() -> Self {
        let variables: HashMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        Self { variables, home, managed: PathBuf::from(MANAGED) }
    }

    pub fn new(home: PathBuf, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect(), home, managed: PathBuf::from(MANAGED) }
    }

    /// The same, with what the administrator decides read from another folder than `/etc/claude-code`.
    #[must_use]
    pub fn with_managed(mut self, folder: PathBuf) -> Self {
        self.managed = folder;
        self
    }

    /// The same, with these variables set over those of the process: the `env` setting.
    #[must_use]
    pub fn with_variables(mut self, variables: &BTreeMap<String, String>) -> Self {
        self.variables.extend(variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    /// The variable's value; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// `Some` for a variable that says yes or no in one of the usual words, `None` for unset and anything else.
    pub fn switch(&self, name: &str) -> Option<bool> {
        match self.get(name)?.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where the administrator's files are.
    pub fn managed(&self) -> &Path {
        &self.managed
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::new(PathBuf::new(), [])
    }
}

const MANAGED: &str = "/etc/claude-code";
