//! `reverie memory`: what is remembered of this project, and the way back.

use std::collections::HashMap;

use anyhow::bail;
use protocol::{
    DeleteMemoryParams, LintMemoryParams, ListMemoriesParams, MemoryChange, MemoryHistoryParams,
    ReadMemoryParams, SearchMemoryParams, UndoMemoryParams, method,
};

use crate::{
    arguments::Scope,
    client::Client,
    exit, opening,
    sessions::local_time,
    terminal::{Terminal, style::safe},
};

/// Why the server says that a change was made that takes back another.
const UNDONE: &str = "you took it back";

#[derive(Debug)]
pub enum Memory {
    List,
    Show {
        path: String,
    },
    Search {
        words: String,
    },
    Lint,
    History {
        path: Option<String>,
    },
    /// One change by its id or the start of it; the last one if absent.
    Undo {
        change: Option<String>,
    },
    UndoSince {
        time: String,
    },
    Forget {
        path: String,
    },
}

pub async fn run(what: Memory, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let done = answer(&client, what, scope.json, &mut Terminal::new()).await;
    client.stop().await;
    done
}

async fn answer(client: &Client, what: Memory, json: bool, terminal: &mut Terminal) -> anyhow::Result<u8> {
    match what {
        Memory::List => {
            let listed = client.call::<method::MemoryList>(&ListMemoriesParams {}).await?;
            if json {
                terminal.json(&listed);
                return Ok(exit::DONE);
            }
            for memory in &listed.memories {
                let name =
                    memory.path.strip_prefix(&listed.dir).unwrap_or(&memory.path).trim_start_matches('/');
                let kind = memory.r#type.as_deref().unwrap_or("-");
                let stale = if memory.stale { "  [stale]" } else { "" };
                let said = if memory.description.is_empty() { &memory.name } else { &memory.description };
                terminal.line(&format!(
                    "{kind:<9}  {}  {}  {}{stale}",
                    local_time(&memory.modified_at),
                    safe(name),
                    safe(said)
                ));
            }
            if listed.memories.is_empty() {
                terminal.aside("nothing is remembered yet; try: reverie ask \"remember that …\"");
            }
            terminal.aside(&listed.dir);
        }
        Memory::Show { path } => {
            let read = client.call::<method::MemoryRead>(&ReadMemoryParams { path }).await?;
            if json {
                terminal.json(&read);
            } else {
                terminal.line(safe(&read.content).trim_end());
            }
        }
        Memory::Search { words } => {
            let found = client
                .call::<method::MemorySearch>(&SearchMemoryParams { query: words, limit: None })
                .await?;
            for hit in &found.hits {
                if json {
                    terminal.json(hit);
                } else {
                    terminal.line(&format!("{:>6.2}  {}", hit.score, safe(&hit.path)));
                    terminal.line(&format!("        {}", safe(&hit.snippet)));
                }
            }
            if found.hits.is_empty() && !json {
                terminal.aside("nothing that is remembered has to do with this");
            }
        }
        Memory::Lint => {
            let lint = client.call::<method::MemoryLint>(&LintMemoryParams {}).await?;
            for finding in &lint.findings {
                if json {
                    terminal.json(finding);
                    continue;
                }
                let fix = finding.fix.as_deref().map(|fix| format!(" ({})", safe(fix))).unwrap_or_default();
                let place = format!("{}:{}", safe(&finding.path), finding.line);
                terminal.line(&format!("{place}: {} [{}]{fix}", safe(&finding.message), finding.code));
            }
            if lint.findings.is_empty() && !json {
                terminal.aside("nothing to say: what is remembered is in order");
            }
            return Ok(if lint.findings.is_empty() { exit::DONE } else { exit::FAILED });
        }
        Memory::History { path } => {
            let params = MemoryHistoryParams { path, ..MemoryHistoryParams::default() };
            let history = client.call::<method::MemoryHistory>(&params).await?;
            for change in &history.changes {
                if json {
                    terminal.json(change);
                    continue;
                }
                let by = serde_json::to_value(change.by)?;
                let by = by.as_str().unwrap_or_default();
                let head = format!("{}  {}  {by}  {}", change.id, local_time(&change.at), safe(&change.path));
                terminal.line(&head);
                terminal.line(&format!("    {}", safe(&change.why)));
                for line in safe(&change.diff).lines() {
                    terminal.line(&format!("    {line}"));
                }
            }
            if history.changes.is_empty() && !json {
                terminal.aside("nothing was changed yet");
            }
        }
        Memory::Undo { change } => {
            let change = whole_id(client, change).await?;
            undo(
                client,
                UndoMemoryParams { change_id: Some(change), ..UndoMemoryParams::default() },
                json,
                terminal,
            )
            .await?;
        }
        Memory::UndoSince { time } => {
            let params = UndoMemoryParams { since: Some(time), ..UndoMemoryParams::default() };
            undo(client, params, json, terminal).await?;
        }
        Memory::Forget { path } => {
            client.call::<method::MemoryDelete>(&DeleteMemoryParams { path: path.clone() }).await?;
            if !json {
                terminal
                    .line(&format!("{} is forgotten; bring it back with: reverie memory undo", safe(&path)));
            }
        }
    }
    Ok(exit::DONE)
}

pub async fn undo(
    client: &Client,
    params: UndoMemoryParams,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let undone = client.call::<method::MemoryUndo>(&params).await?;
    if json {
        terminal.json(&undone);
        return Ok(());
    }
    for path in &undone.undone {
        terminal.line(&format!("taken back: {}", safe(path)));
    }
    if undone.undone.is_empty() && undone.kept.is_empty() {
        terminal.aside("nothing was changed since");
    }
    for kept in &undone.kept {
        terminal.line(&format!("left alone: {}: {}", safe(&kept.path), safe(&kept.reason)));
    }
    Ok(())
}

/// The newest change, or the one that begins so.
async fn whole_id(client: &Client, start: Option<String>) -> anyhow::Result<String> {
    let params = MemoryHistoryParams { limit: Some(1_000), ..MemoryHistoryParams::default() };
    let history = client.call::<method::MemoryHistory>(&params).await?;
    let Some(start) = start else {
        return match next_back(&history.changes) {
            Some(change) => Ok(change.id.clone()),
            None => {
                bail!("nothing is left that could be taken back; reverie memory history lists all changes")
            }
        };
    };
    let mut fitting = history.changes.iter().filter(|change| change.id.starts_with(&start));
    match (fitting.next(), fitting.next()) {
        (Some(change), None) => Ok(change.id.clone()),
        (Some(_), Some(_)) => bail!("several changes begin with {start}; write more of the id"),
        (None, _) => bail!("no change begins with {start}; reverie memory history lists them"),
    }
}

/// The newest change that was not taken back yet. Taking back a topic takes its line in the index along, so only a change
/// of the index alone is one by itself.
fn next_back(changes: &[MemoryChange]) -> Option<&MemoryChange> {
    let mut taken_back: HashMap<&str, usize> = HashMap::new();
    let mut open = Vec::new();
    for change in changes {
        let undone = taken_back.entry(&change.path).or_default();
        if change.why == UNDONE {
            *undone += 1;
        } else if *undone > 0 {
            *undone -= 1;
        } else {
            open.push(change);
        }
    }
    let is_topic = |change: &&&MemoryChange| !change.path.ends_with("/MEMORY.md");
    open.iter().find(is_topic).or(open.first()).copied()
}
