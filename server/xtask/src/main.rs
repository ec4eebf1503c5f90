//! Our own tools: `cargo xtask codegen | tidy | test | bench`.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "command-line tools for ourselves: stdout is where results go, and a panic is a fine way to fail"
)]

mod bench;
mod codegen;
mod test;
mod tidy;

use std::{path::PathBuf, process::ExitCode};

const USAGE: &str = "cargo xtask codegen [--check]   files generated from the protocol and the settings
cargo xtask tidy                what the compiler does not check: edges, sizes, names, docs
cargo xtask test                everything that CI checks; installs what it needs
cargo xtask bench [--write]     the figures of docs/benchmarks.md, measured on the release build
cargo xtask bench PART          some of them: start, turns, context, edits, sessions, memory, commands or caches";

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
