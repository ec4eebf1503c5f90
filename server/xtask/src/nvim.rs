//! The Neovim plugin: its checks, and its tests in every Neovim that is supported.

use std::{fs, path::PathBuf, process::Command};

use anyhow::Context;

use crate::{
    processes::{apt, cargo, checked, output},
    rigs::{self, neovim},
};

/// Formatting, linter, types and documentation.
pub fn check() -> anyhow::Result<()> {
    neovim::install()?;
    rigs::install_formatter()?;
    formatter(&["--check"])?;
    rigs::install_linters()?;
    checked(Command::new("luacheck").args(["--quiet", "nvim", "tests/nvim"]).current_dir(crate::root()))?;
    types()?;
    documentation()
}

/// Writes what the formatter wants.
pub fn format() -> anyhow::Result<()> {
    rigs::install_formatter()?;
    formatter(&[])
}

/// The tests of `tests/nvim` that have this in their name: the file's, or the version's as in `in_0_10`.
pub fn test(filter: &str) -> anyhow::Result<()> {
    neovim::install()?;
    build()?;
    let mut arguments = vec!["nextest", "run", "--package", "tests", "--test", "nvim", "--no-fail-fast"];
    // An empty one is none, but not for nextest.
    arguments.extend(Some(filter).filter(|filter| !filter.is_empty()));
    cargo(&arguments)
}

/// The pictures of the documentation, from a real Neovim in a terminal.
pub fn screenshots() -> anyhow::Result<()> {
    neovim::install()?;
    build()?;
    apt(&["/usr/bin/chromium"], &["chromium", "fonts-dejavu-core"])?;
    let look = crate::root().join("target/screenshots");
    let screens = look.join("nvim");
    if screens.exists() {
        fs::remove_dir_all(&screens)?;
    }
    fs::create_dir_all(&screens)?;
    let mut pictures = run(neovim::USUAL, "pictures.lua");
    checked(pictures.env("REVERIE_PICTURES", &screens))?;
    let docs = crate::root().join("docs/images");
    let drawing = crate::root().join("tests/pictures/neovim.py");
    checked(Command::new("python3").arg(drawing).arg(&screens).arg(&docs))?;
    for entry in fs::read_dir(&screens)? {
        let name = entry?.path().with_extension("");
        let name = name.file_name().context("a picture has a name")?;
        let out = look.join(name).with_extension("png");
        let mut chromium = Command::new("/usr/bin/chromium");
        chromium.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1100,700",
        ]);
        chromium.arg(format!("--screenshot={}", out.display())).arg(docs.join(name).with_extension("svg"));
        output(&mut chromium)?;
        println!("{}", out.display());
    }
    Ok(())
}

/// A file of `tests/nvim`, run by this Neovim in itself.
pub fn run(version: &str, file: &str) -> Command {
    let folder = crate::root().join("tests/nvim");
    let mut command = Command::new(neovim::program(version));
    command.args(["--clean", "--headless", "-l"]).arg(folder.join("run.lua")).arg(folder.join(file));
    command.current_dir(crate::root());
    command
}

/// What the tests start.
pub fn build() -> anyhow::Result<()> {
    cargo(&["build", "--package", "cli", "--bin", "reverie"])?;
    cargo(&["build", "--package", "testkit", "--bin", "scripted-model"])
}

fn formatter(arguments: &[&str]) -> anyhow::Result<()> {
    let mut node = Command::new("node");
    node.arg("tests/nvim/format.mjs").args(arguments).args(lua_files()?);
    checked(node.current_dir(crate::root()).env("PATH", rigs::path_with_node()?))
}

/// All Lua of ours; what is generated has its own form.
fn lua_files() -> anyhow::Result<Vec<PathBuf>> {
    let list = output(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.lua"])
            .current_dir(crate::root()),
    )?;
    let mut files: Vec<PathBuf> = list.lines().map(PathBuf::from).collect();
    files.retain(|file| crate::root().join(file).is_file() && !file.starts_with("nvim/lua/reverie/_meta"));
    Ok(files)
}

/// The annotations of the plugin and of its tests, against Neovim's own.
fn types() -> anyhow::Result<()> {
    let runtime = neovim_says("io.stdout:write(vim.env.VIMRUNTIME)")?;
    let mut command = Command::new(rigs::type_checker());
    command.args(["--config", ".emmyrc.json", "--warnings-as-errors", "nvim", "tests/nvim"]);
    checked(command.env("VIMRUNTIME", &runtime).current_dir(crate::root()))
}

/// `:help reverie` is whole, and says all that there is to say.
fn documentation() -> anyhow::Result<()> {
    let script = crate::root().join("tests/nvim/help.lua");
    let mut command = Command::new(neovim::program(neovim::USUAL));
    checked(command.args(["--clean", "--headless", "-l"]).arg(script).current_dir(crate::root()))
}

fn neovim_says(code: &str) -> anyhow::Result<String> {
    let script = crate::root().join("target/tmp/ask.lua");
    fs::create_dir_all(script.parent().context("a file is in a folder")?)?;
    fs::write(&script, code)?;
    output(Command::new(neovim::program(neovim::USUAL)).args(["--clean", "--headless", "-l"]).arg(script))
}
