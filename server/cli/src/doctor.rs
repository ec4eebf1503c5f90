//! `reverie doctor`: is everything there that a session needs?

use protocol::{CheckStatus, DoctorParams, method};

use crate::{
    arguments::Scope,
    client::Client,
    exit, opening,
    terminal::{
        Terminal,
        style::{Style, safe},
    },
};

pub async fn run(repair: bool, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let result = client.call::<method::Doctor>(&DoctorParams { repair }).await;
    client.stop().await;
    let checks = result?.checks;
    let mut terminal = Terminal::new();
    for check in &checks {
        if scope.json {
            terminal.json(check);
            continue;
        }
        let (style, mark) = match check.status {
            CheckStatus::Ok => (Style::Green, "ok  "),
            CheckStatus::Warning => (Style::Yellow, "warn"),
            CheckStatus::Failed => (Style::Red, "FAIL"),
        };
        let mark = terminal.answer_paint.paint(style, mark);
        terminal.painted_line(&format!("{mark}  {:<14} {}", check.name, safe(&check.detail)));
        if let Some(fix) = &check.fix {
            terminal.line(&format!("      {:<14} → {fix}", ""));
        }
    }
    let failed = checks.iter().any(|check| check.status == CheckStatus::Failed);
    Ok(if failed { exit::FAILED } else { exit::DONE })
}
