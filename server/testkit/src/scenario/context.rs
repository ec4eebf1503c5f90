//! The blocks about the context of a session: what makes it smaller, takes that back, or goes back in time, and what is
//! seen of it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Block, Run};
use crate::layout::without_dates;

impl Run {
    /// `compact [mode=from|upTo|full|sessionMemory] [at=K] [preview=true]`; the body is what the summary has to mind.
    pub(super) async fn compact(&mut self, block: &Block, instructions: &str) {
        let at = block.attributes.get("at").map(|at| self.prompt_uuid(at));
        let params = json!({
            "sessionId": self.session().await,
            "mode": block.attributes.get("mode"),
            "messageUuid": at,
            "instructions": Some(instructions.trim()).filter(|words| !words.is_empty()),
            "preview": block.attributes.contains_key("preview"),
        });
        self.said = match self.quietly("reverie/session/compact", params).await {
            Ok(answer) => {
                let [layer, summary] =
                    ["layer", "summary"].map(|key| answer[key].as_str().unwrap_or_default());
                let is_less = answer["tokensAfter"].as_u64() < answer["tokensBefore"].as_u64();
                let size = if is_less { "shorter" } else { "not shorter" };
                format!("{layer}, {size}\n{summary}\n")
            }
            Err(why) => why,
        };
    }

    pub(super) async fn uncompact(&mut self) {
        let params = json!({ "sessionId": self.session().await });
        let outcome = self.quietly("reverie/session/uncompact", params).await;
        self.said = outcome.map_or_else(|why| why, |_| "done\n".to_owned());
    }

    /// `rewind to=K`: to before the K-th prompt of the scenario.
    pub(super) async fn rewind(&mut self, block: &Block) {
        let message = self.prompt_uuid(block.attribute("to"));
        let params = json!({ "sessionId": self.session().await, "messageUuid": message });
        let outcome = self.quietly("reverie/session/rewind", params).await;
        self.said = outcome.map_or_else(|why| why, |_| "done\n".to_owned());
    }

    /// What follows is said in the fork.
    pub(super) async fn fork(&mut self) {
        let params = json!({ "sessionId": self.session().await });
        let answer = self.quietly("reverie/session/fork", params).await.expect("a session can be forked");
        self.session = Some(answer["sessionId"].as_str().expect("a fork has an id").to_owned());
    }

    /// As the session would have written them itself.
    pub(super) async fn notes(&mut self, text: &str) {
        let path = self.fixture.project_dir().join(self.session().await).join("session-memory/summary.md");
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        std::fs::write(path, text).expect("notes can be written");
    }

