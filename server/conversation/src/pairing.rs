//! Tool calls and their results: which belong together, which are open.
//!
//! A result answers a call of the response directly before it, and only there: the API accepts it nowhere
//! else. [`request_messages`](crate::request_messages) renders by this rule, a resume repairs by it.

use crate::message::{Block, Body, Message, ResultContent};

/// What the model is told about a call whose result never came.
pub const INTERRUPTED: &str =
    "The tool call was interrupted before it finished: there is no result, and it may have had an effect.";

pub(crate) fn interrupted_result(tool_use_id: String) -> Block {
    Block::ToolResult { tool_use_id, content: ResultContent::Text(INTERRUPTED.to_owned()), is_error: true }
}

/// The calls of the newest response that wait for a result, while a thread is read from its root.
#[derive(Default)]
pub(crate) struct OpenCalls {
    response: ResponseKey,
    waiting: Vec<String>,
}

impl OpenCalls {
    /// Takes an assistant message. What it returns can no longer be answered: another response has begun.
    pub(crate) fn response(&mut self, message: &Message) -> Vec<String> {
        let Body::Assistant { content, .. } = &message.body else { return Vec::new() };
        let left_over = if self.response.continues_with(message) { Vec::new() } else { self.finish() };
        self.response = ResponseKey::of(message);
        for block in content {
            // A call that the response repeats is one call.
            if let Block::ToolUse { id, .. } = block
                && !self.waiting.contains(id)
            {
                self.waiting.push(id.clone());
            }
        }
        left_over
    }

    pub(crate) fn replied(&mut self) {
        self.response.replied();
    }

    /// Whether a call waited for this result.
    pub(crate) fn answer(&mut self, tool_use_id: &str) -> bool {
        match self.waiting.iter().position(|id| id == tool_use_id) {
            Some(position) => {
                self.waiting.remove(position);
                true
            }
            None => false,
        }
    }

    pub(crate) fn finish(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
    }
}

/// Tells whether the next assistant record is more of the same response. Claude Code writes one record per
/// block, and results of early blocks may stand between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseKey {
    /// `None`: nothing can continue it.
    id: Option<String>,
    has_ended: bool,
}

impl ResponseKey {
    pub fn of(message: &Message) -> Self {
        match &message.body {
            Body::Assistant { id, stop_reason, .. } => {
                Self { id: id.clone(), has_ended: stop_reason.is_some() }
            }
            _ => Self::default(),
        }
    }

    /// The user's side has spoken. A response with a stop reason is over then: servers that give every response
    /// the same id must not have their rounds run together.
    pub fn replied(&mut self) {
        if self.has_ended {
            self.id = None;
        }
    }

    pub fn continues_with(&self, message: &Message) -> bool {
        match &message.body {
            Body::Assistant { id: Some(id), .. } => self.id.as_ref() == Some(id),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{assistant, tool_use};

    #[test]
    fn calls_wait_in_their_order_and_a_repeated_one_waits_once() {
        let mut calls = OpenCalls::default();
        let content = ["t1", "t2", "t1", "t3"].map(tool_use).to_vec();
        assert_eq!(calls.response(&assistant(1, "a", content)), Vec::<String>::new());
        assert!(calls.answer("t2"));
        assert!(!calls.answer("t2"));
        assert_eq!(calls.finish(), ["t1", "t3"]);
    }

    #[test]
    fn a_result_behind_the_next_response_answers_nothing() {
        let mut calls = OpenCalls::default();
        calls.response(&assistant(1, "a", vec![tool_use("t1")]));
        assert_eq!(calls.response(&assistant(2, "b", vec![Block::text("next")])), ["t1"]);
        assert!(!calls.answer("t1"));
    }

    #[test]
    fn an_id_that_each_response_uses_again_waits_each_time() {
        let mut calls = OpenCalls::default();
        for (number, response) in [(1, "a"), (2, "b")] {
            assert!(calls.response(&assistant(number, response, vec![tool_use("call_0")])).is_empty());
            assert!(calls.answer("call_0"));
        }
    }
}
