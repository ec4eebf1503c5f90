//! What the user wants, by the words they begin with. First rule that fits wins.

use super::{
    extract,
    terms::{Term, is_file_name, take_quoted, terms},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Greetings, thanks, and questions about the model itself.
    Help,
    Remember {
        statement: String,
    },
    /// What a memory is about that is to go.
    Forget {
        topic: String,
    },
    /// What is in memory, as a whole.
    Recall,
    Read {
        path: String,
        lines: Option<(usize, usize)>,
    },
    List {
        pattern: String,
    },
    Run {
        command: String,
        background: bool,
    },
    JobOutput {
        job: String,
    },
    StopJob {
        job: String,
    },
    Replace {
        path: String,
        changes: Vec<(String, String)>,
        everywhere: bool,
    },
    Create {
        path: String,
        content: String,
    },
    Todo {
        items: Vec<String>,
    },
    AskBack {
        question: String,
    },
    /// What this repository is.
    About,
    /// How to build, test, run or install it.
    HowTo {
        topic: String,
    },
    Search {
        terms: Vec<Term>,
    },
}

pub(super) fn understand(question: &str) -> Intent {
    let mut text = question.trim();
    for filler in ["please ", "could you ", "can you ", "would you ", "now ", "and ", "also ", "ok, ", "ok "]
    {
        let begins = text.get(..filler.len()).is_some_and(|start| start.eq_ignore_ascii_case(filler));
        text = text.get(filler.len()..).filter(|_| begins).unwrap_or(text);
    }
    // Only ASCII changes, so positions in one are positions in the other.
    let lower = text.to_ascii_lowercase();
    None.or_else(|| help(&lower))
        .or_else(|| recall(&lower))
        .or_else(|| forget(text, &lower))
        .or_else(|| remember(text, &lower))
        .or_else(|| command(text, &lower))
        .or_else(|| replace(text, &lower))
        .or_else(|| create(text, &lower))
        .or_else(|| todo_or_ask(text, &lower))
        .or_else(|| list(text, &lower))
        .or_else(|| read(text, &lower))
        .unwrap_or_else(|| question_about(text, &lower))
}

fn help(lower: &str) -> Option<Intent> {
    let plain = lower.trim_matches(|c: char| !c.is_alphanumeric());
    let first = plain.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let short = plain.split_whitespace().count() <= 3;
    let greets = short && ["hi", "hello", "hey", "thanks", "thank", "ok", "bye", "good"].contains(&first);
    let asks = ["help", "what can you do", "who are you", "what are you", "never mind", "nevermind"];
    (plain.is_empty() || greets || asks.contains(&plain)).then_some(Intent::Help)
}

fn recall(lower: &str) -> Option<Intent> {
    let plain = lower.trim_end_matches(|c: char| !c.is_alphanumeric());
    let whole = [
        "what do you remember",
        "what do you know about me",
        "what do you remember about me",
        "what have i told you",
        "what did i tell you",
        "show your memory",
        "show memories",
        "list memories",
        "who am i",
    ];
    whole.contains(&plain).then_some(Intent::Recall)
}

fn forget(text: &str, lower: &str) -> Option<Intent> {
    let rest = lower.strip_prefix("please ").unwrap_or(lower);
    let rest = rest.strip_prefix("forget ").filter(|_| !lower.ends_with('?'))?;
    let mut at = text.len() - rest.len();
    for filler in
        ["that ", "about ", "what i said about ", "what i told you about ", "the memory about ", "it "]
    {
        if lower.get(at..).is_some_and(|rest| rest.starts_with(filler)) {
            at += filler.len();
        }
    }
    let topic = text.get(at..)?.trim().trim_end_matches(['.', '!']);
    (!topic.is_empty()).then(|| Intent::Forget { topic: topic.to_owned() })
}

