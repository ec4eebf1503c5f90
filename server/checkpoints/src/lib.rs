//! What files were before the agent touched them, so that a rewind can bring them back byte for byte.
//!
//! [`Store::before_write`] and [`Store::after_write`] go around a write of one file. A [`Tracker`] goes around
//! commands, which may touch anything: it keeps a copy of the workspace for as long as the process lives. What either
//! observes becomes an [`Entry`], which the caller keeps in its transcript. [`Store::plan`] makes of the entries since a
//! message what is to be done, [`Store::prepare`] and [`Store::apply`] do it. [`unreviewed`] says what the user has still to
//! look through.
//!
//! What changed while a command ran may be the work of the user or of another command. Where that is likely, in the
//! background or beside another, the entry says that it is uncertain, and the plan leaves it alone unless forced.
//!
//! Not here: files outside the workspace that a command touches, `.git` and whatever `.gitignore` excludes, owners,
//! access lists, times, and documents that are open in an editor (the caller takes those out of the plan and gives
//! their content to the editor).

mod blob;
mod entry;
mod folder;
mod plan;
mod present;
mod restore;
mod review;
mod store;
#[cfg(test)]
mod testing;
mod tracker;
mod write;

pub use blob::{Blob, NotABlob};
pub use entry::{Change, Entry, Fate, Observed, Reviewed, State, Uncaptured, Why};
pub use plan::{Action, Clash, Conflict, Failure, Plan, is_uncertain};
pub use restore::{Prepared, Restored};
pub use review::unreviewed;
pub use store::{Collected, Size, Store};
pub use tracker::{Config, Coverage, Limits, Running, Tracker};
pub use write::Before;
