//! Where skills and commands are looked for, and which of two with one name counts.
//!
//! The user's own come first, then those of the workspace folder, then those of the folders above it up to the root
//! of the repository. A later one of the same name is left out: a checkout cannot replace what the user is used to.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use markdown::{
    file,
    frontmatter::{self, Fields, one_line},
};
use settings::{Environment, Known, Seen, directories, trust::LEFT_BEHIND};

use crate::{Command, LARGEST, Library, Skill, Source};

/// Of each kind; listing them is a part of every session's prompt.
const MOST: usize = 200;
/// Entries of folders looked at, of each kind.
const MOST_LOOKED_AT: usize = 5_000;
const DEEPEST: usize = 8;
const MOST_PROBLEMS: usize = 50;
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1_024;
const LONGEST_HINT: usize = 200;

/// Reads small files below the config home and the folder, in one go and without following links out of them; while
/// they stay as they are, none is read again. Entries of an untrusted folder are listed and marked.
pub fn discover(environment: &Environment, folder: &Path, trusted: bool) -> Library {
    static KNOWN: Known<Key, Library> = Known::new();
    let key = Key { home: directories::config_home(environment), folder: folder.to_owned(), trusted };
    KNOWN.get(SystemTime::now(), key.clone(), |seen| find(&key, seen))
}

/// All that is found depends on, besides files.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    /// The config home.
    home: PathBuf,
    folder: PathBuf,
    trusted: bool,
}

fn find(key: &Key, seen: &mut Seen) -> Library {
    let places = places(key, seen);
    let mut finder = Finder {
        seen,
        library: Library::default(),
        names: HashSet::new(),
        skills_looked_at: 0,
        commands_looked_at: 0,
    };
    for place in places {
        finder.find_skills(&place);
        finder.find_commands(&place);
    }
    let mut library = finder.library;
    library.skills.sort_by(|one, other| one.name.cmp(&other.name));
    library.commands.sort_by(|one, other| one.name.cmp(&other.name));
    library
}

/// A folder with `skills` and `commands` in it.
struct Place {
    folder: PathBuf,
    source: Source,
    untrusted: bool,
}

fn places(key: &Key, seen: &mut Seen) -> Vec<Place> {
    let folder = seen.canonical(&key.folder);
    let root = seen.git_root(&folder).unwrap_or_else(|| folder.clone());
    // In the user's home folder `.claude` is the config home, not a project's.
    let own = seen.canonical(&key.home);
    let levels = folder.ancestors().take_while(|level| level.starts_with(&root));
    let projects = levels.map(|level| level.join(".claude")).filter(|place| seen.canonical(place) != own);
    let mut places = vec![Place { folder: key.home.clone(), source: Source::User, untrusted: false }];
    places.extend(projects.map(|folder| Place { folder, source: Source::Project, untrusted: !key.trusted }));
    places
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Skill,
    Command,
}

struct Finder<'a> {
    seen: &'a mut Seen,
    library: Library,
    names: HashSet<(Kind, String)>,
    skills_looked_at: usize,
    commands_looked_at: usize,
}

