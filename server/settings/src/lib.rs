//! Settings in layers, each value knowing where it came from; trust in folders; the directories.
//!
//! Depends on nothing of ours. Reads files and a snapshot of the environment; never the process environment.

mod cache;
mod diagnostic;
pub mod directories;
pub mod environment;
mod features;
mod file;
mod hints;
mod json;
mod load;
pub mod local;
mod merge;
mod restrict;
mod seen;
mod settings;
pub mod trust;

pub use cache::Cache;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use environment::Environment;
pub use features::{Bare, Dream, Features, GATES, Gate, Kind, MicrocompactTime, RecallModel, TimeOfDay};
pub use load::{Loaded, OpenText, Sources, check, files};
pub use local::add_allow_rule;
pub use seen::{Known, Seen};
pub use settings::{
    Budgets, Entry, Inline, McpServer, McpTransport, ModelSettings, Notifications, PermissionMode,
    Permissions, Reverie, Sandbox, Settings, Team, WebFetch, schema,
};
pub use trust::{Trust, TrustItem, TrustState};
