//! Learning from a conversation by rules: what the user told that is worth keeping becomes a memory, or mends one.
//!
//! Here: the rounds, as the directive asks for them: read what may have to change, write, tell. What is worth keeping is
//! said by `rules`, sentence by sentence; which of it is new, by `news`.

mod news;
mod rules;
mod said;
mod sentences;

use conversation::{Block, RequestMessage, Role};
use jiff::civil::Date;
use memory::{
    Kind,
    compose::{Draft, has_secret},
    dates::absolute,
    index,
};
use serde_json::json;

use self::{
    news::{Change, News},
    rules::{is_confirmation, praised, reason},
    sentences::sentences,
};
pub(super) use self::{
    rules::{Told, told},
    sentences::without_bullet,
};
use super::{
    fork::Task,
    gist::{Gist, Relation},
    plan::{Step, ToolCall},
    remember::index_call,
    situation::without_reminders,
    summary,
};

const NOTHING: &str = "Nothing in these messages is worth a memory.";

pub(super) fn step(task: &Task<'_>) -> Step {
    if task.writes().next().is_some() {
        return Step::Answer(report(task));
    }
    let news = News::among(drafts(task), &task.asked);
    if news.is_empty() {
        return Step::Answer(NOTHING.to_owned());
    }
    if task.rounds.is_empty() {
        let paths = [index::NAME.to_owned()].into_iter().chain(news.to_read());
        let read = |path: String| ToolCall::new("Read", json!({ "file_path": task.path(&path) }));
        return Step::Calls(paths.map(read).collect());
    }
    let changes = news.changes(task);
    if changes.is_empty() {
        return Step::Answer("All that is worth keeping here is known already.".to_owned());
    }
    let write = |change: &Change| {
        ToolCall::new("Write", json!({"file_path": task.path(&change.path), "content": change.content}))
    };
    let mut calls: Vec<ToolCall> = changes.iter().map(write).collect();
    calls.extend(index_change(task, &changes));
    Step::Calls(calls)
}

/// Whether a message is one sentence that is worth keeping. A longer one asks for something as well, or tells
/// more.
pub(super) fn tells_one_thing(message: &str) -> bool {
    matches!(sentences(message).as_slice(), [sentence] if told(sentence).is_some())
}

/// A memory of a sentence. `today`: from when relative dates are reckoned.
pub(super) fn draft(told: &Told, today: Option<Date>) -> Draft {
    let statement = match told.kind {
        Some(Kind::Project) => with_prepositions(&told.statement),
        _ => told.statement.clone(),
    };
    let draft = Draft::of(&absolute(&statement, today));
    Draft { kind: told.kind.unwrap_or(draft.kind), ..draft }
}

/// What the new messages tell, each thing once; what was said last holds.
fn drafts(task: &Task<'_>) -> Vec<Draft> {
    let new = task.messages.len().saturating_sub(task.asked.messages);
    let mut answer = "";
    let mut drafts: Vec<Draft> = Vec::new();
    for (at, message) in task.messages.iter().enumerate() {
        if message.role == Role::Assistant {
            answer = said(message).unwrap_or(answer);
        }
        if message.role == Role::Assistant || at < new {
            continue;
        }
        for draft in drafts_of(&typed(message), answer, task.asked.today) {
            let gist = Gist::of(&draft.statement);
            drafts.retain(|earlier| gist.relation(&Gist::of(&earlier.statement)) == Relation::Other);
            drafts.push(draft);
        }
    }
    drafts
}

fn drafts_of(typed: &str, answer: &str, today: Option<Date>) -> Vec<Draft> {
    let sentences = sentences(typed);
    let mut drafts = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        if is_confirmation(sentence) {
            drafts.extend(confirmed(sentence, answer));
        } else if let Some(mut told) = told(sentence) {
            if let Some(reason) = sentences.get(at + 1).and_then(|next| reason(next)) {
                told.statement = format!("{}, because {reason}", told.statement);
            }
            drafts.push(draft(&told, today));
        }
    }
    drafts
}

