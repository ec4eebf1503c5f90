//! The Lua tests of this folder in every Neovim that is supported: a test for each file and each version.
//!
//! `run.lua` runs a file, `harness.lua` is what they are written with.
#![cfg(test)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// For each test of a file, with an editor, a server and a model of its own; each of their waits has its own limit.
const LONGEST: Duration = Duration::from_secs(60);

macro_rules! in_every_neovim {
    ($($file:ident),* $(,)?) => {
        $(mod $file {
            #[tokio::test]
            async fn in_0_10() {
                super::run("0.10", stringify!($file)).await;
            }

            #[tokio::test]
            async fn in_0_11() {
                super::run("0.11", stringify!($file)).await;
            }

            #[tokio::test]
            async fn in_0_12() {
                super::run("0.12", stringify!($file)).await;
            }
        })*

        const FILES: &[&str] = &[$(stringify!($file)),*];
    };
}

in_every_neovim!(
    asks_test,
    buffers_test,
    commands_test,
    harness_test,
    health_test,
    hostile_test,
    inline_test,
    journey_test,
    review_test,
    server_test,
    streaming_test,
    symbols_test,
    windows_test,
);

#[test]
fn every_file_is_in_the_list() {
    let names = fs::read_dir(here()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".lua").map(str::to_owned))
        .filter(|name| name.ends_with("_test"))
        .collect();
    found.sort();
    assert_eq!(found, FILES, "sorted, in main.rs");
}

async fn run(version: &str, file: &str) {
    let neovim = target().join("rigs/nvim").join(version).join("bin/nvim");
    assert!(neovim.is_file(), "{} is missing: `cargo xtask nvim` installs it", neovim.display());
    let mut command = tokio::process::Command::new(neovim);
    command.args(["--clean", "--headless", "-l"]).arg(here().join("run.lua"));
    command.arg(here().join(file).with_extension("lua"));
    command.env("REVERIE_BUILD", profile()).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let limit = LONGEST * number_of_tests(file).max(4);
    let output = tokio::time::timeout(limit, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("not done within {} s", limit.as_secs())).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Neovim {version}, {file}.lua:\n{said}{errors}");
}

/// As many at least: some are told in a loop.
fn number_of_tests(file: &str) -> u32 {
    let text = fs::read_to_string(here().join(file).with_extension("lua")).unwrap();
    u32::try_from(text.matches("harness.test(").count()).unwrap()
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("nvim")
}

/// The folder of what was built: `target/debug`.
fn profile() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    test.parent().and_then(Path::parent).expect("target/<profile>/deps/nvim").to_owned()
}

fn target() -> PathBuf {
    profile().parent().expect("target/<profile>").to_owned()
}
