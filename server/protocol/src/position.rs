//! Places in a document, as LSP counts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place in a document, zero-based, in the position encoding negotiated at `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// A stretch of a document; `end` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}
