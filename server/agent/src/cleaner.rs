//! Every five minutes what sessions have derived and not asked for again is forgotten, sooner where memory is short.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use cache::Pressure;

use crate::agent::Agent;

const EVERY: Duration = Duration::from_secs(5 * 60);

/// What the server should not need, in bytes.
const BUDGET: u64 = 256 << 20;

/// Runs until the agent is gone. One task a server; between two looks it costs nothing.
pub(crate) async fn run(agent: Weak<Agent>) {
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(agent) = agent.upgrade() else { return };
        // On a task of its own: a panic in here must not end the cleaning.
        let cleaned = tokio::spawn(async move { clean(&agent, Pressure::of(resident(), BUDGET)) });
        match cleaned.await {
            Ok(0) => {}
            Ok(entries) => tracing::debug!(entries, "forgotten from working memories"),
            Err(error) => tracing::error!(%error, "the cleaner panicked"),
        }
    }
}

/// How many entries went.
pub(crate) fn clean(agent: &Arc<Agent>, pressure: Pressure) -> usize {
    agent.shared.faults.reach("cleaner");
    let now = Instant::now();
    agent.sessions_here().iter().map(|session| session.repeats.clean(now, pressure)).sum()
}

/// The bytes of this process in memory; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_in_memory() {
        assert!(resident() > 1 << 20, "{}", resident());
    }
}
