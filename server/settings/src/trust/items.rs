//! What in a folder would run programs or loosen settings, each with the digest that trust is bound to.
//!
//! Of the settings files only the keys that count by trust are bound, so that changing the model of a project is no
//! reason to ask again. A skill, a command or an agent is bound as a whole: its text speaks for the user, and its
//! front matter may allow tools. What lies outside the checkout is never read; see `Checkout`.

use std::{fs, path::Path};

use serde_json::{Map, Value};

use super::{Checkout, TrustItem, digest};
use crate::{
    Environment, Seen, directories,
    file::read_text,
    json,
    load::{Author, Layer},
    restrict::{self, ALLOW, ENV, TRUSTED},
};

pub(super) const MCP: &str = "mcp";

/// Limits of what is looked at; a folder beyond them cannot be trusted.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const DEEPEST: usize = 8;
/// What programs leave behind by themselves: to bind it would mean to ask again after each run. A skill's programs run
/// through Bash, which has its own questions. Nothing is loaded from these folders either.
pub const LEFT_BEHIND: [&str; 4] = [".git", ".venv", "__pycache__", "node_modules"];

const LONGEST_DETAIL: usize = 300;
const NAMED: usize = 5;

pub(super) struct Found {
    pub(super) items: Vec<TrustItem>,
    /// Why not everything was looked at.
    pub(super) too_much: Option<String>,
}

/// What was found so far, and how much has been looked at for it.
struct Walk<'a> {
    checkout: &'a Checkout,
    seen: &'a mut Seen,
    items: Vec<TrustItem>,
    files: usize,
    bytes: u64,
    too_deep: bool,
}

/// The rules in `granted` count without trust and are left out.
pub(super) fn collect(
    environment: &Environment,
    checkout: &Checkout,
    layers: &[Layer],
    granted: &[String],
    seen: &mut Seen,
) -> Found {
    let folder = &checkout.folder;
    let mut walk = Walk { checkout, seen, items: Vec::new(), files: 0, bytes: 0, too_deep: false };
    for layer in layers.iter().filter(|layer| matches!(layer.author, Author::Project | Author::Local)) {
        let Some(file) = layer.file.as_ref().and_then(|file| file.file_name()) else { continue };
        for key in TRUSTED {
            let Some(value) = restrict::get(&layer.document.root, key) else { continue };
            let Some(value) = bound(key, value, granted) else { continue };
            walk.items.push(TrustItem {
                kind: key.to_owned(),
                path: folder.join(".claude").join(file),
                detail: setting_detail(key, &value),
                digest: digest::of_value(&value),
            });
        }
    }
    walk.items.extend(mcp_file(checkout, walk.seen));
    // Commands, agents and skills are also taken from above, up to the root of the checkout.
    for level in checkout.levels() {
        let claude = level.join(".claude");
        // In the home folder these are the user's own.
        if !directories::holds_config_home(environment, level, walk.seen) {
            for (kind, below) in [("command", "commands"), ("agent", "agents"), ("skill", "skills")] {
                walk.entries(&claude.join(below), kind);
            }
        }
    }
    let too_much = walk.is_too_much().then(|| {
        "what is in its .claude folder is more than can be checked, so it cannot be trusted; move large files out of it"
            .to_owned()
    });
    Found { items: walk.items, too_much }
}

