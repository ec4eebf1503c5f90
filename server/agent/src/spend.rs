//! What all sessions of this user have spent, by day: a budget for the day has to hold across sessions, windows and
//! worktrees.
//!
//! One small file in the config home, changed under a lock. It is a limit's memory, not the books: each session's own
//! transcript has those.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jiff::civil::Date;

use crate::files;

const FILE: &str = "reverie-spend.json";
const LOCK: &str = "reverie-spend.lock";
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);

/// Days that are kept, for `/cost` and the doctor.
const DAYS: usize = 31;

#[derive(Clone, Debug)]
pub(crate) struct Spend {
    home: PathBuf,
}

type Days = BTreeMap<Date, f64>;

impl Spend {
    pub fn new(config_home: PathBuf) -> Self {
        Self { home: config_home }
    }

    /// In US dollars. What cannot be read counts as nothing spent: a broken file must not stop all work.
    pub fn on(&self, day: Date) -> f64 {
        self.read().get(&day).copied().unwrap_or_default()
    }

    pub fn add(&self, day: Date, usd: f64) -> io::Result<()> {
        files::create_private_dir(&self.home)?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.home.join(LOCK))?;
        let begun = Instant::now();
        while let Err(error) = lock.try_lock() {
            // Held for as long as a small file takes to write; whoever hangs is not waited for.
            if begun.elapsed() > PATIENCE {
                return Err(error.into());
            }
            std::thread::sleep(PAUSE);
        }
        let mut days = self.read();
        *days.entry(day).or_default() += usd;
        while days.len() > DAYS {
            days.pop_first();
        }
        replace(&self.home, &serde_json::to_vec(&days)?)
    }

    fn read(&self) -> Days {
        let text = fs::read(self.home.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// By the user's own clock: a budget for the day begins at their midnight.
pub(crate) fn today() -> Date {
    jiff::Zoned::now().date()
}

fn replace(home: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".reverie-spend").tempfile_in(home)?;
    file.write_all(bytes)?;
    // Not synced: after a power cut a limit may forget an hour, and each transcript still has its own account.
    file.persist(home.join(FILE)).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn many_writers_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let spend = Spend::new(home.path().to_owned());
        let today = date(2026, 3, 1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| spend.add(today, 0.25).unwrap()));
            }
        });
        assert_eq!(spend.on(today), 25.0);
        assert_eq!(spend.on(date(2026, 3, 2)), 0.0);
    }

    #[test]
    fn a_broken_file_counts_as_nothing_and_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE), "{torn").unwrap();
        let spend = Spend::new(home.path().to_owned());
        assert_eq!(spend.on(date(2026, 3, 1)), 0.0);
        spend.add(date(2026, 3, 1), 1.5).unwrap();
        assert_eq!(spend.on(date(2026, 3, 1)), 1.5);
    }

    #[test]
    fn a_month_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let spend = Spend::new(home.path().to_owned());
        let mut day = date(2026, 1, 1);
        for _ in 0..40 {
            spend.add(day, 1.0).unwrap();
            day = day.tomorrow().unwrap();
        }
        assert_eq!(spend.read().len(), DAYS);
        assert_eq!(spend.on(date(2026, 1, 1)), 0.0);
    }
}
