//! `judge(command, cwd)`: does this shell line change nothing, and if so, what does it read?
//!
//! "Parsed with a real shell grammar, never by regex; every command of every pipeline, list and substitution must be
//! on the list … What cannot be parsed is denied." Substitutions are not accepted at all: what they print could become
//! an option. What is accepted is written anew as a script in which nothing is left to the shell's reading: programs by
//! path, every word quoted, every pattern replaced by the names it matches now. That script is what runs.
//!
//! The stages, each in its file: characters (what is refused unseen), grammar (commands and words), word (quotes),
//! table, options, format, filter, find and git (which options change nothing), operand and pattern (which files), trusted (whose
//! program). Deciding whether those files may be read is [`crate::decide`]'s.

mod characters;
mod filter;
mod find;
mod format;
mod git;
mod grammar;
mod operand;
mod options;
mod pattern;
mod table;
mod trusted;
mod word;

use std::path::{Path, PathBuf};

pub use self::trusted::Trusted;
use self::{
    grammar::{Command, Joint, Redirect},
    operand::{Dashes, Use},
    options::Given,
    table::{Operands, Program, Stdin, Walk, Without},
    word::{Style, Word, quote},
};
use crate::{
    access::{Judged, Reach},
    paths::{Lead, lead},
};

/// Where a line would run, and what it may run there.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// Absolute.
    pub cwd: &'a Path,
    /// What `"$HOME"` is, if that is to be understood.
    pub home: Option<&'a Path>,
    pub programs: Programs,
    pub trusted: Trusted,
}

/// Which of the programs that change nothing are on the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Programs {
    /// Those that an agent without a user beside it needs to look around.
    Few,
    #[default]
    All,
}

const FEW: &[&str] = &["ls", "find", "grep", "cat", "stat", "wc", "head", "tail"];

/// The script is one word, and the system takes none of more than 128 KiB.
const LONGEST_SCRIPT: usize = 96 * 1024;

/// For a command of the conversation: any program on the list that is installed. Err is why it is not judged.
pub fn judge(command: &str, cwd: &Path) -> Result<Judged, String> {
    let programs = Programs::All;
    judge_in(command, &Surroundings { cwd, home: None, programs, trusted: Trusted::Installed })
}

pub fn judge_in(command: &str, surroundings: &Surroundings<'_>) -> Result<Judged, String> {
    characters::check(command)?;
    if lead(surroundings.cwd) == Lead::ByProcess {
        return Err("its folder is another one for every process".to_owned());
    }
    let home = surroundings.home.and_then(Path::to_str);
    let commands = grammar::parse(command, home)?;
    let mut judged = Judged { folder: surroundings.cwd.to_owned(), ..Judged::default() };
    for command in &commands {
        let joint = match command.joint {
            Joint::First => "",
            Joint::Pipe => " | ",
            Joint::And => " && ",
            Joint::Or => " || ",
            Joint::Then => "; ",
        };
        judged.script.push_str(joint);
        judge_command(command, surroundings, &mut judged)?;
    }
    if judged.script.len() > LONGEST_SCRIPT {
        return Err("its patterns match too many files".to_owned());
    }
    judged.reads.sort();
    judged.reads.dedup();
    judged.reads.retain(|path| path != Path::new("/dev/null"));
    Ok(judged)
}

/// The files that a line removes, as it names them, if it does nothing else: `rm`, once or several times, with
/// names that leave nothing to the shell.
pub fn removals(command: &str) -> Option<Vec<String>> {
    characters::check(command).ok()?;
    let mut names = Vec::new();
    for command in grammar::parse(command, None).ok()? {
        let joined = matches!(command.joint, Joint::First | Joint::And | Joint::Then);
        let harmless = command.redirects.iter().all(|redirect| !matches!(redirect, Redirect::Input(_)));
        let words: Vec<&str> = command.words.iter().map(Word::literal).collect::<Option<_>>()?;
        let ("rm", rest) = words.split_first().map(|(first, rest)| (*first, rest))? else { return None };
        if !joined || !harmless {
            return None;
        }
        let (options, files): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with('-'));
        if files.is_empty() || !options.iter().all(|option| matches!(*option, "-f" | "-v" | "-fv" | "--")) {
            return None;
        }
        names.extend(files.into_iter().map(str::to_owned));
    }
    (!names.is_empty()).then_some(names)
}

/// What one command was found to do.
#[derive(Debug, Default)]
struct Effects {
    reads: Vec<PathBuf>,
    reach: Reach,
    /// Whether it goes through folders and on through the links it finds there, however far they lead.
    follows: bool,
    forced: Forced,
}

/// What is added to a command so that nothing but its own words decides what it does.
#[derive(Debug, Default)]
struct Forced {
    /// Assignments, with a blank at the end.
    environment: String,
    /// Words to put before the argument with this index.
    words: Vec<(usize, &'static [&'static str])>,
}

