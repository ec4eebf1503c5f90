//! Tables of paths and commands, most of them hostile, asked of the built `reverie debug` and run behind its walls; and
//! messages, asked of its ranker.
//!
//! `program` runs the binary; `places`, `fixture`, `sink` and `tree` make a folder and say what happened to it; the rest are
//! tests, one file per table.
#![cfg(test)]

mod fixture;
mod leftovers;
mod paths;
mod places;
mod program;
mod protected;
mod recall;
mod sandbox;
mod sink;
mod tree;
