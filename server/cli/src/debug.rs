//! `reverie debug …`: single parts, opened to outside tests. JSON lines in, JSON lines out, flushed per line.

pub mod layout;
pub mod path;
pub mod rank;
pub mod sandbox;
pub mod shell;

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit;

#[derive(Deserialize)]
struct TextInput {
    text: String,
}

/// Counts with the one vocabulary there is, whatever `--model` names: no provider of ours publishes a tokenizer, so
/// all models are counted by o200k_base where a decision is near, and what a model really counts is learnt from the
/// usage it reports.
pub fn tokens() -> anyhow::Result<u8> {
    each_line(|line| match serde_json::from_slice::<TextInput>(line) {
        Ok(input) => json!({"tokens": context::tokenizer::count(&input.text)}),
        Err(error) => json!({"error": format!("expected {{\"text\": …}}: {error}")}),
    })
}

/// Where a text seems to hold a secret, and by which rule; never the secret.
pub fn secrets() -> anyhow::Result<u8> {
    each_line(|line| match serde_json::from_slice::<TextInput>(line) {
        Ok(input) => {
            let findings = ::memory::secrets::scan(&input.text).into_iter();
            let findings: Vec<Value> =
                findings.map(|finding| json!({"rule": finding.rule, "line": finding.line})).collect();
            json!({ "findings": findings })
        }
        Err(error) => json!({"error": format!("expected {{\"text\": …}}: {error}")}),
    })
}

fn each_line(answer: impl Fn(&[u8]) -> Value) -> anyhow::Result<u8> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while stdin.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            let written = writeln!(stdout, "{}", answer(&line)).and_then(|()| stdout.flush());
            if written.is_err() {
                // Nobody reads the answers any more.
                break;
            }
        }
        line.clear();
    }
    Ok(exit::DONE)
}
