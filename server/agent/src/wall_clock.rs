//! What time it is by the user's own clock: which day a log is for, when the night's dream is due. Tests move it.

use std::future;

use jiff::{Zoned, civil::Date};
use tokio::sync::watch;

/// The machine's, unless a test follows hands of its own.
#[derive(Clone, Default)]
pub struct WallClock {
    hands: Option<watch::Receiver<Zoned>>,
}

impl WallClock {
    pub fn following(hands: watch::Receiver<Zoned>) -> Self {
        Self { hands: Some(hands) }
    }

    pub fn now(&self) -> Zoned {
        self.hands.as_ref().map_or_else(Zoned::now, |hands| hands.borrow().clone())
    }

    pub fn today(&self) -> Date {
        self.now().date()
    }

    /// Resolves when a test has moved the hands since the last time; the machine's clock has to be looked at.
    pub async fn moved(&mut self) {
        if let Some(hands) = &mut self.hands
            && hands.changed().await.is_ok()
        {
            return;
        }
        future::pending().await
    }
}
