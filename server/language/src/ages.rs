//! How long ago something was, in the words people use.

use jiff::Timestamp;

const DAY: i64 = 24 * 60 * 60;

/// "today", "yesterday", "47 days ago": whole periods of 24 hours, as recall counts them.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    match days(then, now) {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days => format!("{days} days ago"),
    }
}

pub(crate) fn days(then: Timestamp, now: Timestamp) -> i64 {
    seconds(then, now) / DAY
}

/// What lies in the future is now.
pub(crate) fn seconds(then: Timestamp, now: Timestamp) -> i64 {
    now.as_second().saturating_sub(then.as_second()).max(0)
}
