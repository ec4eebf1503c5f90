//! What each side says it can do, under `experimental.reverie` in the capabilities of `initialize`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of this protocol.
pub const VERSION: u32 = 1;

/// What a client answers, in `capabilities.experimental.reverie` of its `initialize` params. What it does not
/// announce is asked through `window/showMessageRequest` instead, or answered with a denial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    /// The version of this protocol the client was written for.
    pub version: u32,
    /// The client answers `reverie/permission/ask`.
    pub permission_ask: bool,
    /// The client answers `reverie/user/ask`.
    pub user_ask: bool,
    /// The client answers `reverie/plan/ask`.
    pub plan_ask: bool,
    /// The client answers `reverie/document/save`.
    pub document_save: bool,
    /// The client answers `reverie/editor/diagnostics`.
    pub editor_diagnostics: bool,
    /// The client answers `reverie/editor/symbols`.
    pub editor_symbols: bool,
    /// The client shows by itself that a folder is not trusted (`reverie/trust/get`), and is not asked.
    pub trust_view: bool,
    /// The client shows what `reverie/memory/event` and `reverie/dream/progress` tell, with a way to undo it, and needs no
    /// `notice` of it.
    pub memory_view: bool,
    /// The client shows `reverie/memory/inline` at its places.
    pub inline_memory: bool,
}

/// What the server offers, in `capabilities.experimental.reverie` of its `initialize` result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// The version of this protocol the server speaks.
    pub version: u32,
    /// The `reverie/*` requests the server answers.
    pub methods: Vec<String>,
}
