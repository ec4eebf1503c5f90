//! One server and the state of the connection to it: none yet, being made, there, failed, stopped.

use std::{
    ffi::OsString,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use settings::Environment;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{ServerConfig, Status, connection::Connection};

/// A server that says all the time that its tools have changed is asked this often.
const LISTING_PAUSE: Duration = Duration::from_secs(1);

/// How one server is started.
pub(crate) struct Launch {
    pub(crate) wrapper: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) start_limit: Duration,
    pub(crate) call_limit: Duration,
    pub(crate) tracker: TaskTracker,
}

pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    /// Its part of its tools' names.
    pub(crate) part: String,
    pub(crate) launch: Launch,
    state: watch::Sender<State>,
    stopped: CancellationToken,
}

#[derive(Clone)]
pub(crate) enum State {
    Idle,
    Connecting,
    Connected(Arc<Connection>),
    Failed { why: Arc<str>, at: Instant },
    Stopped,
}

impl Server {
    pub(crate) fn new(config: ServerConfig, part: String, launch: Launch) -> Self {
        Self {
            config,
            part,
            launch,
            state: watch::Sender::new(State::Idle),
            stopped: CancellationToken::new(),
        }
    }

    pub(crate) fn owns(&self, name: &str) -> bool {
        let rest = name.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(self.part.as_str()));
        rest.is_some_and(|rest| rest.starts_with("__"))
    }

    /// Connects unless that is under way or done.
    pub(crate) fn connect(self: &Arc<Self>) {
        let begins = self.state.send_if_modified(|state| {
            let begins = match state {
                State::Idle | State::Failed { .. } => true,
                State::Connected(connection) => connection.is_over(),
                State::Connecting | State::Stopped => false,
            };
            if begins {
                *state = State::Connecting;
            }
            begins
        });
        if begins {
            let server = Arc::clone(self);
            self.launch.tracker.spawn(async move {
                let serving = AssertUnwindSafe(server.serve()).catch_unwind();
                if let Some(Err(_panic)) = server.stopped.run_until_cancelled(serving).await {
                    tracing::error!(server = server.config.name, "the connection to an MCP server panicked");
                    let why = "failed inside Reverie; this is a bug, and its log has the details";
                    let failed = State::Failed { why: why.into(), at: Instant::now() };
                    server.state.send_if_modified(|state| {
                        let stands = !matches!(state, State::Stopped);
                        if stands {
                            *state = failed;
                        }
                        stands
                    });
                }
            });
        }
    }

    /// The life of a connection. A stopped server's ends with the future.
    async fn serve(&self) {
        let opened = match Connection::open(self).await {
            Ok(connection) => State::Connected(Arc::new(connection)),
            Err(why) => {
                tracing::warn!(server = self.config.name, %why, "an MCP server cannot be used");
                State::Failed { why: why.into(), at: Instant::now() }
            }
        };
        self.settle(opened.clone());
        let State::Connected(connection) = opened else { return };
        // Whoever replaces a connection wants its process ended, and that ends with the last hold on it: here is one.
        tokio::select! {
            () = self.list_again(&connection) => {}
            () = self.replaced(&connection) => {}
        }
    }

    /// Lists the tools whenever the server says that they have changed; without end.
    async fn list_again(&self, connection: &Connection) {
        loop {
            connection.tools_changed().await;
            if let Err(why) = connection.list(self).await {
                tracing::warn!(server = self.config.name, %why, "the tools could not be listed again");
            }
            tokio::time::sleep(LISTING_PAUSE).await;
        }
    }

    async fn replaced(&self, connection: &Arc<Connection>) {
        let mut state = self.state.subscribe();
        let other =
            |state: &State| !matches!(state, State::Connected(current) if Arc::ptr_eq(current, connection));
        drop(state.wait_for(other).await);
    }

    fn settle(&self, settled: State) {
        self.state.send_if_modified(|state| {
            let waiting = matches!(state, State::Connecting);
            if waiting {
                *state = settled;
            }
            waiting
        });
    }

    /// Waits while a connection is being made. That has a limit of its own.
    pub(crate) async fn settled(&self) -> State {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, State::Connecting)).await;
        settled.map_or(State::Stopped, |state| state.clone())
    }

    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        match &*self.state.borrow() {
            State::Connected(connection) => Some(Arc::clone(connection)),
            _ => None,
        }
    }

    /// When the last attempt to connect came to nothing; `None` while one is under way or did not.
    pub(crate) fn failed_at(&self) -> Option<Instant> {
        match &*self.state.borrow() {
            State::Failed { at, .. } => Some(*at),
            _ => None,
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.cancel();
        if let State::Connected(connection) = self.state.send_replace(State::Stopped) {
            connection.close();
        }
    }

    pub(crate) fn status(&self) -> Status {
        match &*self.state.borrow() {
            State::Idle | State::Connecting => Status::Starting,
            State::Connected(connection) if connection.is_over() => {
                Status::Failed("has ended; it is started again with the next call".to_owned())
            }
            State::Connected(connection) => Status::Ready { tools: connection.listing().offered.len() },
            State::Failed { why, .. } => Status::Failed(why.to_string()),
            State::Stopped => Status::Stopped,
        }
    }
}
