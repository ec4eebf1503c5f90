//! `tests/scenarios/week/week.md`, read.

use std::path::Path;

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

pub struct Script {
    pub sessions: Vec<Session>,
    pub memories: Vec<Expected>,
    /// Words that no memory has.
    pub nowhere: Vec<String>,
}

pub struct Session {
    pub title: String,
    pub tree: Tree,
    /// From 1 to 3; the second is today.
    pub day: i32,
    pub end: End,
    pub prompts: Vec<String>,
    /// Paths in the memory directory and texts.
    pub by_hand: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    Main,
    Second,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Shutdown,
    KilledAtOnce,
    KilledWhenItHasRemembered,
}

/// A memory that must be there.
#[derive(Debug)]
pub struct Expected {
    pub kind: String,
    pub says: Vec<String>,
}

impl Script {
    pub fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/week/week.md");
        let text = std::fs::read_to_string(path).expect("the script");
        let mut script = Self { sessions: Vec::new(), memories: Vec::new(), nowhere: Vec::new() };
        for section in text.split("\n## ").skip(1) {
            let (title, body) = section.split_once('\n').expect("a section has a body");
            let items = || body.lines().filter_map(|line| line.strip_prefix("- "));
            match title {
                "The memories" => script.memories.extend(items().map(Expected::of)),
                "Nowhere" => script.nowhere.extend(items().map(str::to_owned)),
                _ => script.sessions.push(Session::of(title, body)),
            }
        }
        script
    }
}

impl Session {
    fn of(title: &str, body: &str) -> Self {
        let (_, words) = title.split_once(". ").expect("a number");
        let words: Vec<&str> = words.split(", ").collect();
        let [tree, day, end @ ..] = words.as_slice() else { panic!("{title}: a tree and a day") };
        let mut session = Self {
            title: title.to_owned(),
            tree: match *tree {
                "main" => Tree::Main,
                "second" => Tree::Second,
                other => panic!("{title}: no tree {other}"),
            },
            day: day.strip_prefix("day ").and_then(|day| day.parse().ok()).expect("a day"),
            end: match end {
                [] => End::Shutdown,
                ["killed at once"] => End::KilledAtOnce,
                ["killed when it has remembered"] => End::KilledWhenItHasRemembered,
                other => panic!("{title}: no end {other:?}"),
            },
            prompts: Vec::new(),
            by_hand: Vec::new(),
        };
        let mut pieces = body.split("````");
        pieces.next();
        while let (Some(block), Some(_prose)) = (pieces.next(), pieces.next()) {
            let (what, text) = block.split_once('\n').expect("a block has lines");
            match what.strip_prefix("by hand ") {
                Some(path) => session.by_hand.push((path.to_owned(), text.to_owned())),
                None => session.prompts.push(text.trim_end().to_owned()),
            }
        }
        session
    }
}

impl Expected {
    fn of(line: &str) -> Self {
        let (kind, says) = line.split_once(": ").expect("a kind");
        Self { kind: kind.to_owned(), says: says.split(" · ").map(str::to_owned).collect() }
    }

    /// Whether the file is this memory.
    pub fn is(&self, file: &str) -> bool {
        let created = field(file, "created").and_then(|date| date.parse().ok());
        let has = |words: &String| {
            let words = created.map_or_else(|| words.clone(), |date| with_date(words, date));
            file.to_lowercase().contains(&words.to_lowercase())
        };
        field(file, "type") == Some(&self.kind) && self.says.iter().all(has)
    }
}

/// A field of the frontmatter.
pub fn field<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let front = file.strip_prefix("---\n")?.split_once("\n---\n")?.0;
    front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn with_date(words: &str, written: Date) -> String {
    let friday = written.nth_weekday(1, Weekday::Friday).expect("there is always another Friday");
    let tomorrow = written + 1.day();
    words.replace("{Friday}", &friday.to_string()).replace("{tomorrow}", &tomorrow.to_string())
}