fn remember(text: &str, lower: &str) -> Option<Intent> {
    if let Some(statement) = text.strip_prefix('#') {
        let statement = statement.trim_start_matches('#').trim();
        return (!statement.is_empty()).then(|| Intent::Remember { statement: statement.to_owned() });
    }
    if lower.ends_with('?') {
        return None;
    }
    for lead in ["remember", "don't forget", "do not forget", "keep in mind", "note"] {
        let Some(rest) = lower.strip_prefix(lead).filter(|rest| !rest.starts_with(char::is_alphanumeric))
        else {
            continue;
        };
        let mut at = text.len() - rest.len();
        for filler in [":", ",", " ", "that ", "to ", "this: ", ": "] {
            let rest = lower.get(at..).unwrap_or_default();
            if rest.starts_with(filler) {
                at += filler.len();
            }
        }
        let statement = text.get(at..).unwrap_or_default().trim();
        if !statement.is_empty() && (lead != "note" || lower.starts_with("note that")) {
            return Some(Intent::Remember { statement: statement.to_owned() });
        }
    }
    let standing = [
        "always ",
        "never ",
        "from now on",
        "i am ",
        "i'm ",
        "i prefer ",
        "i like ",
        "i work ",
        "i use ",
        "my name is ",
        "call me ",
        "we decided ",
        "we agreed ",
        "we use ",
        "we always ",
        "we never ",
    ];
    let tells = standing.iter().any(|start| lower.starts_with(start)) && extract::tells_one_thing(text);
    tells.then(|| Intent::Remember { statement: text.to_owned() })
}

fn command(text: &str, lower: &str) -> Option<Intent> {
    let rest = ["run ", "execute ", "$ ", "!"].iter().find_map(|lead| {
        let rest = lower.strip_prefix(lead)?;
        text.get(text.len() - rest.len()..)
    });
    if let Some(rest) = rest {
        let (command, background) = match rest.trim().strip_suffix(" in the background") {
            Some(command) => (command, true),
            None => (rest.trim(), false),
        };
        let command = command.trim_matches('`').trim();
        let first = command.split_whitespace().next().unwrap_or_default();
        // "Run the tests" names a wish, not a command.
        if ["the", "all", "my", "your", "our", "it", "this", "tests"].contains(&first) || command.is_empty() {
            return Some(Intent::HowTo { topic: how_to_topic(lower).unwrap_or("run").to_owned() });
        }
        return Some(Intent::Run { command: command.to_owned(), background });
    }
    let job = text.split_whitespace().find(|word| word.starts_with("bash_"))?;
    let job = job.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let first = lower.split_whitespace().next()?;
    match first {
        "stop" | "kill" | "end" => Some(Intent::StopJob { job }),
        "output" | "show" | "check" => Some(Intent::JobOutput { job }),
        _ => None,
    }
}

fn replace(text: &str, lower: &str) -> Option<Intent> {
    let starts =
        ["edit ", "replace ", "change ", "in ", "rename "].iter().any(|start| lower.starts_with(start));
    if !starts || !lower.contains(" with ") && !lower.contains(" to ") && !lower.contains(" by ") {
        return None;
    }
    let (quoted, rest) = take_quoted(text);
    let path = file_in(&rest)?;
    let mut texts = quoted.into_iter();
    let mut changes = Vec::new();
    while let (Some(old), Some(new)) = (texts.next(), texts.next()) {
        changes.push((old, new));
    }
    let everywhere = [" everywhere", " all "].iter().any(|word| lower.contains(word));
    (!changes.is_empty()).then_some(Intent::Replace { path, changes, everywhere })
}

fn create(text: &str, lower: &str) -> Option<Intent> {
    if !["create ", "write "].iter().any(|start| lower.starts_with(start)) {
        return None;
    }
    let (quoted, rest) = take_quoted(text);
    let path = file_in(rest.split_once(':').map_or(rest.as_str(), |(before, _)| before))?;
    let content = match text.split_once(":\n").or_else(|| text.split_once(": ")) {
        Some((before, content)) if before.contains(&path) => content.to_owned(),
        _ => quoted.first()?.clone(),
    };
    let content = if content.ends_with('\n') { content } else { format!("{content}\n") };
    Some(Intent::Create { path, content })
}

fn todo_or_ask(text: &str, lower: &str) -> Option<Intent> {
    if let Some(rest) = lower.strip_prefix("todo:").or_else(|| lower.strip_prefix("todos:")) {
        let rest = text.get(text.len() - rest.len()..)?;
        let items: Vec<String> = rest
            .split(['\n', ';', ','])
            .map(|item| item.trim().trim_start_matches(['-', '*', ' ']).to_owned())
            .filter(|item| !item.is_empty())
            .collect();
        return (!items.is_empty()).then_some(Intent::Todo { items });
    }
    let rest = lower.strip_prefix("ask me ")?;
    let question = text.get(text.len() - rest.len()..)?.trim().to_owned();
    Some(Intent::AskBack { question })
}

