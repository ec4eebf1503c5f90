//! The nine sections, each filled by its rule, each with its share of the whole.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    story::{Deed, Outcome, Story, Turn},
    words::{cut, fitted, item, line},
};

pub(super) const TITLES: [&str; 9] = [
    "Request and Intent",
    "Key Concepts",
    "Files and Code",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Next Step",
];

/// Bytes for each: 40,000 in all, which are fewer than 20,000 tokens of any text.
const SIZES: [usize; 9] = [5_000, 1_500, 8_000, 4_000, 4_000, 12_000, 2_000, 2_500, 1_000];

/// What stands above the items of a section, and what stands there if there are none.
const FRAMES: [(&str, &str); 9] = [
    ("What the user asked for, first to last.", "Nothing was asked for yet."),
    ("What the conversation is about, by its files and commands.", "No files and no commands came up."),
    ("What was read, changed and written, in the order of the first touch.", "No file was read or changed."),
    ("What failed, and what followed.", "Nothing failed."),
    ("What was asked, and what came of it.", "Nothing was worked out yet."),
    ("What the user wrote, word for word.", "The user wrote nothing."),
    ("What is on the list and not done.", "Nothing is left to do."),
    ("Where the work stands.", "No work has begun."),
    ("What follows from the last request.", "None: there is no request."),
];

pub(super) fn render(story: &Story<'_>) -> String {
    let items = [
        requests(story),
        concepts(story),
        files(story),
        errors(story),
        solved(story),
        messages(story),
        pending(story),
        current(story),
        next(story),
    ];
    let mut sections = Vec::with_capacity(items.len());
    for (number, items) in items.iter().enumerate() {
        let (Some(title), Some(size), Some((above, none))) =
            (TITLES.get(number), SIZES.get(number), FRAMES.get(number))
        else {
            continue;
        };
        let body =
            if items.is_empty() { (*none).to_owned() } else { format!("{above}\n{}", fitted(items, *size)) };
        sections.push(format!("{}. {title}\n{body}", number + 1));
    }
    sections.join("\n\n")
}

pub(super) fn is_frame(text: &str) -> bool {
    FRAMES.iter().any(|(above, none)| text.trim() == *above || text.trim() == *none)
}

/// The items of earlier summaries, then the new ones.
fn with_earlier(story: &Story<'_>, section: usize, new: impl IntoIterator<Item = String>) -> Vec<String> {
    let earlier = story.earlier.iter().flat_map(|earlier| earlier.items(section));
    earlier.map(|item| cut_item(&item)).chain(new).collect()
}

/// Another model's paragraph may be as long as a section.
fn cut_item(item: &str) -> String {
    const LONGEST: usize = 3_000;
    if item.len() > LONGEST { cut(item, LONGEST) } else { item.to_owned() }
}

pub(super) fn requests(story: &Story<'_>) -> Vec<String> {
    with_earlier(story, 0, story.requests().map(|request| item(&format!("“{}”", line(request, 300)))))
}

fn concepts(story: &Story<'_>) -> Vec<String> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    let mut programs: BTreeMap<String, usize> = BTreeMap::new();
    for deed in story.deeds() {
        *tools.entry(deed.tool).or_default() += 1;
        let name = deed.path().and_then(|path| path.rsplit('/').next());
        if let Some((_, extension)) = name.and_then(|name| name.rsplit_once('.')) {
            *kinds.entry(extension).or_default() += 1;
        }
        if let Some(command) = deed.input.get("command").and_then(Value::as_str) {
            let words: Vec<&str> = command.split_whitespace().take(2).collect();
            *programs.entry(line(&words.join(" "), 60)).or_default() += 1;
        }
    }
    let counted = |what: &str, counts: Vec<(String, usize)>| {
        let shown: Vec<String> =
            counts.iter().take(20).map(|(name, count)| format!("{name} ({count})")).collect();
        (!shown.is_empty()).then(|| format!("- {what}: {}", shown.join(", ")))
    };
    let owned = |counts: BTreeMap<&str, usize>| {
        counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    };
    let new = [
        counted("Kinds of files", owned(kinds)),
        counted("Commands", programs.into_iter().collect()),
        counted("Tools", owned(tools)),
    ];
    with_earlier(story, 1, new.into_iter().flatten())
}

pub(super) fn files(story: &Story<'_>) -> Vec<String> {
    let mut order: Vec<&str> = Vec::new();
    let mut deeds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for deed in story.deeds().filter(|deed| matches!(deed.outcome, Outcome::Done)) {
        let Some(path) = deed.path() else { continue };
        let done = deeds.entry(path).or_insert_with(|| {
            order.push(path);
            Vec::new()
        });
        done.push(what_was_done(deed));
    }
    let told = order.iter().filter_map(|path| Some((path, deeds.get(path)?))).map(|(path, done)| {
        const SHOWN: usize = 4;
        let mut done = done.clone();
        done.dedup();
        let skipped = done.len().saturating_sub(SHOWN);
        let shown = done.get(skipped..).unwrap_or_default().join("; ");
        let before = if skipped == 0 { String::new() } else { format!("{skipped} things before; ") };
        item(&format!("{}: {before}{shown}", line(path, 300)))
    });
    with_earlier(story, 2, told)
}

