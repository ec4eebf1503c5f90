//! The sentences that somebody typed: without code, quotations, and what was pasted from elsewhere.

/// Longer ones are pasted.
const LONGEST: usize = 400;

pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for unit in units(text) {
        found.extend(split(&unit).into_iter().filter(|sentence| sentence.chars().count() <= LONGEST));
    }
    found
}

/// Paragraphs and items of lists, each on one line.
fn units(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut tag: Option<String> = None;
    let mut goes_on = false;
    for line in text.lines() {
        let trimmed = line.trim();
        tag = tag.or_else(|| opened(trimmed));
        if let Some(name) = &tag {
            if trimmed.contains(&format!("</{name}>")) {
                tag = None;
            }
            goes_on = false;
            continue;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() || trimmed.is_empty() || is_foreign(line) {
            goes_on = false;
            continue;
        }
        let item = without_bullet(trimmed);
        let is_new = item.len() < trimmed.len() || !item.starts_with(|c: char| c.is_lowercase());
        match units.last_mut().filter(|_| goes_on && !is_new) {
            Some(unit) => {
                unit.push(' ');
                unit.push_str(item);
            }
            None => units.push(item.to_owned()),
        }
        goes_on = !item.ends_with(['.', '!', '?', ':']);
    }
    units
}

/// The tag that a line opens: what is inside was put there, not typed.
fn opened(line: &str) -> Option<String> {
    let name: String =
        line.strip_prefix('<')?.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
    (!name.is_empty()).then_some(name)
}

/// Code, quotations, and the output of programs.
fn is_foreign(line: &str) -> bool {
    let trimmed = line.trim_start();
    let lower = trimmed.to_lowercase();
    let begins = [
        "> ",
        "$ ",
        "|",
        "<",
        "@@",
        "+++",
        "---",
        "error",
        "warning:",
        "at ",
        "traceback",
        "thread '",
        "npm err",
    ];
    const LEVELS: [&str; 7] = ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL"];
    let is_level = |word: &str| LEVELS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()));
    line.starts_with("    ")
        || line.starts_with('\t')
        || trimmed == ">"
        || begins.iter().any(|begin| lower.starts_with(begin))
        || trimmed.split_whitespace().take(3).any(is_level)
        // A time, as logs have it.
        || trimmed.trim_start_matches('[').as_bytes().first_chunk::<5>().is_some_and(|start| {
            let [a, b, c, d, dash] = start;
            [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()) && *dash == b'-'
        })
}

pub(in super::super) fn without_bullet(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = line.get(digits..).filter(|_| digits > 0);
    let numbered = numbered.and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")));
    let item = ["- ", "* ", "• "].iter().find_map(|bullet| line.strip_prefix(bullet));
    item.or(numbered).unwrap_or(line).trim_start_matches(['#', ' '])
}

fn split(unit: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut from = 0;
    let mut is_code = false;
    let mut characters = unit.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        is_code ^= character == '`';
        let ends = matches!(character, '.' | '!' | '?' | '。' | '！' | '？') && !is_code;
        let next = characters.peek().map(|(_, next)| *next);
        let spaced = !character.is_ascii() || next.is_none_or(|next| next.is_whitespace() || next == '"');
        let end = at + character.len_utf8();
        let so_far = unit.get(from..end).unwrap_or_default();
        if ends && spaced && !is_abbreviation(so_far) {
            sentences.push(so_far.trim().to_owned());
            from = end;
        }
    }
    sentences.push(unit.get(from..).unwrap_or_default().trim().to_owned());
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
    ["e.g.", "i.e.", "vs.", "etc.", "dr.", "mr.", "mrs.", "approx.", "cf."]
        .contains(&word.trim_start_matches('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_a_sentence() {
        let text = "Thanks! Use v1.2 of it, e.g. for tests. See `a. b`\nand more.\n\n```\nalways x\n```\n> never y\n    always z\n\
            error: never do this\n2026-10-07 always\n- first item\n2. second item";
        assert_eq!(
            sentences(text),
            [
                "Thanks!",
                "Use v1.2 of it, e.g. for tests.",
                "See `a. b` and more.",
                "first item",
                "second item"
            ]
        );
        assert_eq!(sentences("See\n<file a=\"b\">\nalways x\n</file>\nafter"), ["See", "after"]);
        assert_eq!(sentences("~~~\nalways\n```\nnever\n~~~\nafter"), ["after"]);
        assert_eq!(sentences(&"x".repeat(LONGEST + 1)), [""; 0]);
    }
}
