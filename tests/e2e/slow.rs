//! What takes seconds by its nature.

mod background;
mod compaction_kills;
mod crashes;
mod ends;
mod frames;
mod many_edits;
mod outage;
