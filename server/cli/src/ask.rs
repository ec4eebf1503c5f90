//! `reverie ask`: one turn in the terminal.

use protocol::StopReason;
use serde_json::{Value, json};

use crate::{
    arguments::AskOptions,
    client::Client,
    conversation::{Conversation, Ended, Happened, Shown},
    exit, opening, prompt,
    terminal::{Terminal, complain, lines::Lines},
};

pub async fn run(options: AskOptions) -> anyhow::Result<u8> {
    let AskOptions { session, prompt, json } = options;
    let Some(prompt) = prompt::read(prompt)? else {
        complain("there is no prompt; try: reverie ask \"what does this project do?\"");
        return Ok(exit::USAGE);
    };
    let folder = opening::folder(session.cwd.as_deref())?;
    let settings = opening::settings(&session);
    let client = Client::start_non_interactive(&folder, settings, opening::capabilities()).await?;
    let shown = if json { Shown::Json } else { Shown::Text };
    let opened = match opening::open(&client, &session, &folder).await {
        Ok(opened) => opened,
        Err(error) => {
            client.stop().await;
            if json {
                // "Last line {result}", also when there was nothing to be done.
                let error = json!({"code": "notStarted", "message": format!("{error:#}")});
                Terminal::new().json(&result(None, None, StopReason::Error, json!({}), Some(error)));
            }
            return Err(error);
        }
    };
    let mut conversation = Conversation::new(client, &opened, folder, shown)?;
    if opening::is_attended() {
        conversation.keyboard = Lines::of_terminal();
    }
    let ended = turn(&mut conversation, &prompt, shown).await;
    match ended {
        Ok((code, last)) => {
            conversation.leave(last).await;
            Ok(code)
        }
        Err(error) => {
            conversation.leave(None).await;
            Err(error)
        }
    }
}

/// The exit code, and the last line of a stream of JSON.
async fn turn(
    conversation: &mut Conversation,
    prompt: &str,
    shown: Shown,
) -> anyhow::Result<(u8, Option<Value>)> {
    conversation.prompt(prompt).await?;
    loop {
        match conversation.next().await? {
            Happened::TurnEnded(Ended { turn, stop, usage, error }) => {
                let last = (shown == Shown::Json).then(|| {
                    let session = Some(conversation.session.as_str());
                    let error = error.map(|error| json!(error));
                    result(session, Some(&turn), stop, json!(usage), error)
                });
                return Ok((exit_code(stop), last));
            }
            // The server, when it is told to stop, ends the turn and its commands.
            Happened::Interrupted | Happened::Terminated | Happened::OutputClosed => {
                return Ok((exit::CANCELLED, None));
            }
            Happened::Line(_) | Happened::EndOfInput | Happened::Noticed => {}
        }
    }
}

fn result(
    session: Option<&str>,
    turn: Option<&str>,
    stop: StopReason,
    usage: Value,
    error: Option<Value>,
) -> Value {
    json!({"result": {"sessionId": session, "turnId": turn, "stopReason": stop, "usage": usage, "error": error}})
}

pub fn exit_code(stop: StopReason) -> u8 {
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
