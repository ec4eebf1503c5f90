//! Which servers are configured, by whom, and what each would run. Variables are put in when a server is started, and
//! only those that may run are.
//!
//! The user's own entries come first and cannot be replaced by a project's of the same name: rules such as
//! `mcp__github` are about a name.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use settings::{Environment, Known, McpServer, Seen, directories, trust};
use sha2::{Digest, Sha256};

use crate::file;

const MOST_SERVERS: usize = 50;
const LONGEST_NAME: usize = 128;
const SETTINGS: &str = "mcpServers in settings";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// In the order of their names, the user's before the project's.
    pub servers: Vec<ServerConfig>,
    /// What was left out and why, for the user.
    pub problems: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// As written; each once.
    pub name: String,
    pub scope: Scope,
    pub transport: Transport,
    /// Changes with anything that decides what is run or contacted.
    pub fingerprint: String,
    /// A file, or the settings as a whole.
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// From settings, which take servers only from the user, the administrator and the command line, or from another
    /// file of the user.
    User,
    /// From the repository: runs only where the user trusts the folder.
    Project,
}

/// Texts are as written, `${VARIABLE}` included.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    Http { url: String, headers: BTreeMap<String, String> },
}

impl ServerConfig {
    /// What starting it means, in one line for a question: `runs npx -y server`.
    pub fn summary(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                let words: Vec<&str> = [command].into_iter().chain(args).map(String::as_str).collect();
                format!("runs {}", words.join(" "))
            }
            Transport::Http { url, .. } => format!("connects to {url}"),
        }
    }
}

impl Transport {
    fn canonical(&self) -> Value {
        match self {
            Self::Stdio { command, args, env } => json!({ "args": args, "command": command, "env": env }),
            Self::Http { url, headers } => json!({ "headers": headers, "url": url }),
        }
    }
}

/// Without values: they are where people keep their keys.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys())
                .finish(),
            Self::Http { url, headers } => {
                f.debug_struct("Http").field("url", url).field("headers", &headers.keys()).finish()
            }
        }
    }
}

/// The user's servers (`mcpServers` of the settings, then what Claude Code keeps in `.claude.json`) and the project's
/// (`.mcp.json` in the folder). Nothing that is missing or broken is an error. While the files stay as they are, none is
/// read again.
pub fn configured(
    environment: &Environment,
    folder: &Path,
    servers: &BTreeMap<String, McpServer>,
) -> Configured {
    static KNOWN: Known<Places, Configured> = Known::new();
    let places = Places::new(environment, folder, servers);
    KNOWN.get(SystemTime::now(), places.clone(), |seen| read(&places, seen))
}

/// All that the configuration depends on besides files.
#[derive(Clone, PartialEq, Eq)]
struct Places {
    servers: BTreeMap<String, McpServer>,
    claude_json: PathBuf,
    folder: PathBuf,
}

impl Places {
    fn new(environment: &Environment, folder: &Path, servers: &BTreeMap<String, McpServer>) -> Self {
        let home = directories::config_home(environment);
        let claude_json = match environment.get("CLAUDE_CONFIG_DIR") {
            Some(_) => home.join(".claude.json"),
            None => environment.home().join(".claude.json"),
        };
        Self { servers: servers.clone(), claude_json, folder: folder.to_owned() }
    }
}

fn read(places: &Places, seen: &mut Seen) -> Configured {
    let mut found = Configured::default();
    found.add_all(SETTINGS, Scope::User, places.servers.iter().map(|(name, server)| (name, json!(server))));
    let folder = seen.canonical(&places.folder);
    seen.look(&places.claude_json);
    found.add_file(&places.claude_json, Scope::User, |mut root: ClaudeJson| {
        let own = root.projects.remove(&*folder.to_string_lossy()).unwrap_or_default();
        own.servers.into_iter().chain(root.servers).collect()
    });
    let project = folder.join(".mcp.json");
    seen.look(&project);
    // What trust is bound to: a checkout can contain a link to anything.
    if trust::stays_inside(&folder, &project, seen) {
        found.add_file(&project, Scope::Project, |root: ServersOnly| root.servers);
    } else {
        found.problems.push(format!("{} leads out of the folder, so it is not read", project.display()));
    }
    let key = |server: &ServerConfig| (server.scope == Scope::Project, server.name.clone());
    found.servers.sort_by_key(key);
    found
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ServersOnly {
    #[serde(rename = "mcpServers", deserialize_with = "object")]
    servers: Map<String, Value>,
}

/// The rest of that file is large and not ours.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaudeJson {
    #[serde(rename = "mcpServers", deserialize_with = "object")]
    servers: Map<String, Value>,
    /// By folder.
    projects: BTreeMap<String, ServersOnly>,
}

