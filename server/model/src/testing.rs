//! What tests of both providers need: recorded bodies, decoding without a network, printing outcomes.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::runtime::{Builder, Runtime};

use crate::{
    Delta, Event, EventStream, ModelError, Transient,
    failure::Origin,
    http::Patience,
    sse::{self, Decoder},
};

/// All that a stream gave.
pub(crate) struct Outcome {
    pub(crate) events: Vec<Event>,
    pub(crate) error: Option<ModelError>,
}

impl Outcome {
    pub(crate) fn is(&self, expected: Transient) -> bool {
        matches!(&self.error, Some(ModelError::Transient { kind, .. }) if *kind == expected)
    }

    pub(crate) fn is_broken_stream(&self) -> bool {
        self.is(Transient::BrokenStream)
    }

    /// One line per event. Ids made from the clock are replaced.
    pub(crate) fn print(&self) -> String {
        let mut out = String::new();
        let mut own_ids = HashMap::new();
        for event in &self.events {
            match event {
                Event::Started { id, model, usage } => writeln!(out, "started {id} {model} {usage:?}"),
                Event::BlockStarted { index, block } => {
                    let mut block = serde_json::to_value(block).unwrap();
                    let id =
                        block["id"].as_str().filter(|id| id.matches('_').count() == 2).map(str::to_owned);
                    if let Some(id) = id {
                        let number = own_ids.len();
                        block["id"] = format!("own {}", own_ids.entry(id).or_insert(number)).into();
                    }
                    writeln!(out, "{index} starts {block}")
                }
                Event::BlockDelta { index, delta } => match delta {
                    Delta::Text(text) => writeln!(out, "{index} text {text:?}"),
                    Delta::Thinking(text) => writeln!(out, "{index} thinking {text:?}"),
                    Delta::Signature(text) => writeln!(out, "{index} signature {text:?}"),
                    Delta::InputJson(text) => writeln!(out, "{index} input {text:?}"),
                    Delta::Citation(citation) => writeln!(out, "{index} citation {citation}"),
                },
                Event::BlockFinished { index } => writeln!(out, "{index} ends"),
                Event::Finished { stop_reason, usage, applied } => {
                    let edits: String = applied.iter().map(|edit| format!(" {edit:?}")).collect();
                    writeln!(out, "finished {stop_reason:?} {usage:?}{edits}")
                }
            }
            .unwrap();
        }
        match &self.error {
            Some(ModelError::Transient { kind, message, retry_after }) => {
                let wait = retry_after.map(|wait| format!(" after {wait:?}")).unwrap_or_default();
                writeln!(out, "{kind:?}{wait}: {message}").unwrap();
            }
            Some(ModelError::TooLong { message, over_by }) => {
                writeln!(out, "TooLong {over_by:?}: {message}").unwrap();
            }
            Some(ModelError::MediaTooLarge { message }) => writeln!(out, "MediaTooLarge: {message}").unwrap(),
            Some(ModelError::Unsupported { field, message }) => {
                writeln!(out, "Unsupported {field:?}: {message}").unwrap();
            }
            Some(ModelError::Fatal { code, message }) => writeln!(out, "{code}: {message}").unwrap(),
            None => {}
        }
        out
    }
}

pub(crate) fn origin(provider: &'static str) -> Origin {
    Origin { provider, address: "http://server".to_owned(), model: "model".to_owned(), secret: None }
}

/// The `.sse` files of a folder, in order.
pub(crate) fn recordings(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "sse")).collect();
    recordings.sort();
    assert!(!recordings.is_empty());
    recordings
}

/// What comes out when these packets come in.
pub(crate) fn decode<D: Decoder>(
    chunks: Vec<Vec<u8>>,
    decoder: impl FnOnce(Arc<Origin>) -> D,
    provider: &'static str,
) -> Outcome {
    let origin = Arc::new(origin(provider));
    let body = futures_util::stream::iter(chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk)))).boxed();
    let events = sse::events(body, decoder(Arc::clone(&origin)), origin, Patience::default());
    // One for all: thousands of prefixes are decoded.
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());
    RUNTIME.block_on(collect(Ok(events)))
}

pub(crate) async fn collect(started: Result<EventStream, ModelError>) -> Outcome {
    let mut outcome = Outcome { events: Vec::new(), error: None };
    match started {
        Err(error) => outcome.error = Some(error),
        Ok(mut stream) => {
            while let Some(event) = stream.next().await {
                assert!(outcome.error.is_none(), "something after an error");
                match event {
                    Ok(event) => outcome.events.push(event),
                    Err(error) => outcome.error = Some(error),
                }
            }
        }
    }
    outcome
}
