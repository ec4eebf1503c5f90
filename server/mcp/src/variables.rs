//! `${NAME}` and `${NAME:-default}` in a server's configuration.

use std::collections::BTreeMap;

use settings::Environment;

/// The text with the values in their places; what stands in a value is not expanded again. Fails, in words, on a
/// variable that is not set and has no default.
pub(crate) fn expand(text: &str, environment: &Environment) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => expanded.push_str(text),
            Piece::Variable { name, default } => match environment.get(name).or(default) {
                Some(value) => expanded.push_str(value),
                None => return Err(format!("the environment variable {name} is not set")),
            },
        }
    }
    Ok(expanded)
}

pub(crate) fn expand_values(
    map: &BTreeMap<String, String>,
    environment: &Environment,
) -> Result<BTreeMap<String, String>, String> {
    map.iter().map(|(name, value)| Ok((name.clone(), expand(value, environment)?))).collect()
}

enum Piece<'a> {
    Text(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if let Some((variable, after)) = variable(rest) {
            rest = after;
            return Some(variable);
        }
        // A `$` that begins no variable is text.
        let first = rest.chars().next()?.len_utf8();
        let end = rest.get(first..)?.find("${").map_or(rest.len(), |at| at + first);
        let (plain, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(plain))
    })
}

fn variable(text: &str) -> Option<(Piece<'_>, &str)> {
    let (inside, after) = text.strip_prefix("${")?.split_once('}')?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let valid = name.chars().all(is_name)
        && !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit());
    valid.then_some((Piece::Variable { name, default }, after))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let variables = [("HOST", "example.com"), ("NESTED", "${HOST}"), ("EMPTY", "")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = Environment::new(PathBuf::new(), variables);
        let expanded = expand(text, &environment);
        assert_eq!(expanded.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn variables_defaults_and_what_only_looks_like_them() {
        check("https://${HOST}/a${HOST}", Ok("https://example.com/aexample.com"));
        check("${NOT_SET:-a-b}${NOT_SET:-}", Ok("a-b"));
        check("${EMPTY:-default}", Ok("default"));
        check("${NESTED}", Ok("${HOST}"));
        check(
            "$HOST ${HOST ${} ${1A} ${a b} $${HOST} ü$",
            Ok("$HOST ${HOST ${} ${1A} ${a b} $example.com ü$"),
        );
        check("", Ok(""));
        check("x ${NOT_SET} y", Err("the environment variable NOT_SET is not set"));
    }
}
