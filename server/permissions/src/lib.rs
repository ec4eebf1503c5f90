//! `decide(access, policy)` → allow, ask or deny, and why.
//!
//! Pure: it sees values and returns a value. Asking the user is `agent`'s, running the tool is `tools`'.

pub mod access;

pub use access::Access;
