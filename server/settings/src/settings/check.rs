//! Values that the type alone does not keep out: what is refused here becomes a diagnostic at its place.

use std::collections::BTreeMap;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};

use super::McpServer;

/// An object only: serde would also take a list of the fields in their order, a second spelling of every key
/// that the restrictions by path would not see.
pub(super) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let fields = Map::deserialize(deserializer)?;
    T::deserialize(Value::Object(fields)).map_err(D::Error::custom)
}

pub(super) fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let objects = BTreeMap::<String, Map<String, Value>>::deserialize(deserializer)?;
    objects
        .into_iter()
        .map(|(name, fields)| Ok((name, T::deserialize(Value::Object(fields)).map_err(D::Error::custom)?)))
        .collect()
}

pub(super) fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(amount) if amount < 0.0 => Err(D::Error::custom(format!("{amount} is negative"))),
        amount => Ok(amount),
    }
}

pub(super) fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::<u64>::deserialize(deserializer)? {
        Some(0) => Err(D::Error::custom("must be more than 0")),
        count => Ok(count),
    }
}

pub(crate) fn positive_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(D::Error::custom("must be more than 0")),
        count => Ok(count),
    }
}

/// A name or value that no process can be given would keep every program from starting.
pub(super) fn variables<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let variables = BTreeMap::<String, String>::deserialize(deserializer)?;
    for (name, value) in &variables {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(D::Error::custom(format!("{name:?} cannot be an environment variable")));
        }
    }
    Ok(variables)
}

/// Hosts by name or address, each with a port if one likes; no patterns, so that nobody opens more than they see.
pub(super) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let hosts = Vec::<String>::deserialize(deserializer)?;
    for host in &hosts {
        let strange = |character: char| character.is_whitespace() || "/@*?#\\".contains(character);
        if host.is_empty() || host.contains(strange) {
            return Err(D::Error::custom(format!("{host:?} is not a host, or a host and its port")));
        }
    }
    Ok(hosts)
}

pub(super) fn servers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, McpServer>, D::Error> {
    let servers: BTreeMap<String, McpServer> = objects(deserializer)?;
    if servers.values().any(|server| server.command.is_none() && server.url.is_none()) {
        return Err(D::Error::custom("a server needs a `command` to start or a `url` to connect to"));
    }
    Ok(servers)
}

pub(super) fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    match Option::<u8>::deserialize(deserializer)? {
        Some(share) if !(1..=100).contains(&share) => {
            Err(D::Error::custom(format!("{share} is not between 1 and 100")))
        }
        share => Ok(share),
    }
}

pub(super) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let address = Option::<String>::deserialize(deserializer)?;
    let fits = |address: &String| {
        let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
            && !address.contains(char::is_whitespace)
    };
    match address {
        Some(address) if !fits(&address) => {
            Err(D::Error::custom("expected an address such as `https://team.example`"))
        }
        address => Ok(address),
    }
}

/// The form only: what a specifier means is known to whoever decides by it.
pub(super) fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let rules = Vec::<String>::deserialize(deserializer)?;
    for rule in &rules {
        if let Some(problem) = rule_problem(rule) {
            return Err(D::Error::custom(format!("the rule `{}` is not understood: {problem}", rule.trim())));
        }
    }
    Ok(rules)
}

fn rule_problem(rule: &str) -> Option<&'static str> {
    let rule = rule.trim();
    let tool = match rule.split_once('(') {
        Some((_, rest)) if !rest.ends_with(')') => return Some("the closing parenthesis is missing"),
        Some((tool, _)) => tool.trim(),
        None => rule,
    };
    // All tools of a server may be written with a star.
    let tool = tool.strip_suffix("__*").filter(|server| server.starts_with("mcp__")).unwrap_or(tool);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let named = !tool.is_empty() && tool.chars().all(is_name);
    (!named).then_some("it must begin with the name of a tool, as in `Bash(cargo test:*)`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_tool_with_or_without_a_specifier() {
        for rule in [
            "Bash",
            " Bash ( cargo test:* ) ",
            "Bash(echo (a))",
            "Read()",
            "mcp__github",
            "mcp__github__*",
            "mcp__a.b-c__d(x)",
        ] {
            assert_eq!(rule_problem(rule), None, "{rule}");
        }
        for rule in ["Bash((", "Bash(", "Bash(a) b"] {
            assert_eq!(rule_problem(rule), Some("the closing parenthesis is missing"), "{rule}");
        }
        for rule in ["", " ", "(x)", "Bash x", "*", "Bash*", "github__*", "Bäsh(x)", "Bash)"] {
            assert!(rule_problem(rule).is_some_and(|problem| problem.starts_with("it must begin")), "{rule}");
        }
    }
}
