//! What was worked out once and may be wanted again, bounded in number and in time.
//!
//! Only the working memory of a session: levels of file contents, kept listings and reading ahead were measured and
//! save less than anybody could notice. `docs/benchmarks.md` has their figures, taken anew with every run.

mod working_memory;

pub use working_memory::{CAPACITY, IDLE, Pressure, Priority, Statistics, WorkingMemory};
