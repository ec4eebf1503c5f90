//! Texts that others wrote, made fit for a prompt: visible, and of a length.

use serde_json::Value;

/// At most `longest` characters, with a mark where something is missing.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Without characters that nobody sees: the model must read what the user can.
pub(crate) fn visible(text: &str) -> String {
    text.chars().filter(|character| !is_hidden(*character)).collect()
}

/// The same for the words in a schema; what is compared with input stays as it is.
pub(crate) fn make_words_visible(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if matches!(key.as_str(), "description" | "title" | "$comment") => {
                        *text = visible(text);
                    }
                    value => make_words_visible(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_words_visible),
        _ => {}
    }
}

/// Blanks and line ends as one blank: a reason inside a sentence.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    shortened(&visible(text).split_whitespace().collect::<Vec<_>>().join(" "), longest)
}

fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
        || (character.is_control() && !matches!(character, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_words_of_a_schema_are_changed() {
        let mut schema = json!({"description": "a\u{200b}b", "properties": {"x": {"enum": ["\u{200b}"], "title": "\u{202e}t"}}});
        make_words_visible(&mut schema);
        assert_eq!(
            schema,
            json!({"description": "ab", "properties": {"x": {"enum": ["\u{200b}"], "title": "t"}}})
        );
    }

    #[test]
    fn what_is_cut_is_marked() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(one_line("a\r\n\u{7} b\t c ", 100), "a b c");
    }
}
