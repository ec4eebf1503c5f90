//! How the client answers what the server asks of it: by a closure the test registered, else as an editor would.

use serde_json::{Value, json};

use super::{
    State,
    document::{Encoding, offsets_of_range, path_of, range_json},
    framing::frame,
};
use crate::model_server::Gate;

/// What a registered closure says.
pub enum Answer {
    Result(Value),
    Error {
        code: i64,
        message: String,
    },
    /// The result, once the gate opens.
    Later(Gate, Value),
    /// The request stays open, as with a user who went for lunch.
    Never,
}

impl Answer {
    pub fn allow_once() -> Self {
        Self::Result(json!({ "option": "allowOnce" }))
    }

    pub fn deny(message: &str) -> Self {
        Self::Result(json!({ "option": "deny", "message": message }))
    }
}

pub(super) type Handler = Box<dyn FnMut(&Value) -> Answer + Send>;

impl State {
    /// The answer, and the frames to send before it.
    pub(super) fn answer(&mut self, method: &str, params: &Value) -> (Vec<Vec<u8>>, Answer) {
        if let Some(handler) = self.handlers.get_mut(method) {
            return (Vec::new(), handler(params));
        }
        match method {
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create" => (Vec::new(), Answer::Result(Value::Null)),
            "workspace/configuration" => (Vec::new(), Answer::Result(self.configuration_items(params))),
            "workspace/applyEdit" => self.apply_edit(params),
            "reverie/document/save" => self.save_for_server(params),
            _ => {
                let message = format!("the test answers no {method}");
                self.problems.push(format!("{message}; params: {params}"));
                (Vec::new(), Answer::Error { code: -32601, message })
            }
        }
    }

    fn configuration_items(&self, params: &Value) -> Value {
        let items = params["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let value_of = |section: &str| {
            section
                .split('.')
                .try_fold(&self.configuration, |value, key| value.get(key))
                .cloned()
                .unwrap_or(Value::Null)
        };
        items.iter().map(|item| value_of(item["section"].as_str().unwrap_or_default())).collect()
    }

    /// As VS Code does it: a wrong version refuses everything, the change is announced before the answer.
    fn apply_edit(&mut self, params: &Value) -> (Vec<Vec<u8>>, Answer) {
        let refuse = |reason: &str| Answer::Result(json!({ "applied": false, "failureReason": reason }));
        let Some(changes) = params["edit"]["documentChanges"].as_array() else {
            return (Vec::new(), refuse("only documentChanges are supported"));
        };
        for change in changes {
            let uri = change["textDocument"]["uri"].as_str().unwrap_or_default();
            let Some(document) = self.documents.get(uri) else {
                return (Vec::new(), refuse("the document is not open"));
            };
            if change["textDocument"]["version"] != document.version {
                return (Vec::new(), refuse("the document has changed in the meantime"));
            }
        }
        let encoding = self.encoding;
        let mut frames = Vec::new();
        for change in changes {
            let uri = change["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
            let edits = change["edits"].as_array().cloned().unwrap_or_default();
            let document = self.documents.get_mut(&uri).expect("looked up above");
            document.push_undo();
            document.version += 1;
            let content_changes = apply_edits(&mut document.text, &edits, encoding);
            frames.push(frame(&did_change(&uri, document.version, &content_changes)));
        }
        (frames, Answer::Result(json!({ "applied": true })))
    }

    fn save_for_server(&mut self, params: &Value) -> (Vec<Vec<u8>>, Answer) {
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        let Some(document) = self.documents.get_mut(&uri) else {
            return (Vec::new(), Answer::Result(json!({ "saved": false })));
        };
        std::fs::write(path_of(&uri), &document.text).expect("a test's document can be saved");
        document.saved = Some(document.text.clone());
        let params = json!({ "textDocument": { "uri": uri } });
        let notification = json!({ "jsonrpc": "2.0", "method": "textDocument/didSave", "params": params });
        (vec![frame(&notification)], Answer::Result(json!({ "saved": true })))
    }
}

pub(super) fn did_change(uri: &str, version: i32, content_changes: &[Value]) -> Value {
    json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
        "textDocument": { "uri": uri, "version": version }, "contentChanges": content_changes,
    } })
}

/// Applies edits whose ranges all refer to the text before, and returns them as changes that apply one after another.
fn apply_edits(text: &mut String, edits: &[Value], encoding: Encoding) -> Vec<Value> {
    let mut resolved: Vec<(usize, usize, &str)> = edits
        .iter()
        .map(|edit| {
            let (start, end) = offsets_of_range(text, &edit["range"], encoding);
            (start, end, edit["newText"].as_str().expect("an edit has a text"))
        })
        .collect();
    // From the end to the start, so that no edit moves one that is still to come.
    resolved.sort_by_key(|(start, end, _)| std::cmp::Reverse((*start, *end)));
    for pair in resolved.windows(2) {
        assert!(pair[1].1 <= pair[0].0, "edits overlap: {edits:?}");
    }
    resolved
        .into_iter()
        .map(|(start, end, new_text)| {
            let range = range_json(text, start, end, encoding);
            text.replace_range(start..end, new_text);
            json!({ "range": range, "text": new_text })
        })
        .collect()
}