/// Anything but an object is as good as nothing.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

impl Configured {
    fn add_file<T: for<'de> Deserialize<'de>>(
        &mut self,
        path: &Path,
        scope: Scope,
        servers: impl FnOnce(T) -> Map<String, Value>,
    ) {
        let entries = match file::read_json::<T>(path) {
            Ok(None) => return,
            Ok(Some(root)) => servers(root),
            Err(why) => return self.problems.push(format!("{} {why}", path.display())),
        };
        self.add_all(&path.display().to_string(), scope, entries);
    }

    fn add_all<Name: AsRef<str>>(
        &mut self,
        source: &str,
        scope: Scope,
        entries: impl IntoIterator<Item = (Name, Value)>,
    ) {
        for (name, entry) in entries {
            let name = name.as_ref();
            if let Err(why) = self.add(source, scope, name, &entry) {
                self.problems.push(format!("{source}: the MCP server {name} {why}"));
            }
        }
    }

    fn add(&mut self, source: &str, scope: Scope, name: &str, entry: &Value) -> Result<(), String> {
        if entry.get("disabled") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || name.contains(char::is_control) {
            return Err("has a name that cannot be used".to_owned());
        }
        if let Some(other) = self.servers.iter().find(|server| server.name == name) {
            return Err(format!("is left out: {} has another of the same name", other.source));
        }
        if self.servers.len() >= MOST_SERVERS {
            return Err(format!("is left out: there are more than {MOST_SERVERS}"));
        }
        let transport = transport(entry)?;
        let fingerprint = fingerprint(name, &transport);
        let (name, source) = (name.to_owned(), source.to_owned());
        self.servers.push(ServerConfig { name, scope, transport, fingerprint, source });
        Ok(())
    }
}

fn transport(entry: &Value) -> Result<Transport, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    match (text("type").unwrap_or_default(), text("command"), text("url")) {
        ("sse", ..) => {
            Err("uses the old SSE transport, which is not supported; give its streamable HTTP address \
                            with \"type\": \"http\""
                .to_owned())
        }
        ("" | "stdio", Some(command), _) => Ok(Transport::Stdio {
            command: command.to_owned(),
            args: list(entry.get("args"))?,
            env: map(entry.get("env"), "env")?,
        }),
        ("" | "http" | "streamable-http" | "streamableHttp", _, Some(url)) => {
            Ok(Transport::Http { url: url.to_owned(), headers: map(entry.get("headers"), "headers")? })
        }
        ("" | "stdio" | "http" | "streamable-http" | "streamableHttp", ..) => {
            Err("has neither a command nor a url".to_owned())
        }
        (other, ..) => Err(format!("has a type that is not known: {other}; use stdio or http")),
    }
}

fn list(value: Option<&Value>) -> Result<Vec<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(|item| scalar(item, "args")).collect(),
        Some(_) => Err("has args that are not a list".to_owned()),
    }
}

fn map(value: Option<&Value>, what: &str) -> Result<BTreeMap<String, String>, String> {
    match value {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => {
            fields.iter().map(|(name, value)| Ok((name.clone(), scalar(value, what)?))).collect()
        }
        Some(_) => Err(format!("has {what} that are not an object")),
    }
}

fn scalar(value: &Value, what: &str) -> Result<String, String> {
    match value {
        Value::String(text) if text.contains('\0') => Err(format!("has a NUL character in its {what}")),
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("has {what} that are not texts")),
    }
}

/// Of what is written, keys in order: neither formatting nor the values of variables matter.
fn fingerprint(name: &str, transport: &Transport) -> String {
    let content = json!([name, transport.canonical()]).to_string();
    Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