fn list(text: &str, lower: &str) -> Option<Intent> {
    let plain = lower.trim_end_matches(['.', '?', '!']);
    if ["ls", "list files", "list the files", "list", "show files", "what files are here"].contains(&plain) {
        return Some(Intent::List { pattern: "*".to_owned() });
    }
    let rest = ["list ", "ls ", "glob ", "find files "].iter().find_map(|start| plain.strip_prefix(start))?;
    let rest = text.get(plain.len() - rest.len()..)?;
    let mut words = rest.split_whitespace().map(|word| word.trim_matches(['`', '"', '\'', '.', '?']));
    let named = words.rfind(|word| word.contains('*') || word.contains('/') || word.contains('.'));
    let pattern = match named {
        Some(glob) if glob.contains('*') && glob.contains('/') => glob.to_owned(),
        Some(glob) if glob.contains('*') => format!("**/{glob}"),
        Some(name) if is_file_name(name) && name.contains('.') => format!("**/{name}"),
        Some(folder) => format!("{}/**/*", folder.trim_end_matches('/')),
        None if rest.to_lowercase().contains("all files") => "**/*".to_owned(),
        None => format!("{}/*", rest.to_lowercase().strip_prefix("files in ")?.trim()),
    };
    Some(Intent::List { pattern })
}

fn read(text: &str, lower: &str) -> Option<Intent> {
    let starts = ["read ", "show ", "open ", "cat ", "print ", "display ", "view "];
    starts.iter().find(|start| lower.starts_with(*start))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let clean =
        |word: &str| word.trim_matches(['`', '"', '\'', ',', '?', '!']).trim_end_matches('.').to_owned();
    // `src/lib.rs:10-20` as well as "lines 10-20 of src/lib.rs".
    let mut lines = None;
    let mut path = None;
    for (at, word) in words.iter().enumerate().skip(1) {
        let word = clean(word);
        let (name, range) = word.split_once(':').unwrap_or((&word, ""));
        if is_file_name(name) {
            lines = range_of(range).or(lines);
            path = Some(name.to_owned());
        } else if ["line", "lines"].contains(&word.as_str()) {
            lines = words.get(at + 1).and_then(|next| range_of(&clean(next)));
        }
    }
    // More words than a path and small talk make it a question about the file.
    (words.len() <= 8).then_some(Intent::Read { path: path?, lines })
}

fn question_about(text: &str, lower: &str) -> Intent {
    let terms = terms(text);
    let about_here =
        ["project", "repo", "codebase", "code base", "workspace", "this", "overview", "looking at", "here"]
            .iter()
            .any(|word| lower.contains(word));
    let only = |words: &[&str]| terms.iter().all(|term| words.contains(&term.stem.as_str()));
    if let Some(topic) = how_to_topic(lower)
        && lower.contains("how")
        && only(&["build", "built", "test", "run", "install", "start", "compil", "set", "setup"])
    {
        return Intent::HowTo { topic: topic.to_owned() };
    }
    if about_here
        && only(&[
            "overview", "summariz", "summaris", "summar", "purpos", "looking", "look", "brief", "short",
        ])
    {
        return Intent::About;
    }
    Intent::Search { terms }
}

fn how_to_topic(lower: &str) -> Option<&'static str> {
    ["test", "build", "built", "install", "run", "start", "compile", "set up", "setup"]
        .into_iter()
        .find(|topic| lower.contains(topic))
        .map(|topic| match topic {
            "compile" | "built" => "build",
            "start" => "run",
            "set up" | "setup" => "install",
            other => other,
        })
}

fn file_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .map(|word| word.trim_matches([',', ':', ';', '?', '!']).trim_end_matches('.'))
        .find(|word| is_file_name(word))
        .map(str::to_owned)
}

fn range_of(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first >= 1 && last >= first).then_some((first, last))
}

#[cfg(test)]
mod tests;
