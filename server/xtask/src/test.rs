//! `cargo xtask test`: everything that CI checks, in the order of how soon it fails. Installs what it needs.

use std::{fs, process::Command, time::Instant};

use anyhow::{Context, bail};

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
    // The Messages API's own types, for validating what we send; and a real editor.
    for name in ["sdk", "nvim"] {
        python_rig(name)?;
    }
    // Shows what a server that was opened on a hostile repository starts and connects to; kills at every system call.
    if !succeeds(Command::new("strace").arg("-V")) {
        apt(&["strace"])?;
    }
    // MCP servers that others wrote.
    npm_rig("mcp")
}

fn apt(packages: &[&str]) -> anyhow::Result<()> {
    checked(Command::new("apt-get").arg("update"))?;
    checked(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// A virtual environment under `target/rigs` with what `tests/NAME/requirements.txt` lists; made anew when that changes.
fn python_rig(name: &str) -> anyhow::Result<()> {
    let requirements = crate::root().join("tests").join(name).join("requirements.txt");
    let wanted = fs::read_to_string(&requirements)?;
    let folder = crate::root().join("target/rigs").join(name);
    let ready = folder.join("installed.txt");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"])) {
        apt(&["python3-venv"])?;
    }
    checked(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements);
    checked(&mut pip)?;
    fs::write(ready, wanted)?;
    Ok(())
}

/// The packages that `tests/NAME/package.json` lists, under `target/rigs`; made anew when that changes.
fn npm_rig(name: &str) -> anyhow::Result<()> {
    let wanted = fs::read_to_string(crate::root().join("tests").join(name).join("package.json"))?;
    let folder = crate::root().join("target/rigs").join(name);
    let ready = folder.join("installed.json");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !succeeds(Command::new("npm").arg("--version")) {
        apt(&["nodejs", "npm"])?;
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), &wanted)?;
    let options = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"];
    checked(Command::new("npm").args(options).current_dir(&folder))?;
    fs::write(ready, wanted)?;
    Ok(())
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
