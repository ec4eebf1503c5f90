//! What others bring: MCP servers, by the folder that asks for them, and their tools as tools of a session.
//!
//! The user's own servers run; a project's only in a folder that the user trusts as it is.

use std::{
    collections::HashMap,
    fmt::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use conversation::{Block, ResultContent};
use futures_util::future::BoxFuture;
use mcp::{Configured, Content, McpTool, Scope, ServerConfig, Servers, Status};
use permissions::Access;
use serde_json::{Value, json};
use settings::directories;
use tools::{Display, Preview, Tool, ToolContext, ToolFailure, ToolOutput};

use crate::shared::Shared;

/// How long the first request waits for servers that are still starting; later ones join a later turn.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Extensions {
    /// Only folders that have servers.
    folders: Mutex<HashMap<PathBuf, Arc<Servers>>>,
}

impl Extensions {
    /// Has the folder's servers running, these and no others, and says whether one of them is just starting. Reads a few
    /// small files. Must be called in a runtime.
    pub fn keep(&self, shared: &Shared, folder: &Path, loaded: &settings::Loaded) -> bool {
        let wanted = allowed(shared, folder, loaded);
        let known = self.folders().get(folder).cloned();
        let servers = match known {
            Some(servers) => servers,
            None if wanted.is_empty() => return false,
            None => {
                let made = Servers::new(mcp::Options { wrapper: shared.outlived_by_none() });
                Arc::clone(self.folders().entry(folder.to_owned()).or_insert_with(|| Arc::new(made)))
            }
        };
        // The user's own servers run anywhere, but an untrusted folder is no place to start a program in: `npx` looks
        // for what it runs in the folder it is started in.
        let cwd = match loaded.trust.is_trusted() {
            true => folder.to_owned(),
            false => directories::config_home(&shared.environment),
        };
        let before: Vec<String> = servers.status().into_iter().map(|(name, _)| name).collect();
        let is_new = wanted.iter().any(|config| !before.contains(&config.name));
        servers.keep(wanted, &cwd, &loaded.settings.environment(&shared.environment));
        is_new
    }

    /// The tools of the folder's servers; waits so long for those that are starting.
    pub async fn tools(&self, folder: &Path, patience: Duration) -> Vec<Arc<dyn Tool>> {
        let Some(servers) = self.folders().get(folder).cloned() else { return Vec::new() };
        let offered = servers.tools(patience).await;
        offered
            .into_iter()
            .map(|tool| Arc::new(External { tool, servers: Arc::clone(&servers) }) as Arc<dyn Tool>)
            .collect()
    }

    pub fn status(&self, folder: &Path) -> Vec<(String, Status)> {
        self.folders().get(folder).map(|servers| servers.status()).unwrap_or_default()
    }

    /// What was left out of what they offer, and why.
    fn problems(&self, folder: &Path) -> Vec<String> {
        self.folders().get(folder).map(|servers| servers.problems()).unwrap_or_default()
    }

    pub async fn shutdown(&self) {
        let all: Vec<Arc<Servers>> = self.folders().drain().map(|(_, servers)| servers).collect();
        futures_util::future::join_all(all.iter().map(|servers| servers.shutdown())).await;
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Servers>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The configured servers that may run here.
fn allowed(shared: &Shared, folder: &Path, loaded: &settings::Loaded) -> Vec<ServerConfig> {
    let configured = mcp::configured(&shared.environment, folder, &loaded.settings.mcp_servers);
    for problem in &configured.problems {
        tracing::warn!(problem, "an MCP server is left out");
    }
    let may_run = |config: &ServerConfig| match config.scope {
        Scope::User => true,
        Scope::Project => {
            loaded.trust.is_trusted() && !loaded.settings.disabled_mcpjson_servers.contains(&config.name)
        }
    };
    configured.servers.into_iter().filter(may_run).collect()
}

/// The servers that are configured for a folder, as its settings are now.
pub(crate) fn configured(shared: &Shared, folder: &Path) -> Configured {
    mcp::configured(&shared.environment, folder, &shared.settings(folder).settings.mcp_servers)
}

/// What `/mcp` and the doctor say.
pub(crate) fn report(shared: &Shared, folder: &Path) -> String {
    let configured = configured(shared, folder);
    let running = shared.extensions.status(folder);
    if configured.servers.is_empty() && configured.problems.is_empty() {
        return "No MCP servers are configured: a project names its own in .mcp.json, you name yours under \
                mcpServers in your settings."
            .to_owned();
    }
    let mut text = String::new();
    for config in &configured.servers {
        let state = match running.iter().find(|(name, _)| *name == config.name).map(|(_, status)| status) {
            Some(Status::Starting) => "starting".to_owned(),
            Some(Status::Ready { tools }) => format!("ready, {tools} tools"),
            Some(Status::Failed(why)) => why.clone(),
            Some(Status::Stopped) => "stopped".to_owned(),
            None if config.scope == Scope::Project && !shared.is_trusted(folder) => {
                "not started: this folder is not trusted (reverie trust)".to_owned()
            }
            None => "not started".to_owned(),
        };
        let _infallible = writeln!(text, "- {} ({}): {state}", config.name, config.summary());
    }
    for problem in configured.problems.into_iter().chain(shared.extensions.problems(folder)) {
        let _infallible = writeln!(text, "- {problem}");
    }
    text
}

/// A server's tool as one of the session's.
struct External {
    tool: McpTool,
    servers: Arc<Servers>,
}

impl Tool for External {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn description(&self) -> String {
        self.tool.description.clone()
    }

    fn input_schema(&self) -> Value {
        self.tool.input_schema.clone()
    }

    fn access(&self, _input: &Value, _context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::External { tool: self.tool.name.clone(), read_only: self.tool.read_only })
    }

    fn preview(&self, input: &Value, _context: &ToolContext) -> Option<Preview> {
        serde_json::to_string_pretty(input).ok().map(Preview::Text)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let (servers, name) = (Arc::clone(&self.servers), self.tool.name.clone());
        Box::pin(async move {
            let answer = servers.call(&name, input, context.cancel.clone(), context.progress.clone()).await;
            answer.map(output).map_err(|error| ToolFailure(error.to_string()))
        })
    }
}

fn output(content: Vec<Content>) -> ToolOutput {
    let shown: Vec<&str> = content
        .iter()
        .map(|part| match part {
            Content::Text(text) => text.as_str(),
            Content::Image { .. } => "[image]",
            Content::Document { .. } => "[document]",
        })
        .collect();
    let display = Display::Text { text: shown.join("\n") };
    let source =
        |media_type: &str, data: &str| json!({"type": "base64", "media_type": media_type, "data": data});
    let blocks = content.iter().map(|part| match part {
        Content::Text(text) => Block::text(text),
        Content::Image { media_type, data } => Block::Image { source: source(media_type, data) },
        Content::Document { media_type, data } => Block::Document { source: source(media_type, data) },
    });
    ToolOutput { content: ResultContent::Blocks(blocks.collect()), display }
}
