//! `reverie doctor`: is everything there that a session needs?

use protocol::{CheckStatus, DoctorParams, method};

use crate::{ask, client::Client, exit, terminal::Screen};

pub async fn run(json: bool) -> anyhow::Result<u8> {
    let client = Client::start(&std::env::current_dir()?, None, ask::capabilities()).await?;
    let result = client.call::<method::Doctor>(&DoctorParams {}).await?;
    let mut screen = Screen::new();
    for check in &result.checks {
        if json {
            screen.json(check);
            continue;
        }
        let mark = match check.status {
            CheckStatus::Ok => "ok  ",
            CheckStatus::Warning => "warn",
            CheckStatus::Failed => "FAIL",
        };
        screen.line(&format!("{mark}  {:<12} {}", check.name, check.detail));
        if let Some(fix) = &check.fix {
            screen.line(&format!("      {:<12} → {fix}", ""));
        }
    }
    client.stop().await;
    let failed = result.checks.iter().any(|check| check.status == CheckStatus::Failed);
    Ok(if failed { exit::FAILED } else { exit::DONE })
}
