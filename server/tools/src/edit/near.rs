//! What to say when the text to replace is not there: where nearly the same text is, and how it differs.
//!
//! "Quotes and whitespace variants are suggested, never guessed."

use crate::diff::number_lines;

/// A way of looking at a line that forgives one kind of difference.
type Blur = fn(&str) -> String;

const BLURS: &[(&str, Blur)] = &[
    ("trailing spaces", trim_end),
    ("the kind of quotes, dashes or spaces", plain_characters),
    ("indentation, tabs or spaces", squeeze),
    ("quotes, dashes, indentation or spaces", plain_and_squeezed),
];

const MAX_PLACES: usize = 3;
const MAX_LINES_SHOWN: usize = 20;

pub(super) fn explain(text: &str, wanted: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = trim_blank_ends(wanted.lines().collect());
    for (difference, blur) in BLURS {
        let places = find(&lines, &wanted, *blur);
        if !places.is_empty() {
            return nearly(&lines, &wanted, &places, difference);
        }
    }
    if let Some(stripped) = without_line_numbers(&wanted)
        && !find(&lines, &trim_blank_ends(stripped.lines().collect()), squeeze).is_empty()
    {
        return "old_string was not found; it seems to contain the line numbers that Read shows, leave them out".to_owned();
    }
    begins_alike(&lines, &wanted).unwrap_or_else(|| {
        "old_string was not found; read the file again and copy the text exactly".to_owned()
    })
}

fn nearly(lines: &[&str], wanted: &[&str], places: &[usize], difference: &str) -> String {
    let mut message = format!("old_string was not found; this text differs only in {difference}:\n");
    for place in places.iter().take(MAX_PLACES) {
        let end = place + wanted.len().min(MAX_LINES_SHOWN);
        number_lines(&mut message, lines, *place..end);
    }
    if places.len() > MAX_PLACES {
        message.push_str(&format!("and {} more places\n", places.len() - MAX_PLACES));
    }
    let there: Vec<&str> =
        places.first().and_then(|place| lines.get(*place..place + wanted.len())).unwrap_or_default().to_vec();
    for hint in hints(&there, wanted) {
        message.push_str(&hint);
        message.push('\n');
    }
    message.push_str("Copy old_string from there exactly");
    message
}

/// What the eye misses.
fn hints(there: &[&str], wanted: &[&str]) -> Vec<String> {
    let has = |lines: &[&str], characters: &[char]| lines.iter().any(|line| line.contains(characters));
    let mut hints = Vec::new();
    for (characters, name) in [
        (&['\t'][..], "tabs"),
        (&['\u{a0}', '\u{202f}'][..], "no-break spaces"),
        (&['“', '”', '‘', '’'][..], "curly quotes"),
    ] {
        match (has(there, characters), has(wanted, characters)) {
            (true, false) => hints.push(format!("The file has {name} there, old_string has not.")),
            (false, true) => hints.push(format!("old_string has {name}, the file has none there.")),
            _ => {}
        }
    }
    let trailing = |lines: &[&str]| lines.iter().any(|line| line.ends_with([' ', '\t']));
    match (trailing(there), trailing(wanted)) {
        (true, false) => hints.push("Lines of the file end in spaces there.".to_owned()),
        (false, true) => hints.push("Lines of old_string end in spaces, the file's do not.".to_owned()),
        _ => {}
    }
    hints
}

/// Where the wanted lines are, seen through `blur`; the first may begin and the last may end inside a line.
fn find(lines: &[&str], wanted: &[&str], blur: Blur) -> Vec<usize> {
    let lines: Vec<String> = lines.iter().map(|line| blur(line)).collect();
    let wanted: Vec<String> = wanted.iter().map(|line| blur(line)).collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let matches = |window: &[String]| match (window, wanted.as_slice()) {
        ([only], [part]) => only.contains(part.as_str()),
        ([first, middle @ .., last], [end, whole @ .., start]) => {
            first.ends_with(end.as_str()) && last.starts_with(start.as_str()) && middle == whole
        }
        _ => false,
    };
    lines.windows(wanted.len()).enumerate().filter(|(_, window)| matches(window)).map(|(at, _)| at).collect()
}

/// Says where the first wanted lines are and which is the first that differs.
fn begins_alike(lines: &[&str], wanted: &[&str]) -> Option<String> {
    let blurred: Vec<String> = wanted.iter().map(|line| plain_and_squeezed(line)).collect();
    let first = blurred.first().filter(|line| line.len() > 2)?;
    let run = |at: usize| {
        let rest = lines.get(at..).unwrap_or_default();
        rest.iter().zip(&blurred).take_while(|(line, wanted)| plain_and_squeezed(line) == **wanted).count()
    };
    let starts = lines.iter().enumerate().filter(|(_, line)| plain_and_squeezed(line) == *first);
    let (at, alike) =
        starts.map(|(at, _)| (at, run(at))).max_by_key(|(at, alike)| (*alike, usize::MAX - at))?;
    let mut message = format!(
        "old_string was not found; it begins like line {}, but differs from line {} on, where the file has\n",
        at + 1,
        at + alike + 1
    );
    number_lines(&mut message, lines, at + alike..at + alike + 3);
    if at + alike >= lines.len() {
        message.push_str("nothing more\n");
    }
    message.push_str("Copy old_string from the file exactly");
    Some(message)
}

/// The lines without `  12\t` before each; `None` when one has no number.
fn without_line_numbers(wanted: &[&str]) -> Option<String> {
    let stripped: Option<Vec<&str>> = wanted
        .iter()
        .map(|line| {
            let (number, rest) = line.trim_start().split_once(['\t', '→'])?;
            number.parse::<u32>().ok().map(|_| rest)
        })
        .collect();
    stripped.map(|lines| lines.join("\n"))
}

fn trim_blank_ends(lines: Vec<&str>) -> Vec<&str> {
    let is_text = |line: &&str| !line.trim().is_empty();
    let start = lines.iter().position(is_text).unwrap_or(0);
    let end = lines.iter().rposition(is_text).map_or(lines.len(), |last| last + 1);
    lines.get(start..end).unwrap_or_default().to_vec()
}

fn trim_end(line: &str) -> String {
    line.trim_end().to_owned()
}

fn plain_characters(line: &str) -> String {
    line.trim_end()
        .chars()
        .map(|character| match character {
            '“' | '”' | '„' | '«' | '»' => '"',
            '‘' | '’' | '‚' | '`' | '´' => '\'',
            '–' | '—' | '‑' | '−' => '-',
            '\u{a0}' | '\u{202f}' | '\u{2009}' => ' ',
            other => other,
        })
        .collect()
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain_and_squeezed(line: &str) -> String {
    squeeze(&plain_characters(line))
}
