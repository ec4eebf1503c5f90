//! Frontmatter as most people write it, `key: value` on each line, read as YAML reads it and a hundred times as fast.
//!
//! Gives up on whatever might mean something else to YAML.

use super::{Field, Fields};

/// More than anybody writes.
const MOST_LINES: usize = 30;

/// What YAML, or a parser of it, takes for something else than a text.
const NOT_TEXTS: [&str; 12] =
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];

pub(super) fn fields(front: &str) -> Option<Fields> {
    let mut fields: Vec<(String, Field)> = Vec::new();
    for line in front.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let (key, value) = line.split_once(": ")?;
        let is_known = fields.iter().any(|(known, _)| known == key);
        if is_known || !is_key(key) || fields.len() == MOST_LINES {
            return None;
        }
        let value = value.trim_matches(' ');
        let text = quoted(value).or_else(|| is_plain(value).then_some(value))?;
        fields.push((key.to_owned(), Field::Text(text.to_owned())));
    }
    Some(Fields(fields))
}

fn is_key(key: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.bytes().all(is_part)
        && !NOT_TEXTS.contains(&key)
}

/// The text between double quotes, without anything to unescape.
fn quoted(value: &str) -> Option<&str> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains(['"', '\\']) && inside.chars().all(is_harmless)).then_some(inside)
}

fn is_plain(value: &str) -> bool {
    let begins_well = match value.chars().next() {
        Some(first) if first.is_ascii_digit() => is_no_number(value),
        Some(first) => first.is_alphabetic(),
        None => false,
    };
    begins_well
        && value.chars().all(is_harmless)
        && !value.contains(": ")
        && !value.contains(" #")
        && !value.ends_with(':')
        && !NOT_TEXTS.iter().any(|other| value.eq_ignore_ascii_case(other))
}

/// A date, an id: inside a number a dash comes only behind the `e` of an exponent.
fn is_no_number(value: &str) -> bool {
    let mut previous = ' ';
    value.chars().any(|character| {
        let is_dash = character == '-' && !matches!(previous, 'e' | 'E');
        previous = character;
        is_dash
    })
}

fn is_harmless(character: char) -> bool {
    matches!(character, ' '..='~')
        || !character.is_ascii() && character.is_alphanumeric()
        || "—–“”‘’…".contains(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::from_yaml, *};

    #[test]
    fn what_is_usual_is_plain() {
        for front in [
            "name: Deploys\ndescription: We deploy (mostly) on Fridays, don't we?\ntype: project\n",
            "name: \"Use when: x #1\"\ncreated: 2026-11-17\nsource: 76a4cd32-f7d5/01a1\n",
            "name: Größe — 部署\r\ntype: user\r\n",
            "",
        ] {
            assert!(fields(front).is_some(), "{front}");
            assert_eq!(fields(front), Some(from_yaml(front).unwrap_or_default()), "{front}");
        }
    }

    #[test]
    fn what_means_something_else_to_yaml_is_left_to_it() {
        for front in [
            "a: b: c",
            "a: b #c",
            "a: |",
            "a: [b]",
            "a: 'b'",
            "a: True",
            "a: 12",
            "a: 1e-5",
            "a: ~",
            "a:",
            "a: b\n  c",
            "- a",
            "a: b\na: c",
            "A: b",
            "a: &b c",
            "a: *b",
            "a: \"b\\n\"",
            "a: b:",
            "a: \u{1}",
            "# a: b",
            " a: b",
        ] {
            assert_eq!(fields(front), None, "{front}");
        }
    }

    /// Lines of what frontmatter is made of, and of what it could be broken with.
    fn line() -> impl Strategy<Value = String> {
        let key = prop_oneof!["[a-z][a-z0-9_-]{0,6}", "(name|description|type|true|null|y|on)"];
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9]{1,8}",
            2 => "[-+.,:;#?!'\"()\\[\\]{}|>&*%@`~=<_/\\\\ ]{1,3}",
            1 => "(true|No|null|NaN|inf|0x1F|1e5|1e-5|12|1_0|2026-11-17|é|部署|—|\u{a0}|\u{2028}|\u{feff})",
            1 => Just(" ".to_owned()),
        ];
        let value = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
        let quoted = prop_oneof![3 => Just(""), 1 => Just("\""), 1 => Just("'")];
        (key, prop_oneof![8 => Just(": "), 1 => Just(":"), 1 => Just(":  ")], value, quoted)
            .prop_map(|(key, colon, value, quote)| format!("{key}{colon}{quote}{value}{quote}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn plain_means_what_it_means_to_yaml(lines in prop::collection::vec(line(), 1..4), end in "\n{0,2}") {
            let front = lines.join("\n") + &end;
            if let Some(fields) = fields(&front) {
                prop_assert_eq!(Some(fields), from_yaml(&front), "{}", front);
            }
        }
    }
}
