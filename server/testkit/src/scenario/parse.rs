//! Scenario files: a heading is a test, prose says why, fenced blocks are its steps.

use std::{collections::BTreeMap, ops::Range};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub heading: String,
    pub blocks: Vec<Block>,
}

/// A fenced block: `expect file path=a.txt` has two words and one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub words: Vec<String>,
    pub attributes: BTreeMap<String, String>,
    pub body: String,
    /// The lines of the file that the body takes, counted from 0.
    pub lines: Range<usize>,
}

impl Block {
    pub fn name(&self) -> String {
        self.words.join(" ")
    }

    pub fn attribute(&self, name: &str) -> &str {
        let value = self.attributes.get(name);
        value.unwrap_or_else(|| panic!("line {}: `{}` needs {name}=…", self.lines.start, self.name()))
    }
}

pub fn parse(text: &str) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_end();
        let fence = &line[..line.len() - line.trim_start_matches('`').len()];
        if fence.len() >= 3 {
            let is_end = |line: &&str| {
                let line = line.trim_end();
                line.len() >= fence.len() && line.bytes().all(|b| b == b'`')
            };
            let start = at + 1;
            let length = lines[start..].iter().position(is_end);
            let end = start + length.unwrap_or_else(|| panic!("line {start}: the fence is never closed"));
            let block = block(line.trim_start_matches('`'), lines[start..end].concat(), start..end);
            let scenario =
                scenarios.last_mut().unwrap_or_else(|| panic!("line {start}: a block before any heading"));
            scenario.blocks.push(block);
            at = end;
        } else if line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_owned();
            scenarios.push(Scenario { heading, blocks: Vec::new() });
        }
        at += 1;
    }
    scenarios.retain(|scenario| !scenario.blocks.is_empty());
    scenarios
}

/// The file with new bodies for some blocks.
pub fn with_bodies(text: &str, mut bodies: Vec<(Range<usize>, String)>) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    bodies.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, mut body) in bodies {
        if !body.is_empty() && !body.ends_with('\n') {
            body.push('\n');
        }
        lines.splice(range, [body]);
    }
    lines.concat()
}

fn block(info: &str, body: String, lines: Range<usize>) -> Block {
    let mut words = Vec::new();
    let mut attributes = BTreeMap::new();
    for part in info.split_whitespace() {
        match part.split_once('=') {
            Some((name, value)) => {
                attributes.insert(name.to_owned(), value.to_owned());
            }
            None => words.push(part.to_owned()),
        }
    }
    Block { words, attributes, body, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Area\n\nProse.\n\n## One\n```file path=a.txt\nhi\n# no heading\n```\n````expect request n=2\n```\nold\n````\n## Two\n```user\ngo\n```\n";

    #[test]
    fn headings_and_fences_make_scenarios() {
        let scenarios = parse(FILE);
        let headings: Vec<&str> = scenarios.iter().map(|scenario| scenario.heading.as_str()).collect();
        assert_eq!(headings, ["One", "Two"]);
        let blocks = &scenarios[0].blocks;
        assert_eq!((blocks[0].name().as_str(), blocks[0].attribute("path")), ("file", "a.txt"));
        assert_eq!(blocks[0].body, "hi\n# no heading\n");
        assert_eq!((blocks[1].name().as_str(), blocks[1].body.as_str()), ("expect request", "```\nold\n"));
    }

    #[test]
    fn an_update_replaces_only_the_bodies() {
        let blocks = &parse(FILE)[0].blocks;
        let updated = with_bodies(
            FILE,
            vec![
                (blocks[0].lines.clone(), "a\nb\nc\n".to_owned()),
                (blocks[1].lines.clone(), "new".to_owned()),
            ],
        );
        let expected = FILE.replace("hi\n# no heading\n", "a\nb\nc\n").replace("```\nold\n", "new\n");
        assert_eq!(updated, expected);
    }
}
