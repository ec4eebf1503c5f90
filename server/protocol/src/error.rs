//! The error codes of responses, besides JSON-RPC's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A code that a response may carry, and what it means to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    pub code: i64,
    pub name: &'static str,
    pub doc: &'static str,
}

impl ErrorCode {
    pub const UNKNOWN_SESSION: Self = Self {
        code: -32001,
        name: "unknownSession",
        doc: "There is no such session, here or on disk; `data` is `{sessionId}`.",
    };
    pub const NOT_INITIALIZED: Self =
        Self { code: -32002, name: "notInitialized", doc: "The request came before `initialize`." };
    pub const UNAVAILABLE: Self = Self {
        code: -32003,
        name: "unavailable",
        doc: "The disk or another process is in the way; the message says how. The same request may work later.",
    };
    pub const INVALID_PARAMS: Self = Self {
        code: -32602,
        name: "invalidParams",
        doc: "The params do not fit the method; the message names the field and says what to change.",
    };

    pub const ALL: &[Self] =
        &[Self::UNKNOWN_SESSION, Self::NOT_INITIALIZED, Self::UNAVAILABLE, Self::INVALID_PARAMS];
}

/// The `data` of [`ErrorCode::UNKNOWN_SESSION`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionErrorData {
    /// The id as the client sent it.
    pub session_id: String,
}
