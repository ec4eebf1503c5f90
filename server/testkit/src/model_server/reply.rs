//! What the scripted server answers: content, or a refusal, and how it travels — in pieces, late, cut or garbled.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

/// What a summary of a conversation consists of.
pub const SUMMARY_SECTIONS: [&str; 9] = [
    "Request and Intent",
    "Key Concepts",
    "Files and Code",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Next Step",
];

#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) answer: Answer,
    pub(super) delivery: Delivery,
    /// What the server says it left out of the conversation.
    pub(super) applied_edits: Option<Value>,
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    Message(Vec<ReplyBlock>, Option<String>),
    Status {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// A successful response whose body is these bytes.
    Raw(Bytes),
}

#[derive(Clone, Debug)]
pub enum ReplyBlock {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    /// Without an id the server numbers it: `toolu_0001`, `toolu_0002`, …
    ToolUse {
        id: Option<String>,
        name: String,
        input: Value,
    },
    /// A call whose input stops in the middle, as it does when the output limit strikes.
    TruncatedToolUse {
        name: String,
        input_json: String,
    },
    /// A block of any kind, sent whole in its start event.
    Other(Value),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    /// The response starts only when this opens.
    pub start_gate: Option<Gate>,
    /// The events behind this many wait for the gate.
    pub inner_gates: Vec<(usize, Gate)>,
    /// Bytes in front of event `.0` that belong to no event.
    pub garbage: Option<(usize, Bytes)>,
    pub chunk_bytes: Option<usize>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum End {
    #[default]
    Complete,
    CutAfterBytes(usize),
    CutAfterEvents(usize),
    StallAfterEvents(usize),
    /// Ends in good order, but early.
    FinishAfterEvents(usize),
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks(vec![ReplyBlock::Text(text.into())])
    }

    pub fn tool(name: &str, input: Value) -> Self {
        Self::tools([(name, input)])
    }

    pub fn tools<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let call =
            |(name, input): (&str, Value)| ReplyBlock::ToolUse { id: None, name: name.to_owned(), input };
        Self::blocks(calls.into_iter().map(call).collect())
    }

    pub fn blocks(blocks: Vec<ReplyBlock>) -> Self {
        Self { answer: Answer::Message(blocks, None), delivery: Delivery::default(), applied_edits: None }
    }

    /// An error response with the API's usual body for it; `header` and `body` refine it.
    pub fn status(status: u16) -> Self {
        let (kind, message) = match status {
            400 => ("invalid_request_error", "the request is not valid"),
            401 => ("authentication_error", "invalid x-api-key"),
            403 => ("permission_error", "your API key does not have permission to use this resource"),
            404 => ("not_found_error", "model: no-such-model"),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => ("rate_limit_error", "Number of requests has exceeded your rate limit"),
            529 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        let body = json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string();
        Self {
            answer: Answer::Status { status, headers: Vec::new(), body },
            delivery: Delivery::default(),
            applied_edits: None,
        }
    }

    /// A 529 that asks to be tried again at once, so that no test waits for a backoff.
    pub fn overloaded() -> Self {
        Self::status(529).header("retry-after", "0")
    }

    /// A 200 with these bytes as its event stream.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { answer: Answer::Raw(bytes.into()), delivery: Delivery::default(), applied_edits: None }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self.answer {
            Answer::Status { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            _ => panic!("headers are for status replies"),
        }
        self
    }

    pub fn body(mut self, text: &str) -> Self {
        match &mut self.answer {
            Answer::Status { body, .. } => *body = text.to_owned(),
            _ => panic!("bodies are for status replies"),
        }
        self
    }

    pub fn and(mut self, block: ReplyBlock) -> Self {
        match &mut self.answer {
            Answer::Message(blocks, _) => blocks.push(block),
            _ => panic!("only messages have blocks"),
        }
        self
    }

    pub fn and_text(self, text: &str) -> Self {
        self.and(ReplyBlock::Text(text.to_owned()))
    }

    pub fn and_tool(self, name: &str, input: Value) -> Self {
        self.and(ReplyBlock::ToolUse { id: None, name: name.to_owned(), input })
    }

    /// Overrides what follows from the blocks: `tool_use` with a call, else `end_turn`.
    pub fn stop_reason(mut self, reason: &str) -> Self {
        match &mut self.answer {
            Answer::Message(_, stop_reason) => *stop_reason = Some(reason.to_owned()),
            _ => panic!("only messages have a stop reason"),
        }
        self
    }

    /// `context_management.applied_edits` of the answer.
    pub fn applied_edits(mut self, edits: Value) -> Self {
        self.applied_edits = Some(edits);
        self
    }

    /// Nothing is answered before the gate opens, not even the headers.
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.delivery.start_gate = Some(gate.clone());
        self
    }

    /// `events` go out, the others wait for the gate. There may be several.
    pub fn pausing_after(mut self, events: usize, gate: &Gate) -> Self {
        self.delivery.inner_gates.push((events, gate.clone()));
        self
    }

    /// Sends the body in pieces of this many bytes.
    pub fn in_chunks_of(mut self, bytes: usize) -> Self {
        self.delivery.chunk_bytes = Some(bytes.max(1));
        self
    }

    /// The connection breaks after so many bytes of the body.
    pub fn cut_after_bytes(mut self, bytes: usize) -> Self {
        self.delivery.end = End::CutAfterBytes(bytes);
        self
    }

    /// The connection breaks after so many events.
    pub fn cut_after_events(mut self, events: usize) -> Self {
        self.delivery.end = End::CutAfterEvents(events);
        self
    }

    /// The body ends in good order after so many events, without the rest.
    pub fn finishing_after_events(mut self, events: usize) -> Self {
        self.delivery.end = End::FinishAfterEvents(events);
        self
    }

    /// After so many events nothing comes any more, and the connection stays open.
    pub fn stalling_after_events(mut self, events: usize) -> Self {
        self.delivery.end = End::StallAfterEvents(events);
        self
    }

    /// Puts bytes that make no sense in front of an event.
    pub fn garbled_before_event(mut self, event: usize, garbage: impl Into<Bytes>) -> Self {
        self.delivery.garbage = Some((event, garbage.into()));
        self
    }

    pub(super) fn is_accepted(&self) -> bool {
        !matches!(self.answer, Answer::Status { status, .. } if status >= 400)
    }
}

/// Holds a reply back until the test lets it go, and tells the test when the server has come to it.
#[derive(Clone, Debug)]
pub struct Gate(Arc<GateState>);

#[derive(Debug)]
struct GateState {
    open: watch::Sender<bool>,
    reached: watch::Sender<bool>,
}

impl Gate {
    pub fn closed() -> Self {
        Self(Arc::new(GateState { open: watch::Sender::new(false), reached: watch::Sender::new(false) }))
    }

    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// Resolves once somebody waits at the gate.
    pub async fn reached(&self) {
        let wait = async { self.0.reached.subscribe().wait_for(|reached| *reached).await.map(|_| ()) };
        crate::within(wait, "the gate to be reached").await.expect("the gate holds its own sender");
    }

    pub(crate) async fn pass(&self) {
        self.0.reached.send_replace(true);
        self.0.open.subscribe().wait_for(|open| *open).await.expect("the gate holds its own sender");
    }
}
