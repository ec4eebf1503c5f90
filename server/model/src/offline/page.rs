//! A memory's file, line by line: what it claims, since when, and how it reads with other claims.

use jiff::civil::Date;
use memory::{Kind, Topic, dates::find_date};

use super::{extract::without_bullet, gist::Gist};

/// How a line begins that says since when the memory holds.
const SINCE: &str = "(As of ";

pub(super) struct Page {
    pub(super) lines: Vec<String>,
    /// Where the body begins.
    pub(super) body: usize,
    pub(super) kind: Option<Kind>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) created: Option<Date>,
    pub(super) claims: Vec<Claim>,
}

pub(super) struct Claim {
    /// From 0.
    pub(super) line: usize,
    pub(super) gist: Gist,
}

impl Page {
    pub(super) fn of(text: &str) -> Self {
        let topic = Topic::parse(text);
        let front = text.get(..text.len().saturating_sub(topic.body.len())).unwrap_or_default();
        let created = front.lines().find(|line| line.starts_with("created:")).and_then(find_date);
        let mut page = Self {
            lines: text.lines().map(str::to_owned).collect(),
            body: front.lines().count(),
            kind: topic.kind,
            name: topic.name,
            description: topic.description,
            created,
            claims: Vec::new(),
        };
        let mut is_code = false;
        for (line, text) in page.lines.iter().enumerate().skip(page.body) {
            let trimmed = text.trim();
            let is_fence = trimmed.starts_with("```");
            is_code ^= is_fence;
            if !is_fence && !is_code && is_claim(trimmed) {
                page.claims.push(Claim { line, gist: Gist::of(without_bullet(trimmed)) });
            }
        }
        page
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// What it says in the body, without the reason and its use.
    pub(super) fn statements(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().filter_map(|claim| self.lines.get(claim.line)).map(String::as_str)
    }

    /// What stands behind `**Why:**` or its like; `None` where it says only that nothing was said.
    pub(super) fn told_after(&self, label: &str) -> Option<&str> {
        let lines = self.lines.iter().skip(self.body);
        let told = lines.filter_map(|line| line.trim().strip_prefix(label)).map(str::trim).next()?;
        let is_empty = ["no reason was given", "whenever work touches this", "check that it still holds"];
        (!told.is_empty() && !is_empty.iter().any(|words| told.contains(words))).then_some(told)
    }

    /// Puts a text in place of what is behind a label, or adds the label.
    pub(super) fn tell_after(&mut self, label: &str, told: &str) {
        let line = format!("{label} {told}");
        let is_label = |line: &&mut String| line.trim().starts_with(label);
        match self.lines.iter_mut().skip(self.body).find(is_label) {
            Some(old) => *old = line,
            None => self.lines.push(line),
        }
    }

    /// Puts what it still says into the fields that say something else.
    pub(super) fn describe_anew(&mut self, is_wrong: impl Fn(&Gist) -> bool) -> bool {
        let Some(first) = self.statements().next().map(|line| without_bullet(line.trim()).to_owned()) else {
            return false;
        };
        let mut has_changed = false;
        for line in self.lines.iter_mut().take(self.body) {
            let Some((field, told)) = line.split_once(':') else { continue };
            if ["name", "description"].contains(&field) && is_wrong(&Gist::of(told.trim().trim_matches('"')))
            {
                let quoted = first.replace('\\', "\\\\").replace('"', "\\\"");
                *line = format!("{field}: \"{quoted}\"");
                has_changed = true;
            }
        }
        has_changed
    }

    /// Adds a line below the last claim.
    pub(super) fn add_claim(&mut self, line: &str) {
        let at = self.claims.last().map_or(self.lines.len(), |claim| claim.line + 1).min(self.lines.len());
        self.lines.insert(at, line.to_owned());
        self.claims.push(Claim { line: at, gist: Gist::of(without_bullet(line)) });
    }

    pub(super) fn say_since(&mut self, date: Date, before: Date) {
        let line = format!("{SINCE}{date}; it replaces what was noted on {before}.)");
        if let Some(old) = self.lines.iter_mut().find(|line| line.starts_with(SINCE)) {
            *old = line;
            return;
        }
        let at = self.claims.last().map_or(self.lines.len(), |claim| claim.line + 1).min(self.lines.len());
        self.lines.splice(at..at, [String::new(), line]);
    }
}

fn is_claim(trimmed: &str) -> bool {
    let frames = ["**Why", "**How", "#", SINCE, "---", "<!--", "|"];
    !trimmed.is_empty() && !frames.iter().any(|frame| trimmed.starts_with(frame))
}
