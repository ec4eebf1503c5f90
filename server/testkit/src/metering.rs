//! How well a server foretells the size of its requests: a session that reads one text after the other, with a look at
//! the meter while each request is on its way.

use serde_json::json;

use crate::{
    fixture::Fixture,
    lsp_client::LspClient,
    model_server::{Gate, ModelServer, Reply},
};

/// What the meter said, and what the provider counted.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub foretold: u64,
    pub counted: u64,
}

impl Reading {
    /// In percent of what was counted.
    pub fn error(&self) -> f64 {
        (self.foretold as f64 - self.counted as f64) * 100.0 / self.counted.max(1) as f64
    }
}

/// Texts of one kind, of about so many bytes each, made of the sentences of a sample in ever another order.
pub fn texts(sample: &str, count: usize, bytes: usize) -> Vec<String> {
    let sentences: Vec<&str> = sample.split_inclusive(['\n', '。']).collect();
    let text = |number: usize| {
        let mut text = String::new();
        let rotated = sentences.iter().cycle().skip(number * sentences.len() / count);
        for sentence in rotated {
            if text.len() >= bytes {
                break;
            }
            text.push_str(sentence);
        }
        text
    };
    (0..count).map(text).collect()
}

/// One reading for each request of a session in which every round reads the next text.
pub async fn readings(
    client: &LspClient,
    model: &ModelServer,
    fixture: &Fixture,
    texts: &[String],
) -> Vec<Reading> {
    let session = client.new_session().await;
    let gates: Vec<Gate> = (0..=texts.len()).map(|_| Gate::closed()).collect();
    let (last, reading) = gates.split_last().expect("there is one more than texts");
    for (number, (text, gate)) in texts.iter().zip(reading).enumerate() {
        let file = format!("{session}/{number}.txt");
        fixture.write(&file, text);
        let call = Reply::text("The next one.").and_tool("Read", json!({ "file_path": fixture.path(&file) }));
        model.reply(call.behind(gate));
    }
    model.reply(Reply::text("all read").behind(last));
    let before = model.usages().len();
    let turn = client.prompt(&session, "Read one after the other.").await;
    let mut foretold = Vec::new();
    for gate in &gates {
        gate.reached().await;
        let report = client.request("reverie/context/report", json!({ "sessionId": session })).await;
        foretold.push(report.expect("a session has a report")["used"].as_u64().unwrap_or_default());
        gate.open();
    }
    client.turn_end(&session, &turn).await;
    let counted = model.usages().into_iter().skip(before).map(|usage| usage.total());
    foretold.into_iter().zip(counted).map(|(foretold, counted)| Reading { foretold, counted }).collect()
}
