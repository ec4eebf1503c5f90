//! Our own tools: `cargo xtask codegen | tidy | test | bench | vsix | vscode | nvim | screenshots`.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "command-line tools for ourselves: stdout is where results go, and a panic is a fine way to fail"
)]

mod bench;
mod codegen;
mod nvim;
mod processes;
mod rigs;
mod test;
mod tidy;
mod vscode;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use self::vscode::Bundle;

const USAGE: &str = "cargo xtask codegen [--check]   files generated from the protocol and the settings
cargo xtask tidy                what the compiler does not check: edges, sizes, names, docs
cargo xtask test                everything that CI checks; installs what it needs
cargo xtask bench [--write]     the figures of docs/benchmarks.md, measured on the release build
cargo xtask bench PART          some of them: start, turns, context, edits, language, sessions, memory, commands, caches or nvim
cargo xtask vsix [--bundle] [--out FILE]   the extension as a package; with the release build of the server in it
cargo xtask vscode [NAME]       the tests of tests/vscode, or those whose file is called so, in a real VS Code
cargo xtask nvim [NAME]         the tests of tests/nvim, or those that are called so, in every Neovim that is supported
cargo xtask nvim --check        formatting, linter, types and documentation of the plugin
cargo xtask nvim --format       the plugin and its tests as the formatter wants them
cargo xtask screenshots         the pictures of docs/images, from a real VS Code and a real Neovim
cargo xtask screenshots nvim    those of Neovim; as PNG, for looking at, in target/screenshots";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["tidy"] => tidy::run(),
        ["test"] => test::run(),
        ["bench"] => bench::run(bench::Output::Print),
        ["bench", "--write"] => bench::run(bench::Output::PrintAndWrite),
        ["bench", part] => bench::run(bench::Output::Part((*part).to_owned())),
        ["vsix"] => vscode::package(&Bundle::Nothing, None),
        ["vsix", "--out", file] => vscode::package(&Bundle::Nothing, Some(Path::new(file))),
        ["vsix", "--bundle"] => vscode::package(&Bundle::Server, None),
        ["vsix", "--bundle", "--out", file] => vscode::package(&Bundle::Server, Some(Path::new(file))),
        ["vscode"] => vscode::test(""),
        ["vscode", filter] => vscode::test(filter),
        ["nvim"] => nvim::test(""),
        ["nvim", "--check"] => nvim::check(),
        ["nvim", "--format"] => nvim::format(),
        ["nvim", filter] => nvim::test(filter),
        ["screenshots"] => vscode::screenshots().and_then(|()| nvim::screenshots()),
        ["screenshots", "nvim"] => nvim::screenshots(),
        _ => {
            println!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map_or(here.clone(), PathBuf::from)
}
