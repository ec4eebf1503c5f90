//! `reverie sessions`: past conversations of this project.

use std::{io::Write, path::PathBuf};

use anyhow::bail;
use jiff::{Timestamp, tz::TimeZone};
use protocol::{
    ExportFormat, ExportSessionParams, ExportSessionResult, ForkSessionParams, ListSessionsParams,
    MessageKind, MessageRole, RewindSessionParams, SearchRole, SearchSessionsParams, SessionMessage,
    SessionSummary, method,
};
use serde_json::Value;

use crate::{
    arguments::{Scope, Search},
    client::Client,
    exit,
    opening::{self, Opened},
    terminal::{
        Terminal,
        style::{Style, cut, safe},
    },
    view::{excerpt, headline},
};

const PAGE: u32 = 1_000;
/// What a person needs of an id; it can be resumed by.
const SHORT_ID: usize = 8;

pub async fn list(query: Option<String>, all: bool, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let mut terminal = Terminal::new();
    let (mut cursor, mut found) = (None, false);
    loop {
        let params = ListSessionsParams { cursor, limit: Some(PAGE), query: query.clone(), all };
        let page = client.call::<method::SessionList>(&params).await?;
        let any_cost = page.sessions.iter().any(|session| cost_of(session).is_some());
        for session in &page.sessions {
            found = true;
            if scope.json {
                terminal.json(session);
            } else {
                show_summary(&mut terminal, session, any_cost);
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() || terminal.closed {
            break;
        }
    }
    if !found && !scope.json {
        terminal.aside(match query {
            Some(_) => "no session's title or first prompt contains this",
            None => "no sessions in this project yet; start one with: reverie ask \"…\"",
        });
    }
    client.stop().await;
    Ok(exit::DONE)
}

/// A person sees short ids and whatever fits the screen; a program the whole.
fn show_summary(terminal: &mut Terminal, session: &SessionSummary, with_cost: bool) {
    let columns = terminal.answer_columns();
    let id = match columns {
        Some(_) => short(&session.session_id),
        None => &session.session_id,
    };
    let cost = match cost_of(session) {
        Some(cost) => format!("  {:>7}", format!("${cost:.2}")),
        None if with_cost => " ".repeat(9),
        None => String::new(),
    };
    let size = session.bytes.div_ceil(1_024);
    let mut facts = format!("{id}  {}  {size:>6} KB{cost}  ", local_time(&session.updated_at));
    facts.extend(session.branches.map(|branches| format!("[{branches} branches]  ")));
    facts.extend(session.forked_from.as_deref().map(|from| format!("[fork of {}]  ", short(from))));
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(facts.len()));
    let title = safe(&session.title).replace('\n', " ");
    terminal.painted_line(&format!(
        "{}{}",
        terminal.answer_paint.paint(Style::Dim, &safe(&facts)),
        cut(&title, room)
    ));
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

fn cost_of(session: &SessionSummary) -> Option<f64> {
    session.cost_usd.filter(|cost| *cost > 0.0)
}

pub async fn show(id: &str, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let mut terminal = Terminal::new();
    let outcome = opening::resume(&client, id).await;
    client.stop().await;
    let session = outcome?;
    for repair in &session.repairs {
        terminal.warn(&format!("repaired: {repair}"));
    }
    for message in &session.messages {
        if scope.json {
            terminal.json(message);
        } else {
            show_message(&mut terminal, message, &folder);
        }
        if terminal.closed {
            break;
        }
    }
    if !scope.json {
        show_branches(&mut terminal, &session);
    }
    Ok(exit::DONE)
}

fn show_branches(terminal: &mut Terminal, session: &Opened) {
    if session.branches.len() < 2 {
        return;
    }
    let paint = terminal.answer_paint;
    for (number, branch) in (1..).zip(&session.branches) {
        let mark = if branch.current { '*' } else { ' ' };
        let (time, messages) = (local_time(&branch.updated_at), branch.messages);
        let facts = format!("branch {number}{mark}  {time}  {messages:>4} messages  ");
        let room =
            terminal.answer_columns().map_or(usize::MAX, |columns| columns.saturating_sub(facts.len()));
        let prompt = safe(&branch.first_prompt).replace('\n', " ");
        terminal.painted_line(&format!("{}{}", paint.paint(Style::Dim, &facts), cut(&prompt, room)));
    }
    let id = short(&session.id);
    terminal
        .aside(&format!("this is the one with the *; another: reverie chat --resume {id} --branch NUMBER"));
}

/// Takes the conversation back to before one of its prompts, and its files too unless they are to stay.
pub async fn rewind(
    id: &str,
    message: &str,
    restore_files: bool,
    force: bool,
    scope: Scope,
) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let rewound = async {
        let session = opening::resume(&client, id).await?;
        let message_uuid = find_message(&session, message)?.to_owned();
        let restore_files = Some(restore_files);
        let params =
            RewindSessionParams { session_id: session.id, message_uuid, restore_files, force: Some(force) };
        client.call::<method::SessionRewind>(&params).await
    };
    let outcome = rewound.await;
    client.stop().await;
    let result = outcome?;
    let mut terminal = Terminal::new();
    if scope.json {
        terminal.json(&result);
        return Ok(exit::DONE);
    }
    for path in &result.restored {
        terminal.line(&format!("restored {path}"));
    }
    for kept in &result.kept {
        terminal.warn(&format!("left alone: {} ({})", kept.path, kept.reason));
    }
    if let Some(line) = result.prompt.lines().next() {
        terminal.aside(&format!("taken back: {line}"));
    }
    Ok(exit::DONE)
}

/// By its id, the beginning of it, or the number of a prompt: 1 is the first.
fn find_message<'a>(session: &'a Opened, wanted: &str) -> anyhow::Result<&'a str> {
    let uuids = session.messages.iter().map(|message| message.uuid.as_str());
    let mut fitting: Vec<&str> = match wanted.parse::<usize>() {
        Ok(number) if wanted.len() < SHORT_ID => {
            let is_prompt = |message: &&SessionMessage| {
                (message.role, message.kind) == (MessageRole::User, MessageKind::Text)
            };
            let mut prompts: Vec<&str> =
                session.messages.iter().filter(is_prompt).map(|message| message.uuid.as_str()).collect();
            prompts.dedup();
            let count = prompts.len();
            let Some(prompt) = number.checked_sub(1).and_then(|at| prompts.get(at)) else {
                bail!("the session has {count} prompts, and none of them is number {number}");
            };
            return Ok(prompt);
        }
        _ => uuids.filter(|uuid| !wanted.is_empty() && uuid.starts_with(wanted)).collect(),
    };
    fitting.dedup();
    match fitting.as_slice() {
        [uuid] => Ok(uuid),
        [] => bail!("the session has no message {wanted}; 'reverie sessions show --json' has their ids"),
        _ => bail!("several messages begin with {wanted}; give more of the id"),
    }
}

