//! What fills the context window, and what changed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextReportParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextReportResult {
    /// The model's context window, in tokens.
    pub window: u64,
    /// How much of it the next request would use.
    pub used: u64,
    pub level: ContextLevel,
    /// What uses it, by kind.
    pub parts: Vec<ContextPart>,
    /// Every change to the context so far, oldest first.
    pub ledger: Vec<ContextChange>,
}

/// How full the window is, by share of the effective window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextLevel {
    Normal,
    Warning,
    Error,
    Critical,
}

/// One kind of content in the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPart {
    pub name: String,
    pub tokens: u64,
}

/// One change that a layer made to the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextChange {
    /// When, in RFC 3339.
    pub at: String,
    pub layer: String,
    pub detail: String,
    pub tokens_freed: u64,
    pub cache: CacheEffect,
}

/// Whether the provider's prompt cache survived a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CacheEffect {
    Kept,
    Broken,
}
