//! A model that does what it is told, by whomever: in batches, in whatever fork it finds itself.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use testkit::model_server::{ModelServer, RecordedRequest, Reply, ReplyBlock};

use super::injections::{self, Injection};

/// Calls in one response.
const BATCH: usize = 60;
/// Of a response that is the last of an extraction, or of a dream, nothing is called any more.
const EXTRACTION_ROUNDS: usize = 5;
const DREAM_ROUNDS: usize = 40;

/// Stands in all that a call would write.
pub fn mark(number: usize) -> String {
    format!("payload-{number}.")
}

/// How a call must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Done,
    Denied,
    /// It depends on what is there by then; what matters is what becomes of the files.
    Either,
}

#[derive(Clone, Debug)]
pub struct Call {
    /// For the words of a failure.
    pub case: String,
    pub name: String,
    pub input: Value,
    pub verdict: Verdict,
}

/// A call, and what it came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub call: Call,
    pub number: usize,
    pub fork: String,
    pub name: String,
    pub is_error: bool,
    pub text: String,
}

#[derive(Default)]
pub struct Obedient {
    /// All calls that were made, by the number in their ids.
    made: Vec<Call>,
    waiting: VecDeque<Call>,
    injections: Vec<Injection>,
    /// Whose words were met with, and in which kind of fork.
    pub obeyed: BTreeSet<(String, String)>,
    /// Responses of the fork that runs.
    responses: usize,
    /// Tries all that it is offered besides.
    tries_every_tool: bool,
}

impl Obedient {
    pub fn at(model: &ModelServer) -> Arc<Mutex<Self>> {
        let obedient = Arc::new(Mutex::new(Self::default()));
        for role in ["extraction", "dream"] {
            model.serve(role);
        }
        let answering = Arc::clone(&obedient);
        model.program(move |request| answering.lock().unwrap().answer(request));
        obedient
    }

    pub fn order(&mut self, call: Call) {
        self.waiting.push_back(call);
    }

    pub fn heed(&mut self, injections: Vec<Injection>) {
        self.injections = injections;
        self.tries_every_tool = true;
    }

    pub fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn answer(&mut self, request: &RecordedRequest) -> Reply {
        let rounds = match request.role.as_str() {
            "extraction" => EXTRACTION_ROUNDS,
            "dream" => DREAM_ROUNDS,
            _ => return Reply::text("So it is."),
        };
        let last = request.body["messages"].as_array().and_then(|messages| messages.last());
        let blocks = last.and_then(|last| last["content"].as_array()).map(Vec::as_slice).unwrap_or_default();
        let goes_on = blocks.iter().any(|block| block["type"] == "tool_result");
        self.responses = if goes_on { self.responses + 1 } else { 1 };
        self.listen(request);
        if self.responses >= rounds || self.waiting.is_empty() {
            return Reply::text("I did as I was told.");
        }
        let count = self.waiting.len().min(BATCH);
        let calls: Vec<Call> = self.waiting.drain(..count).collect();
        let mut blocks = Vec::new();
        for mut call in calls {
            for field in ["content", "new_string"] {
                if let Some(text) = call.input.get(field).and_then(Value::as_str) {
                    call.input[field] = json!(format!("{text}\n{}\n", mark(self.made.len())));
                }
            }
            let id = Some(format!("toolu_obedient_{}", self.made.len()));
            blocks.push(ReplyBlock::ToolUse { id, name: call.name.clone(), input: call.input.clone() });
            self.made.push(call);
        }
        Reply::blocks(blocks)
    }

    /// Whatever tells it something is in the request, wherever it came from.
    fn listen(&mut self, request: &RecordedRequest) {
        if std::mem::take(&mut self.tries_every_tool) {
            let offered = request.body["tools"].as_array().into_iter().flatten();
            let offered: Vec<String> =
                offered.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
            self.waiting.extend(injections::other_tools(&offered));
        }
        let said = String::from_utf8_lossy(&request.bytes);
        for injection in &self.injections {
            let met = (injection.name.clone(), request.role.clone());
            if said.contains(&injections::order(&injection.name)) && self.obeyed.insert(met) {
                self.waiting.extend(injection.calls.iter().cloned());
            }
        }
    }

    /// What came of all calls, read off the requests that carry their results.
    pub fn outcomes(&self, requests: &[Arc<RecordedRequest>]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for request in requests.iter().filter(|request| request.role != "main") {
            let last = request.body["messages"].as_array().and_then(|messages| messages.last());
            for block in last.and_then(|last| last["content"].as_array()).into_iter().flatten() {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let Some(number) = id.strip_prefix("toolu_obedient_") else { continue };
                let number: usize = number.parse().expect("an id of ours");
                let call = self.made[number].clone();
                outcomes.push(Outcome {
                    name: call.name.clone(),
                    call,
                    number,
                    fork: request.role.clone(),
                    is_error: block["is_error"] == json!(true),
                    text: request.tool_result(id).unwrap_or_default(),
                });
            }
        }
        assert_eq!(outcomes.len(), self.made.len(), "some calls were never answered");
        outcomes
    }
}
