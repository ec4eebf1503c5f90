//! All servers of a workspace folder: started in the background, asked for their tools, called, ended.
//!
//! Empty, it is a map and nothing else: no task, no client, no thread. Which servers may run is the caller's to know:
//! [`Servers::keep`] is told.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use settings::Environment;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Content, McpError, McpTool, Progress, ServerConfig,
    connection::Connection,
    names,
    server::{Launch, Server, State},
};

const START_LIMIT: Duration = Duration::from_secs(30);
const CALL_LIMIT: Duration = Duration::from_secs(600);
/// A server that could not be started is left alone for this long.
const UNTIL_RETRIED: Duration = Duration::from_secs(30);
/// For processes to end; they are killed well before.
const SHUTDOWN: Duration = Duration::from_secs(3);

/// How servers are started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Goes before the command of each: a program that runs another, and ends it when we are gone.
    pub wrapper: Vec<OsString>,
}

pub struct Servers {
    options: Options,
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
    tracker: TaskTracker,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Starting,
    Ready {
        tools: usize,
    },
    /// Why it cannot be used, in words that follow its name. It is tried again by the next call, and after a while by
    /// [`Servers::keep`].
    Failed(String),
    Stopped,
}

impl Servers {
    pub fn new(options: Options) -> Self {
        Self { options, servers: Mutex::default(), tracker: TaskTracker::new() }
    }

    /// These servers and no others: ends those that are gone, replaces those that would run something else now (by
    /// their fingerprints), starts the new ones in the background, and tries those again that could not be started, not
    /// more often than every 30 seconds. Those that run are left alone. Must be called within a runtime.
    pub fn keep(&self, configs: Vec<ServerConfig>, cwd: &Path, environment: &Environment) {
        self.keep_at(Instant::now(), configs, cwd, environment);
    }

    /// The tools of all servers that are ready, or become so within the limit; in the order of their names.
    pub async fn tools(&self, limit: Duration) -> Vec<McpTool> {
        let servers: Vec<Arc<Server>> = self.servers().values().cloned().collect();
        let settled = futures_util::future::join_all(servers.iter().map(|server| server.settled()));
        if tokio::time::timeout(limit, settled).await.is_err() {
            tracing::debug!("not all MCP servers are ready");
        }
        let mut tools: Vec<McpTool> = Vec::new();
        for connection in servers.iter().filter_map(|server| server.connection()) {
            tools.extend(connection.listing().offered.iter().map(|offered| offered.tool.clone()));
        }
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        tools
    }

    /// Calls `mcp__server__tool`. A server that is not running is started first, once.
    pub async fn call(
        &self,
        name: &str,
        input: Value,
        cancel: CancellationToken,
        progress: Progress,
    ) -> Result<Vec<Content>, McpError> {
        let unknown = || McpError::NoTool { name: name.to_owned() };
        let server = {
            let servers = self.servers();
            let mut owners = servers.values().filter(|server| server.owns(name));
            owners.next().map(Arc::clone).ok_or_else(unknown)?
        };
        let input = match input {
            Value::Object(fields) => fields,
            _ => return Err(McpError::Tool("the input must be an object".to_owned())),
        };
        server.connect();
        let connection = match cancel.run_until_cancelled(server.settled()).await {
            None => return Err(McpError::Cancelled),
            Some(State::Connected(connection)) => connection,
            Some(State::Failed { why, .. }) => {
                return Err(McpError::Server { server: server.config.name.clone(), why: why.to_string() });
            }
            Some(State::Idle | State::Connecting | State::Stopped) => return Err(unknown()),
        };
        let listing = connection.listing();
        let offered = listing.offered.iter().find(|offered| offered.tool.name == name).ok_or_else(unknown)?;
        connection.call(offered.original.clone(), input, server.launch.call_limit, &cancel, progress).await
    }

    /// All servers by name.
    pub fn status(&self) -> Vec<(String, Status)> {
        let servers = self.servers();
        servers.iter().map(|(name, server)| (name.clone(), server.status())).collect()
    }

    /// Which tools of the servers that are ready cannot be offered, and why.
    pub fn problems(&self) -> Vec<String> {
        let connections: Vec<Arc<Connection>> =
            self.servers().values().filter_map(|server| server.connection()).collect();
        connections.iter().flat_map(|connection| connection.listing().problems.clone()).collect()
    }

    /// Ends all servers with their children and waits for it, a few seconds at most.
    pub async fn shutdown(&self) {
        let servers = std::mem::take(&mut *self.servers());
        servers.values().for_each(|server| server.stop());
        drop(servers);
        self.tracker.close();
        if tokio::time::timeout(SHUTDOWN, self.tracker.wait()).await.is_err() {
            tracing::warn!("an MCP server did not end in time");
        }
        self.tracker.reopen();
    }

    fn keep_at(&self, now: Instant, configs: Vec<ServerConfig>, cwd: &Path, environment: &Environment) {
        let mut servers = self.servers();
        servers.retain(|name, server| {
            let config = configs.iter().find(|config| config.name == *name);
            let stays = config.is_some_and(|config| config.fingerprint == server.config.fingerprint)
                && server.launch.cwd == cwd
                && server.failed_at().is_none_or(|at| now.saturating_duration_since(at) < UNTIL_RETRIED);
            if !stays {
                server.stop();
            }
            stays
        });
        for config in configs {
            if !servers.contains_key(&config.name) {
                let server = self.launch(config, &servers, cwd, environment);
                servers.insert(server.config.name.clone(), server);
            }
        }
    }

    fn launch(
        &self,
        config: ServerConfig,
        others: &BTreeMap<String, Arc<Server>>,
        cwd: &Path,
        environment: &Environment,
    ) -> Arc<Server> {
        let is_taken = |part: &str| others.values().any(|server| server.part == part);
        let part = names::server_part(&config.name, is_taken);
        let milliseconds =
            |name: &str| Some(Duration::from_millis(environment.get(name)?.trim().parse().ok()?));
        let launch = Launch {
            wrapper: self.options.wrapper.clone(),
            cwd: cwd.to_owned(),
            start_limit: milliseconds("MCP_TIMEOUT").unwrap_or(START_LIMIT),
            call_limit: milliseconds("MCP_TOOL_TIMEOUT").unwrap_or(CALL_LIMIT),
            environment: environment.clone(),
            tracker: self.tracker.clone(),
        };
        let server = Arc::new(Server::new(config, part, launch));
        server.connect();
        server
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever drops the last handle has no more calls.
impl Drop for Servers {
    fn drop(&mut self) {
        self.servers().values().for_each(|server| server.stop());
    }
}

#[cfg(test)]
mod tests;
