//! A program's words, read by its row in the table as GNU getopt reads them: options anywhere before `--`, letters
//! bundled, a value in the same word or the next. Abbreviated options are not known.

use super::{
    format,
    operand::secret_in,
    table::{Operands, Program, Value, Values},
    word::Word,
};

/// What a command was given.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    /// Names of options, without their dashes.
    pub(super) options: Vec<String>,
    pub(super) operands: Vec<&'a Word>,
    /// Values of options that name files to be read.
    pub(super) files: Vec<&'a str>,
    /// Values of options that name lines of files.
    pub(super) lines: Vec<&'a str>,
    /// Options with a pattern that is not quoted.
    pub(super) patterns: Vec<&'a Word>,
    /// The operands from here on come behind `--`.
    pub(super) plain_from: Option<usize>,
}

impl Given<'_> {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&option.as_str()))
    }

    /// Whether this operand could not be taken for an option, whatever it turns out to be.
    pub(super) fn is_plain(&self, index: usize) -> bool {
        self.plain_from.is_some_and(|from| index >= from)
    }
}

pub(super) fn read<'a>(program: &Program, words: &'a [Word]) -> Result<Given<'a>, String> {
    let mut given = Given::default();
    if program.operands == Operands::Printed {
        given.operands.extend(words);
        return Ok(given);
    }
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let start = word.literal_start();
        if given.plain_from.is_some() || !start.starts_with('-') || word.literal() == Some("-") {
            given.operands.push(word);
            continue;
        }
        let Some(text) = word.literal() else {
            // `--include=*.md`: whatever it matches begins with the same option.
            pattern_option(program, word)?;
            given.patterns.push(word);
            continue;
        };
        if text == "--" {
            if program.words_after_dashes {
                given.plain_from = Some(given.operands.len());
                continue;
            }
            return Err(format!("`{} --` is not on the list", program.name));
        }
        let tells = program.tells_of_itself && matches!(text, "--help" | "--version");
        if tells || program.exact.contains(&text) {
            given.options.push(text.trim_start_matches('-').to_owned());
        } else if let Some(long) = text.strip_prefix("--") {
            read_long(program, long, &mut words, &mut given)?;
        } else {
            read_letters(program, text, &mut words, &mut given)?;
        }
    }
    Ok(given)
}

fn read_long<'a>(
    program: &Program,
    text: &'a str,
    words: &mut impl Iterator<Item = &'a Word>,
    given: &mut Given<'a>,
) -> Result<(), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let unknown = || Err(format!("`{} --{name}` is not on the list", program.name));
    let known =
        |list: &[(Value, &str)]| list.iter().find(|(_, names)| has(names, name)).map(|(kind, _)| *kind);
    match value {
        None if has(program.long, name) || known(program.long_optional).is_some() => {}
        None => match known(program.long_valued) {
            Some(kind) => take_next(program, name, kind, words, given)?,
            None => return unknown(),
        },
        Some(value) => match known(program.long_valued).or_else(|| known(program.long_optional)) {
            Some(kind) => take(program, name, kind, value, given)?,
            None => return unknown(),
        },
    }
    given.options.push(name.to_owned());
    Ok(())
}

fn read_letters<'a>(
    program: &Program,
    text: &'a str,
    words: &mut impl Iterator<Item = &'a Word>,
    given: &mut Given<'a>,
) -> Result<(), String> {
    let letters = text.strip_prefix('-').unwrap_or(text);
    if program.numbers && letters.chars().all(|character| character.is_ascii_digit()) {
        return Ok(());
    }
    let mut characters = letters.chars();
    while let Some(letter) = characters.next() {
        let name = letter.to_string();
        if program.flags.contains(letter) {
            given.options.push(name);
            continue;
        }
        let Some((kind, _)) = program.valued.iter().find(|(_, letters)| letters.contains(letter)) else {
            return Err(format!("`{} -{letter}` is not on the list", program.name));
        };
        match characters.as_str() {
            "" => take_next(program, &name, *kind, words, given)?,
            _ if program.values == Values::NextWord => {
                return Err(format!(
                    "`{}` with a value right behind `-{letter}` is not on the list",
                    program.name
                ));
            }
            value => take(program, &name, *kind, value, given)?,
        }
        given.options.push(name);
        return Ok(());
    }
    Ok(())
}

fn take_next<'a>(
    program: &Program,
    option: &str,
    kind: Value,
    words: &mut impl Iterator<Item = &'a Word>,
    given: &mut Given<'a>,
) -> Result<(), String> {
    let count = if matches!(kind, Value::Pair | Value::PairFile) { 2 } else { 1 };
    for index in 0..count {
        let Some(word) = words.next() else {
            return Err(format!("`{}` needs a value for `{option}`", program.name));
        };
        let Some(text) = word.literal().filter(|_| !word.is_home) else {
            return Err(format!("the value of `{option}` is not known here"));
        };
        if program.values == Values::Wary {
            if text.starts_with('-') {
                return Err(format!("the value of `{option}` may be taken for an option"));
            }
            given.operands.push(word);
        }
        match kind {
            Value::PairFile if index == 1 => given.files.push(text),
            Value::Pair | Value::PairFile => {}
            _ => take(program, option, kind, text, given)?,
        }
    }
    Ok(())
}

fn take<'a>(
    program: &Program,
    option: &str,
    kind: Value,
    value: &'a str,
    given: &mut Given<'a>,
) -> Result<(), String> {
    let fits = match kind {
        Value::Text => true,
        Value::Pattern => secret_in(value).is_none(),
        Value::Number => is_number(value),
        Value::Width => is_small(value),
        Value::Format => format::widths_are_small(value),
        Value::GitFormat => format::is_harmless_to_git(value),
        Value::Time => !format::names_time_zone(value),
        Value::Lines => {
            given.lines.push(value);
            true
        }
        Value::OneOf(values) => values.contains(&value),
        Value::File => {
            given.files.push(value);
            true
        }
        // Two words each, never in one.
        Value::Pair | Value::PairFile => false,
    };
    if fits {
        return Ok(());
    }
    Err(format!("`{}` with `{value}` for `{option}` is not on the list", program.name))
}

fn pattern_option(program: &Program, word: &Word) -> Result<(), String> {
    let option = word.literal_start().strip_prefix("--").and_then(|start| start.split_once('='));
    let known = option.is_some_and(|(name, _)| {
        program.long_valued.iter().any(|(kind, names)| *kind == Value::Pattern && has(names, name))
    });
    if known {
        return Ok(());
    }
    Err("it has an option with a pattern that is not quoted".to_owned())
}

fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}

fn is_small(value: &str) -> bool {
    value.len() <= format::MOST_DIGITS && value.chars().all(|character| character.is_ascii_digit())
}

/// `5`, `+5`, `-5`, `10k`, `2MiB`.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    let unit = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    digits.len() > unit.len()
        && unit.len() <= 3
        && unit.chars().all(|character| "bkKmMGTPEZYiB".contains(character))
}
