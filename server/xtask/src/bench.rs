//! The figures of `docs/benchmarks.md`: the release build against a model server on loopback, in one run.
//!
//! Medians of several runs. Absolute times move from machine to machine; what counts is the ratio to a baseline of
//! the same run, where there is one.

mod edits;
mod sessions;
mod start;
mod turns;

use std::{fmt::Write, fs, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, bail};

pub enum Output {
    Print,
    PrintAndWrite,
}

/// One row of the table.
pub struct Figure {
    what: &'static str,
    measured: String,
    goal: &'static str,
    /// What it was compared with in the same run.
    beside: String,
    met: bool,
}

impl Figure {
    fn milliseconds(what: &'static str, measured: Duration, most: f64) -> Self {
        let value = measured.as_secs_f64() * 1_000.0;
        Self { what, measured: format!("{value:.2} ms"), goal: "", beside: String::new(), met: value <= most }
            .goal_text(format!("≤ {most} ms"))
    }

    fn megabytes(what: &'static str, kilobytes: u64, most: f64) -> Self {
        let value = kilobytes as f64 / 1_024.0;
        Self { what, measured: format!("{value:.1} MB"), goal: "", beside: String::new(), met: value <= most }
            .goal_text(format!("≤ {most} MB"))
    }

    fn number(what: &'static str, measured: f64, most: f64, unit: &str) -> Self {
        let shown =
            if most >= 100.0 { format!("{measured:.0}{unit}") } else { format!("{measured:.3}{unit}") };
        Self { what, measured: shown, goal: "", beside: String::new(), met: measured <= most }
            .goal_text(format!("≤ {most}{unit}"))
    }

    fn beside(mut self, text: impl Into<String>) -> Self {
        self.beside = text.into();
        self
    }

    fn goal_text(mut self, goal: String) -> Self {
        // A handful of rows in a process that ends: leaking is simpler than owning.
        self.goal = goal.leak();
        self
    }
}

pub fn run(output: Output) -> anyhow::Result<()> {
    // The model server is part of every round trip: measured from a debug build it would be most of them.
    if cfg!(debug_assertions) {
        return in_release(output);
    }
    let binary = release_binary()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let figures = runtime.block_on(async {
        let mut figures = start::measure(&binary).await?;
        figures.extend(turns::measure(&binary).await?);
        figures.extend(edits::measure(&binary).await?);
        figures.extend(sessions::measure(&binary).await?);
        anyhow::Ok(figures)
    })?;
    let table = table(&figures);
    println!("{table}");
    if let Output::PrintAndWrite = output {
        let path = crate::root().join("docs/benchmarks.md");
        let text = fs::read_to_string(&path)?;
        let (head, _) =
            text.split_once("<!-- measured -->").context("docs/benchmarks.md has lost its mark")?;
        fs::write(&path, format!("{head}<!-- measured -->\n{table}"))?;
    }
    Ok(())
}

fn in_release(output: Output) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench"])
        .current_dir(crate::root());
    if let Output::PrintAndWrite = output {
        command.arg("--write");
    }
    if command.status()?.success() { Ok(()) } else { bail!("the measurement failed") }
}

fn release_binary() -> anyhow::Result<PathBuf> {
    let root = crate::root();
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--bin", "reverie"])
        .current_dir(&root)
        .status()?;
    if !status.success() {
        bail!("the release build failed");
    }
    Ok(root.join("target/release/reverie"))
}

fn table(figures: &[Figure]) -> String {
    let mut out = "| what | measured | goal | met | beside it |\n|---|---|---|---|---|\n".to_owned();
    for figure in figures {
        let met = if figure.met { "yes" } else { "**no**" };
        let Figure { what, measured, goal, beside, .. } = figure;
        if writeln!(out, "| {what} | {measured} | {goal} | {met} | {beside} |").is_err() {
            return out;
        }
    }
    out
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Resident memory of a process, in KB.
fn resident(process: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.split_whitespace().next().unwrap_or("0").parse()?)
}
