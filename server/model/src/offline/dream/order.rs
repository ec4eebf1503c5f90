//! The memories in order: what is written and what is removed, and why.

use std::collections::BTreeMap;

use jiff::civil::Date;
use memory::{
    Kind,
    compose::{Draft, index_line},
    dates::absolute_lines,
    index,
};

use super::{
    super::{
        extract::without_bullet,
        fork::Task,
        gist::{Gist, Relation},
        page::{Claim, Page},
    },
    TEAM,
    index::{Listed, rebuilt},
    logs::{self, Logged},
};

/// With fewer words two sentences are soon alike.
const LEAST_WORDS: usize = 2;

#[derive(Default)]
pub(super) struct Order {
    /// Relative paths and whole texts.
    pub(super) writes: BTreeMap<String, String>,
    /// Files that go, each with the one that says what is left of it.
    pub(super) removed: BTreeMap<String, String>,
    /// A line for each change.
    pub(super) notes: Vec<String>,
    pages: BTreeMap<String, Kept>,
    /// What others share: read, never written.
    team: Vec<Page>,
    /// How many there were.
    count: usize,
}

/// A memory as it will be.
struct Kept {
    page: Page,
    /// When it was written.
    date: Date,
    is_changed: bool,
    /// Its line in the index says something else than it does.
    is_new: bool,
}

impl Order {
    pub(super) fn of(task: &Task<'_>) -> Self {
        let mut order = Self { count: task.asked.memories.len(), ..Self::default() };
        order.read(task);
        order.make_dates_absolute();
        for logged in logs::distilled(task) {
            order.distil(logged);
        }
        order.each_pair(Self::merge);
        order.each_pair(Self::refute);
        order.index(task);
        for (path, kept) in order.pages.iter().filter(|(_, kept)| kept.is_changed) {
            order.writes.insert(path.clone(), kept.page.text());
        }
        order
    }

    fn read(&mut self, task: &Task<'_>) {
        for known in &task.asked.memories {
            let Some(text) = task.text(&known.path) else { continue };
            let page = Page::of(&text);
            if known.path.starts_with(TEAM) {
                self.team.push(page);
                continue;
            }
            let Some(date) = page.created.or(known.date).or(task.asked.today) else { continue };
            self.pages.insert(known.path.clone(), Kept { page, date, is_changed: false, is_new: false });
        }
    }

    fn make_dates_absolute(&mut self) {
        for (path, kept) in &mut self.pages {
            if !matches!(kept.page.kind, Some(Kind::Feedback | Kind::Project)) {
                continue;
            }
            let before = kept.page.text();
            let after = absolute_lines(&before, kept.date);
            if after != before {
                kept.page = Page::of(&after);
                kept.is_changed = true;
                self.notes.push(format!("Dates made absolute in {path}, reckoned from {}.", kept.date));
            }
        }
    }

    fn distil(&mut self, logged: Logged) {
        let Logged { draft, day } = logged;
        let gist = Gist::of(&draft.statement);
        let related =
            |page: &Page, relation| page.claims.iter().any(|it| it.gist.relation(&gist) == relation);
        let pages = || self.pages.values().map(|kept| &kept.page).chain(&self.team);
        if pages().any(|page| related(page, Relation::Same)) {
            return;
        }
        let origin = format!("created: {day}\n");
        let refuted = self.pages.iter().find(|(_, kept)| related(&kept.page, Relation::Contradictory));
        if let Some((path, kept)) = refuted {
            if kept.date >= day || kept.page.claims.len() != 1 {
                return;
            }
            let (path, before) = (path.clone(), kept.date);
            let mut page = Page::of(&draft.content(None, &origin));
            page.say_since(day, before);
            self.notes.push(format!("{path} now says what the log of {day} says: {}.", draft.title));
            self.pages.insert(path, Kept { page, date: day, is_changed: true, is_new: true });
            return;
        }
        let stem = draft.file_name.trim_end_matches(".md");
        let numbered = (2..100).map(|number| format!("{stem}-{number}.md"));
        let mut names = [draft.file_name.clone()].into_iter().chain(numbered);
        let Some(path) = names.find(|name| !self.pages.contains_key(name)) else { return };
        let page = Page::of(&draft.content(None, &origin));
        self.notes.push(format!("Kept from the log of {day}: {} ({path}).", draft.title));
        self.pages.insert(path, Kept { page, date: day, is_changed: true, is_new: true });
    }

    fn each_pair(&mut self, change: fn(&mut Self, &str, &str)) {
        let paths: Vec<String> = self.pages.keys().cloned().collect();
        for (at, one) in paths.iter().enumerate() {
            for two in paths.iter().skip(at + 1) {
                if self.pages.contains_key(one) && self.pages.contains_key(two) {
                    change(self, one, two);
                }
            }
        }
    }

    /// Two that say the same become the one that says more.
    fn merge(&mut self, one: &str, two: &str) {
        let (Some(first), Some(second)) = (self.pages.get(one), self.pages.get(two)) else { return };
        if !say_the_same(&first.page, &second.page) || !self.may_remove() {
            return;
        }
        let says =
            |kept: &Kept| (kept.page.claims.len(), kept.page.claims.first().map(|it| it.gist.weight()));
        let (keeper, other) = if says(second) > says(first) { (two, one) } else { (one, two) };
        let Some(gone) = self.pages.remove(other) else { return };
        let Some(kept) = self.pages.get_mut(keeper) else { return };
        kept.is_changed |= take_over(&mut kept.page, &gone.page);
        self.notes.push(format!("Merged {other} into {keeper}: they say the same."));
        self.remove(other, keeper);
    }

