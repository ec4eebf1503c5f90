//! What the daily logs tell that is worth a memory of its own.

use jiff::civil::Date;
use memory::{Kind, compose::Draft, dates::find_date};

use super::super::{
    extract::{Told, draft, told, without_bullet},
    fork::Task,
};

/// A memory to be, and the day of the log that has it.
pub(super) struct Logged {
    pub(super) draft: Draft,
    pub(super) day: Date,
}

/// Oldest first, as the logs are listed.
pub(super) fn distilled(task: &Task<'_>) -> Vec<Logged> {
    let mut found = Vec::new();
    for log in &task.asked.logs {
        let Some((text, day)) = task.text(log).zip(find_date(log).or(task.asked.today)) else { continue };
        let mut is_code = false;
        for line in text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            if is_code || is_fence || line.trim_start().starts_with(['>', '#']) {
                continue;
            }
            let told = logged(without_time(without_bullet(line.trim())));
            found.extend(told.map(|told| Logged { draft: draft(&told, Some(day)), day }));
        }
    }
    found
}

/// As people note what others said: "decision: …", "user: …".
fn logged(line: &str) -> Option<Told> {
    let lower = line.to_ascii_lowercase();
    let after = |lead: &str| lower.strip_prefix(lead).and_then(|rest| line.get(line.len() - rest.len()..));
    if let Some(decided) = ["decision: ", "decided: "].into_iter().find_map(after) {
        // Through the rules as well: what never goes in does not go in by this name.
        let told = told(&format!("We decided: {decided}"))?;
        return Some(Told { kind: Some(Kind::Project), statement: told.statement });
    }
    // As the log of a day has it: whoever wrote the kind has judged already.
    let kinds = [Kind::Feedback, Kind::Project, Kind::Reference].into_iter();
    let mut named = kinds.filter_map(|kind| Some((kind, after(&format!("{}: ", kind.as_str()))?)));
    if let Some((kind, said)) = named.next() {
        let told = told(said).or_else(|| told(&format!("Remember that {said}")))?;
        return Some(Told { kind: Some(kind), statement: told.statement });
    }
    let leads = [
        "user: ",
        "user said: ",
        "the user said: ",
        "user asked to ",
        "the user asked to ",
        "user wants us to ",
    ];
    told(leads.into_iter().find_map(after).unwrap_or(line))
}

/// Without "09:14", "[09:14]" and their like.
fn without_time(line: &str) -> &str {
    let rest = line.trim_start_matches(['[', '(', '*']);
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time =
        rest.get(..5).and_then(|time| time.split_once(':')).is_some_and(|(h, m)| digits(h) && digits(m));
    let behind = rest.get(5..).filter(|_| is_time);
    behind.map_or(line, |rest| rest.trim_start_matches([']', ')', '*', ' ', '-', '–', '—', ':']))
}
