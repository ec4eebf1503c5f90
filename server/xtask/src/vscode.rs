//! The VS Code extension: its checks, its package, and its tests in a real VS Code.

use std::{
    env::consts::{ARCH, EXE_SUFFIX, OS},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use crate::{
    processes::{cargo, checked},
    rigs,
};

/// What goes into the package beside the extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bundle {
    Nothing,
    /// The release build, for this kind of machine.
    Server,
}

/// Linter, types and unit tests.
pub fn check_extension() -> anyhow::Result<()> {
    rigs::install_vscode()?;
    rigs::install_extension_packages()?;
    tool("biome", &["ci", "."])?;
    tool("biome", &["ci", "--config-path=biome.json", "../tests/vscode"])?;
    tool("tsc", &["--noEmit"])?;
    tool("tsc", &["--noEmit", "--project", "../tests/vscode"])?;
    let mut node = node()?;
    node.args(["--test", "test/*.test.ts"]).current_dir(extension());
    checked(&mut node)
}

/// `target/vscode/reverie.vsix`, or wherever it is wanted.
pub fn package(bundle: &Bundle, out: Option<&Path>) -> anyhow::Result<()> {
    rigs::install_vscode()?;
    rigs::install_extension_packages()?;
    let out = match out {
        Some(out) => std::path::absolute(out)?,
        None => crate::root().join("target/vscode/reverie.vsix"),
    };
    fs::create_dir_all(out.parent().context("a file is in a folder")?)?;
    checked(node()?.args(["build.mjs", "--minify"]).current_dir(extension()))?;
    // Packages carry these; the repository has them once, at its root, or not at all.
    let license = extension().join("LICENSE");
    let binary = extension().join("bin");
    fs::copy(crate::root().join("LICENSE"), &license)?;
    let out_text = out.to_str().context("the path is UTF-8")?;
    let mut arguments = vec!["package", "--no-dependencies", "--allow-missing-repository", "--out", out_text];
    let target = vsce_target(OS, ARCH);
    if *bundle == Bundle::Server {
        cargo(&["build", "--release", "--bin", "reverie"])?;
        fs::create_dir_all(&binary)?;
        let program = format!("reverie{EXE_SUFFIX}");
        fs::copy(crate::root().join("target/release").join(&program), binary.join(&program))?;
        arguments.extend(["--target", &target]);
    }
    let packaged = tool("vsce", &arguments);
    fs::remove_file(license)?;
    if *bundle == Bundle::Server {
        fs::remove_dir_all(binary)?;
    }
    packaged?;
    println!("{}: {} KB", out.display(), fs::metadata(&out)?.len() / 1_000);
    Ok(())
}

/// The kind of machine, by Marketplace's name for it; one that it does not know is refused by `vsce`.
fn vsce_target(os: &str, arch: &str) -> String {
    let os = match os {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let arch = match arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "arm" => "armhf",
        other => other,
    };
    format!("{os}-{arch}")
}

/// The tests of `tests/vscode` whose file's name has this in it.
pub fn test(filter: &str) -> anyhow::Result<()> {
    build()?;
    let mut files = test_files()?;
    files.retain(|file| file.to_string_lossy().contains(filter));
    if files.is_empty() {
        bail!("no test of tests/vscode is called {filter}");
    }
    // One at a time: each has an editor, a browser and a server, and some measure.
    checked(node()?.args(["--test", "--test-concurrency=1"]).args(files).current_dir(crate::root()))
}

/// The pictures of the documentation, from a real run.
pub fn screenshots() -> anyhow::Result<()> {
    build()?;
    checked(node()?.arg("tests/vscode/screenshots.ts").current_dir(crate::root()))
}

fn build() -> anyhow::Result<()> {
    package(&Bundle::Nothing, None)?;
    cargo(&["build", "--package", "cli", "--bin", "reverie"])?;
    cargo(&["build", "--package", "testkit", "--bin", "scripted-model"])
}

fn test_files() -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(crate::root().join("tests/vscode"))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    files.retain(|file| file.to_string_lossy().ends_with(".test.ts"));
    files.sort();
    Ok(files)
}

fn extension() -> PathBuf {
    crate::root().join("vscode-extension")
}

fn node() -> anyhow::Result<Command> {
    let mut node = Command::new("node");
    node.env("PATH", rigs::path_with_node()?);
    Ok(node)
}

/// One of the programs that the extension's packages bring.
fn tool(name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let program = extension().join("node_modules/.bin").join(name);
    let mut command = Command::new(program);
    checked(command.args(arguments).current_dir(extension()).env("PATH", rigs::path_with_node()?))
}

#[cfg(test)]
mod tests {
    use super::vsce_target;

    #[test]
    fn a_package_with_the_server_is_for_the_machine_that_makes_it() {
        assert_eq!(vsce_target("linux", "x86_64"), "linux-x64");
        assert_eq!(vsce_target("macos", "aarch64"), "darwin-arm64");
        assert_eq!(vsce_target("windows", "x86_64"), "win32-x64");
    }
}
