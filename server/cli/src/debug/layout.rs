//! `reverie debug layout --session ID`: the next request of a session, one line per item. The session goes on unchanged.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use protocol::{ContextLayoutParams, method};

use crate::{client::Client, exit, opening};

pub async fn run(session: &str, cwd: Option<PathBuf>) -> anyhow::Result<u8> {
    let folder = opening::folder(cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let outcome = lines(&client, session).await;
    client.stop().await;
    let mut stdout = io::stdout().lock();
    for line in outcome? {
        if writeln!(stdout, "{line}").is_err() {
            // Nobody reads on.
            break;
        }
    }
    Ok(exit::DONE)
}

async fn lines(client: &Client, session: &str) -> anyhow::Result<Vec<String>> {
    let resumed = opening::resume(client, session).await?;
    let params = ContextLayoutParams { session_id: resumed.id };
    Ok(client.call::<method::ContextLayout>(&params).await?.lines)
}
