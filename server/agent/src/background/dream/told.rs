//! What a dream tells everybody who watches it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::super::{DreamPhase, DreamProgress, DreamRound, JobState};
use crate::shared::Shared;

/// "The last 30 kept."
const KEPT_ROUNDS: usize = 30;
/// What is shown of what it says.
const SHOWN_CHARS: usize = 300;

/// How far it is, for everybody who watches.
pub(super) struct Told {
    shared: Arc<Shared>,
    progress: Mutex<DreamProgress>,
}

impl Told {
    pub fn new(shared: &Arc<Shared>, id: &str) -> Self {
        let progress = DreamProgress {
            dream: id.to_owned(),
            status: JobState::Running,
            phase: DreamPhase::Starting,
            rounds: 0,
            files_touched: Vec::new(),
            text: None,
            latest: Vec::new(),
        };
        Self { shared: Arc::clone(shared), progress: Mutex::new(progress) }
    }

    pub fn progress(&self) -> DreamProgress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn touched(&self, files: Vec<PathBuf>) {
        let progress = self.progress();
        if progress.files_touched != files || progress.phase == DreamPhase::Starting {
            self.tell(|progress| {
                progress.phase = DreamPhase::Updating;
                progress.files_touched = files;
            });
        }
    }

    pub fn round(&self, said: &str, calls: usize) {
        let text: String = said.trim().chars().take(SHOWN_CHARS).collect();
        self.tell(|progress| {
            progress.rounds += 1;
            progress.text = Some(text.clone()).filter(|text| !text.is_empty());
            progress.latest.push(DreamRound { text, tool_calls: calls });
            if progress.latest.len() > KEPT_ROUNDS {
                progress.latest.remove(0);
            }
        });
    }

    pub fn end(&self, status: JobState, words: &str) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        (progress.status, progress.text) = (status, Some(words.to_owned()));
        self.shared.frontend.dream_progress(progress.clone());
    }

    pub fn tell(&self, change: impl FnOnce(&mut DreamProgress)) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut progress);
        self.shared.dreams.progressed(&progress);
        // Under the lock: nobody hears of a later state first.
        self.shared.frontend.dream_progress(progress.clone());
    }
}

impl Drop for Told {
    /// However it ended, it does not run any more.
    fn drop(&mut self) {
        let progress = self.progress.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.shared.dreams.forget(&progress.dream);
    }
}
