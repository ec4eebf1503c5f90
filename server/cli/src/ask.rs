//! `reverie ask`: one turn in the terminal.

use std::{io::Read, path::PathBuf};

use anyhow::{Context, bail};
use protocol::{
    ClientCapabilities, Notification, PromptPart, Request, SessionUpdateParams, StopReason, Update, method,
};
use serde_json::{Value, json};

use crate::{
    arguments::{AskOptions, SessionOptions},
    client::{self, Client, Incoming},
    exit, terminal,
    terminal::Screen,
};

pub async fn run(options: AskOptions) -> anyhow::Result<u8> {
    let AskOptions { session, prompt, json } = options;
    let prompt = match prompt {
        Some(prompt) => with_piped_text(prompt)?,
        None => read_prompt()?,
    };
    let cwd = folder(&session)?;
    let mut client = Client::start(&cwd, client::settings_of(&session), capabilities()).await?;
    let opened = client.open_session(&session, &cwd).await?;
    let mut screen = Screen::new();
    for repair in &opened.repairs {
        screen.aside(&format!("! repaired: {repair}"));
    }
    let shown = if json { Shown::Json } else { Shown::Text };
    let code = turn(&mut client, &mut screen, &opened.id, &prompt, shown).await?;
    client.stop().await;
    Ok(code)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Text,
    Json,
}

pub fn capabilities() -> ClientCapabilities {
    let can_ask = terminal::can_ask();
    ClientCapabilities {
        version: protocol::VERSION,
        permission_ask: can_ask,
        user_ask: can_ask,
        plan_ask: false,
        document_save: false,
    }
}

pub fn folder(options: &SessionOptions) -> anyhow::Result<PathBuf> {
    match &options.cwd {
        Some(folder) => {
            folder.canonicalize().with_context(|| format!("cannot use the folder {}", folder.display()))
        }
        None => std::env::current_dir().context("the current folder cannot be read"),
    }
}

/// Sends the prompt and shows the turn until it ends. The first Ctrl-C stops the turn, the second the program.
pub async fn turn(
    client: &mut Client,
    screen: &mut Screen,
    session: &str,
    prompt: &str,
    shown: Shown,
) -> anyhow::Result<u8> {
    let params = protocol::PromptSessionParams {
        session_id: session.to_owned(),
        prompt: vec![PromptPart::Text { text: prompt.to_owned() }],
        editor: None,
        work_done_token: None,
    };
    let turn = client.call::<method::SessionPrompt>(&params).await?.turn_id;
    let mut interrupts = 0;
    loop {
        let incoming = tokio::select! {
            incoming = client.incoming.recv() => incoming,
            _ = tokio::signal::ctrl_c() => {
                interrupts += 1;
                if interrupts > 1 {
                    return Ok(exit::CANCELLED);
                }
                cancel(client, session).await?;
                continue;
            }
        };
        match incoming {
            None => bail!("the server ended in the middle of the turn"),
            Some(Incoming::Request { id, method, params }) => {
                answer(client, screen, &id, &method, params).await?
            }
            Some(Incoming::Notification { method, params }) => {
                if shown == Shown::Json {
                    screen.json(&json!({"method": method, "params": params}));
                }
                if method != method::SessionUpdate::NAME {
                    continue;
                }
                let update: SessionUpdateParams = serde_json::from_str(params.get())?;
                if shown == Shown::Text {
                    screen.show(&update.update);
                }
                if let Update::TurnEnd { stop_reason, usage, error } = &update.update
                    && update.turn_id.as_deref() == Some(&turn)
                {
                    if shown == Shown::Json {
                        let result = json!({"sessionId": session, "turnId": turn, "stopReason": stop_reason, "usage": usage, "error": error});
                        screen.json(&json!({"result": result}));
                    }
                    return Ok(exit_code(*stop_reason));
                }
            }
        }
        if screen.closed {
            cancel(client, session).await?;
            return Ok(exit::FAILED);
        }
    }
}

async fn cancel(client: &Client, session: &str) -> anyhow::Result<()> {
    client
        .call::<method::SessionCancel>(&protocol::CancelSessionParams { session_id: session.to_owned() })
        .await?;
    Ok(())
}

fn exit_code(stop: StopReason) -> u8 {
    match stop {
        StopReason::EndTurn => exit::DONE,
        StopReason::Cancelled => exit::CANCELLED,
        StopReason::MaxRounds
        | StopReason::Budget
        | StopReason::Refused
        | StopReason::Blocked
        | StopReason::Error => exit::FAILED,
    }
}

async fn answer(
    client: &Client,
    screen: &mut Screen,
    id: &Value,
    method: &str,
    params: Value,
) -> anyhow::Result<()> {
    let result = if method == method::PermissionAsk::NAME {
        let params = serde_json::from_value(params)?;
        screen.aside("");
        let answer = tokio::task::spawn_blocking(move || terminal::ask_permission(&params)).await?;
        serde_json::to_value(answer)?
    } else if method == method::UserAsk::NAME {
        let params = serde_json::from_value(params)?;
        let answer = tokio::task::spawn_blocking(move || terminal::ask_user(&params)).await?;
        serde_json::to_value(answer)?
    } else if method == "window/showMessageRequest" {
        // Nobody is there to choose.
        Value::Null
    } else {
        client.refuse(id, method);
        return Ok(());
    };
    client.answer(id, &result);
    Ok(())
}

/// The prompt from stdin, where nothing stands on the command line.
fn read_prompt() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("the prompt could not be read from stdin")?;
    if text.trim().is_empty() {
        bail!("there is no prompt; try: reverie ask \"what does this project do?\"");
    }
    Ok(text)
}

/// `git diff | reverie ask "review this"`: what is piped in stands behind the prompt. Only a pipe or a file counts,
/// and an inherited but silent pipe is not waited for.
fn with_piped_text(prompt: String) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    if !has_input(&stdin) {
        return Ok(prompt);
    }
    let mut text = String::new();
    stdin.lock().read_to_string(&mut text).context("what was piped in is not text")?;
    Ok(if text.trim().is_empty() { prompt } else { format!("{prompt}\n\n{text}") })
}

fn has_input(stdin: &std::io::Stdin) -> bool {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{FileType, fstat},
    };
    let Ok(status) = fstat(stdin) else { return false };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => true,
        FileType::Fifo => {
            // Programs that pipe on purpose write at once or soon; `ask` started by a script with an idle pipe must not hang.
            let wait = Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut fds = [PollFd::new(stdin, PollFlags::IN)];
            poll(&mut fds, Some(&wait)).is_ok_and(|ready| ready > 0)
        }
        _ => false,
    }
}