fn what_was_done(deed: &Deed<'_>) -> String {
    let text = |field: &str| deed.input.get(field).and_then(Value::as_str).unwrap_or_default();
    let changed = |edit: &Value| {
        let text = |field: &str| line(edit.get(field).and_then(Value::as_str).unwrap_or_default(), 120);
        format!("`{}` became `{}`", text("old_string"), text("new_string"))
    };
    match deed.tool {
        "Read" => "read".to_owned(),
        "Write" => format!("written, {} lines", text("content").lines().count()),
        "Edit" => format!("changed: {}", changed(deed.input)),
        "MultiEdit" => {
            let edits =
                deed.input.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let shown: Vec<String> = edits.iter().take(3).map(changed).collect();
            format!("changed in {} places: {}", edits.len(), shown.join(", "))
        }
        tool => format!("used by {tool}"),
    }
}

pub(super) fn errors(story: &Story<'_>) -> Vec<String> {
    let deeds: Vec<&Deed<'_>> = story.deeds().collect();
    let failed = deeds.iter().enumerate().filter_map(|(at, deed)| {
        let Outcome::Failed(why) = &deed.outcome else { return None };
        let is_again = |later: &&&Deed<'_>| {
            later.tool == deed.tool
                && later.target() == deed.target()
                && matches!(later.outcome, Outcome::Done)
        };
        let later = deeds.get(at + 1..).unwrap_or_default();
        // A file or a command that is tried again is so soon.
        let then = if later.iter().take(50).any(|later| is_again(&later)) {
            "A later try worked.".to_owned()
        } else if deed.followed_by.is_empty() {
            "Nothing followed yet.".to_owned()
        } else {
            format!("Then: “{}”", line(deed.followed_by, 200))
        };
        let why = if why.is_empty() { "it said nothing about why".to_owned() } else { line(why, 300) };
        Some(item(&format!("{} failed: {why}. {then}", deed.told())))
    });
    with_earlier(story, 3, failed)
}

fn solved(story: &Story<'_>) -> Vec<String> {
    let collapsed = story.earlier.iter().filter_map(|earlier| earlier.plain);
    let collapsed =
        collapsed.map(|text| item(&format!("Of messages that were left out: {}", line(text, 1_500))));
    with_earlier(story, 4, collapsed.chain(answers(story)))
}

/// What was asked, and what was answered.
pub(super) fn answers(story: &Story<'_>) -> Vec<String> {
    let answered = story.turns.iter().filter(|turn| turn.is_answered && !turn.request.is_empty());
    let told =
        answered.map(|turn| item(&format!("“{}” → “{}”", line(&turn.request, 120), line(turn.answer, 240))));
    told.collect()
}

fn messages(story: &Story<'_>) -> Vec<String> {
    with_earlier(story, 5, story.requests().map(|request| item(&cut(request, 2_000))))
}

const IN_PROGRESS: &str = " (in progress)";

/// The list as it was set last, or else what an earlier summary has of it.
fn pending(story: &Story<'_>) -> Vec<String> {
    let Some(todos) = todos(story) else { return with_earlier(story, 6, []) };
    let open = todos.iter().filter(|(_, status)| *status != "completed");
    open.map(|(task, status)| {
        let now = if *status == "in_progress" { IN_PROGRESS } else { "" };
        item(&format!("{}{now}", line(task, 300)))
    })
    .collect()
}

/// Task and status.
fn todos<'a>(story: &'a Story<'_>) -> Option<Vec<(&'a str, &'a str)>> {
    let last = story
        .deeds()
        .rev()
        .find(|deed| deed.tool == "TodoWrite" && !matches!(deed.outcome, Outcome::Failed(_)))?;
    let list = last.input.get("todos")?.as_array()?;
    let text = |todo: &'a Value, field: &str| todo.get(field).and_then(Value::as_str);
    Some(list.iter().filter_map(|todo| Some((text(todo, "content")?, text(todo, "status")?))).collect())
}

pub(super) fn current(story: &Story<'_>) -> Vec<String> {
    let Some(Turn { request, deeds, answer, .. }) = story.turns.last() else {
        return with_earlier(story, 7, []);
    };
    let mut items = Vec::new();
    if !request.is_empty() {
        items.push(item(&format!("The last request: “{}”", line(request, 400))));
    }
    for deed in deeds.get(deeds.len().saturating_sub(5)..).unwrap_or_default() {
        let outcome = match &deed.outcome {
            Outcome::Open => "has no result yet",
            Outcome::Done => "worked",
            Outcome::Failed(_) => "failed",
        };
        items.push(item(&format!("{} {outcome}.", deed.told())));
    }
    if !answer.is_empty() {
        items.push(item(&format!("Said last: {}", cut(answer, 900))));
    }
    items
}

fn next(story: &Story<'_>) -> Vec<String> {
    let Some(request) = story.requests().next_back() else {
        return story.earlier.last().map(|earlier| earlier.first_items(8)).unwrap_or_default();
    };
    let quote = format!("The last request was: “{}”", line(request, 400));
    let is_answered = story.turns.last().is_some_and(|turn| turn.is_answered);
    let pending = pending(story);
    let begun = pending.iter().find(|task| task.ends_with(IN_PROGRESS)).or(pending.first());
    let step = match begun {
        Some(task) => {
            let task = task.trim_start_matches("- ").trim_end_matches(IN_PROGRESS);
            format!("Go on with “{}”.", line(task, 200))
        }
        None if is_answered => "None: it was answered, and nothing is open.".to_owned(),
        None => "Finish it: it has no answer yet.".to_owned(),
    };
    vec![item(&quote), item(&step)]
}
