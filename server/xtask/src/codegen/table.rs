//! The generated parts of documents: the methods in `docs/protocol.md`, the keys and the switches in `docs/settings.md`.

use anyhow::Context;
use protocol::Direction;
use serde_json::Value;
use settings::{Bare, GATES};

use super::{Protocol, types::Type};

/// The document with a generated part replaced: what stands between the marks of its name.
pub fn insert(document: &str, part: &str, generated: &str) -> anyhow::Result<String> {
    let begin = format!("<!-- generated: {part} -->");
    let end = format!("<!-- end of generated: {part} -->");
    let (before, rest) = document.split_once(&begin).with_context(|| format!("{begin} is lost"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{end} is lost"))?;
    Ok(format!("{before}{begin}\n{generated}\n{end}{after}"))
}

/// The methods: a table, then each with its errors and an example.
pub fn methods(protocol: &Protocol) -> String {
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

/// The settings: a row for each key, with its default and what it does.
pub fn settings(schema: &Value) -> String {
    let mut out = "| key | default | what |\n|---|---|---|\n".to_owned();
    setting_rows(&mut out, schema, schema, "");
    out.trim_end().to_owned()
}

fn setting_rows(out: &mut String, root: &Value, schema: &Value, prefix: &str) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let key = format!("{prefix}{name}");
        // The switches have a table of their own.
        if key == "reverie" {
            continue;
        }
        let referenced =
            property["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
        let resolved = referenced.unwrap_or(property);
        if resolved["properties"].is_object() {
            setting_rows(out, root, resolved, &format!("{key}."));
            continue;
        }
        let doc = property["description"].as_str().or(resolved["description"].as_str()).unwrap_or_default();
        let default = match &property["default"] {
            Value::Null => String::new(),
            Value::Object(map) if map.is_empty() => String::new(),
            Value::Array(list) if list.is_empty() => String::new(),
            value => format!("`{value}`"),
        };
        out.push_str(&format!("| `{key}` | {default} | {} |\n", doc.replace('\n', " ")));
    }
}

/// The switches: a row for each, with what the seeds call it.
pub fn features() -> String {
    let mut out =
        "| switch | default | takes | the seed's gate | with `--bare` | what |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for gate in GATES {
        let names: Vec<String> =
            gate.gate.split(", ").filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect();
        let bare = match gate.bare {
            Bare::Off => "off",
            Bare::Stays => "stays",
        };
        out.push_str(&format!(
            "| `{}` | `{}` | {} | {} | {bare} | {} |\n",
            gate.name,
            gate.default_value(),
            gate.kind.takes(),
            names.join(", "),
            gate.doc
        ));
    }
    out.trim_end().to_owned()
}
