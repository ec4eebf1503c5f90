//! Is the agent's own work in order: its budget, its last dream, a lock that was left behind?

use super::ok;
use crate::{
    background::{BackgroundReport, DreamState, DreamStatus, Gate},
    types::{AgentError, Check, CheckStatus},
};

const NAME: &str = "background";

/// Gates that are closed because something is wrong, not because it is not time yet.
const TROUBLE: [&str; 3] = ["breaker", "backoff", "lock"];

pub(crate) fn check(
    background: Result<BackgroundReport, AgentError>,
    dreams: Result<DreamStatus, AgentError>,
) -> Check {
    let (background, dreams) = match (background, dreams) {
        (Ok(background), Ok(dreams)) => (background, dreams),
        (Err(error), _) | (_, Err(error)) => return ok(NAME, format!("nothing runs by itself: {error}")),
    };
    let limit = background.limit_usd.map(|limit| format!(" of ${limit:.2}")).unwrap_or_default();
    let last = match (dreams.state, dreams.last_consolidated) {
        (DreamState::Running, _) => "a dream runs".to_owned(),
        (DreamState::Locked, _) => "another process dreams".to_owned(),
        (DreamState::Idle, Some(last)) => {
            format!("last dream at {}", last.round(jiff::Unit::Second).unwrap_or(last))
        }
        (DreamState::Idle, None) => "no dream yet".to_owned(),
    };
    let mut lines = vec![format!("${:.4}{limit} spent today; {last}", background.spent_usd)];
    let gates = background.kinds.iter().flat_map(|kind| &kind.gates).chain(&dreams.gates);
    let mut closed: Vec<&Gate> = Vec::new();
    for gate in gates.filter(|gate| !gate.open && TROUBLE.contains(&gate.name)) {
        if !closed.contains(&gate) {
            closed.push(gate);
        }
    }
    lines.extend(closed.iter().map(|gate| format!("{}: {}", gate.name, gate.detail)));
    let is_used_up = background.limit_usd.is_some_and(|limit| background.spent_usd >= limit);
    if is_used_up {
        lines.push("the budget of the day is used up: nothing is learnt until tomorrow".to_owned());
    }
    let is_trouble = is_used_up || (!closed.is_empty() && dreams.state == DreamState::Idle);
    let detail = lines.join("\n");
    if !is_trouble {
        return ok(NAME, detail);
    }
    let fix = if is_used_up {
        "raise budgets.backgroundDayUsd in your settings, or wait"
    } else {
        "`reverie dream status` says more; `reverie dream` tries again"
    };
    Check { name: NAME.to_owned(), status: CheckStatus::Warning, detail, fix: Some(fix.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(spent_usd: f64, gates: Vec<Gate>) -> Check {
        let background = BackgroundReport { kinds: Vec::new(), spent_usd, limit_usd: Some(1.0) };
        let dreams = DreamStatus {
            state: DreamState::Idle,
            last_consolidated: None,
            sessions_since: 0,
            gates,
            running: None,
        };
        check(Ok(background), Ok(dreams))
    }

    #[test]
    fn gates_that_wait_for_their_time_are_in_order() {
        let hours = Gate { name: "hours", open: false, detail: "2 of 24".to_owned() };
        let check = examined(0.25, vec![hours]);
        assert_eq!(check.status, CheckStatus::Ok);
        assert_eq!(check.detail, "$0.2500 of $1.00 spent today; no dream yet");
    }

    #[test]
    fn a_lock_and_a_spent_budget_are_told() {
        let lock = Gate { name: "lock", open: false, detail: "held by a process that is gone".to_owned() };
        let check = examined(0.0, vec![lock]);
        assert_eq!(check.status, CheckStatus::Warning);
        assert!(check.detail.ends_with("\nlock: held by a process that is gone"), "{}", check.detail);
        assert!(examined(1.0, Vec::new()).detail.ends_with("nothing is learnt until tomorrow"));
    }
}
