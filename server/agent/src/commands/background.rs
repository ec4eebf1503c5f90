//! `/dream` and `/background`: what the agent does by itself, begun and stopped, and told in words.

use std::{fmt::Write, sync::Arc};

use crate::{
    agent::Agent,
    background::{
        Account, BackgroundReport, DreamStarted, DreamState, DreamStatus, Gate, JobKind, JobState,
        KindReport, StartDream,
    },
    session::Session,
    tasks::{Task, TaskKind},
    types::AgentError,
};

pub(super) fn dream(
    agent: &Arc<Agent>,
    session: &Arc<Session>,
    arguments: &str,
) -> Result<String, AgentError> {
    let dry_run = match arguments {
        "" => false,
        "dry-run" | "--dry-run" => true,
        "status" => return Ok(status(&agent.dream_status()?)),
        "stop" => return stop(agent),
        other => {
            return Err(AgentError::Invalid(format!(
                "/dream {other} means nothing; write /dream, /dream dry-run, /dream status or /dream stop"
            )));
        }
    };
    let start = StartDream { session: Some(session.id.clone()), dry_run };
    Ok(match agent.dream_start(start)? {
        DreamStarted::Started(_) if dry_run => {
            "A dream has begun that only shows what it would change. You are told when it is over; `/dream stop` ends it."
                .to_owned()
        }
        DreamStarted::Started(_) => {
            "A dream has begun: it puts the memories in order. You are told when it is over; `/dream stop` ends it and \
             takes back what it did."
                .to_owned()
        }
        DreamStarted::Skipped(why) => format!("No dream was begun: {why}."),
    })
}

fn stop(agent: &Agent) -> Result<String, AgentError> {
    let Some(running) = agent.dream_status()?.running else {
        return Ok("No dream runs here.".to_owned());
    };
    agent.dream_stop(&running.dream)?;
    Ok("The dream stops; what it has changed is taken back.".to_owned())
}

fn status(status: &DreamStatus) -> String {
    let mut text = match (&status.running, status.state) {
        (Some(running), _) => {
            let files = counted(running.files_touched.len() as u64, "file", "files");
            let rounds = counted(u64::from(running.rounds), "round", "rounds");
            format!("A dream runs: {rounds}, {files} touched.\n")
        }
        (None, DreamState::Locked) => "Another process dreams.\n".to_owned(),
        (None, DreamState::Idle | DreamState::Running) => "No dream runs.\n".to_owned(),
    };
    let last = match status.last_consolidated {
        Some(last) => format!("The last one was at {}", last.round(jiff::Unit::Second).unwrap_or(last)),
        None => "There was none yet".to_owned(),
    };
    let sessions = counted(status.sessions_since as u64, "other session", "other sessions");
    let _infallible = writeln!(text, "{last}; {sessions} since.\n\nThe next one begins by itself when:");
    push_gates(&mut text, &status.gates);
    text
}

/// What runs, why or why not, what it cost and what it was good for.
pub(super) fn report(agent: &Agent) -> Result<String, AgentError> {
    Ok(told(&agent.background()?, &agent.tasks(None)?))
}

fn told(report: &BackgroundReport, tasks: &[Task]) -> String {
    let mut text = String::new();
    let running = tasks.iter().filter(|task| task.state == JobState::Running && task.kind != TaskKind::Shell);
    for task in running {
        let detail = task.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
        let _infallible = writeln!(text, "- runs now: {}{detail}", task.title);
    }
    if text.is_empty() {
        text.push_str("Nothing runs by itself now.\n");
    }
    let limit = report.limit_usd.map(|limit| format!(" of ${limit:.2}")).unwrap_or_default();
    let _infallible = writeln!(text, "\nToday it cost ${:.4}{limit}.", report.spent_usd);
    for KindReport { kind, gates, today, last } in &report.kinds {
        let _infallible = writeln!(text, "\n{}: {}", title(*kind), account(today));
        if let Some(last) = last {
            let _infallible = writeln!(text, "- the last one: {last}");
        }
        push_gates(&mut text, gates);
    }
    text
}

fn title(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Extraction => "Learning from turns",
        JobKind::Notes => "Notes of sessions",
        JobKind::Dream => "Dreams",
    }
}

fn account(today: &Account) -> String {
    if today.runs == 0 {
        return "not run today".to_owned();
    }
    let runs = counted(today.runs, "run", "runs");
    let files = counted(today.files, "file", "files");
    format!("{runs} today, {files} written, ${:.4}", today.cost_usd)
}

fn push_gates(text: &mut String, gates: &[Gate]) {
    for Gate { name, open, detail } in gates {
        let mark = if *open { '✓' } else { '✗' };
        let _infallible = writeln!(text, "- {mark} {name}: {detail}");
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::background::{DreamPhase, DreamProgress};

    fn gate(name: &'static str, open: bool, detail: &str) -> Gate {
        Gate { name, open, detail: detail.to_owned() }
    }

    #[test]
    fn what_runs_is_told_with_its_gates_and_its_cost() {
        let learnt = Account { runs: 3, files: 1, cost_usd: 0.0123, ..Account::default() };
        let report = BackgroundReport {
            kinds: vec![
                KindReport {
                    kind: JobKind::Extraction,
                    gates: vec![gate("enabled", true, "extraction is on")],
                    today: learnt,
                    last: Some("completed: Remembered: Deploys".to_owned()),
                },
                KindReport {
                    kind: JobKind::Dream,
                    gates: vec![gate("hours", false, "2 of 24 hours since the last dream")],
                    today: Account::default(),
                    last: None,
                },
            ],
            spent_usd: 0.0123,
            limit_usd: Some(1.0),
        };
        let task = Task {
            id: "7".to_owned(),
            kind: TaskKind::Background(JobKind::Extraction),
            session: None,
            title: "Remembering".to_owned(),
            state: JobState::Running,
            started: jiff::Timestamp::UNIX_EPOCH,
            detail: Some("reading".to_owned()),
        };
        expect![[r#"
            - runs now: Remembering: reading

            Today it cost $0.0123 of $1.00.

            Learning from turns: 3 runs today, 1 file written, $0.0123
            - the last one: completed: Remembered: Deploys
            - ✓ enabled: extraction is on

            Dreams: not run today
            - ✗ hours: 2 of 24 hours since the last dream
        "#]]
        .assert_eq(&told(&report, &[task]));
        let idle = told(&report, &[]);
        assert!(idle.starts_with("Nothing runs by itself now.\n"), "{idle}");
    }

    #[test]
    fn a_dream_says_why_it_does_not_begin() {
        let mut dreaming = DreamStatus {
            state: DreamState::Idle,
            last_consolidated: Some(jiff::Timestamp::UNIX_EPOCH),
            sessions_since: 1,
            gates: vec![gate("sessions", false, "1 session since the last dream, 5 needed")],
            running: None,
        };
        expect![[r#"
            No dream runs.
            The last one was at 1970-01-01T00:00:00Z; 1 other session since.

            The next one begins by itself when:
            - ✗ sessions: 1 session since the last dream, 5 needed
        "#]]
        .assert_eq(&status(&dreaming));
        dreaming.state = DreamState::Running;
        dreaming.running = Some(DreamProgress {
            dream: "d".to_owned(),
            status: JobState::Running,
            phase: DreamPhase::Updating,
            rounds: 3,
            files_touched: vec!["/memory/a.md".into()],
            text: None,
            latest: Vec::new(),
        });
        assert!(status(&dreaming).starts_with("A dream runs: 3 rounds, 1 file touched.\n"));
    }
}
