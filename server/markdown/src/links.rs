//! The links of a Markdown text: where they stand, where they lead, and where that is written.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The whole link, in bytes.
    pub range: Range<usize>,
    pub target: String,
    /// The target as it is written: in the link, or in the definition that it refers to. The whole link, where nobody
    /// can tell.
    pub target_range: Range<usize>,
}

/// In the order of the text, and among them the definitions (`[name]: target`), which lead there as well.
pub fn find(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut by_reference = Vec::new();
    let mut words_end = 0;
    let mut events = Parser::new(text).into_offset_iter();
    for (event, range) in events.by_ref() {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
                words_end = range.start + 1;
                // The parser leaves out what follows the name in `[name][]`.
                let rest = text.get(range.end..).filter(|_| link_type == LinkType::Collapsed);
                let empty = if rest.is_some_and(|rest| rest.starts_with("[]")) { 2 } else { 0 };
                let range = range.start..range.end + empty;
                let target = dest_url.into_string();
                let link = Link { target_range: range.clone(), range, target };
                match link_type {
                    LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                        by_reference.push((link, id));
                    }
                    _ => links.push(link),
                }
            }
            Event::End(TagEnd::Link) => {
                if let Some(link) = links.last_mut().filter(|link| link.range == range) {
                    let behind = text.get(words_end..range.end).filter(|rest| rest.starts_with("]("));
                    let written = behind.and_then(|_| written(text, words_end + 2..range.end, &link.target));
                    link.target_range = written.unwrap_or(range);
                }
            }
            _ => words_end = words_end.max(range.end),
        }
    }
    let definitions = events.reference_definitions();
    for (mut link, name) in by_reference {
        let defined = definitions.get(&name).and_then(|it| definition(text, it.span.clone(), &it.dest));
        link.target_range = defined.map_or(link.target_range, |definition| definition.target_range);
        links.push(link);
    }
    links.extend(definitions.iter().filter_map(|(_, it)| definition(text, it.span.clone(), &it.dest)));
    links.sort_by_key(|link| (link.range.start, link.range.end));
    links
}

fn definition(text: &str, span: Range<usize>, target: &str) -> Option<Link> {
    let whole = text.get(span.clone())?.trim_end();
    let colon = span.start + end_of(whole, |character| character == ']')? + 1;
    let range = span.start..span.start + whole.len();
    let target_range = written(text, colon + 1..range.end, target)?;
    Some(Link { range, target: target.to_owned(), target_range })
}

/// Where a target is that stands at the beginning of a range, without `<>`.
fn written(text: &str, range: Range<usize>, target: &str) -> Option<Range<usize>> {
    let rest = text.get(range.clone())?.trim_start();
    let start = range.end - rest.len();
    let written = match rest.strip_prefix('<') {
        Some(bracketed) => {
            let end = end_of(bracketed, |character| character == '>')?;
            start + 1..start + 1 + end
        }
        None => {
            let mut open = 0_usize;
            let end = end_of(rest, |character| match character {
                '(' => {
                    open += 1;
                    false
                }
                ')' if open > 0 => {
                    open -= 1;
                    false
                }
                other => other == ')' || other.is_ascii_whitespace(),
            });
            start..start + end.unwrap_or(rest.len())
        }
    };
    // What stands there is the target, unless a quote's mark has come between.
    let found = text.get(written.clone())?;
    (found == target || found.contains(['\\', '&'])).then_some(written)
}

/// Where the first character is that ends something; one behind a backslash does not.
fn end_of(text: &str, mut ends: impl FnMut(char) -> bool) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.char_indices().find(|(_, character)| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        is_escaped = *character == '\\';
        ends(*character)
    });
    end.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let found = find(text);
        let shown: Vec<_> = found
            .iter()
            .map(|link| (&text[link.range.clone()], link.target.as_str(), &text[link.target_range.clone()]))
            .collect();
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn links_are_found_where_they_stand() {
        check(
            "- [A](a.md) — see [b](<b c.md>), `[x](y)`",
            &[("[A](a.md)", "a.md", "a.md"), ("[b](<b c.md>)", "b c.md", "b c.md")],
        );
        check("<https://a.example>", &[("<https://a.example>", "https://a.example", "<https://a.example>")]);
    }

    #[test]
    fn a_target_is_found_whatever_stands_around_it() {
        check("[a.md]( a.md \"a.md\")", &[("[a.md]( a.md \"a.md\")", "a.md", "a.md")]);
        let found = find("[a.md]( a.md \"a.md\")");
        assert_eq!(found[0].target_range, 8..12);
        check("[`x` *y*](a(1).md)", &[("[`x` *y*](a(1).md)", "a(1).md", "a(1).md")]);
        check("[a\\]](a\\_b.md#c)", &[("[a\\]](a\\_b.md#c)", "a_b.md#c", "a\\_b.md#c")]);
        check("[](a.md)[b]()", &[("[](a.md)", "a.md", "a.md"), ("[b]()", "", "")]);
        check("> [a](\n> b.md)", &[("[a](\n> b.md)", "b.md", "[a](\n> b.md)")]);
    }

    #[test]
    fn a_link_by_reference_leads_where_its_definition_says() {
        check(
            "See [it][A], [a][] and [a].\r\n\r\n[a]: <a b.md> \"title\"\r\n[unused]: c.md\r\n[a]: second.md\r\n",
            &[
                ("[it][A]", "a b.md", "a b.md"),
                ("[a][]", "a b.md", "a b.md"),
                ("[a]", "a b.md", "a b.md"),
                ("[a]: <a b.md> \"title\"", "a b.md", "a b.md"),
                ("[unused]: c.md", "c.md", "c.md"),
            ],
        );
        let found = find("[a]\n\n[a]: b.md\n");
        assert_eq!((found[0].range.clone(), found[0].target_range.clone()), (0..3, 10..14));
        check("[x]\n", &[]);
    }
}
