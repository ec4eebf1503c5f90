//! Whether a folder's own files may run programs and loosen settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetTrustParams {
    /// Absolute; the first workspace folder if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetTrustParams {
    /// Absolute; the first workspace folder if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub trusted: bool,
    /// Of what was shown to the user: if something else would run meanwhile, the folder is not trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// What the user has said about a folder, and what would follow from trusting it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustResult {
    /// Absolute.
    pub folder: String,
    pub status: TrustStatus,
    /// What in it would run programs or loosen settings.
    pub items: Vec<TrustItem>,
    /// Of a changed folder: what changed, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Why the folder cannot be trusted at all, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot: Option<String>,
    /// Names the items as they are; to be sent back with `reverie/trust/set`.
    pub digest: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustStatus {
    Trusted,
    Untrusted,
    /// It was trusted, and what would run is not what it was then.
    Changed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustItem {
    /// What it is: a settings key, `mcp`, `skill`, `command`.
    pub kind: String,
    /// The file, absolute.
    pub path: String,
    /// What it would do, in words.
    pub detail: String,
}
