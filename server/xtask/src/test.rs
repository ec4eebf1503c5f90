//! `cargo xtask test`: everything that CI checks, in the order of how soon it fails. Installs what it needs.

use std::time::Instant;

use anyhow::Context;

use crate::{nvim, processes, rigs, vscode};

pub fn run() -> anyhow::Result<()> {
    cargo("formatting", &["fmt", "--all", "--check"])?;
    step("tidy", crate::tidy::run)?;
    step("generated files", crate::codegen::check)?;
    cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    step("the extension", vscode::check_extension)?;
    step("the plugin", nvim::check)?;
    step("test tools", rigs::install_test_tools)?;
    step("the binary", nvim::build)?;
    cargo("tests", &["nextest", "run", "--workspace", "--no-fail-fast"])?;
    step("a real VS Code", || vscode::test(""))
}

fn cargo(name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    step(name, || processes::cargo(arguments))
}

fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("== {name}");
    let start = Instant::now();
    work().with_context(|| format!("{name} failed"))?;
    println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