impl Finder<'_> {
    fn find_skills(&mut self, place: &Place) {
        let root = place.folder.join("skills");
        self.seen.look(&root);
        for folder in entries(&root, &mut self.skills_looked_at) {
            let path = folder.join("SKILL.md");
            self.seen.look(&path);
            // What else lies there is nobody's skill.
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            if self.library.skills.len() >= MOST {
                self.problem(&root, &format!("has more than {MOST} skills; the rest is left out"));
                return;
            }
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            self.add(Kind::Skill, place, &root, &name, path);
        }
    }

    fn find_commands(&mut self, place: &Place) {
        let root = place.folder.join("commands");
        let mut folders = vec![(root.clone(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = folders.pop() {
            let mut below = Vec::new();
            self.seen.look(&folder);
            for path in entries(&folder, &mut self.commands_looked_at) {
                let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
                    continue;
                };
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
                if is_folder && depth < DEEPEST && !name.starts_with('.') {
                    let segment = sanitised(&name);
                    below.push((path, format!("{prefix}{segment}:"), depth + 1));
                } else if let Some(stem) = name.strip_suffix(".md").filter(|_| !is_folder) {
                    if self.library.commands.len() >= MOST {
                        return self
                            .problem(&root, &format!("has more than {MOST} commands; the rest is left out"));
                    }
                    self.seen.look(&path);
                    let name = format!("{prefix}{}", sanitised(stem));
                    self.add(Kind::Command, place, &root, &name, path);
                }
            }
            folders.extend(below.into_iter().rev());
        }
    }

    /// `name` is what its place says; a skill may say otherwise.
    fn add(&mut self, kind: Kind, place: &Place, root: &Path, name: &str, path: PathBuf) {
        let root = allowed_root(place, root);
        let text = match file::read_below(&path, root, LARGEST) {
            Ok(text) => text,
            Err(why) => return self.problem(&path, &why),
        };
        let document = frontmatter::parse(&text);
        if let Some(why) = &document.problem {
            self.problem(&path, why);
        }
        let fields = &document.fields;
        let name = match kind {
            Kind::Skill => sanitised(fields.line("name").as_deref().unwrap_or(name)),
            Kind::Command => name.to_owned(),
        };
        let description = description(fields, document.body);
        let missing = match kind {
            Kind::Skill if name.is_empty() => Some("has no name"),
            Kind::Skill if description.is_empty() => Some("has no description"),
            Kind::Command if document.body.trim().is_empty() => Some("is empty"),
            Kind::Skill | Kind::Command => None,
        };
        if let Some(missing) = missing {
            return self.problem(&path, &format!("{missing}, so it is left out"));
        }
        if !self.names.insert((kind, name.clone())) {
            let kind = match kind {
                Kind::Skill => "skill",
                Kind::Command => "command",
            };
            return self.problem(&path, &format!("is left out: there is another {kind} called {name}"));
        }
        let (source, untrusted, root) = (place.source, place.untrusted, root.to_owned());
        let argument_hint = fields.line("argument-hint").map(|hint| shortened(hint, LONGEST_HINT));
        match kind {
            Kind::Skill => {
                let user_only = fields.is_true("disable-model-invocation");
                let skill =
                    Skill { name, description, path, source, untrusted, argument_hint, user_only, root };
                self.library.skills.push(skill);
            }
            Kind::Command => {
                let command = Command { name, description, argument_hint, source, path, untrusted, root };
                self.library.commands.push(command);
            }
        }
    }

    fn problem(&mut self, path: &Path, why: &str) {
        if self.library.problems.len() < MOST_PROBLEMS {
            self.library.problems.push(format!("{} {why}", path.display()));
        }
    }
}

/// The user's own skills are often links into a checkout of theirs; a repository's must stay inside it.
fn allowed_root<'a>(place: &'a Place, root: &'a Path) -> &'a Path {
    match place.source {
        Source::User => Path::new("/"),
        Source::Project => root,
    }
}

/// The paths in a folder, in the order of their names; none if there is no such folder.
fn entries(folder: &Path, looked_at: &mut usize) -> Vec<PathBuf> {
    let left = MOST_LOOKED_AT.saturating_sub(*looked_at);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.take(left).filter_map(|entry| Some(entry.ok()?.path())).collect();
    *looked_at += paths.len();
    // Trust is not bound to what is in these.
    paths.retain(|path| !LEFT_BEHIND.iter().any(|left| path.file_name().is_some_and(|name| name == *left)));
    paths.sort();
    paths
}

/// The frontmatter's, else the first line that says something.
fn description(fields: &Fields, body: &str) -> String {
    let from_body = || {
        let mut lines = body.lines().map(|line| one_line(line.trim().trim_start_matches('#')));
        lines.find(|line| !line.is_empty()).unwrap_or_default()
    };
    shortened(fields.line("description").unwrap_or_else(from_body), LONGEST_DESCRIPTION)
}

fn shortened(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// A name that can be typed after a slash and named in a rule.
fn sanitised(name: &str) -> String {
    let allowed = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    let replaced: String = one_line(name)
        .chars()
        .map(|character| if allowed(character) { character } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    replaced.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests;
