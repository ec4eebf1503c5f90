//! What all sessions of this user have spent, by day: a budget for the day has to hold across sessions, windows and
//! worktrees. And of that, what each kind of background work did and cost.
//!
//! Two small files in the config home, changed under a lock. They are a limit's memory, not the books: each session's own
//! transcript has those.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use jiff::civil::Date;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    background::{Account, JobKind},
    files,
};

const FILE: &str = "reverie-spend.json";
const BACKGROUND: &str = "reverie-background.json";
const LOCK: &str = "reverie-spend.lock";
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);

/// More than a month of accounts has.
const LARGEST: u64 = 1 << 20;

/// Days that are kept, for `/cost` and the doctor.
const DAYS: usize = 31;

#[derive(Clone, Debug)]
pub(crate) struct Spend {
    home: PathBuf,
}

type Days<T> = BTreeMap<Date, T>;

/// By the names of kinds: a newer version may know more of them, and what it wrote stays.
type Accounts = BTreeMap<String, Account>;

impl Spend {
    pub fn new(config_home: PathBuf) -> Self {
        Self { home: config_home }
    }

    /// In US dollars. What cannot be read counts as nothing spent: a broken file must not stop all work.
    pub fn on(&self, day: Date) -> f64 {
        self.read(FILE).get(&day).copied().unwrap_or_default()
    }

    pub fn add(&self, day: Date, usd: f64) -> io::Result<()> {
        self.change(FILE, day, |sum: &mut f64| *sum += usd)
    }

    /// Of the kinds that did something on this day.
    pub fn background(&self, day: Date) -> BTreeMap<JobKind, Account> {
        let days: Days<Accounts> = self.read(BACKGROUND);
        let Some(accounts) = days.get(&day) else { return BTreeMap::new() };
        let known = |kind: JobKind| Some((kind, *accounts.get(kind.as_str())?));
        JobKind::ALL.into_iter().filter_map(known).collect()
    }

    /// What all of them cost together, in US dollars.
    pub fn background_usd(&self, day: Date) -> f64 {
        // An empty sum of floats is a negative zero.
        self.background(day).values().fold(0.0, |sum, account| sum + account.cost_usd)
    }

    /// Adds to what this kind did on the day.
    pub fn add_background(&self, day: Date, kind: JobKind, account: Account) -> io::Result<()> {
        self.change(BACKGROUND, day, |accounts: &mut Accounts| {
            *accounts.entry(kind.as_str().to_owned()).or_default() += account;
        })
    }

    fn change<T>(&self, name: &str, day: Date, change: impl FnOnce(&mut T)) -> io::Result<()>
    where
        T: Default + Serialize + DeserializeOwned,
    {
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
        let mut days = self.read(name);
        change(days.entry(day).or_default());
        while days.len() > DAYS {
            days.pop_first();
        }
        self.replace(name, &serde_json::to_vec(&days)?)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Days<T> {
        // Whatever lies there instead, nobody waits for it.
        let mut text = Vec::new();
        let read = markdown::file::open_regular(&self.home.join(name))
            .and_then(|(file, _)| file.take(LARGEST).read_to_end(&mut text));
        match read {
            Ok(_) => serde_json::from_slice(&text).unwrap_or_default(),
            Err(_) => Days::default(),
        }
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".reverie-spend").tempfile_in(&self.home)?;
        file.write_all(bytes)?;
        // Not synced: after a power cut a limit may forget an hour, and each transcript still has its own account.
        file.persist(self.home.join(name)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// By the user's own clock: a budget for the day begins at their midnight.
pub(crate) fn today() -> Date {
    jiff::Zoned::now().date()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use conversation::Usage;
    use jiff::{ToSpan as _, civil::date};

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
        assert_eq!(spend.read::<f64>(FILE).len(), DAYS);
        assert_eq!(spend.on(date(2026, 1, 1)), 0.0);
    }

    fn account(runs: u64) -> Account {
        let usage = Usage { input_tokens: 10 * runs, output_tokens: runs, ..Usage::default() };
        Account { runs, usage, cost_usd: 0.25, files: 2 }
    }

    #[test]
    fn background_work_is_added_up_by_kind_and_day() {
        let home = tempfile::tempdir().unwrap();
        let spend = Spend::new(home.path().to_owned());
        let (today, tomorrow) = (date(2026, 3, 1), date(2026, 3, 2));
        assert_eq!(spend.background(today), BTreeMap::new());
        spend.add_background(today, JobKind::Dream, account(1)).unwrap();
        spend.add_background(today, JobKind::Dream, account(2)).unwrap();
        spend.add_background(today, JobKind::Notes, account(1)).unwrap();
        spend.add_background(tomorrow, JobKind::Extraction, account(1)).unwrap();
        let dreams = Account { cost_usd: 0.5, files: 4, ..account(3) };
        assert_eq!(
            spend.background(today),
            BTreeMap::from([(JobKind::Notes, account(1)), (JobKind::Dream, dreams)])
        );
        assert_eq!(spend.background(tomorrow), BTreeMap::from([(JobKind::Extraction, account(1))]));
        assert_eq!(spend.on(today), 0.0);
    }

    #[test]
    fn many_background_writers_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let spend = Spend::new(home.path().to_owned());
        let today = date(2026, 3, 1);
        std::thread::scope(|scope| {
            for kind in [JobKind::Dream, JobKind::Dream, JobKind::Extraction, JobKind::Notes] {
                let spend = &spend;
                let add = move |_| spend.add_background(today, kind, account(1)).unwrap();
                scope.spawn(move || (0..25).for_each(add));
            }
        });
        let runs = spend.background(today).values().map(|account| account.runs).collect::<Vec<_>>();
        assert_eq!(runs, [25, 25, 50]);
    }

    #[test]
    fn kinds_of_a_newer_version_stay_and_a_broken_file_counts_as_nothing() {
        let home = tempfile::tempdir().unwrap();
        let spend = Spend::new(home.path().to_owned());
        let today = date(2026, 3, 1);
        let file = home.path().join(BACKGROUND);
        fs::write(&file, r#"{"2026-03-01":{"sleepwalk":{"runs":7},"dream":{"runs":1,"new":true}}}"#).unwrap();
        spend.add_background(today, JobKind::Dream, account(1)).unwrap();
        assert_eq!(spend.background(today).get(&JobKind::Dream).map(|account| account.runs), Some(2));
        assert!(fs::read_to_string(&file).unwrap().contains(r#""sleepwalk":{"runs":7"#));
        fs::write(&file, "{torn").unwrap();
        assert_eq!(spend.background(today), BTreeMap::new());
        spend.add_background(today, JobKind::Dream, account(1)).unwrap();
        assert_eq!(spend.background(today).len(), 1);
    }

    #[test]
    fn a_month_of_background_work_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let spend = Spend::new(home.path().to_owned());
        let first = date(2026, 1, 1);
        for day in first.series(1.day()).take(40) {
            spend.add_background(day, JobKind::Notes, account(1)).unwrap();
        }
        assert_eq!(spend.read::<Accounts>(BACKGROUND).len(), DAYS);
        assert_eq!(spend.background(first), BTreeMap::new());
    }
}