    /// Everything was said so long ago, and the provider's clock has gone on. The server is not running.
    pub(super) fn age(&self, minutes: &str) {
        let minutes = minutes.strip_suffix('m').and_then(|minutes| minutes.parse().ok());
        let minutes: u32 = minutes.expect("an age is minutes: 61m");
        self.model.advance_clock(Duration::from_secs(60 * u64::from(minutes)));
        let path = self.fixture.transcript(self.session.as_deref().expect("a session to age"));
        let transcript = std::fs::read_to_string(&path).expect("the transcript can be read");
        let aged = transcript.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("a record is JSON");
            if let Some(at) = record.get_mut("timestamp") {
                let said: Timestamp = at.as_str().and_then(|at| at.parse().ok()).expect("a time");
                let earlier = said - SignedDuration::from_mins(i64::from(minutes));
                *at = earlier.to_string().into();
            }
            format!("{record}\n")
        });
        std::fs::write(&path, aged.collect::<String>()).expect("the transcript can be written");
    }

    /// `reverie/context/report`, a line per change. How many tokens were freed depends on the size of the system prompt,
    /// and so on the machine: only the order of magnitude is shown.
    pub(super) async fn ledger(&mut self) -> String {
        let changes = self.changes().await;
        let line = |change: &Value| {
            let text = |key: &str| change[key].as_str().unwrap_or_default();
            let freed = match change["tokensFreed"].as_u64().unwrap_or_default() {
                0 => "nothing",
                1..100 => "tens",
                100..1_000 => "hundreds",
                1_000..10_000 => "thousands",
                _ => "tens of thousands",
            };
            let detail = without_counts(text("detail"));
            format!("{}: {detail} · freed {freed} · cache {}\n", text("layer"), text("cache"))
        };
        self.abstracted(&changes.iter().map(line).collect::<String>())
    }

    /// `expect original of=toolu_0001`, or `change=K`: the full text behind the K-th line of the ledger.
    pub(super) async fn original(&mut self, block: &Block) -> String {
        let id = match block.attributes.get("of") {
            Some(id) => id.clone(),
            None => {
                let number: usize = block.attribute("change").parse().expect("change is a number");
                let changes = self.changes().await;
                let change = number.checked_sub(1).and_then(|index| changes.get(index));
                let change = change.unwrap_or_else(|| panic!("the ledger has {} lines", changes.len()));
                change["original"].as_str().expect("the change has an original").to_owned()
            }
        };
        let params = json!({ "sessionId": self.session().await, "id": id });
        let answer = self.quietly("reverie/context/original", params).await;
        let text = answer.map_or_else(|why| why, |it| it["text"].as_str().unwrap_or_default().to_owned());
        let shown: Vec<&str> = text.lines().take(ORIGINAL_LINES).collect();
        let more = text.lines().count() - shown.len();
        let more = if more > 0 { format!("\n… {more} more lines") } else { String::new() };
        without_dates(&self.abstracted(&format!("{}{more}\n", shown.join("\n"))))
    }

    /// What was paid for although it had been bought before, by all requests so far.
    pub(super) fn waste(&self) -> String {
        let cache = self.model.cache();
        let (paid, cheapest) = (cache.totals(), cache.cheapest_possible());
        let again = (paid.total() - paid.read).saturating_sub(cheapest.total() - cheapest.read);
        match again {
            0 => "nothing was bought twice\n".to_owned(),
            _ => format!("{again} tokens were bought twice\n"),
        }
    }

    async fn changes(&mut self) -> Vec<Value> {
        let params = json!({ "sessionId": self.session().await });
        let report = self.quietly("reverie/context/report", params).await.expect("there is a report");
        report["ledger"].as_array().cloned().unwrap_or_default()
    }

    /// A request outside of a turn; what it makes the server tell is read with the next turn, if there is one.
    async fn quietly(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let client = self.client().await;
        for told in ["context", "notice", "usage"] {
            client.ignore(told);
        }
        client
            .request(method, params)
            .await
            .map_err(|error| without_counts(&format!("refused: {}\n", error.message)))
    }

    /// Of the K-th prompt of the scenario, commands not counted.
    fn prompt_uuid(&self, number: &str) -> String {
        let number: usize = number.parse().expect("a prompt is named by its number");
        let prompt = number.checked_sub(1).and_then(|index| self.prompts.get(index));
        let prompt = prompt.unwrap_or_else(|| panic!("there are {} prompts", self.prompts.len()));
        let path = self.fixture.transcript(self.session.as_deref().expect("a session"));
        let transcript = std::fs::read_to_string(path).expect("the transcript can be read");
        let mut records =
            transcript.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
        let said = |record: &Value| {
            let content = &record["message"]["content"];
            let text = content.as_str().or_else(|| content[0]["text"].as_str());
            record["type"] == "user" && text == Some(prompt)
        };
        let found = records.find(said).unwrap_or_else(|| panic!("nobody said {prompt:?}"));
        found["uuid"].as_str().expect("a message has an id").to_owned()
    }
}

/// How much of an original is shown.
const ORIGINAL_LINES: usize = 12;

/// Large numbers are counts of tokens, which depend on the machine.
pub(super) fn without_counts(text: &str) -> String {
    let mut shown = String::new();
    let mut digits = String::new();
    for character in text.chars().chain(['\n']) {
        if character.is_ascii_digit() {
            digits.push(character);
            continue;
        }
        shown.push_str(if digits.len() >= 4 { "…" } else { &digits });
        digits.clear();
        shown.push(character);
    }
    shown.pop();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_tokens_are_left_out_and_small_numbers_stay() {
        let detail = "12 messages: 23456 tokens before, 1234 after; 9 of 9 sections";
        assert_eq!(without_counts(detail), "12 messages: … tokens before, … after; 9 of 9 sections");
    }
}
