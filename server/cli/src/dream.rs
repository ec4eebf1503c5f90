//! `reverie dream`: puts the memories of this project in order, in sight; what was done, and the way back.

mod live;
mod words;

use std::path::Path;

use anyhow::bail;
use protocol::{
    DreamOutcome, DreamReportParams, DreamReportResult, DreamStatusParams, ListTasksParams, NewSessionParams,
    StartDreamParams, StartDreamResult, UndoMemoryParams, method,
};
use serde_json::json;

use crate::{
    arguments::{Scope, SessionOptions},
    client::Client,
    exit, memory, opening,
    terminal::Terminal,
};
use live::{Live, Watched};

#[derive(Debug)]
pub enum Dream {
    Start {
        dry_run: bool,
        model: Option<String>,
    },
    Status,
    /// Of the last one if absent.
    Report {
        id: Option<String>,
    },
    /// The last one if absent.
    Undo {
        id: Option<String>,
    },
}

pub async fn run(what: Dream, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let model = match &what {
        Dream::Start { model, .. } => model.clone(),
        Dream::Status | Dream::Report { .. } | Dream::Undo { .. } => None,
    };
    let settings = opening::settings(&SessionOptions { model, ..SessionOptions::default() });
    let mut client = Client::start(&folder, settings, opening::capabilities()).await?;
    let mut terminal = Terminal::new();
    let done = match what {
        Dream::Start { dry_run, model } => {
            start(&mut client, &folder, model, dry_run, &scope, &mut terminal).await
        }
        Dream::Status => status(&client, &scope, &mut terminal).await,
        Dream::Report { id } => {
            let reported = client.call::<method::DreamReport>(&DreamReportParams { dream_id: id }).await;
            reported.map(|report| {
                show(&report, &scope, &mut terminal);
                exit::DONE
            })
        }
        Dream::Undo { id } => undo(&client, id, &scope, &mut terminal).await,
    };
    match done {
        // Whoever does not wait for the end of a dream does not wait for anything.
        Ok(exit::CANCELLED) => client.exit().await,
        Ok(_) | Err(_) => client.stop().await,
    }
    done
}

async fn start(
    client: &mut Client,
    folder: &Path,
    model: Option<String>,
    dry_run: bool,
    scope: &Scope,
    terminal: &mut Terminal,
) -> anyhow::Result<u8> {
    let mut live = Live::new(scope.json)?;
    // A conversation of its own: nothing is written of it, and it answers with the model that is asked for.
    let cwd = Some(folder.to_string_lossy().into_owned());
    let session = NewSessionParams { cwd, model, ..NewSessionParams::default() };
    let session = client.call::<method::SessionNew>(&session).await?.session_id;
    let params = StartDreamParams { session_id: Some(session), dry_run: Some(dry_run) };
    let dream = match client.call::<method::DreamStart>(&params).await? {
        StartDreamResult::Started { dream_id } => dream_id,
        StartDreamResult::Skipped { skipped } => {
            match scope.json {
                true => terminal.json(&json!({"result": {"skipped": skipped}})),
                false => terminal.warn(&format!("no dream was begun: {skipped}")),
            }
            return Ok(exit::FAILED);
        }
    };
    let watched = live.watch(client, &dream, terminal).await?;
    let Watched::Ended { outcome, last_word } = watched else { return Ok(exit::CANCELLED) };
    match client.call::<method::DreamReport>(&DreamReportParams { dream_id: Some(dream) }).await {
        Ok(report) => show(&report, scope, terminal),
        // One that was stopped early may have left none.
        Err(error) if outcome == DreamOutcome::Completed => return Err(error),
        Err(_) => terminal.warn(last_word.as_deref().unwrap_or("the dream left no report")),
    }
    Ok(match outcome {
        DreamOutcome::Completed => exit::DONE,
        DreamOutcome::Killed => exit::CANCELLED,
        DreamOutcome::Failed | DreamOutcome::Running => exit::FAILED,
    })
}

async fn status(client: &Client, scope: &Scope, terminal: &mut Terminal) -> anyhow::Result<u8> {
    let dreams = client.call::<method::DreamStatus>(&DreamStatusParams {}).await?;
    let tasks = client.call::<method::TasksList>(&ListTasksParams::default()).await?;
    if scope.json {
        terminal.json(&json!({"dream": dreams, "tasks": tasks.tasks, "background": tasks.background}));
    } else {
        terminal.sections(&words::status(&dreams, &tasks));
    }
    Ok(exit::DONE)
}

async fn undo(
    client: &Client,
    id: Option<String>,
    scope: &Scope,
    terminal: &mut Terminal,
) -> anyhow::Result<u8> {
    let dream_id = match id {
        Some(id) => id,
        None => {
            let last = client.call::<method::DreamReport>(&DreamReportParams::default()).await?;
            if last.dry_run || last.changes.is_empty() {
                bail!("the last dream changed nothing; 'reverie dream undo ID' takes back an earlier one");
            }
            last.dream_id
        }
    };
    let params = UndoMemoryParams { dream_id: Some(dream_id), ..UndoMemoryParams::default() };
    memory::undo(client, params, scope.json, terminal).await?;
    Ok(exit::DONE)
}

fn show(report: &DreamReportResult, scope: &Scope, terminal: &mut Terminal) {
    if scope.json {
        return terminal.json(&json!({ "result": report }));
    }
    for line in words::report(report, terminal.answer_paint).lines() {
        terminal.painted_line(line);
    }
}
