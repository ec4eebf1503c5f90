//! The dream lock while a dream runs: signs of life, and giving it back.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use memory::dream_lock::Hold;

use super::super::blocking;

/// A response may take longer than others wait for a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(5 * 60);

/// The right to write, for as long as it lasts. Whatever is done with it may wait for others: not on the runtime's threads.
pub(super) type Held = Arc<Mutex<Option<Hold>>>;

/// Unless the dream has ended well, the time of the last one is what it was.
pub(super) async fn let_go(hold: Held) {
    let gone = blocking(move || {
        drop(hold.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(())
    });
    if let Err(why) = gone.await {
        tracing::error!(why, "the dream lock was not given back");
    }
}

/// Gives signs of life; resolves when the lock is lost, with words that say so.
pub(super) async fn lost(hold: &Held) -> String {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        if let Err(why) = beat(hold).await {
            return why;
        }
    }
}

pub(super) async fn beat(hold: &Held) -> Result<(), String> {
    let hold = Arc::clone(hold);
    blocking(move || match hold.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        Some(hold) => hold.beat().map_err(std::io::Error::other),
        None => Ok(()),
    })
    .await
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use memory::dream_lock::{Acquired, DreamLock};

    use super::*;

    /// A lock that goes by tokio's clock.
    fn held(folder: &std::path::Path) -> (DreamLock, Held) {
        let (began, start) = (Timestamp::now(), tokio::time::Instant::now());
        let elapsed = move || SignedDuration::try_from(start.elapsed()).unwrap();
        let lock = DreamLock::with_clock(folder, Arc::new(move || began + elapsed()));
        let Acquired::Held(hold) = lock.acquire().unwrap() else { panic!("nobody else is there") };
        (lock, Arc::new(Mutex::new(Some(hold))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_takes_hours_does_not_cost_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, hold) = held(folder.path());
        tokio::time::timeout(Duration::from_secs(5 * 60 * 60), lost(&hold)).await.unwrap_err();
        assert!(lock.look().unwrap().holder.is_some());
        let_go(hold).await;
        assert_eq!(lock.look().unwrap(), memory::dream_lock::Seen::default());
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_lost_the_lock_is_told_so_while_it_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, hold) = held(folder.path());
        std::fs::write(folder.path().join(".consolidate-lock"), "1").unwrap();
        assert_eq!(lost(&hold).await, "another process has taken the dream lock over");
        let_go(hold).await;
        assert_eq!(std::fs::read_to_string(folder.path().join(".consolidate-lock")).unwrap(), "1");
        drop(lock);
    }
}
