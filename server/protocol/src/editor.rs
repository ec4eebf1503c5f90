//! What only the editor knows: what its other language servers say about the code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::position::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorDiagnosticsParams {
    /// Of this document; of all that the editor knows if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorDiagnosticsResult {
    pub diagnostics: Vec<EditorDiagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorDiagnostic {
    pub uri: String,
    pub range: Range,
    /// LSP's: 1 error, 2 warning, 3 information, 4 hint.
    pub severity: u8,
    pub message: String,
    /// Who says so: `rustc`, `eslint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorSymbolsParams {
    /// The outline of this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Symbols of the workspace by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorSymbolsResult {
    pub symbols: Vec<EditorSymbol>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorSymbol {
    pub name: String,
    /// LSP's number of its kind: 12 is a function, 23 a struct.
    pub kind: u32,
    pub uri: String,
    /// All of it, with its comments.
    pub range: Range,
    /// Its name alone.
    #[serde(default, rename = "selectionRange", skip_serializing_if = "Option::is_none")]
    pub selection_range: Option<Range>,
    /// What it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
}
