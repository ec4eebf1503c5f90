//! By a clock of the tests' own: what is seen, who is given way to, what is left. Real processes: `tests/dream_lock.rs`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::SystemTime;

use expect_test::{Expect, expect};
use jiff::ToSpan as _;
use tempfile::TempDir;

use super::*;

mod ending;
mod strange;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const TEN_YEARS: i64 = 3652 * DAY;

struct Fixture {
    folder: TempDir,
    seconds: Arc<AtomicI64>,
    lock: DreamLock,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seconds = Arc::new(AtomicI64::new(1_800_000_000));
        let ticking = Arc::clone(&seconds);
        let now = move || Timestamp::from_second(ticking.load(Ordering::Relaxed)).unwrap();
        let lock = DreamLock::with_clock(folder.path(), Arc::new(now));
        Self { folder, seconds, lock }
    }

    /// With what somebody left there so many seconds ago.
    fn with(body: &str, ago: i64) -> Self {
        let fixture = Self::new();
        fixture.put(body, ago);
        fixture
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(file::NAME)
    }

    fn now(&self) -> Timestamp {
        (self.lock.clock)()
    }

    fn pass(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    fn put(&self, body: &str, ago: i64) {
        fs::write(self.path(), body).unwrap();
        let time = SystemTime::from(self.now() - ago.seconds());
        File::open(self.path()).unwrap().set_modified(time).unwrap();
    }

    fn acquired(&self) -> Hold {
        match self.lock.acquire().unwrap() {
            Acquired::Held(hold) => hold,
            Acquired::Busy(holder) => panic!("held by {holder:?}"),
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.lock.acquire().unwrap(), Acquired::Busy(_))
    }

    fn ago(&self, time: Option<Timestamp>) -> String {
        time.map_or("never".to_owned(), |time| {
            format!("{} min ago", self.now().duration_since(time).as_mins())
        })
    }

    /// What is seen; what an attempt to take it gives, and what is left when that is given up at once.
    fn story(&self) -> String {
        let seen = self.lock.look().unwrap();
        let holder = seen.holder.map_or("nobody".to_owned(), |_| "somebody".to_owned());
        let seen = format!("last {}, held by {holder}", self.ago(seen.last));
        let taken = match self.lock.acquire().unwrap() {
            Acquired::Busy(_) => return format!("{seen}; gives way"),
            Acquired::Held(hold) => hold,
        };
        assert!(self.is_busy(), "one at a time");
        taken.release();
        let left = if self.path().exists() { "the file stays" } else { "no file is left" };
        let after = self.lock.look().unwrap();
        assert_eq!(after.holder, None);
        format!("{seen}; takes it, {left}, last {}", self.ago(after.last))
    }

    /// All that is in the folder, the history's own left out.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != crate::history::FOLDER);
        names.sort();
        names
    }
}

/// A process that lives until this is dropped.
struct Living(Child);

