//! `reverie trust`: may this folder's own files run programs and loosen settings?

use protocol::{GetTrustParams, SetTrustParams, TrustResult, TrustStatus, method};

use crate::{arguments::Scope, client::Client, exit, opening, terminal::Terminal};

/// `change`: what to set; only shown if absent.
pub async fn run(change: Option<bool>, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let named = Some(folder.to_string_lossy().into_owned());
    let answer = match change {
        Some(trusted) => {
            client.call::<method::TrustSet>(&SetTrustParams { folder: named, trusted, digest: None }).await
        }
        None => client.call::<method::TrustGet>(&GetTrustParams { folder: named }).await,
    };
    client.stop().await;
    let trust = answer?;
    let mut terminal = Terminal::new();
    if scope.json {
        terminal.json(&trust);
    } else {
        show(&mut terminal, &trust);
    }
    Ok(exit::DONE)
}

fn show(terminal: &mut Terminal, trust: &TrustResult) {
    terminal.line(&match trust.status {
        TrustStatus::Trusted => format!("{} is trusted.", trust.folder),
        TrustStatus::Untrusted => format!("{} is not trusted.", trust.folder),
        TrustStatus::Changed => {
            format!("{} was trusted, but what it would run has changed since.", trust.folder)
        }
    });
    for change in &trust.changes {
        terminal.line(&format!("  {change}"));
    }
    if let Some(why) = &trust.cannot {
        terminal.line(&format!("It cannot be trusted: {why}."));
    }
    if !trust.items.is_empty() {
        terminal.line("Its own files would:");
    }
    for item in &trust.items {
        terminal.line(&format!("  {} ({}, {})", item.detail, item.kind, item.path));
    }
    if trust.status != TrustStatus::Trusted && trust.cannot.is_none() {
        terminal.line("Trust it as it is now with: reverie trust --yes");
    }
}
