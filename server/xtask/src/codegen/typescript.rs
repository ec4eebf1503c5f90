//! TypeScript: an interface or alias per type, and the tables of methods.

use protocol::Direction;

use super::{HEADER, Protocol, types::Type};

pub fn print(protocol: &Protocol) -> String {
    let mut out = format!("// {HEADER}\n");
    for (name, kind, doc) in &protocol.types {
        out.push('\n');
        if let Some(doc) = doc {
            out.push_str(&format!("/** {doc} */\n"));
        }
        match kind {
            Type::Object(fields) if fields.is_empty() => {
                out.push_str(&format!("export type {name} = Record<string, never>;\n"));
            }
            Type::Object(_) => out.push_str(&format!("export interface {name} {}\n", body(kind, 0))),
            other => out.push_str(&format!("export type {name} ={};\n", after_equals(&body(other, 0)))),
        }
    }
    for (direction, name, doc) in [
        (Direction::ClientToServer, "ClientRequests", "Requests that the server answers."),
        (Direction::ServerToClient, "ServerRequests", "Requests that the client answers."),
        (Direction::Notification, "ServerNotifications", "Notifications to the client."),
    ] {
        out.push_str(&format!("\n/** {doc} */\nexport interface {name} {{\n"));
        for method in protocol.methods.iter().filter(|method| method.method.direction == direction) {
            let (doc, wire) = (method.method.doc, method.method.name);
            let params = body(&method.params, 1);
            let result = method
                .result
                .as_ref()
                .map_or(String::new(), |result| format!("; result: {}", body(result, 1)));
            out.push_str(&format!("  /** {doc} */\n  \"{wire}\": {{ params: {params}{result} }};\n"));
        }
        out.push_str("}\n");
    }
    out
}

/// A long union starts on its own line.
fn after_equals(body: &str) -> String {
    if body.starts_with('\n') { body.to_owned() } else { format!(" {body}") }
}

fn body(kind: &Type, depth: usize) -> String {
    match kind {
        Type::Any => "unknown".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literal(text) => format!("{text:?}"),
        Type::Named(name) => name.clone(),
        Type::List(items) => match **items {
            Type::Union(_) => format!("({})[]", body(items, depth)),
            _ => format!("{}[]", body(items, depth)),
        },
        Type::Map(values) => format!("Record<string, {}>", body(values, depth)),
        Type::Union(members) => {
            let long = members.iter().any(|member| matches!(member, Type::Object(_)));
            let separator = if long { format!("\n{}| ", "  ".repeat(depth + 1)) } else { " | ".to_owned() };
            let members: Vec<String> = members.iter().map(|member| body(member, depth + 1)).collect();
            let lead = if long { separator.as_str() } else { "" };
            format!("{lead}{}", members.join(&separator))
        }
        Type::Object(fields) => {
            let inner = "  ".repeat(depth + 1);
            let mut out = "{\n".to_owned();
            for field in fields {
                if let Some(doc) = &field.doc {
                    out.push_str(&format!("{inner}/** {doc} */\n"));
                }
                let mark = if field.optional { "?" } else { "" };
                out.push_str(&format!("{inner}{}{mark}: {};\n", field.name, body(&field.kind, depth + 1)));
            }
            out.push_str(&"  ".repeat(depth));
            out.push('}');
            out
        }
    }
}
