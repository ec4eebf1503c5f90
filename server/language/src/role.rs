//! What a file is to the agent, by its place alone.

use std::path::{Path, PathBuf};

use memory::index;

/// What a file is; what is none of these is nothing to this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// MEMORY.md of the memory directory, or of a folder in it.
    Index,
    Memory,
    /// CLAUDE.md, CLAUDE.local.md, AGENTS.md.
    Instructions,
    /// `.claude/rules/**/*.md`.
    Rule,
    /// SKILL.md.
    Skill,
    /// `.claude/commands/**/*.md`.
    Command,
    Settings,
    /// Any other file of the workspace, of which memories may speak.
    Source,
}

impl Role {
    /// Whether the file itself is written for the agent.
    pub fn is_ours(self) -> bool {
        self != Self::Source
    }

    /// Markdown that the agent obeys, and that may include other files.
    pub fn is_instructions(self) -> bool {
        matches!(self, Self::Instructions | Self::Rule)
    }

    pub fn has_frontmatter(self) -> bool {
        matches!(self, Self::Memory | Self::Rule | Self::Skill | Self::Command)
    }
}

/// The folders that give a file its role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Where memories are, if memory is on.
    pub memory: Option<PathBuf>,
    pub config_home: PathBuf,
    /// The administrator's.
    pub managed: PathBuf,
    pub roots: Vec<PathBuf>,
}

impl Places {
    pub fn role(&self, path: &Path) -> Option<Role> {
        if let Some(relative) = self.memory_path(path) {
            let is_markdown = relative.to_lowercase().ends_with(".md") && !relative.starts_with(".history/");
            let role = if index::is_index(&relative) { Role::Index } else { Role::Memory };
            return is_markdown.then_some(role);
        }
        let name = path.file_name()?.to_str()?;
        match name {
            "CLAUDE.md" | "CLAUDE.local.md" | "AGENTS.md" => return Some(Role::Instructions),
            "managed-settings.json" if path.parent() == Some(&self.managed) => return Some(Role::Settings),
            _ => {}
        }
        if let Some(role) = self.below_config(path, name) {
            return Some(role);
        }
        self.roots.iter().any(|root| path.starts_with(root)).then_some(Role::Source)
    }

    /// The path below the memory directory, of one that is in it.
    pub fn memory_path(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.memory.as_ref()?).ok()?;
        below.to_str().filter(|below| !below.is_empty()).map(str::to_owned)
    }

    /// The path below a workspace folder, the innermost that has it.
    pub fn workspace_path<'p>(&self, path: &'p Path) -> Option<&'p str> {
        let below = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        below.min_by_key(|below| below.as_os_str().len())?.to_str()
    }

    fn below_config(&self, path: &Path, name: &str) -> Option<Role> {
        let in_a_checkout = || {
            let folder = path.ancestors().find(|folder| folder.ends_with(".claude"))?;
            path.strip_prefix(folder).ok()
        };
        let homes = [&self.config_home, &self.managed];
        let below = homes.into_iter().find_map(|home| path.strip_prefix(home).ok()).or_else(in_a_checkout)?;
        let first = below.components().next()?.as_os_str().to_str()?;
        let is_markdown = name.ends_with(".md");
        match first {
            "settings.json" | "settings.local.json" => Some(Role::Settings),
            "rules" if is_markdown => Some(Role::Rule),
            "skills" if name == "SKILL.md" => Some(Role::Skill),
            "commands" if is_markdown => Some(Role::Command),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_file_says_what_it_is() {
        let places = Places {
            memory: Some(PathBuf::from("/home/ada/.claude/projects/-engine/memory")),
            config_home: PathBuf::from("/home/ada/.claude"),
            managed: PathBuf::from("/etc/claude-code"),
            roots: vec![PathBuf::from("/engine")],
        };
        let memory = "/home/ada/.claude/projects/-engine/memory";
        let cases = [
            (format!("{memory}/MEMORY.md"), Some(Role::Index)),
            (format!("{memory}/team/MEMORY.md"), Some(Role::Index)),
            (format!("{memory}/deploys.md"), Some(Role::Memory)),
            (format!("{memory}/.history/changes.jsonl"), None),
            ("/engine/CLAUDE.md".to_owned(), Some(Role::Instructions)),
            ("/elsewhere/AGENTS.md".to_owned(), Some(Role::Instructions)),
            ("/engine/.claude/rules/deep/x.md".to_owned(), Some(Role::Rule)),
            ("/engine/.claude/skills/s/SKILL.md".to_owned(), Some(Role::Skill)),
            ("/home/ada/.claude/settings.json".to_owned(), Some(Role::Settings)),
            ("/engine/.claude/settings.local.json".to_owned(), Some(Role::Settings)),
            ("/etc/claude-code/managed-settings.json".to_owned(), Some(Role::Settings)),
            ("/engine/src/main.rs".to_owned(), Some(Role::Source)),
            ("/engine/settings.json".to_owned(), Some(Role::Source)),
            ("/elsewhere/main.rs".to_owned(), None),
        ];
        for (path, role) in cases {
            assert_eq!(places.role(Path::new(&path)), role, "{path}");
        }
    }
}
