//! What all background work depends on.

use std::{io, path::Path};

use conversation::SessionId;
use settings::Settings;

use super::{Gate, JobKind, News};
use crate::{session::Session, shared::Shared, spend};

impl Gate {
    /// A switch, with its name in words.
    pub(super) fn of(name: &'static str, open: bool, what: &str) -> Self {
        Self { name, open, detail: format!("{what} is {}", if open { "on" } else { "off" }) }
    }
}

pub(super) fn common(shared: &Shared, settings: &Settings) -> Vec<Gate> {
    let environment = &shared.environment;
    let remote = environment.switch("CLAUDE_CODE_REMOTE") == Some(true);
    let bare = settings.is_bare(environment);
    vec![
        Gate::of("memory", settings.auto_memory(environment), "auto memory"),
        Gate { name: "remote", open: !remote, detail: said(remote, "a remote session", "not remote") },
        Gate { name: "bare", open: !bare, detail: said(bare, "bare mode", "not bare") },
        budget(shared, settings),
    ]
}

/// What was switched off, or moved elsewhere, while somebody worked on it is left alone.
pub(super) fn still_here(
    session: &Session,
    settings: &Settings,
    is_on: bool,
    folder: &Path,
) -> io::Result<()> {
    let environment = &session.shared.environment;
    if !is_on || !settings.auto_memory(environment) {
        return Err(io::Error::other("it was switched off meanwhile"));
    }
    if settings.memory_dir(environment, &session.cwd) != folder {
        return Err(io::Error::other("the memories were moved meanwhile"));
    }
    Ok(())
}

/// "A per-day budget for background spending."
pub(super) fn budget(shared: &Shared, settings: &Settings) -> Gate {
    let spent = shared.spend.background_usd(spend::today());
    let limit = settings.budgets.background_day_usd;
    Gate {
        name: "budget",
        open: limit.is_none_or(|limit| spent < limit),
        detail: match limit {
            Some(limit) => {
                format!("${spent:.2} of ${limit:.2} spent today (setting budgets.backgroundDayUsd)")
            }
            None => format!("${spent:.2} spent today; no limit is set (setting budgets.backgroundDayUsd)"),
        },
    }
}

/// Once a day: that something would run now, but for the budget.
pub(super) fn tell_spent(shared: &Shared, kind: JobKind, session: Option<SessionId>, gates: &[Gate]) {
    let mut closed = gates.iter().filter(|gate| !gate.open);
    let (Some(Gate { name: "budget", detail, .. }), None) = (closed.next(), closed.next()) else { return };
    if shared.ask_once(&format!("background budget {}", spend::today())) {
        let text = format!("Nothing more runs by itself today: {detail}");
        shared.frontend.news(News { kind, session, text, view: None, undo: None });
    }
}

fn said(holds: bool, yes: &str, no: &str) -> String {
    if holds { yes } else { no }.to_owned()
}
