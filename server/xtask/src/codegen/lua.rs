//! LuaCATS: a class or alias per type. Unions of objects become one class per member.

use super::{
    HEADER, Protocol,
    types::{Field, Type},
};

pub fn print(protocol: &Protocol) -> String {
    let mut out = format!("---@meta\n-- {HEADER}\n");
    for (name, kind, doc) in &protocol.types {
        out.push('\n');
        if let Some(doc) = doc {
            out.push_str(&format!("---{doc}\n"));
        }
        match kind {
            Type::Object(fields) => class(&mut out, name, fields),
            Type::Union(members) => union(&mut out, name, members),
            other => out.push_str(&format!("---@alias reverie.{name} {}\n", inline(other))),
        }
    }
    out.push_str("\n---Every method of the protocol.\n---@alias reverie.Method\n");
    for method in &protocol.methods {
        out.push_str(&format!("---| '\"{}\"' # {}\n", method.method.name, method.method.doc));
    }
    out
}

fn class(out: &mut String, name: &str, fields: &[Field]) {
    out.push_str(&format!("---@class reverie.{name}\n"));
    for field in fields {
        let mark = if field.optional { "?" } else { "" };
        let doc = field.doc.as_ref().map_or(String::new(), |doc| format!(" {doc}"));
        out.push_str(&format!("---@field {}{mark} {}{doc}\n", field.name, inline(&field.kind)));
    }
}

fn union(out: &mut String, name: &str, members: &[Type]) {
    let mut names = Vec::new();
    let mut classes = String::new();
    for member in members {
        match member {
            Type::Object(fields) => {
                let member_name = format!("{name}.{}", tag(fields));
                classes.push('\n');
                class(&mut classes, &member_name, fields);
                names.push(format!("reverie.{member_name}"));
            }
            other => names.push(inline(other)),
        }
    }
    out.push_str(&format!("---@alias reverie.{name} {}\n{classes}", names.join("|")));
}

/// The literal that tells the members of a tagged union apart.
fn tag(fields: &[Field]) -> String {
    let literal = fields.iter().find_map(|field| match &field.kind {
        Type::Literal(text) => Some(text.clone()),
        _ => None,
    });
    // What has no tag is told apart by its fields.
    literal.or_else(|| fields.first().map(|field| field.name.clone())).unwrap_or_else(|| "other".to_owned())
}

fn inline(kind: &Type) -> String {
    match kind {
        Type::Any => "any".to_owned(),
        Type::Null => "vim.NIL".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literal(text) => format!("'{text}'"),
        Type::Named(name) => format!("reverie.{name}"),
        Type::List(items) => match **items {
            Type::Union(_) => format!("({})[]", inline(items)),
            _ => format!("{}[]", inline(items)),
        },
        Type::Map(values) => format!("table<string, {}>", inline(values)),
        Type::Union(members) => members.iter().map(inline).collect::<Vec<_>>().join("|"),
        Type::Object(_) => "table".to_owned(),
    }
}
