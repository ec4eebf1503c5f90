//! One trait, [`Provider`]: a request in, a stream of events out; and everything that knows a provider.
//!
//! Never decides what to send (that is `context` and `agent`) and never runs a tool.

pub mod anthropic;
pub mod cache_watch;
pub mod catalogue;
pub mod event;
mod failure;
mod fnv;
pub mod http;
pub mod models;
pub mod offline;
pub mod openai;
pub mod request;
pub mod retry;
pub mod secret;
pub mod side_query;
mod sse;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod testing;
pub mod web_search;

pub use cache_watch::{Break, CacheWatch, Cause, Fingerprint};
pub use catalogue::{ModelSpec, Prices};
pub use event::{AppliedEdit, Delta, Event, EventStream, Field, ModelError, Transient};
pub use models::{Models, Resolved};
pub use request::{
    ClearToolUses, ContextEdits, Keep, QuerySource, Request, Supports, SystemBlock, ToolDefinition,
};
pub use web_search::SearchStep;

use futures_util::future::BoxFuture;

/// A service that answers requests. Dropping the future or the stream cancels the request.
pub trait Provider: Send + Sync {
    /// One attempt, without retries: those are the caller's, which must tell the user about each (see `retry`).
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ModelError>>;

    /// What may be in [`Request::context_edits`] for this model. A server may refuse it all the same:
    /// [`ModelError::Unsupported`].
    fn supports(&self, _model: &str) -> Supports {
        Supports::default()
    }

    /// How many tokens the request has; `None` where nobody can tell. Costs a round trip: for when a decision hangs on
    /// it.
    fn count<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Option<u64>> {
        Box::pin(std::future::ready(None))
    }
}
