//! The judgement of shell lines from outside: tables of lines, and the real bash beside it.
//!
//! `REVERIE_MUTANTS=250000 cargo nextest run -p permissions --test shell` is the long run; without the variable
//! 50,000 lines are mutated.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod bypasses;
mod corpus;
mod differential;
mod fixture;
mod hostile_git;
mod hostile_names;
mod mutants;
mod noise;
