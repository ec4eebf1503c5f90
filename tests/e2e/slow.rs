//! What takes seconds by its nature.

mod crashes;
mod ends;
mod frames;
mod many_edits;
mod outage;