pub async fn search(search: Search, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let session_id = match &search.session {
        Some(beginning) => Some(opening::whole_id(&client, beginning).await?),
        None => None,
    };
    let params = SearchSessionsParams {
        query: search.words,
        since: search.since,
        until: search.until,
        role: search.role,
        session_id,
        all: search.all,
        limit: search.limit,
        ..Default::default()
    };
    let found = client.call::<method::SessionSearch>(&params).await;
    client.stop().await;
    let mut terminal = Terminal::new();
    let hits = found?.hits;
    for hit in &hits {
        if scope.json {
            terminal.json(hit);
            continue;
        }
        let id = short(&hit.session_id);
        let role = match hit.role {
            SearchRole::User => "user",
            SearchRole::Assistant => "assistant",
            SearchRole::Tool => "tool",
        };
        let facts = format!("{id}  {}  {role:<9}  ", local_time(&hit.timestamp));
        let paint = terminal.answer_paint;
        terminal.painted_line(&format!(
            "{}{}",
            paint.paint(Style::Dim, &safe(&facts)),
            safe(&hit.snippet).replace('\n', " ")
        ));
    }
    if hits.is_empty() && !scope.json {
        terminal.aside(match search.all {
            true => "nothing that was said in any session has all of these words",
            false => "nothing that was said in this project's sessions has all of these words; --all looks everywhere",
        });
    }
    Ok(exit::DONE)
}

/// To a file that does not exist yet, else to the terminal.
pub async fn export(id: &str, format: ExportFormat, to: Option<PathBuf>, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let path = to.map(|path| folder.join(path).to_string_lossy().into_owned());
    let outcome = match opening::whole_id(&client, id).await {
        Ok(session_id) => {
            client.call::<method::SessionExport>(&ExportSessionParams { session_id, format, path }).await
        }
        Err(error) => Err(error),
    };
    client.stop().await;
    let mut terminal = Terminal::new();
    match outcome? {
        ExportSessionResult { path: Some(path), .. } => terminal.aside(&format!("written to {path}")),
        ExportSessionResult { text, .. } => {
            // The text as it is, for a file or a pager.
            if std::io::stdout().write_all(text.unwrap_or_default().as_bytes()).is_err() {
                terminal.closed = true;
            }
        }
    }
    Ok(exit::DONE)
}

pub async fn fork(id: &str, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let outcome = match opening::whole_id(&client, id).await {
        Ok(session_id) => {
            client.call::<method::SessionFork>(&ForkSessionParams { session_id, message_uuid: None }).await
        }
        Err(error) => Err(error),
    };
    client.stop().await;
    Terminal::new().line(&outcome?.session_id);
    Ok(exit::DONE)
}

fn show_message(terminal: &mut Terminal, message: &SessionMessage, folder: &std::path::Path) {
    let paint = terminal.answer_paint;
    let text = message.text.trim_end();
    match (message.kind, message.role) {
        (MessageKind::Attachment | MessageKind::Thinking, _) => {}
        (MessageKind::ToolUse, _) => {
            let (tool, input) = text.split_once(' ').unwrap_or((text, ""));
            let input: Value = serde_json::from_str(input).unwrap_or(Value::Null);
            let line = format!("• {}\n", headline(tool, &input, folder));
            terminal.painted_line(&paint.paint(Style::Dim, &safe(&line)));
        }
        (MessageKind::ToolResult, _) => {
            let result = excerpt(text, terminal.answer_columns());
            terminal.painted_line(&format!("{}\n", paint.paint(Style::Dim, &result)));
        }
        (MessageKind::Text | MessageKind::Notice, MessageRole::User) => {
            terminal.painted_line(&format!("{}\n", paint.paint(Style::Bold, &safe(&format!("› {text}")))));
        }
        (MessageKind::Text | MessageKind::Notice, MessageRole::System) => {
            terminal.painted_line(&format!("{}\n", paint.paint(Style::Yellow, &safe(&format!("! {text}")))));
        }
        (MessageKind::Text | MessageKind::Notice, MessageRole::Assistant) => {
            terminal.answer(&format!("{text}\n"));
            terminal.end_answer();
            terminal.painted_line("");
        }
    }
}

/// As the clock on the wall says it.
pub(crate) fn local_time(timestamp: &str) -> String {
    match timestamp.parse::<Timestamp>() {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => timestamp.to_owned(),
    }
}
