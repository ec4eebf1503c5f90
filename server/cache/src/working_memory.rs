//! The working memory of one session: what it has derived and may need again.
//!
//! "100 entries; key, value, three priorities, last use; least recently used and low priority go first; entries expire
//! after 30 min idle." It neither reads a clock nor measures memory: whoever has it says what time it is, and whether
//! the server needs its memory for something else.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

pub const CAPACITY: usize = 100;

/// An entry that nobody has asked for in this time is forgotten.
pub const IDLE: Duration = Duration::from_secs(30 * 60);

/// What goes first when there is no room: the lowest, and of those the longest unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    Low,
    Normal,
    High,
}

/// Whether the server comes near to its memory budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    Normal,
    High,
}

impl Pressure {
    /// High above 80 % of the budget, both in the same unit.
    pub fn of(used: u64, budget: u64) -> Self {
        if u128::from(used) * 100 > u128::from(budget) * 80 { Self::High } else { Self::Normal }
    }

    /// How long an entry may be idle.
    fn idle(self) -> Duration {
        match self {
            Self::Normal => IDLE,
            Self::High => IDLE / 4,
        }
    }
}

/// What became of questions and entries so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub entries: usize,
    pub hits: u64,
    pub misses: u64,
    /// Entries that made room for others.
    pub evicted: u64,
    /// Entries that were idle for too long.
    pub expired: u64,
}

impl Statistics {
    /// The share of questions that were answered; `None` before the first one.
    pub fn hit_rate(&self) -> Option<f64> {
        let asked = self.hits + self.misses;
        (asked > 0).then(|| self.hits as f64 / asked as f64)
    }
}

#[derive(Clone, Debug)]
pub struct WorkingMemory<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Counts uses: a clock may stand still between two of them.
    uses: u64,
    /// But for `entries`, which is counted when it is asked for.
    statistics: Statistics,
}

#[derive(Clone, Debug)]
struct Entry<V> {
    value: V,
    priority: Priority,
    used_at: Instant,
    use_number: u64,
}

impl<K, V> Default for WorkingMemory<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), uses: 0, statistics: Statistics::default() }
    }
}

impl<K: Eq + Hash + Clone, V> WorkingMemory<K, V> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the value in the place of what the key had. Where all the others are more important, it is not kept.
    pub fn put(&mut self, key: K, value: V, priority: Priority, now: Instant) {
        let use_number = self.next_use();
        self.entries.insert(key, Entry { value, priority, used_at: now, use_number });
        if self.entries.len() <= CAPACITY {
            return;
        }
        // Those that are too old anyway make room for nobody.
        if self.clean(now, Pressure::Normal) > 0 {
            return;
        }
        let first_to_go = self.entries.iter().min_by_key(|(_, entry)| (entry.priority, entry.use_number));
        if let Some(key) = first_to_go.map(|(key, _)| key.clone()) {
            self.entries.remove(&key);
            self.statistics.evicted += 1;
        }
    }

    /// The value, which thereby stays longer.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q, now: Instant) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let use_number = self.next_use();
        if self.entries.get(key).is_some_and(|entry| entry.is_idle(now, IDLE)) {
            self.entries.remove(key);
            self.statistics.expired += 1;
        }
        match self.entries.get_mut(key) {
            Some(entry) => {
                self.statistics.hits += 1;
                // A clock that was read earlier and arrives later does not make an entry older.
                entry.used_at = entry.used_at.max(now);
                entry.use_number = use_number;
                Some(&entry.value)
            }
            None => {
                self.statistics.misses += 1;
                None
            }
        }
    }

    /// Because it no longer holds.
    pub fn forget<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key).map(|entry| entry.value)
    }

    /// Forgets what was idle for too long, sooner under pressure, and says how many entries that were. To be called
    /// every five minutes: between questions nothing goes by itself.
    pub fn clean(&mut self, now: Instant, pressure: Pressure) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, entry| !entry.is_idle(now, pressure.idle()));
        let gone = before - self.entries.len();
        self.statistics.expired += gone as u64;
        gone
    }

    pub fn statistics(&self) -> Statistics {
        Statistics { entries: self.entries.len(), ..self.statistics }
    }

    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }
}

impl<V> Entry<V> {
    fn is_idle(&self, now: Instant, limit: Duration) -> bool {
        now.saturating_duration_since(self.used_at) >= limit
    }
}

#[cfg(test)]
mod tests;
