//! A filter of jq can read the environment, the names of files, and load modules.

use super::word::Word;

const REFUSED: &[&str] =
    &["env", "ENV", "import", "include", "modulemeta", "input_filename", "get_search_list"];

pub(super) fn check(filter: &Word) -> Result<(), String> {
    let Some(text) = filter.literal().filter(|_| !filter.is_home) else {
        return Err("the filter of `jq` is not quoted".to_owned());
    };
    let mut before = "";
    for (start, name) in names(text) {
        if REFUSED.contains(&name) && !is_field(text.get(..start).unwrap_or_default(), before) {
            return Err(format!("`{name}` in a filter of `jq` reads more than its input"));
        }
        before = name;
    }
    Ok(())
}

/// Also those in strings, where filters may stand in parentheses.
fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let parts = text.split(move |character: char| !is_name(character)).filter(|name| !name.is_empty());
    parts.map(move |name| (name.as_ptr().addr() - text.as_ptr().addr(), name))
}

/// Whether a name behind this text is a field: right behind one dot, which is neither the end of `..` nor of a number.
fn is_field(text: &str, last_name: &str) -> bool {
    let Some(before) = text.strip_suffix('.') else { return false };
    let is_number =
        before.ends_with(last_name) && last_name.starts_with(|first: char| first.is_ascii_digit());
    !before.ends_with('.') && !is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(filter: &str) -> Result<(), String> {
        let quoted = format!("'{filter}'");
        check(&Word::decode(&quoted, None).unwrap())
    }

    #[test]
    fn a_field_may_be_called_anything() {
        for filter in [
            ".",
            ".env",
            ".include",
            ".compilerOptions, .include",
            ".items[0].env // empty",
            ".a1.env",
            ".a?.import.ENV",
            "$x.env",
            "[.[] | .env.PATH]",
            "environment, .environment",
        ] {
            assert_eq!(judged(filter), Ok(()), "{filter}");
        }
    }

    #[test]
    fn what_reads_more_than_its_input_is_refused() {
        for filter in [
            "env",
            "env.PATH",
            ". | env",
            ".|env",
            "$ENV",
            "$ENV.PATH",
            "..env",
            ".. env",
            ".\nenv",
            ". env",
            "1.env",
            "[1,2.env]",
            "include \"x\"; .",
            "import \"x\" as x; .",
            "\"x\" | modulemeta",
            "input_filename",
            ".a, input_filename",
            "get_search_list",
            "\"\\(env.A)\"",
            "\"a.\\(env)\"",
            ".[env.A]",
            ".\"a\"|env",
            "{a:env}",
        ] {
            let filter = filter.replace("\\n", "\n");
            assert!(judged(&filter).is_err(), "{filter}");
        }
    }
}
