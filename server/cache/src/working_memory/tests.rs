use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn filled(priority: Priority, now: Instant) -> WorkingMemory<usize, usize> {
    let mut memory = WorkingMemory::new();
    for key in 0..CAPACITY {
        memory.put(key, key, priority, now);
    }
    memory
}

#[test]
fn the_least_recently_used_goes_first() {
    let now = Instant::now();
    let mut memory = filled(Priority::Normal, now);
    assert_eq!(memory.get(&0, now), Some(&0));
    memory.put(CAPACITY, 7, Priority::Normal, now);
    assert_eq!(memory.get(&0, now), Some(&0));
    assert_eq!(memory.get(&CAPACITY, now), Some(&7));
    assert_eq!(memory.get(&1, now), None);
    let expected = Statistics { entries: CAPACITY, hits: 3, misses: 1, evicted: 1, expired: 0 };
    assert_eq!(memory.statistics(), expected);
    assert_eq!(memory.statistics().hit_rate(), Some(0.75));
}

#[test]
fn low_priority_goes_before_what_is_longer_unused() {
    let now = Instant::now();
    let mut memory = filled(Priority::High, now);
    memory.put(50, 50, Priority::Low, now);
    memory.put(51, 51, Priority::Normal, now);
    for (new, gone) in [(100, 50), (101, 51), (102, 0), (103, 1)] {
        memory.put(new, new, Priority::High, now);
        assert_eq!(memory.forget(&gone), None, "{new} takes the place of {gone}");
        assert_eq!(memory.statistics().entries, CAPACITY);
    }
}

#[test]
fn nothing_more_important_makes_room() {
    let now = Instant::now();
    let mut memory = filled(Priority::Normal, now);
    memory.put(CAPACITY, 0, Priority::Low, now);
    assert_eq!(memory.get(&CAPACITY, now), None);
    assert_eq!(memory.get(&0, now), Some(&0));
}

#[test]
fn a_new_value_takes_the_place_of_the_old_one() {
    let now = Instant::now();
    let mut memory = filled(Priority::Normal, now);
    memory.put(3, 33, Priority::Normal, now);
    assert_eq!(memory.get(&3, now), Some(&33));
    assert_eq!(memory.statistics().evicted, 0);
    assert_eq!(memory.forget(&3), Some(33));
    assert_eq!(memory.get(&3, now), None);
}

#[test]
fn entries_expire_after_half_an_hour_without_a_question() {
    let start = Instant::now();
    let mut memory = WorkingMemory::new();
    memory.put("a", 1, Priority::High, start);
    memory.put("b", 2, Priority::High, start);
    assert_eq!(memory.get("a", start + 29 * MINUTE), Some(&1));
    assert_eq!(memory.get("b", start + 30 * MINUTE), None);
    assert_eq!(memory.get("a", start + 58 * MINUTE), Some(&1));
    // Questions that overtake each other do no harm.
    assert_eq!(memory.get("a", start), Some(&1));
    assert_eq!(memory.clean(start + 87 * MINUTE, Pressure::Normal), 0);
    assert_eq!(memory.clean(start + 88 * MINUTE, Pressure::Normal), 1);
    assert_eq!(memory.statistics(), Statistics { entries: 0, hits: 3, misses: 1, evicted: 0, expired: 2 });
}

#[test]
fn they_expire_after_a_quarter_of_that_above_four_fifths_of_the_budget() {
    let start = Instant::now();
    for (used, left) in [(800, 1), (801, 0)] {
        let mut memory = WorkingMemory::new();
        memory.put("a", 1, Priority::High, start);
        assert_eq!(memory.clean(start + IDLE / 4 - Duration::from_nanos(1), Pressure::of(used, 1_000)), 0);
        memory.clean(start + IDLE / 4, Pressure::of(used, 1_000));
        assert_eq!(memory.statistics().entries, left);
    }
    assert_eq!(Pressure::of(u64::MAX, u64::MAX), Pressure::High);
}

