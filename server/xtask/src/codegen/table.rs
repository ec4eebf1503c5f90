//! The generated part of `docs/protocol.md`: a table of the methods, then each with its shapes and an example.

use anyhow::Context;
use protocol::Direction;

use super::{Protocol, types::Type};

const BEGIN: &str = "<!-- generated: methods -->";
const END: &str = "<!-- end of generated -->";

/// The document with its generated part replaced.
pub fn insert(document: &str, protocol: &Protocol) -> anyhow::Result<String> {
    let (before, rest) = document.split_once(BEGIN).context("docs/protocol.md has lost its begin mark")?;
    let (_, after) = rest.split_once(END).context("docs/protocol.md has lost its end mark")?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", print(protocol)))
}

fn print(protocol: &Protocol) -> String {
    let mut out = "| method | direction | params | result | what |\n|---|---|---|---|---|\n".to_owned();
    for entry in &protocol.methods {
        let direction = match entry.method.direction {
            Direction::ClientToServer => "client → server",
            Direction::ServerToClient => "server → client",
            Direction::Notification => "server → client, notification",
        };
        let result = entry.result.as_ref().map_or("".to_owned(), name);
        out.push_str(&format!(
            "| `{}` | {direction} | {} | {result} | {} |\n",
            entry.method.name,
            name(&entry.params),
            entry.method.doc
        ));
    }
    for entry in &protocol.methods {
        out.push_str(&format!("\n### `{}`\n\n{}\n", entry.method.name, entry.method.doc));
        if !entry.method.errors.is_empty() {
            let errors: Vec<String> =
                entry.method.errors.iter().map(|error| format!("{} ({})", error.code, error.name)).collect();
            out.push_str(&format!("\nErrors: {}.\n", errors.join(", ")));
        }
        out.push_str(&format!("\n```json\n{}\n```\n", entry.method.example_params));
        if let Some(result) = entry.method.example_result {
            out.push_str(&format!("answers\n```json\n{result}\n```\n"));
        }
    }
    out.trim_end().to_owned()
}

fn name(kind: &Type) -> String {
    match kind {
        Type::Named(name) => format!("`{name}`"),
        _ => "`{}`".to_owned(),
    }
}
