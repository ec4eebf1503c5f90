//! Servers of the Model Context Protocol: which there are, what they would run, their tools, and calling them.
//!
//! The protocol itself is the official SDK's (`rmcp`); here are the limits around it, the processes, and the words.
//! Whether a server may run and a tool may be called is decided elsewhere.

mod bounded;
mod config;
mod connection;
mod content;
mod file;
mod handler;
mod http;
mod names;
mod process;
mod server;
mod servers;
mod text;
mod tools;
mod variables;

use std::{sync::Arc, time::Duration};

use thiserror::Error;

pub use config::{Configured, Scope, ServerConfig, Transport, configured};
pub use content::Content;
pub use servers::{Options, Servers, Status};
pub use tools::McpTool;

/// Hears, in words, how far a call is. Must not block.
pub type Progress = Arc<dyn Fn(String) + Send + Sync>;

/// Why a call gave nothing; the words are for the model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum McpError {
    /// The tool's own words.
    #[error("{0}")]
    Tool(String),
    #[error("there is no tool {name} (any more); its MCP server may have been removed or changed")]
    NoTool { name: String },
    /// `how` it went, and what it had to say last, on lines of its own or nothing.
    #[error("the MCP server {server} {how}; it is started again with the next call{last_lines}")]
    Ended { server: String, how: String, last_lines: String },
    #[error("the MCP server {server} {why}")]
    Server { server: String, why: String },
    #[error("the MCP server {server} did not answer within {limit:?}; the call was cancelled")]
    TimedOut { server: String, limit: Duration },
    #[error("the call was cancelled")]
    Cancelled,
}