impl Living {
    fn new() -> Self {
        Self(Command::new("cat").stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

fn dead() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

fn check(rows: &[(&str, Fixture)], expected: Expect) {
    let rows: Vec<String> =
        rows.iter().map(|(name, fixture)| format!("{name}: {}\n", fixture.story())).collect();
    expected.assert_eq(&rows.concat());
}

#[test]
fn whoever_says_that_it_dreams_is_given_way_to_while_it_lives_and_beats() {
    let now = Fixture::new().now();
    let running = |process: &Process, previous: Option<i64>| {
        let previous = previous.map(|ago| now - ago.seconds());
        let token = "theirs".to_owned();
        Running { process: process.clone(), acquired: Some(now), token, previous }.to_string()
    };
    let own = Process::own();
    let living = Living::new();
    let other = Process::numbered(living.0.id());
    let gone = Process::numbered(dead());
    let reused = Process { start: own.start.map(|start| start + 1), ..own.clone() };
    let far = Process { namespace: Some("pid:[1]".to_owned()), ..gone.clone() };
    let before = Some(3 * DAY);
    check(
        &[
            ("no file", Fixture::new()),
            ("alive", Fixture::with(&running(&own, before), 0)),
            ("alive, the first ever", Fixture::with(&running(&own, None), MINUTE)),
            ("another alive", Fixture::with(&running(&other, before), 59 * MINUTE)),
            ("alive, silent", Fixture::with(&running(&other, before), HOUR)),
            ("alive, silent, the first ever", Fixture::with(&running(&other, None), HOUR)),
            ("alive, a clock ahead", Fixture::with(&running(&other, before), -59 * MINUTE)),
            ("alive, a clock far ahead", Fixture::with(&running(&other, before), -HOUR)),
            ("alive, ten years ago", Fixture::with(&running(&other, before), TEN_YEARS)),
            ("alive, in ten years", Fixture::with(&running(&other, before), -TEN_YEARS)),
            ("dead", Fixture::with(&running(&gone, before), MINUTE)),
            ("dead, the first ever", Fixture::with(&running(&gone, None), MINUTE)),
            ("dead, before in ten years", Fixture::with(&running(&gone, Some(-TEN_YEARS)), MINUTE)),
            ("another with its number", Fixture::with(&running(&reused, before), MINUTE)),
            ("in a container", Fixture::with(&running(&far, before), MINUTE)),
            ("in a container, silent", Fixture::with(&running(&far, before), HOUR)),
        ],
        expect![[r#"
            no file: last never, held by nobody; takes it, no file is left, last never
            alive: last 0 min ago, held by somebody; gives way
            alive, the first ever: last 1 min ago, held by somebody; gives way
            another alive: last 59 min ago, held by somebody; gives way
            alive, silent: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
            alive, silent, the first ever: last never, held by nobody; takes it, no file is left, last never
            alive, a clock ahead: last 0 min ago, held by somebody; gives way
            alive, a clock far ahead: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
            alive, ten years ago: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
            alive, in ten years: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
            dead: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
            dead, the first ever: last never, held by nobody; takes it, no file is left, last never
            dead, before in ten years: last never, held by nobody; takes it, no file is left, last never
            another with its number: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
            in a container: last 1 min ago, held by somebody; gives way
            in a container, silent: last 4320 min ago, held by nobody; takes it, the file stays, last 4320 min ago
        "#]],
    );
}

#[test]
fn a_bare_number_holds_it_while_that_process_lives_and_the_time_is_recent() {
    let living = Living::new();
    let (other, own) = (living.0.id().to_string(), std::process::id().to_string());
    let gone = dead().to_string();
    check(
        &[
            ("alive", Fixture::with(&other, 0)),
            ("alive, with a newline", Fixture::with(&format!("{other}\n"), MINUTE)),
            ("alive, an hour ago", Fixture::with(&other, HOUR)),
            ("alive, two days ago", Fixture::with(&other, 2 * DAY)),
            ("alive, in ten years", Fixture::with(&other, -TEN_YEARS)),
            ("dead", Fixture::with(&gone, MINUTE)),
            ("dead, in a minute", Fixture::with(&gone, -MINUTE)),
            ("dead, in a day", Fixture::with(&gone, -DAY)),
            ("our own", Fixture::with(&own, MINUTE)),
        ],
        expect![[r#"
            alive: last 0 min ago, held by somebody; gives way
            alive, with a newline: last 1 min ago, held by somebody; gives way
            alive, an hour ago: last 60 min ago, held by nobody; takes it, the file stays, last 60 min ago
            alive, two days ago: last 2880 min ago, held by nobody; takes it, the file stays, last 2880 min ago
            alive, in ten years: last never, held by nobody; takes it, no file is left, last never
            dead: last 1 min ago, held by nobody; takes it, the file stays, last 1 min ago
            dead, in a minute: last 0 min ago, held by nobody; takes it, the file stays, last 0 min ago
            dead, in a day: last never, held by nobody; takes it, no file is left, last never
            our own: last 1 min ago, held by nobody; takes it, the file stays, last 1 min ago
        "#]],
    );
}

#[test]
fn a_holder_is_shown_with_all_that_it_says() {
    let fixture = Fixture::new();
    fixture.put("", 2 * DAY);
    let hold = fixture.acquired();
    let began = fixture.now();
    fixture.pass(MINUTE);
    hold.beat().unwrap();
    let holder = Holder {
        pid: std::process::id(),
        since: Some(began),
        heartbeat: fixture.now(),
        previous: Some(began - (2 * DAY).seconds()),
    };
    let seen = fixture.lock.look().unwrap();
    assert_eq!(seen, Seen { last: Some(fixture.now()), holder: Some(holder) });
    assert_eq!(hold.previous(), Some(began - (2 * DAY).seconds()));
    let text = fs::read_to_string(fixture.path()).unwrap();
    assert!(text.starts_with(&format!("{}\n", std::process::id())), "{text}");
    assert!(text.contains(&format!("token={}\n", hold.token())), "{text}");
}
