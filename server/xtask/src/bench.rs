//! The figures of `docs/benchmarks.md`: the release build against a model server on loopback, in one run.
//!
//! Medians of several runs. Absolute times move from machine to machine; what counts is the ratio to a baseline of
//! the same run, where there is one.

mod caches;
mod commands;
mod context;
mod edits;
mod language;
mod memory;
mod nvim;
mod sessions;
mod start;
mod turns;

use std::{
    fmt::Write,
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

pub enum Output {
    Print,
    PrintAndWrite,
    /// The rows of one file of `bench/`, printed.
    Part(String),
}

/// The files of `bench/`, in the order of the table.
const PARTS: &[&str] =
    &["start", "turns", "context", "edits", "language", "sessions", "memory", "commands", "caches", "nvim"];

/// A cache that saves less than this of what somebody waits for is not worth that it can be wrong: a tenth of a second
/// is what people begin to notice, and the model takes far longer than that for its part of a round.
const NOTICEABLE: Duration = Duration::from_millis(50);

/// One row of the table.
pub struct Figure {
    what: &'static str,
    measured: String,
    goal: String,
    /// What it was compared with in the same run.
    beside: String,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    Missed,
    /// Not in the product, since it would save less than [`NOTICEABLE`].
    Off,
}

impl From<bool> for Verdict {
    fn from(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }
}

impl Figure {
    fn milliseconds(what: &'static str, measured: Duration, most: f64) -> Self {
        let value = measured.as_secs_f64() * 1_000.0;
        Self::new(what, format!("{value:.2} ms"), format!("≤ {most} ms"), (value <= most).into())
    }

    fn megabytes(what: &'static str, kilobytes: u64, most: f64) -> Self {
        let value = kilobytes as f64 / 1_024.0;
        Self::new(what, format!("{value:.1} MB"), format!("≤ {most} MB"), (value <= most).into())
    }

    fn number(what: &'static str, measured: f64, most: f64, unit: &str) -> Self {
        let shown =
            if most >= 100.0 { format!("{measured:.0}{unit}") } else { format!("{measured:.3}{unit}") };
        Self::new(what, shown, format!("≤ {most}{unit}"), (measured <= most).into())
    }

    /// Something that was left out, and what it would save in milliseconds; less than nothing where it would cost more.
    fn left_out(what: &'static str, saves: f64) -> Self {
        let noticeable = NOTICEABLE.as_secs_f64() * 1_000.0;
        // Where it would be noticed after all, the table says that it should not be left out.
        let verdict = if saves < noticeable { Verdict::Off } else { Verdict::Missed };
        Self::new(what, format!("saves {saves:.2} ms"), format!("in from {noticeable} ms"), verdict)
    }

    fn new(what: &'static str, measured: String, goal: String, verdict: Verdict) -> Self {
        Self { what, measured, goal, beside: String::new(), verdict }
    }

    /// A figure counts for nothing where what was measured did not happen.
    fn provided(mut self, it_happened: bool) -> Self {
        if !it_happened {
            self.verdict = Verdict::Missed;
        }
        self
    }

    fn beside(mut self, text: impl Into<String>) -> Self {
        self.beside = text.into();
        self
    }
}

pub fn run(output: Output) -> anyhow::Result<()> {
    let parts: Vec<&str> = match &output {
        Output::Print | Output::PrintAndWrite => PARTS.to_vec(),
        Output::Part(name) if PARTS.contains(&name.as_str()) => vec![name],
        Output::Part(name) => bail!("there is no part {name}; the parts are {}", PARTS.join(", ")),
    };
    // The model server is part of every round trip: measured from a debug build it would be most of them.
    if cfg!(debug_assertions) {
        return in_release(&output);
    }
    let binary = release_binary()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let figures = runtime.block_on(async {
        let mut figures = Vec::new();
        for part in parts {
            figures.extend(match part {
                "start" => start::measure(&binary).await?,
                "turns" => turns::measure(&binary).await?,
                "context" => context::measure(&binary).await?,
                "edits" => edits::measure(&binary).await?,
                "language" => language::measure(&binary).await?,
                "sessions" => sessions::measure(&binary).await?,
                "memory" => memory::measure(&binary).await?,
                "commands" => commands::measure(&binary).await?,
                "caches" => caches::measure(&binary).await?,
                _ => nvim::measure(&binary)?,
            });
        }
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

fn in_release(output: &Output) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench"])
        .current_dir(crate::root());
    match output {
        Output::Print => {}
        Output::PrintAndWrite => {
            command.arg("--write");
        }
        Output::Part(name) => {
            command.arg(name);
        }
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
        let met = match figure.verdict {
            Verdict::Met => "yes",
            Verdict::Missed => "**no**",
            Verdict::Off => "off",
        };
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

/// How long it takes, on average of the median of several runs of `times` each.
fn each(times: usize, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let mut runs = Vec::new();
    for _ in 0..10 {
        let started = Instant::now();
        for _ in 0..times {
            work()?;
        }
        runs.push(started.elapsed() / times as u32);
    }
    Ok(median(runs))
}

fn in_milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Waits until the process does nothing more by itself.
async fn at_rest(process: u32) -> anyhow::Result<()> {
    let mut before = 0;
    for _ in 0..300 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // Behind the name, which may hold anything: user and system time are the 12th and 13th.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let used: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        if used == before {
            return Ok(());
        }
        before = used;
    }
    bail!("the server does not come to rest")
}

/// Resident memory of a process, in KB.
fn resident(process: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.split_whitespace().next().unwrap_or("0").parse()?)
}