    /// Of two that contradict each other, the newer one holds.
    fn refute(&mut self, one: &str, two: &str) {
        let (Some(first), Some(second)) = (self.pages.get(one), self.pages.get(two)) else { return };
        let (newer, older) = match first.date.cmp(&second.date) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Greater => (one, two),
            std::cmp::Ordering::Less => (two, one),
        };
        let (Some(holds), Some(refuted)) = (self.pages.get(newer), self.pages.get(older)) else { return };
        let (since, until) = (holds.date, refuted.date);
        let is_refuted = |gist: &Gist| {
            holds.page.claims.iter().any(|claim| claim.gist.relation(gist) == Relation::Contradictory)
        };
        let claims = refuted.page.claims.iter().filter(|claim| is_refuted(&claim.gist));
        let lines: Vec<usize> = claims.map(|claim| claim.line).collect();
        let is_all = lines.len() == refuted.page.claims.len();
        if lines.is_empty() || is_all && !self.may_remove() {
            return;
        }
        if is_all {
            self.pages.remove(older);
            self.remove(older, newer);
            self.notes.push(format!("Removed {older} of {until}: {newer} says otherwise since {since}."));
        } else {
            let kept = refuted.page.lines.iter().enumerate().filter(|(line, _)| !lines.contains(line));
            let kept: String = kept.flat_map(|(_, line)| [line.as_str(), "\n"]).collect();
            let mut page = Page::of(&kept);
            let is_new = page.describe_anew(is_refuted);
            let page = Page::of(&page.text());
            self.pages.insert(older.to_owned(), Kept { page, date: until, is_changed: true, is_new });
            self.notes.push(format!("Took out of {older} what {newer} refutes since {since}."));
        }
        if let Some(holds) = self.pages.get_mut(newer) {
            holds.page.say_since(since, until);
            holds.is_changed = true;
        }
    }

    /// "A dream that would delete more than half of the memories is rolled back."
    fn may_remove(&self) -> bool {
        (self.removed.len() + 1) * 2 <= self.count
    }

    fn remove(&mut self, path: &str, keeper: &str) {
        for heir in self.removed.values_mut().filter(|heir| *heir == path) {
            keeper.clone_into(heir);
        }
        self.removed.insert(path.to_owned(), keeper.to_owned());
        self.writes.remove(path);
    }

    fn index(&mut self, task: &Task<'_>) {
        let before = task.text(index::NAME);
        if before.is_none() && !task.is_missing(index::NAME) {
            self.notes.push("MEMORY.md could not be read whole, so it stays as it is.".to_owned());
            return;
        }
        let before = before.unwrap_or_default();
        let listed: Vec<Listed<'_>> = self.pages.iter().map(|(path, kept)| kept.listed(path)).collect();
        let is_gone = |path: &str| self.removed.contains_key(path) || task.is_missing(path);
        let (after, notes) = rebuilt(&before, &listed, &self.removed, &is_gone);
        drop(listed);
        if after != before {
            self.writes.insert(index::NAME.to_owned(), after);
            self.notes.extend(notes);
        }
    }
}

impl Kept {
    fn listed<'a>(&self, path: &'a str) -> Listed<'a> {
        let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
        let title = self.page.name.clone().unwrap_or_else(|| stem.replace(['-', '_'], " "));
        let link = index::written_target(path);
        let first = self.page.statements().next().map(without_bullet);
        let statement = self.page.description.as_deref().or(first).unwrap_or_default().to_owned();
        let kind = self.page.kind.unwrap_or(Kind::Project);
        let line = index_line(&Draft { statement, kind, title, file_name: link });
        let line = line.trim_end_matches(['—', ' ']).to_owned();
        Listed { path, kind: self.page.kind, date: self.date, line, is_new: self.is_new }
    }
}

fn say_the_same(one: &Page, two: &Page) -> bool {
    let kinds = one.kind.is_none() || two.kind.is_none() || one.kind == two.kind;
    let (Some(first), Some(second)) = (one.claims.first(), two.claims.first()) else { return false };
    let is_enough = first.gist.weight() >= LEAST_WORDS || first.gist.is_as_written(&second.gist);
    kinds && is_enough && (covers(&first.gist, &second.gist) || covers(&second.gist, &first.gist))
}

/// Whether one says what the other does.
fn covers(one: &Gist, other: &Gist) -> bool {
    one.relation(other) == Relation::Same || other.is_within(one)
}

/// What only the other one says; whether that is anything.
fn take_over(page: &mut Page, other: &Page) -> bool {
    let mut has_changed = false;
    for claim in &other.claims {
        let is_said = |mine: &Claim| covers(&mine.gist, &claim.gist);
        if page.claims.iter().any(is_said) {
            continue;
        }
        if let Some(line) = other.lines.get(claim.line) {
            page.add_claim(line);
            has_changed = true;
        }
    }
    for label in ["**Why:**", "**How to apply:**"] {
        if let (None, Some(told)) = (page.told_after(label), other.told_after(label)) {
            page.tell_after(label, told);
            has_changed = true;
        }
    }
    has_changed
}
