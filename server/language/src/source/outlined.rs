//! What an editor's outline says of a text, with names as code has them.

use std::ops::Range;

use super::{DEFINES, words};

/// A symbol of the file as the editor's outline has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    pub name: String,
    pub range: Range<usize>,
}

impl Outline {
    /// `within` is where the name is, or the symbol as a whole, with its comments; `None` for what has no name of its own.
    pub fn of(text: &str, name: &str, within: Range<usize>) -> Option<Self> {
        let name = identifier(name)?;
        let mut previous = "";
        let mut place = None;
        for (at, word) in words(text.get(within.clone())?) {
            let is_defined = DEFINES.contains(&previous);
            if word == name && (place.is_none() || is_defined) {
                place = Some(within.start + at..within.start + at + word.len());
            }
            if word == name && is_defined {
                break;
            }
            previous = word;
        }
        Some(Self { name: name.to_owned(), range: place.unwrap_or(within.start..within.start) })
    }
}

/// The last part of a name as languages outline it: `(*T).Login`, `login(String)`, `login/2`, `login<T>`, `def login`.
fn identifier(name: &str) -> Option<&str> {
    let until = |name: &'_ str, opening: char| -> usize {
        let mut openings = name.match_indices(opening).map(|(at, _)| at);
        openings.find(|at| *at > 0).unwrap_or(name.len())
    };
    // `<function>`
    let mut name = name.trim();
    if name.starts_with('<') {
        return None;
    }
    if name.ends_with(')') {
        // What stands in parentheses at the start is what it belongs to.
        let begin = if name.starts_with('(') { name.find(')').unwrap_or_default() } else { 0 };
        name = name.get(..begin + until(name.get(begin..)?, '('))?;
    }
    if name.ends_with('>') {
        name = name.get(..until(name, '<'))?;
    }
    let name = name.trim_end_matches(|last: char| last.is_ascii_digit()).strip_suffix('/').unwrap_or(name);
    let mut parts: Vec<&str> = name.split_whitespace().collect();
    let last = parts.pop()?;
    // `impl Session for Door` is not where the door is made.
    let is_a_name = parts.iter().all(|part| DEFINES.contains(part) && *part != "impl");
    words(last).last().map(|(_, word)| word).filter(|_| is_a_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_outlines_have_them() {
        for (outlined, name) in [
            ("login", Some("login")),
            ("(*T).Login", Some("Login")),
            ("(*T).Login(ctx)", Some("Login")),
            ("login(String)", Some("login")),
            ("login(_:)", Some("login")),
            ("login(int a, char *b)", Some("login")),
            ("login/2", Some("login")),
            ("login<T>", Some("login")),
            ("Foo<T>::login", Some("login")),
            ("M.login", Some("login")),
            ("def login(conn)", Some("login")),
            ("v2", Some("v2")),
            ("impl Session for Door", None),
            ("<function>", None),
            ("", None),
            ("()", None),
        ] {
            assert_eq!(identifier(outlined), name, "{outlined}");
        }
    }

    #[test]
    fn the_name_is_found_below_its_comments() {
        let text = "/// For login only.\n#[login]\nfn login() {}\n";
        let whole = Outline::of(text, "login()", 0..text.len()).unwrap();
        assert_eq!(whole, Outline { name: "login".to_owned(), range: 32..37 });
        assert_eq!(Outline::of(text, "login", 32..37).unwrap().range, 32..37);
        assert_eq!(Outline::of("const x = 1", "login", 6..7).unwrap().range, 6..6);
    }
}
