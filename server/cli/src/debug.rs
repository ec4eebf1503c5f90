//! `reverie debug …`: single parts, opened to outside tests. JSON lines in, JSON lines out, flushed per line.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::json;

use crate::exit;

#[derive(Deserialize)]
struct TokensInput {
    text: String,
}

/// The tokenizer is the same for every model until a provider publishes its own.
pub fn tokens(_model: &str) -> anyhow::Result<u8> {
    each_line(|line| match serde_json::from_str::<TokensInput>(line) {
        Ok(input) => json!({"tokens": context::tokenizer::count(&input.text)}),
        Err(error) => json!({"error": format!("expected {{\"text\": …}}: {error}")}),
    })
}

fn each_line(answer: impl Fn(&str) -> serde_json::Value) -> anyhow::Result<u8> {
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        if writeln!(stdout, "{}", answer(&line)).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    Ok(exit::DONE)
}
