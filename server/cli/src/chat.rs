//! `reverie chat`: a conversation in the terminal, a turn a line.

use std::io::{self, BufRead, IsTerminal, Write};

use protocol::method;

use crate::{
    arguments::{SessionOptions, Which},
    ask::{self, Shown},
    client::{self, Client},
    exit,
    terminal::Screen,
};

const HELP: &str = "/new      start another session
/context  what fills the model's window
/help     this text
/quit     end (also Ctrl-D); Ctrl-C stops an answer
A line that ends in \\ goes on in the next one.";

pub async fn run(mut options: SessionOptions) -> anyhow::Result<u8> {
    let cwd = ask::folder(&options)?;
    let mut client = Client::start(&cwd, client::settings_of(&options), ask::capabilities()).await?;
    let mut screen = Screen::new();
    let mut session = client.open_session(&options, &cwd).await?;
    for repair in &session.repairs {
        screen.aside(&format!("! repaired: {repair}"));
    }
    screen.aside(&format!("session {} in {} — /help for commands", session.id, cwd.display()));
    while let Some(line) = tokio::task::spawn_blocking(read_message).await?? {
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => break,
            "/help" => screen.aside(HELP),
            "/new" => {
                options.which = Which::New;
                session = client.open_session(&options, &cwd).await?;
                screen.aside(&format!("session {}", session.id));
            }
            "/context" => show_context(&client, &mut screen, &session.id).await?,
            command
                if command.starts_with('/')
                    && !command.contains(char::is_whitespace)
                    && !command[1..].contains('/') =>
            {
                screen.aside(&format!("there is no command {command}; /help lists them"));
            }
            prompt => {
                // The turn has said what went wrong; the conversation goes on.
                ask::turn(&mut client, &mut screen, &session.id, prompt, Shown::Text).await?;
            }
        }
        if screen.closed {
            break;
        }
    }
    client.stop().await;
    Ok(exit::DONE)
}

/// One message; `None` at the end of input.
fn read_message() -> io::Result<Option<String>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let mut stderr = io::stderr().lock();
        write!(stderr, "\n› ")?;
        stderr.flush()?;
    }
    let mut message = String::new();
    loop {
        let start = message.len();
        if stdin.lock().read_line(&mut message)? == 0 {
            return Ok((start > 0).then_some(message));
        }
        let line = message.trim_end_matches(['\n', '\r']);
        match line.strip_suffix('\\') {
            Some(before) => message = format!("{before}\n"),
            None => return Ok(Some(line.to_owned())),
        }
    }
}

async fn show_context(client: &Client, screen: &mut Screen, session: &str) -> anyhow::Result<()> {
    let params = protocol::ContextReportParams { session_id: session.to_owned() };
    let report = client.call::<method::ContextReport>(&params).await?;
    screen.aside(&format!("{} of {} tokens", report.used, report.window));
    for part in report.parts {
        screen.aside(&format!("{:>9}  {}", part.tokens, part.name));
    }
    Ok(())
}
