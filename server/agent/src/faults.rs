//! Points at which tests let the server fail, to see that nothing else does.

use std::{fmt, sync::Arc};

/// Does nothing unless a test put something in. A point has the name of what runs there: `tool Read`, `turn`.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<Fault>>);

type Fault = dyn Fn(&str) + Send + Sync;

impl Faults {
    pub fn new(at: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(at)))
    }

    pub fn reach(&self, point: &str) {
        if let Some(at) = &self.0 {
            at(point);
        }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Faults(some)" } else { "Faults(none)" })
    }
}
