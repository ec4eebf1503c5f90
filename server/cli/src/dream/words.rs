//! What a dream did, and what keeps the next one from beginning, as a person reads it.

use std::fmt::Write;

use protocol::{
    BackgroundKind, DreamOutcome, DreamReportResult, DreamState, DreamStatusResult, Gate, ListTasksResult,
    TaskKind, TaskState, Usage,
};

use crate::{
    context_report::grouped,
    sessions::local_time,
    terminal::style::{Paint, Style, safe},
};

/// What was changed and why, what it cost, and the way back.
pub fn report(report: &DreamReportResult, paint: Paint) -> String {
    let mut text = paint.paint(Style::Bold, &headline(report));
    text.push('\n');
    if report.status != DreamOutcome::Completed {
        // What was changed is as it was; why is in the report's own words.
        let _infallible = writeln!(text, "\n{}", safe(report.text.trim_end()));
    } else if report.changes.is_empty() {
        // Behind the heading and the costs: what the agent itself says.
        if let Some(said) = report.text.trim_end().splitn(3, "\n\n").nth(2) {
            let _infallible = writeln!(text, "\n{}", safe(said));
        }
    } else {
        for change in &report.changes {
            let name = change.path.rsplit_once("/memory/").map_or(change.path.as_str(), |(_, name)| name);
            let _infallible = writeln!(text, "\n{}: {}", safe(name), safe(&change.why));
            for line in safe(change.diff.trim_end()).lines() {
                let _infallible = writeln!(text, "{}", paint.diff(&format!("  {line}")));
            }
            if let Some(id) = change.change_id.as_deref().filter(|_| report.changes.len() > 1) {
                let alone = format!("  take back this one: reverie memory undo {}", safe(id));
                let _infallible = writeln!(text, "{}", paint.paint(Style::Dim, &alone));
            }
        }
    }
    let _infallible = writeln!(text, "\n{}", paint.paint(Style::Dim, &cost(&report.usage, report.cost_usd)));
    if let Some(path) = &report.path {
        let _infallible = writeln!(text, "{}", paint.paint(Style::Dim, &format!("report: {}", safe(path))));
    }
    let is_written = report.changes.iter().any(|change| change.change_id.is_some());
    let hint = match (is_written, report.dry_run) {
        (true, _) => format!("take it back: reverie dream undo {}", safe(&report.dream_id)),
        (false, true) if !report.changes.is_empty() => "do it: reverie dream".to_owned(),
        (false, _) => return text,
    };
    let _infallible = writeln!(text, "{}", paint.paint(Style::Dim, &hint));
    text
}

fn headline(report: &DreamReportResult) -> String {
    let files = counted(report.changes.len() as u64, "file", "files");
    let what = match (report.status, report.dry_run, report.changes.is_empty()) {
        (DreamOutcome::Completed, _, true) => "The dream changed nothing".to_owned(),
        (DreamOutcome::Completed, false, false) => format!("The dream changed {files}"),
        (DreamOutcome::Completed, true, false) => {
            format!("The dream would change {files}; nothing was written")
        }
        (DreamOutcome::Failed, ..) => format!("The dream failed; {}", left(report)),
        (DreamOutcome::Killed, ..) => format!("The dream was stopped; {}", left(report)),
        (DreamOutcome::Running, ..) => "The dream still runs".to_owned(),
    };
    format!("{what} ({}, {})", local_time(&report.started_at), safe(&report.trigger))
}

/// What a dream left that did not come to its end.
fn left(report: &DreamReportResult) -> String {
    let made = report.changes.iter().filter(|change| change.change_id.is_some()).count();
    match made {
        0 => "everything is as it was".to_owned(),
        made => format!("it has changed {}", counted(made as u64, "file", "files")),
    }
}

fn cost(usage: &Usage, usd: f64) -> String {
    format!(
        "{} tokens in, {} read from the cache, {} written to it, {} out · ${usd:.4}",
        grouped(usage.input_tokens),
        grouped(usage.cache_read_tokens),
        grouped(usage.cache_write_tokens),
        grouped(usage.output_tokens),
    )
}

/// What runs, why or why not, and what it cost today.
pub fn status(dreams: &DreamStatusResult, tasks: &ListTasksResult) -> String {
    let state = match dreams.state {
        DreamState::Idle => "no dream runs",
        DreamState::Running => "a dream runs",
        DreamState::Locked => "another process dreams",
    };
    let last = match &dreams.last_consolidated_at {
        Some(last) => format!("the last one was on {}", local_time(last)),
        None => "there was none yet".to_owned(),
    };
    let sessions = counted(dreams.sessions_since, "other session", "other sessions");
    let mut text = format!("Dreams\n  {state}; {last}; {sessions} since\n");
    push_gates(&mut text, &dreams.gates);
    let own = tasks.tasks.iter().filter(|task| task.kind != TaskKind::Shell);
    let running: Vec<_> = own.filter(|task| task.state == TaskState::Running).collect();
    if !running.is_empty() {
        text.push_str("\nRunning\n");
    }
    for task in running {
        let detail = task.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
        let _infallible = writeln!(text, "  {}{detail}", task.title);
    }
    let background = &tasks.background;
    let limit = background.limit_usd.map(|limit| format!(" of ${limit:.2}")).unwrap_or_default();
    let _infallible = writeln!(text, "\nToday: ${:.4}{limit}", background.spent_usd);
    for BackgroundKind { kind, gates, today, last } in &background.kinds {
        let runs = match today.runs {
            0 => "not run".to_owned(),
            runs => format!(
                "{}, {} written, ${:.4}",
                counted(runs, "run", "runs"),
                counted(today.files, "file", "files"),
                today.cost_usd
            ),
        };
        let last = last.as_deref().map(|last| format!("; the last one {last}")).unwrap_or_default();
        let _infallible = writeln!(text, "  {:<20} {runs}{last}", name(*kind));
        // Those of dreams stand above.
        let closed = gates.iter().filter(|gate| !gate.open && *kind != TaskKind::Dream);
        for gate in closed {
            let _infallible = writeln!(text, "    ✗ {}: {}", gate.name, gate.detail);
        }
    }
    text
}

fn push_gates(text: &mut String, gates: &[Gate]) {
    let widest = gates.iter().map(|gate| gate.name.chars().count()).max().unwrap_or_default();
    for Gate { name, open, detail } in gates {
        let mark = if *open { '✓' } else { '✗' };
        let _infallible = writeln!(text, "  {mark} {name:<widest$}  {detail}");
    }
}

fn name(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Shell => "commands",
        TaskKind::Extraction => "learning from turns",
        TaskKind::SessionMemory => "notes of sessions",
        TaskKind::Dream => "dreams",
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
