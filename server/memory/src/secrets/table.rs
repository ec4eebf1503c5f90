//! The rules, read once from their file, and the automaton that finds their keys.

use std::{collections::BTreeMap, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, PatternID};

use super::rule::{Check, Edge, Rule, Shape};

const RULES: &str = include_str!("rules.txt");

pub(super) struct Table {
    pub rules: Vec<Rule>,
    /// Matches overlap: `key` stands in `api_key`, and both have rules.
    pub keys: AhoCorasick,
    /// For each key, the rules that have it.
    users: Vec<Vec<usize>>,
}

impl Table {
    pub fn users(&self, key: PatternID) -> &[usize] {
        self.users.get(key.as_usize()).map_or(&[], Vec::as_slice)
    }
}

/// None only if the automaton cannot be built from our own file, which a test rules out.
pub(super) fn table() -> Option<&'static Table> {
    static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| build(parse(RULES).rules));
    TABLE.as_ref()
}

fn build(rules: Vec<Rule>) -> Option<Table> {
    let mut users: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        for key in &rule.keys {
            users.entry(key.to_ascii_lowercase()).or_default().push(index);
        }
    }
    let keys = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(users.keys())
        .ok()?;
    Some(Table { rules, keys, users: users.into_values().collect() })
}

#[derive(Default)]
pub(super) struct Parsed {
    pub rules: Vec<Rule>,
    /// Lines that say nothing. A test keeps this empty; a scan goes on without them.
    pub strange: Vec<&'static str>,
}

pub(super) fn parse(text: &'static str) -> Parsed {
    let mut parsed = Parsed::default();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((id, description)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            parsed.rules.push(Rule::new(id, description));
            continue;
        }
        let known = parsed.rules.last_mut().is_some_and(|rule| set(rule, line).is_some());
        if !known {
            parsed.strange.push(line);
        }
    }
    parsed
}

fn set(rule: &mut Rule, line: &'static str) -> Option<()> {
    let (name, value) = line.split_once(" = ")?;
    match name {
        "keys" => rule.keys = value.split(", ").collect(),
        "token" => rule.find(Shape::Token, value),
        "whole" => rule.find(Shape::Whole, value),
        "value" => rule.find(Shape::Value, value),
        "search" => rule.find(Shape::Search { before: 0, after: 0 }, value),
        "reach" => {
            let (before, after) = value.split_once(", ")?;
            rule.shape = Shape::Search { before: before.parse().ok()?, after: after.parse().ok()? };
        }
        "edge" => {
            rule.edge = match value {
                "none" => Edge::None,
                "word" => Edge::Word,
                "blob" => Edge::Blob,
                "part" => Edge::Part,
                _ => return None,
            }
        }
        "entropy" => rule.entropy = value.parse().ok()?,
        "check" => {
            rule.check = match value {
                "random" => Check::Random,
                "drawn" => Check::Drawn,
                "password" => Check::Password,
                "login" => Check::Login,
                "named" => Check::Named,
                _ => return None,
            }
        }
        "skip" => rule.skip = Some(value),
        "unless" => rule.unless = Some(value),
        _ => return None,
    }
    Some(())
}
