//! What tests stand on: a scripted model server with an exact prompt-cache simulation, an LSP client, workspaces
//! made from strings, a printer for requests and scenarios written in Markdown.
//!
//! Never part of the product: a development dependency everywhere, and it fails by panicking.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test kit fails by panicking"
)]

pub mod fixture;
pub mod layout;
pub mod long_session;
pub mod lsp_client;
pub mod metering;
pub mod model_server;
pub mod prompt_block;
pub mod prompt_cache;
pub mod scenario;
pub mod validation;

use std::{future::Future, time::Duration};

/// No wait in a test is unbounded; this is far beyond what anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Awaits, and fails with what was waited for once patience is out.
pub async fn within<T>(future: impl Future<Output = T>, what: &str) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited {PATIENCE:?} in vain for {what}"),
    }
}