fn judge_command(
    command: &Command,
    surroundings: &Surroundings<'_>,
    judged: &mut Judged,
) -> Result<(), String> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Err("there is a redirection without a command".to_owned());
    };
    let (name, path) = resolve(program, surroundings)?;
    let mut effects = Effects::default();
    let cwd = surroundings.cwd;
    let fed = command.joint == Joint::Pipe
        || command.redirects.iter().any(|redirect| matches!(redirect, Redirect::Input(_)));
    match name {
        "find" => find::judge(arguments, cwd, &mut effects)?,
        "git" => git::judge(arguments, cwd, &mut effects)?,
        _ => {
            let Some(row) = table::find(name) else { return Err(format!("`{name}` is not on the list")) };
            judge_by_table(row, arguments, cwd, fed, &mut effects)?;
        }
    }
    for redirect in &command.redirects {
        if let Redirect::Input(word) = redirect {
            let Some(path) = word.literal().filter(|_| !word.is_home) else {
                return Err("it reads from a file whose name is not known here".to_owned());
            };
            effects.reads.push(operand::file(path, cwd, Use::Opened)?);
        }
    }
    if effects.follows && surroundings.programs == Programs::Few {
        return Err(format!("`{name}` would follow links, with nobody there to say how far"));
    }
    write(&path, arguments, &command.redirects, &effects.forced, &mut judged.script)
        .ok_or("it has a pattern where none is expected")?;
    judged.reads.append(&mut effects.reads);
    judged.reach = judged.reach.max(effects.reach);
    Ok(())
}

/// The program's name and its path.
fn resolve<'a>(program: &'a Word, surroundings: &Surroundings<'_>) -> Result<(&'a str, String), String> {
    let Some(text) = program.literal().filter(|_| program.style != Style::Mixed) else {
        return Err("the program's name is not written plainly".to_owned());
    };
    let name = text.rsplit('/').next().unwrap_or(text);
    if !matches!(name, "find" | "git") && table::find(name).is_none() {
        return Err(format!("`{name}` is not on the list of programs that change nothing"));
    }
    if surroundings.programs == Programs::Few && !FEW.contains(&name) {
        return Err(format!("`{name}` is on the list for conversations only"));
    }
    let path = surroundings.trusted.find(text)?;
    match path.to_str() {
        Some(path) => Ok((name, path.to_owned())),
        None => Err(format!("the path of `{name}` is no text")),
    }
}

