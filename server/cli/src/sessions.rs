//! `reverie sessions`: past conversations of this project.

use protocol::{ListSessionsParams, MessageKind, MessageRole, ResumeSessionParams, method};

use crate::{ask, client::Client, exit, terminal::Screen};

const PAGE: u32 = 1_000;

pub async fn list(query: Option<String>, json: bool) -> anyhow::Result<u8> {
    let client = Client::start(&std::env::current_dir()?, None, ask::capabilities()).await?;
    let mut screen = Screen::new();
    let mut cursor = None;
    let mut found = false;
    loop {
        let params = ListSessionsParams { cursor, limit: Some(PAGE), query: query.clone() };
        let page = client.call::<method::SessionList>(&params).await?;
        for session in &page.sessions {
            found = true;
            if json {
                screen.json(session);
            } else {
                let cost = session
                    .cost_usd
                    .filter(|cost| *cost > 0.0)
                    .map_or(String::new(), |cost| format!("  ${cost:.2}"));
                let when = session.updated_at.get(..16).unwrap_or(&session.updated_at).replace('T', " ");
                screen.line(&format!(
                    "{}  {when}  {:>6} KB{cost}  {}",
                    session.session_id,
                    session.bytes.div_ceil(1_024),
                    session.title
                ));
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() || screen.closed {
            break;
        }
    }
    if !found && !json {
        screen.aside("no sessions yet; start one with: reverie ask \"…\"");
    }
    client.stop().await;
    Ok(exit::DONE)
}

pub async fn show(id: String) -> anyhow::Result<u8> {
    let client = Client::start(&std::env::current_dir()?, None, ask::capabilities()).await?;
    let params = ResumeSessionParams { session_id: id, strategy: None };
    let session = client.call::<method::SessionResume>(&params).await?;
    let mut screen = Screen::new();
    for repair in &session.repairs {
        screen.aside(&format!("! repaired: {repair}"));
    }
    for message in &session.messages {
        let speaker = match (message.role, message.kind) {
            (_, MessageKind::Attachment | MessageKind::Thinking) => continue,
            (_, MessageKind::ToolUse) => "tool",
            (_, MessageKind::ToolResult) => "result",
            (MessageRole::User, _) => "you",
            (MessageRole::Assistant, _) => "reverie",
            (MessageRole::System, _) => "system",
        };
        screen.line(&format!("{speaker}: {}\n", message.text.trim_end()));
    }
    client.stop().await;
    Ok(exit::DONE)
}
