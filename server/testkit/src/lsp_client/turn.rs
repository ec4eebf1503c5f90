//! One turn as the editor saw it.

use serde_json::Value;

/// The params of every `reverie/session/update` from the one after the turn before up to the turn's end.
#[derive(Clone, Debug)]
pub struct Turn {
    pub id: String,
    pub updates: Vec<Value>,
}

impl Turn {
    pub fn stop_reason(&self) -> &str {
        self.end()["stopReason"].as_str().unwrap_or_default()
    }

    /// The code of the error the turn ended with.
    pub fn error_code(&self) -> Option<&str> {
        self.end()["error"]["code"].as_str()
    }

    pub fn error_message(&self) -> Option<&str> {
        self.end()["error"]["message"].as_str()
    }

    /// The answer as it stands on the screen at the end: what a retry voided is gone.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut answer_start = 0;
        for update in self.kinds() {
            match update["kind"].as_str() {
                Some("textDelta") => text.push_str(update["text"].as_str().unwrap_or_default()),
                Some("retry") if update["discard"] == true => text.truncate(answer_start),
                // A usage update closes a response: what came before it stays.
                Some("usage") => answer_start = text.len(),
                _ => {}
            }
        }
        text
    }

    pub fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.kinds().filter(|update| update["kind"] == kind).collect()
    }

    pub fn count(&self, kind: &str) -> usize {
        self.of_kind(kind).len()
    }

    /// One line per update, for snapshots. Deltas are joined, a call and its end are one line where it started (which of
    /// several ends first is chance), usage and progress are left out.
    pub fn events(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut delta: Option<(&str, String)> = None;
        for update in self.kinds() {
            let kind = update["kind"].as_str().unwrap_or_default();
            let text = |name: &str| update[name].as_str().unwrap_or_default();
            match kind {
                "textDelta" | "thinkingDelta" => {
                    match &mut delta {
                        Some((open, joined)) if *open == kind => joined.push_str(text("text")),
                        _ => {
                            lines.extend(delta.take().map(delta_line));
                            delta = Some((kind, text("text").to_owned()));
                        }
                    }
                    continue;
                }
                "usage" | "toolProgress" | "toolEnd" => continue,
                _ => lines.extend(delta.take().map(delta_line)),
            }
            lines.push(match kind {
                "toolStart" => {
                    format!("tool {} {} → {}", text("tool"), update["input"], self.outcome(text("toolUseId")))
                }
                "retry" => format!("retry {} {}", update["attempt"], text("reason")),
                "notice" => format!("notice {} {}", text("level"), text("text")),
                "todo" => format!("todo {}", todo_line(&update["items"])),
                "title" => format!("title {:?}", text("title")),
                "context" => format!("context {} {}", text("layer"), text("detail")),
                "turnEnd" => match update["error"]["code"].as_str() {
                    Some(code) => {
                        let message = update["error"]["message"].as_str().unwrap_or_default();
                        format!("turnEnd {} {code}: {message}", text("stopReason"))
                    }
                    None => format!("turnEnd {}", text("stopReason")),
                },
                other => format!("{other} {update}"),
            });
        }
        lines.extend(delta.take().map(delta_line));
        lines.push(String::new());
        lines.join("\n")
    }

    fn outcome(&self, tool_use_id: &str) -> &'static str {
        let ends = self.of_kind("toolEnd");
        match ends.iter().find(|end| end["toolUseId"] == tool_use_id) {
            Some(end) if end["ok"] == true => "ok",
            Some(_) => "failed",
            None => "never ended",
        }
    }

    fn kinds(&self) -> impl Iterator<Item = &Value> {
        self.updates.iter().map(|params| &params["update"])
    }

    fn end(&self) -> &Value {
        &self.updates.last().expect("a turn has an end")["update"]
    }
}

fn delta_line((kind, text): (&str, String)) -> String {
    format!("{} {text:?}", kind.strip_suffix("Delta").unwrap_or(kind))
}

fn todo_line(items: &Value) -> String {
    let item = |item: &Value| {
        let mark = match item["status"].as_str() {
            Some("completed") => "x",
            Some("in_progress") => ">",
            _ => " ",
        };
        format!("[{mark}] {}", item["content"].as_str().unwrap_or_default())
    };
    items.as_array().into_iter().flatten().map(item).collect::<Vec<_>>().join(", ")
}