/// The part of a setting's value that counts by trust; `None` if nothing of it does.
fn bound(key: &str, value: &Value, granted: &[String]) -> Option<Value> {
    match (key, value) {
        (ALLOW, Value::Array(rules)) => {
            let mut rules: Vec<&str> = rules
                .iter()
                .filter_map(Value::as_str)
                .filter(|rule| !granted.iter().any(|granted| granted == rule))
                .collect();
            rules.sort_unstable();
            rules.dedup();
            (!rules.is_empty()).then(|| rules.into())
        }
        (ENV, Value::Object(variables)) => {
            let variables: Map<String, Value> = variables
                .iter()
                .filter(|(name, _)| restrict::may_set_variable(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            (!variables.is_empty()).then_some(Value::Object(variables))
        }
        (_, Value::Object(object)) if object.is_empty() => None,
        (_, value) => Some(value.clone()),
    }
}

fn setting_detail(key: &str, value: &Value) -> String {
    let detail = match (key, value) {
        (ALLOW, Value::Array(rules)) => {
            format!("allows without a question: {}", named(rules.iter().filter_map(Value::as_str)))
        }
        (ENV, Value::Object(variables)) => {
            format!("sets environment variables: {}", named(variables.keys().map(String::as_str)))
        }
        ("hooks", Value::Object(events)) => {
            format!("runs programs at {}", named(events.keys().map(String::as_str)))
        }
        (_, Value::String(text)) => format!("tells the model: {text}"),
        (_, Value::Object(object)) => named(object.keys().map(String::as_str)),
        (_, value) => value.to_string(),
    };
    shown(&detail, LONGEST_DETAIL)
}

fn mcp_file(checkout: &Checkout, seen: &mut Seen) -> Option<TrustItem> {
    let path = checkout.folder.join(".mcp.json");
    seen.look(&path);
    let item = |detail: String, digest: String| {
        let detail = shown(&detail, LONGEST_DETAIL);
        Some(TrustItem { kind: MCP.to_owned(), path: path.clone(), detail, digest })
    };
    if !checkout.holds(&path) {
        return item(OUTSIDE.to_owned(), link_digest(&path));
    }
    match read_text(&path) {
        Ok(None) => None,
        Ok(Some(text)) => item(servers(&text), digest::of_parts([text.as_str()])),
        Err(why) => item(why.clone(), digest::of_parts(["unreadable", &why])),
    }
}

/// What the servers of a `.mcp.json` would do. Their variables and headers are not shown: they may be secret.
fn servers(text: &str) -> String {
    let Ok(document) = json::parse(text) else { return "is not valid JSON".to_owned() };
    let Some(Value::Object(servers)) = document.root.get("mcpServers") else {
        return "no servers".to_owned();
    };
    let told: Vec<String> = servers
        .iter()
        .map(|(name, server)| {
            let field = |name: &str| server.get(name).and_then(Value::as_str);
            let arguments = server.get("args").and_then(Value::as_array).into_iter().flatten();
            match (field("command"), field("url")) {
                (Some(command), _) => {
                    let words = arguments.filter_map(Value::as_str);
                    let words: Vec<&str> = std::iter::once(command).chain(words).collect();
                    format!("starts `{}` as {name}", words.join(" "))
                }
                (None, Some(url)) => format!("connects to {url} as {name}"),
                (None, None) => name.clone(),
            }
        })
        .collect();
    named(told.iter().map(String::as_str))
}

const OUTSIDE: &str = "a link that leads out of the folder; it is not read";

impl Walk<'_> {
    fn is_too_much(&self) -> bool {
        self.files > MOST_FILES || self.bytes > MOST_BYTES || self.too_deep
    }

    /// The entries of a folder, one item for each; an entry that is a folder is bound with all that is in it.
    fn entries(&mut self, root: &Path, kind: &str) {
        self.seen.look(root);
        if !self.checkout.holds(root) {
            self.items.push(TrustItem {
                kind: kind.to_owned(),
                path: root.to_path_buf(),
                detail: OUTSIDE.to_owned(),
                digest: link_digest(root),
            });
            return;
        }
        for name in entries(root) {
            let path = root.join(&name);
            let mut parts = Vec::new();
            self.tree(&path, "", 0, &mut parts);
            if self.is_too_much() {
                return;
            }
            if parts.is_empty() {
                continue;
            }
            let count = parts.len() / 2;
            let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let detail = match parts.as_slice() {
                [_, digest] if digest.starts_with("link ") => OUTSIDE.to_owned(),
                _ if kind != "skill" && path.is_dir() => format!("{kind}s in {stem}: {count}"),
                _ if count > 1 => format!("the {kind} {stem}, {count} files"),
                _ => format!("the {kind} {stem}"),
            };
            self.items.push(TrustItem {
                kind: kind.to_owned(),
                detail: shown(&detail, LONGEST_DETAIL),
                digest: digest::of_parts(parts.iter().map(String::as_str)),
                path,
            });
        }
    }

    /// Adds the name and the digest of each file at or below `path`.
    fn tree(&mut self, path: &Path, name: &str, depth: usize, parts: &mut Vec<String>) {
        if depth > DEEPEST {
            self.too_deep = true;
        }
        if self.is_too_much() {
            return;
        }
        self.seen.look(path);
        // Its folder is inside, so only a link can lead out.
        if path.is_symlink() && !self.checkout.holds(path) {
            parts.extend([name.to_owned(), format!("link {}", link_digest(path))]);
            return;
        }
        let metadata = fs::metadata(path);
        if metadata.as_ref().is_ok_and(fs::Metadata::is_dir) {
            for entry in entries(path) {
                let below = format!("{name}/{}", entry.to_string_lossy());
                self.tree(&path.join(&entry), &below, depth + 1, parts);
            }
            return;
        }
        self.files += 1;
        self.bytes += metadata.as_ref().map_or(0, fs::Metadata::len);
        if self.is_too_much() {
            return;
        }
        let digest = match metadata.and_then(|metadata| digest::of_file(path, &metadata)) {
            Ok(digest) => digest,
            Err(error) => format!("unreadable {error}"),
        };
        parts.extend([name.to_owned(), digest]);
    }
}

/// In the order of their names.
fn entries(folder: &Path) -> Vec<std::ffi::OsString> {
    let found = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<_> = found
        .take(MOST_FILES + 1)
        .map(|entry| entry.file_name())
        .filter(|name| !LEFT_BEHIND.iter().any(|left| name == left))
        .collect();
    names.sort();
    names
}

fn link_digest(path: &Path) -> String {
    let target = fs::read_link(path).unwrap_or_default();
    digest::of_parts(["link", &target.to_string_lossy()])
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Text of a file that nobody has vouched for, made safe to show in a terminal: no control or direction characters.
pub(super) fn shown(text: &str, longest: usize) -> String {
    let hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut shown: String =
        text.chars().take(longest).map(|letter| if hidden(letter) { '\u{fffd}' } else { letter }).collect();
    if text.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}