fn judge_by_table(
    program: &'static Program,
    arguments: &[Word],
    cwd: &Path,
    fed: bool,
    effects: &mut Effects,
) -> Result<(), String> {
    let given = options::read(program, arguments)?;
    effects.forced.words.push((0, program.forced));
    for word in &given.patterns {
        operand::option(word, cwd)?;
    }
    for path in &given.files {
        if *path == "-" {
            needs_input(program, fed)?;
        } else {
            effects.reads.push(operand::file(path, cwd, Use::Opened)?);
        }
    }
    let (walks, reads_text) = match program.walk {
        Walk::Never => (false, false),
        Walk::Names(options) => (given.has(options), false),
        Walk::AlwaysNames => (true, false),
        Walk::Text(options) => (given.has(options), true),
        Walk::AlwaysText => (true, true),
    };
    let (files, without) = match program.operands {
        Operands::Files(without) => (given.operands.as_slice(), without),
        Operands::OneFile => {
            count(program, &given, 0, 1)?;
            // Where options end with the first operand, a later one would be the file that is written.
            if let Some(operand) = given.operands.first()
                && !arguments.last().is_some_and(|last| std::ptr::eq(last, *operand))
            {
                return Err(format!("the operand of `{}` does not come last", program.name));
            }
            (given.operands.as_slice(), Without::Stdin)
        }
        Operands::TwoFiles => {
            count(program, &given, 2, 2)?;
            (given.operands.as_slice(), Without::Stdin)
        }
        Operands::PatternThenFiles(options, without) => match given.operands.split_first() {
            _ if given.has(options) => (given.operands.as_slice(), without),
            Some((pattern, files)) if pattern.literal().is_some() && !pattern.is_home => (files, without),
            Some(_) => return Err(format!("the pattern of `{}` is not quoted", program.name)),
            None => return Err(format!("`{}` needs a pattern", program.name)),
        },
        Operands::FilterThenFiles => match given.operands.split_first() {
            Some((filter, files)) => {
                filter::check(filter)?;
                (files, if given.has(&["n", "null-input"]) { Without::Folder } else { Without::Stdin })
            }
            None => return Err(format!("`{}` needs a filter", program.name)),
        },
        Operands::Words(most, start, stdin) => {
            count(program, &given, 0, most)?;
            for word in given.operands.iter().filter(|word| word.is_pattern() && start.is_empty()) {
                operand::matching_nothing(word, cwd)?;
            }
            let fits = |word: &&Word| {
                (!word.is_pattern() || start.is_empty())
                    && !word.is_home
                    && word.literal_start().starts_with(start)
            };
            let is_wide = |word: &&Word| !format::widths_are_small(word.literal().unwrap_or_default());
            if !given.operands.iter().all(fits) || (program.formats && given.operands.iter().any(is_wide)) {
                return Err(format!("an operand of `{}` is not on the list", program.name));
            }
            if stdin == Stdin::Read {
                needs_input(program, fed)?;
            }
            effects.reads.push(cwd.to_owned());
            return Ok(());
        }
        Operands::Printed => {
            for word in given.operands.iter().filter(|word| word.is_pattern()) {
                effects.reads.extend(operand::files(word, cwd, Use::Named, Dashes::Refused)?);
            }
            return Ok(());
        }
    };
    let first = given.operands.len() - files.len();
    let mut named = Vec::new();
    for (index, word) in files.iter().enumerate() {
        if word.literal() == Some("-") {
            needs_input(program, fed)?;
            continue;
        }
        named.extend(operand_files(program, &given, first + index, word, cwd, walks)?);
    }
    if files.is_empty() {
        let reads_stdin = match without {
            Without::Stdin => true,
            Without::Folder => false,
            Without::FolderOnWalk => !walks,
        };
        if reads_stdin {
            needs_input(program, fed)?;
        } else {
            named.push(cwd.to_owned());
        }
    }
    if walks && named.iter().any(|path| operand::is_root(path)) {
        return Err(format!("`{}` would go through the whole file system", program.name));
    }
    // Two folders are compared file by file, through links.
    let compares_folders = program.operands == Operands::TwoFiles && named.iter().any(|path| path.is_dir());
    if ((walks && reads_text) || compares_folders)
        && named.iter().any(|path| operand::is_full_of_secrets(path))
    {
        return Err(format!("`{}` would go through a folder with credentials", program.name));
    }
    let follows = given.has(program.through_links) || compares_folders;
    effects.follows = follows && (walks || compares_folders);
    effects.reach = match (walks && reads_text, follows) {
        (_, true) => Reach::ThroughLinks,
        (true, false) => Reach::Below,
        (false, false) => Reach::Named,
    };
    effects.reads.append(&mut named);
    Ok(())
}

fn operand_files(
    program: &Program,
    given: &Given<'_>,
    index: usize,
    word: &Word,
    cwd: &Path,
    walks: bool,
) -> Result<Vec<PathBuf>, String> {
    if word.is_home && (program.name != "ls" || walks) {
        return Err("the home may only be listed".to_owned());
    }
    if word.is_pattern() && matches!(program.operands, Operands::OneFile | Operands::TwoFiles) {
        return Err(format!("it has a pattern that may become too many operands of `{}`", program.name));
    }
    let plain = given.is_plain(index) || program.options_are_harmless;
    let dashes = if plain { Dashes::Harmless } else { Dashes::Refused };
    let files = operand::files(word, cwd, program.operand_use, dashes)?;
    if program.plus_is_option && word.begins_with('+') {
        return Err(format!("`{}` may take an operand with a plus for an option", program.name));
    }
    Ok(files)
}

fn count(program: &Program, given: &Given<'_>, least: usize, most: usize) -> Result<(), String> {
    if (least..=most).contains(&given.operands.len()) {
        return Ok(());
    }
    Err(format!("`{}` with {} operands is not on the list", program.name, given.operands.len()))
}

fn needs_input(program: &Program, fed: bool) -> Result<(), String> {
    if fed {
        return Ok(());
    }
    Err(format!("`{}` would wait for input that nobody gives", program.name))
}

/// `None` where a pattern was not looked up: no wildcard is left to the shell.
fn write(
    path: &str,
    arguments: &[Word],
    redirects: &[Redirect],
    forced: &Forced,
    script: &mut String,
) -> Option<()> {
    script.push_str(&forced.environment);
    quote(path, script);
    for index in 0..=arguments.len() {
        for (_, words) in forced.words.iter().filter(|(before, _)| *before == index) {
            for word in *words {
                script.push(' ');
                quote(word, script);
            }
        }
        if let Some(word) = arguments.get(index) {
            script.push(' ');
            word.write(script)?;
        }
    }
    for redirect in redirects {
        script.push(' ');
        match redirect {
            Redirect::Discard(sign) => {
                script.push_str(sign);
                script.push_str("/dev/null");
            }
            Redirect::Descriptor(text) => script.push_str(text),
            Redirect::Input(word) => {
                script.push('<');
                word.write(script)?;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
