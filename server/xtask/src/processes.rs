//! Running other programs: what they need to be there, and that they succeed.

use std::{path::Path, process::Command};

use anyhow::{Context, bail};

pub fn checked(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

/// What it says, if it succeeds.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

pub fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    checked(Command::new("cargo").args(arguments).current_dir(crate::root()))
}

/// Debian packages, if one of these programs or files is missing.
pub fn apt(wanted: &[&str], packages: &[&str]) -> anyhow::Result<()> {
    if wanted.iter().all(|name| is_there(name)) {
        return Ok(());
    }
    checked(Command::new("apt-get").arg("update"))?;
    checked(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

fn is_there(name: &str) -> bool {
    if name.starts_with('/') {
        return Path::new(name).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).exists())
}
