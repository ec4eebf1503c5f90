//! Points at which tests let the server fail, to see that nothing else does.

use std::{fmt, sync::Arc, time::Duration};

use crate::wall_clock::WallClock;

/// Does nothing unless a test put something in. A point has the name of what runs there: `tool Read`, `turn`.
#[derive(Clone, Default)]
pub struct Faults {
    at: Option<Arc<Fault>>,
    patience: Option<Duration>,
    drain: Option<Duration>,
    clock: WallClock,
}

type Fault = dyn Fn(&str) + Send + Sync;

impl Faults {
    pub fn new(at: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { at: Some(Arc::new(at)), ..Self::default() }
    }

    /// Waits so long for what a request takes along if it is there in time: what a test sees must not depend on how busy
    /// the machine is.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Waits no longer than this, at its end, for what is being learnt.
    pub fn with_drain(mut self, limit: Duration) -> Self {
        self.drain = Some(limit);
        self
    }

    /// What the server takes for the clock on the wall.
    pub fn with_clock(mut self, clock: WallClock) -> Self {
        self.clock = clock;
        self
    }

    pub fn reach(&self, point: &str) {
        if let Some(at) = &self.at {
            at(point);
        }
    }

    pub fn patience(&self, usual: Duration) -> Duration {
        self.patience.unwrap_or(usual)
    }

    pub fn drain(&self, usual: Duration) -> Duration {
        self.drain.unwrap_or(usual)
    }

    pub fn clock(&self) -> &WallClock {
        &self.clock
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.at.is_some() { "Faults(some)" } else { "Faults(none)" })
    }
}
