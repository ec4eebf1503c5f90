//! When to try a failed request again: the arithmetic only. Waiting, telling the user and asking again are the
//! caller's.

use std::time::Duration;

use crate::{ModelError, Transient};

/// Requests for one answer, the first one included.
pub const TRIES: u32 = 10;

/// The same where nobody listens: a server that is just starting is there by then.
pub const TRIES_WHERE_REFUSED: u32 = 4;

const FIRST_WINDOW: Duration = Duration::from_millis(500);
const LONGEST_WINDOW: Duration = Duration::from_secs(32);
/// No provider's `retry-after` keeps a user waiting longer than this.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// The delays of one request's retries: exponential, with full jitter above a small floor, so that clients which
/// failed together do not come back together.
#[derive(Clone, Debug)]
pub struct Backoff {
    random: SplitMix,
    failures: u32,
}

impl Backoff {
    /// Clients must differ in their seed (time, process, session), or the jitter is none.
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix(seed), failures: 0 }
    }

    /// Counts a failure. `None`: give up, because trying again changes nothing or all tries are used.
    pub fn next_delay(&mut self, error: &ModelError) -> Option<Duration> {
        let ModelError::Transient { kind, retry_after, .. } = error else { return None };
        let tries = if *kind == Transient::Refused { TRIES_WHERE_REFUSED } else { TRIES };
        let window = FIRST_WINDOW.saturating_mul(1 << self.failures.min(16)).min(LONGEST_WINDOW);
        self.failures += 1;
        if self.failures >= tries {
            return None;
        }
        Some(match retry_after {
            None => self.between(window / 10, window),
            // Everyone was told the same moment: the window goes on top of it.
            Some(wait) if *wait < LONGEST_DELAY => {
                self.between(*wait, wait.saturating_add(window).min(LONGEST_DELAY))
            }
            Some(_) => self.between(LONGEST_DELAY - window, LONGEST_DELAY),
        })
    }

    /// How many failures were counted so far: the number of the retry that comes now, from 1.
    pub fn attempt(&self) -> u32 {
        self.failures
    }

    fn between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        shortest + longest.saturating_sub(shortest).mul_f64(self.random.fraction())
    }
}

/// SplitMix64: enough randomness to spread retries, and nothing to depend on.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// In [0, 1).
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::Transient;

    fn overloaded(retry_after: Option<Duration>) -> ModelError {
        ModelError::Transient { kind: Transient::Overloaded, message: String::new(), retry_after }
    }

    fn delays(seed: u64, error: &ModelError) -> Vec<Duration> {
        let mut backoff = Backoff::new(seed);
        std::iter::from_fn(|| backoff.next_delay(error)).collect()
    }

    #[test]
    fn ten_tries_are_nine_delays_that_grow_and_stay_in_their_windows() {
        for seed in 0..100 {
            let delays = delays(seed, &overloaded(None));
            assert_eq!(delays.len(), 9);
            for (index, delay) in delays.iter().enumerate() {
                let window = Duration::from_millis(500 << index).min(LONGEST_WINDOW);
                assert!(*delay >= window / 10 && *delay <= window, "{index}: {delay:?}");
            }
        }
    }

    #[test]
    fn what_cannot_help_is_not_tried_again() {
        let mut backoff = Backoff::new(1);
        let fatal = ModelError::Fatal { code: "auth", message: String::new() };
        let too_long = ModelError::TooLong { message: String::new(), over_by: None };
        assert_eq!(backoff.next_delay(&fatal), None);
        assert_eq!(backoff.next_delay(&too_long), None);
        assert_eq!(backoff.attempt(), 0);
        assert!(backoff.next_delay(&overloaded(None)).is_some());
        assert_eq!(backoff.attempt(), 1);
    }

    #[test]
    fn retry_after_is_honoured_up_to_five_minutes() {
        for seconds in [0, 1, 7, 60, 290, 299] {
            let wait = Duration::from_secs(seconds);
            for delay in delays(seconds, &overloaded(Some(wait))) {
                assert!(delay >= wait && delay <= LONGEST_DELAY, "{seconds}: {delay:?}");
            }
        }
        for absurd in [Duration::from_secs(301), Duration::from_secs(86_400 * 365), Duration::MAX] {
            for delay in delays(3, &overloaded(Some(absurd))) {
                assert!(delay >= Duration::from_secs(268) && delay <= LONGEST_DELAY, "{delay:?}");
            }
        }
    }

    /// The largest share of all retries that falls into one 100 ms bucket, when all clients failed together.
    fn largest_bucket(error: &ModelError) -> f64 {
        let mut buckets: HashMap<u128, usize> = HashMap::new();
        let mut retries = 0;
        for seed in 0..100 {
            let mut now = Duration::ZERO;
            for delay in delays(seed, error) {
                now += delay;
                retries += 1;
                *buckets.entry(now.as_millis() / 100).or_default() += 1;
            }
        }
        buckets.into_values().max().unwrap() as f64 / f64::from(retries)
    }

    #[test]
    fn a_hundred_clients_do_not_come_back_together() {
        for retry_after in [None, Some(1), Some(30), Some(300), Some(100_000)] {
            let share = largest_bucket(&overloaded(retry_after.map(Duration::from_secs)));
            assert!(share <= 0.05, "{retry_after:?}: {share}");
        }
    }
}
