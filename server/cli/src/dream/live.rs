//! A dream while it runs: a line that says what it is at, or plain lines where nobody watches; Ctrl-C stops it.

use std::time::{Duration, Instant};

use anyhow::bail;
use protocol::{DreamOutcome, DreamPhase, DreamProgressParams, Notification, StopDreamParams, method};
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::{
    client::{Client, Incoming},
    signals::{Interrupt, Signals},
    terminal::Terminal,
};

const TICK: Duration = Duration::from_millis(200);

pub struct Live {
    json: bool,
    signals: Signals,
    ticks: Interval,
    /// How many of its rounds were told.
    told: u32,
    is_stopping: bool,
}

pub enum Watched {
    Ended {
        outcome: DreamOutcome,
        last_word: Option<String>,
    },
    /// The user did not wait for it.
    Left,
}

impl Live {
    pub fn new(json: bool) -> anyhow::Result<Self> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { json, signals: Signals::new()?, ticks, told: 0, is_stopping: false })
    }

    /// Until it has ended. The first Ctrl-C stops it, which takes back what it did; the second does not wait for that.
    pub async fn watch(
        &mut self,
        client: &mut Client,
        dream: &str,
        terminal: &mut Terminal,
    ) -> anyhow::Result<Watched> {
        terminal.status.work("dreaming", Instant::now());
        let watched = loop {
            tokio::select! {
                incoming = client.incoming.recv() => match incoming {
                    None => bail!("the server ended in the middle of the dream"),
                    Some(Incoming::Request { id, method, .. }) => client.refuse(&id, &method),
                    Some(Incoming::Notification { method, params }) => {
                        if self.json {
                            terminal.json(&json!({"method": method, "params": params}));
                        }
                        if method != method::DreamProgress::NAME {
                            continue;
                        }
                        let progress: DreamProgressParams = serde_json::from_str(params.get())?;
                        if progress.dream_id != dream {
                            continue;
                        }
                        if progress.status != DreamOutcome::Running {
                            break Watched::Ended { outcome: progress.status, last_word: progress.text };
                        }
                        self.show(&progress, terminal);
                    }
                },
                interrupt = self.signals.next() => {
                    if self.is_stopping || matches!(interrupt, Interrupt::Terminate) {
                        break Watched::Left;
                    }
                    self.is_stopping = true;
                    terminal.break_line();
                    terminal.status.work("stopping the dream; Ctrl-C to leave it", Instant::now());
                    client.call::<method::DreamStop>(&StopDreamParams { dream_id: dream.to_owned() }).await?;
                }
                _ = self.ticks.tick(), if terminal.status.is_working() => terminal.tick(),
            }
            if terminal.closed {
                break Watched::Left;
            }
        };
        terminal.break_status();
        Ok(watched)
    }

    fn show(&mut self, progress: &DreamProgressParams, terminal: &mut Terminal) {
        if self.is_stopping {
            return;
        }
        let line = line(progress);
        if terminal.status.is_shown() {
            terminal.status.work(&line, Instant::now());
            terminal.status.detail(progress.text.as_deref().unwrap_or_default());
        } else if progress.rounds > self.told && !self.json {
            self.told = progress.rounds;
            let text = progress.text.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
            terminal.aside(format!("· {line}: {text}").trim_end_matches([':', ' ']));
        }
    }
}

fn line(progress: &DreamProgressParams) -> String {
    let round = progress.rounds;
    match (progress.phase, progress.files_touched.len()) {
        (DreamPhase::Starting, _) => format!("dreaming, round {round}"),
        (DreamPhase::Updating, 1) => format!("dreaming, round {round}, 1 file touched"),
        (DreamPhase::Updating, files) => format!("dreaming, round {round}, {files} files touched"),
    }
}
