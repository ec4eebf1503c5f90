//! The command line from the outside: every test runs the built `reverie` in a fixture, against a scripted model
//! server or the offline model.
//!
//! `program` runs it with pipes, `tty` in a terminal; the rest are tests, one file per promise.
#![cfg(test)]

mod answers;
mod assistant;
mod chatting;
mod context;
mod debug_tokens;
mod dream;
mod failures;
mod help;
mod in_a_terminal;
mod json_lines;
mod memory;
mod pictures;
mod program;
mod sessions;
mod stopping;
mod tty;
