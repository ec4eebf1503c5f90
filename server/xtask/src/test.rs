//! `cargo xtask test`: everything that CI checks, in the order of how soon it fails. Installs what it needs.

use std::{path::PathBuf, process::Command, time::Instant};

use anyhow::{Context, bail};

/// The Messages API's own types, for validating what we send.
const ANTHROPIC_SDK: &str = "anthropic==2.8.0";

pub fn run() -> anyhow::Result<()> {
    cargo("formatting", &["fmt", "--all", "--check"])?;
    step("tidy", crate::tidy::run)?;
    step("generated files", crate::codegen::check)?;
    cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    step("test tools", install_test_tools)?;
    cargo("the binary", &["build", "--bin", "reverie"])?;
    cargo("tests", &["nextest", "run", "--workspace", "--no-fail-fast"])
}

fn install_test_tools() -> anyhow::Result<()> {
    if !succeeds(Command::new("cargo").args(["nextest", "--version"])) {
        checked(Command::new("cargo").args(["install", "cargo-nextest", "--locked"]))?;
    }
    python_environment()
}

/// A virtual environment under `target/rigs`, kept from run to run.
fn python_environment() -> anyhow::Result<()> {
    let folder = rigs().join("python");
    let python = folder.join("bin/python");
    let ready = folder.join(format!("ready-{ANTHROPIC_SDK}"));
    if ready.exists() {
        return Ok(());
    }
    if !succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"])) {
        checked(Command::new("apt-get").args(["update"]))?;
        checked(Command::new("apt-get").args([
            "install",
            "--yes",
            "--no-install-recommends",
            "python3-venv",
        ]))?;
    }
    checked(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    checked(Command::new(&python).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        ANTHROPIC_SDK,
    ]))?;
    std::fs::write(ready, "")?;
    Ok(())
}

pub fn rigs() -> PathBuf {
    crate::root().join("target/rigs")
}

fn cargo(name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    step(name, || checked(Command::new("cargo").args(arguments).current_dir(crate::root())))
}

fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("== {name}");
    let start = Instant::now();
    work().with_context(|| format!("{name} failed"))?;
    println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn checked(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
