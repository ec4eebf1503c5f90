//! What takes seconds by its nature.

mod crashes;
mod many_edits;
mod outage;
