//! A fork of a conversation: the same request, byte for byte, and a directive behind it. The directive begins with
//! a line by which whoever answers knows what is asked. Nothing is decided by it: users and files may say it too.

/// The first line of a request for a summary that stands for the conversation from then on.
pub const COMPACT: &str = "<reverie-fork kind=\"compact\">";
/// Of a request for the summary of a span.
pub const COLLAPSE: &str = "<reverie-fork kind=\"collapse\">";
/// Of a request to bring the session's notes up to date.
pub const NOTES: &str = "<reverie-fork kind=\"session_memory\">";
