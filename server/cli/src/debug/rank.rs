//! `reverie debug rank`: the local ranker over a memory directory.

use std::path::PathBuf;

use ::memory::Store;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::each_line;

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    id: Value,
    text: String,
    #[serde(default = "few")]
    k: usize,
    /// As if asked then: files that were changed later are left out.
    #[serde(default)]
    time: Option<Moment>,
}

/// As a text or in seconds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Moment {
    Text(String),
    Seconds(f64),
}

fn few() -> usize {
    5
}

impl Moment {
    fn timestamp(&self) -> Option<Timestamp> {
        match self {
            Self::Text(text) => {
                let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
                text.parse().ok().or_else(|| day().map(|day| day.timestamp()))
            }
            Self::Seconds(seconds) => Timestamp::from_second(*seconds as i64).ok(),
        }
    }
}

pub fn run(directory: PathBuf) -> anyhow::Result<u8> {
    anyhow::ensure!(directory.is_dir(), "{} is no folder", directory.display());
    let store = Store::new(directory);
    // Nobody changes it while this runs, and reading it again for each line would be all that is measured.
    store.set_watched(true);
    each_line(|line| match serde_json::from_slice::<Input>(line) {
        Ok(input) => answer(&store, &input),
        Err(error) => json!({"error": format!("expected {{\"id\", \"text\", \"k\"?, \"time\"?}}: {error}")}),
    })
}

fn answer(store: &Store, input: &Input) -> Value {
    let until = match &input.time {
        None => None,
        Some(moment) => match moment.timestamp() {
            Some(time) => Some(time),
            None => return json!({"id": input.id, "error": "time is no RFC 3339 time"}),
        },
    };
    let now = until.unwrap_or_else(Timestamp::now);
    let ranked = store.rank_until(&input.text, input.k, now, until);
    let files: Vec<String> = ranked.hits.into_iter().map(|hit| hit.id).collect();
    json!({"id": input.id, "ranked": files, "conf": ranked.confidence})
}
