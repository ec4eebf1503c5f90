//! `reverie doctor`: is everything there that a session needs?

use protocol::{Check, CheckStatus, DoctorParams, Repair, method};

use crate::{
    arguments::Scope,
    client::Client,
    exit, opening,
    terminal::{
        Terminal,
        style::{Style, safe},
    },
};

pub async fn run(repair: bool, repairs: bool, scope: Scope) -> anyhow::Result<u8> {
    let folder = opening::folder(scope.cwd.as_deref())?;
    let client = Client::start(&folder, None, opening::capabilities()).await?;
    let result = client.call::<method::Doctor>(&DoctorParams { repair }).await;
    client.stop().await;
    let result = result?;
    let mut terminal = Terminal::new();
    if repairs {
        result.repairs.iter().for_each(|repair| show_repair(&mut terminal, repair, scope.json));
        if result.repairs.is_empty() && !scope.json {
            terminal.aside("nothing was repaired so far");
        }
        return Ok(exit::DONE);
    }
    for check in &result.checks {
        if scope.json {
            terminal.json(check);
        } else {
            show(&mut terminal, check);
        }
    }
    let failed = result.checks.iter().any(|check| check.status == CheckStatus::Failed);
    Ok(if failed { exit::FAILED } else { exit::DONE })
}

fn show(terminal: &mut Terminal, check: &Check) {
    let (style, mark) = match check.status {
        CheckStatus::Ok => (Style::Green, "ok  "),
        CheckStatus::Warning => (Style::Yellow, "warn"),
        CheckStatus::Failed => (Style::Red, "FAIL"),
    };
    let mark = terminal.answer_paint.paint(style, mark);
    let detail = safe(&check.detail).replace('\n', &format!("\n      {:<14} ", ""));
    terminal.painted_line(&format!("{mark}  {:<14} {detail}", check.name));
    if let Some(fix) = &check.fix {
        terminal.line(&format!("      {:<14} → {fix}", ""));
    }
}

fn show_repair(terminal: &mut Terminal, repair: &Repair, json: bool) {
    if json {
        terminal.json(repair);
        return;
    }
    let (style, mark) = if repair.success { (Style::Green, "ok  ") } else { (Style::Red, "FAIL") };
    let mark = terminal.answer_paint.paint(style, mark);
    let Repair { at, subject, check, detail, .. } = repair;
    let line = format!("{at}  {check}  {subject}: {detail}").replace('\n', " ");
    terminal.painted_line(&format!("{mark}  {}", safe(&line)));
}