/// What was right about what was done: in the user's words if they name it, else the deed in the words of who did
/// it.
fn confirmed(sentence: &str, answer: &str) -> Option<Draft> {
    const LONGEST: usize = 160;
    if let Some(praised) = praised(sentence) {
        let draft = Draft { kind: Kind::Feedback, ..Draft::of(praised) };
        return (!has_secret(praised)).then_some(draft);
    }
    let answered = sentences(answer).into_iter().find(|sentence| sentence.split_whitespace().count() >= 3)?;
    let deed = deed(&answered)?.trim_end_matches(['.', '!', ':']);
    let deed = match deed.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", deed.get(..end).unwrap_or_default()),
        None => deed.to_owned(),
    };
    let statement = format!("{deed}: keep doing so, because the user confirmed it: “{sentence}”");
    let draft = Draft { kind: Kind::Feedback, ..Draft::of(&statement) };
    (!has_secret(&statement)).then_some(draft)
}

/// What an answer says was done; looking for something is none.
fn deed(answered: &str) -> Option<&str> {
    const LOOKS: [&str; 8] = ["am ", "can ", "cannot ", "could ", "found ", "looked ", "read ", "searched "];
    let deed = ["I've ", "I have ", "I ", "Done: "].iter().find_map(|lead| answered.strip_prefix(lead))?;
    (!LOOKS.iter().any(|verb| deed.starts_with(verb))).then_some(deed)
}

/// "Is due Friday" becomes "is due on Friday", which has a date.
fn with_prepositions(text: &str) -> String {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    const LEADS: [&str; 7] = ["is", "due", "ships", "starts", "begins", "live", "to"];
    let mut out: Vec<&str> = Vec::new();
    for word in text.split(' ') {
        let bare: String = word.chars().take_while(|c| c.is_alphanumeric()).collect();
        let is_day = DAYS.iter().any(|day| bare.eq_ignore_ascii_case(day));
        if is_day && out.last().is_some_and(|last| LEADS.iter().any(|lead| last.eq_ignore_ascii_case(lead))) {
            out.push("on");
        }
        out.push(word);
    }
    out.join(" ")
}

fn typed(message: &RequestMessage) -> String {
    let mut typed = String::new();
    for block in &message.content {
        if let Block::Text { text } = block
            && !summary::stands_in(text)
        {
            typed.push_str(&without_reminders(text, |_| {}));
        }
    }
    typed
}

fn said(message: &RequestMessage) -> Option<&str> {
    message.content.iter().rev().find_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    })
}

/// `None` where all lines are right, or where the index was not seen whole: a dream mends it.
fn index_change(task: &Task<'_>, changes: &[Change]) -> Option<ToolCall> {
    let before = match task.text(index::NAME) {
        Some(text) => text,
        None if task.is_missing(index::NAME) => String::new(),
        None => return None,
    };
    let entries = index::entries(&before);
    let mut lines: Vec<&str> = before.lines().collect();
    let mut added: Vec<&str> = Vec::new();
    for change in changes {
        let Some(line) = change.line.as_deref() else { continue };
        let listed = entries.iter().find(|entry| index::same_target(entry.target, &change.path));
        match listed.and_then(|entry| lines.get_mut(entry.line)) {
            Some(old) => *old = line,
            None => added.push(line),
        }
    }
    let path = task.index_path();
    let added = added.join("\n");
    if before.lines().eq(lines.iter().copied()) {
        return (!added.is_empty()).then(|| index_call(&path, &before, &added));
    }
    let after = lines.join("\n") + "\n";
    let content = if added.is_empty() { after } else { index::with_entry(&after, &added) };
    Some(ToolCall::new("Write", json!({"file_path": path, "content": content})))
}

fn report(task: &Task<'_>) -> String {
    let index = task.index_path();
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md").replace('-', " ");
    let topics = || task.writes().filter(|call| call.input_text("file_path") != index);
    let names = |failed: bool| {
        let calls = topics().filter(|call| call.failed == failed);
        calls.map(|call| name(call.input_text("file_path"))).collect::<Vec<_>>().join(", ")
    };
    match (names(false), names(true)) {
        (saved, failed) if failed.is_empty() => format!("Remembered: {saved}."),
        (saved, failed) if saved.is_empty() => format!("Could not be saved: {failed}."),
        (saved, failed) => format!("Remembered: {saved}. Could not be saved: {failed}."),
    }
}

#[cfg(test)]
pub(super) mod tests;
