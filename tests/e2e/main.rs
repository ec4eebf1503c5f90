//! The server from the outside: every test speaks LSP to it and HTTP to its model, in-process or over stdio.
//!
//! `harness` starts servers; `scenarios` runs the Markdown files; the rest are tests that need code, one file per
//! promise. `slow` holds what takes seconds by its nature.
#![cfg(test)]

mod background;
mod bad_input;
mod buffers;
mod cache_breaks;
mod cancelling;
mod compaction;
mod daily_log;
mod during_a_turn;
mod end_of_life;
mod fork_cache;
mod going_back;
mod harness;
mod hostile;
mod instructions;
mod language;
mod learning_in_sight;
mod long_session;
mod mcp_servers;
mod memory;
mod metering;
mod neovim;
mod obedience;
mod panics;
mod plain_clients;
mod processes;
mod prompt_cache;
mod review;
mod scenarios;
mod sdk_types;
mod session_notes;
mod slash_commands;
mod slow;
mod stream_faults;
mod tasks;
mod terminal;
mod transcripts;
mod walls;
mod week;