#[test]
fn what_is_too_old_makes_room_before_what_is_not() {
    let start = Instant::now();
    let mut memory = WorkingMemory::new();
    memory.put(1_000, 0, Priority::High, start);
    let later = start + IDLE;
    for key in 0..CAPACITY {
        memory.put(key, key, Priority::Low, later);
    }
    assert_eq!(memory.statistics(), Statistics { entries: CAPACITY, expired: 1, ..Statistics::default() });
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Priority),
    Get(u8),
    Forget(u8),
    Clean(Pressure),
    Wait(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let priority = prop_oneof![Just(Priority::Low), Just(Priority::Normal), Just(Priority::High)];
    let pressure = prop_oneof![Just(Pressure::Normal), Just(Pressure::High)];
    prop_oneof![
        12 => (0..140_u8, priority).prop_map(|(key, priority)| Step::Put(key, priority)),
        6 => (0..140_u8).prop_map(Step::Get),
        1 => (0..140_u8).prop_map(Step::Forget),
        1 => pressure.prop_map(Step::Clean),
        1 => (0..10_u8).prop_map(Step::Wait),
    ]
}

/// The rules once more, as a list in the order of use.
#[derive(Default)]
struct Model(Vec<(u8, usize, Priority, Instant)>);

impl Model {
    fn take(&mut self, key: u8) -> Option<(u8, usize, Priority, Instant)> {
        let at = self.0.iter().position(|entry| entry.0 == key)?;
        Some(self.0.remove(at))
    }

    fn clean(&mut self, now: Instant, idle: Duration) {
        self.0.retain(|entry| now.duration_since(entry.3) < idle);
    }

    fn put(&mut self, key: u8, value: usize, priority: Priority, now: Instant) {
        self.take(key);
        self.0.push((key, value, priority, now));
        if self.0.len() > CAPACITY {
            self.clean(now, IDLE);
        }
        if self.0.len() > CAPACITY {
            let lowest = self.0.iter().map(|entry| entry.2).min();
            let first = self.0.iter().position(|entry| Some(entry.2) == lowest).unwrap();
            self.0.remove(first);
        }
    }

    fn get(&mut self, key: u8, now: Instant) -> Option<usize> {
        let entry = self.take(key).filter(|entry| now.duration_since(entry.3) < IDLE)?;
        self.0.push((entry.0, entry.1, entry.2, now));
        Some(entry.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_bounds_hold_and_the_rules_decide_who_goes(steps in prop::collection::vec(step(), 0..600)) {
        let (mut memory, mut model) = (WorkingMemory::new(), Model::default());
        let mut now = Instant::now();
        let (mut asked, mut answered) = (0, 0);
        for (value, step) in steps.into_iter().enumerate() {
            match step {
                Step::Put(key, priority) => {
                    memory.put(key, value, priority, now);
                    model.put(key, value, priority, now);
                }
                Step::Get(key) => {
                    let got = memory.get(&key, now).copied();
                    prop_assert_eq!(got, model.get(key, now));
                    asked += 1;
                    answered += u64::from(got.is_some());
                }
                Step::Forget(key) => {
                    let forgotten = memory.forget(&key);
                    prop_assert_eq!(forgotten, model.take(key).map(|entry| entry.1));
                }
                Step::Clean(pressure) => {
                    memory.clean(now, pressure);
                    model.clean(now, if pressure == Pressure::High { IDLE / 4 } else { IDLE });
                }
                Step::Wait(minutes) => now += u32::from(minutes) * MINUTE,
            }
            let statistics = memory.statistics();
            prop_assert!(statistics.entries <= CAPACITY);
            prop_assert_eq!(statistics.entries, model.0.len());
            prop_assert_eq!((statistics.hits, statistics.hits + statistics.misses), (answered, asked));
        }
    }
}
