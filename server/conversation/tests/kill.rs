//! Kills a writer again and again, at no particular moment, and looks for what it had acknowledged.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure in a test should end it")]

#[expect(dead_code, reason = "the example's own entry point")]
#[path = "../examples/append_forever.rs"]
mod append_forever;

use std::{
    collections::HashSet,
    env, io,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    str::FromStr,
};

use conversation::{SessionId, load};
use uuid::Uuid;

const DIRECTORY: &str = "REVERIE_TEST_APPEND_DIRECTORY";
const SESSION: &str = "REVERIE_TEST_APPEND_SESSION";
const KILLS: u64 = 200;
/// Then a new session, so that reading stays quick.
const KILLS_OF_ONE_SESSION: u64 = 5;

/// The writer: this test binary, started again by the test below. On its own it has nothing to do.
#[test]
fn appends_while_it_lives() {
    let (Ok(directory), Ok(session)) = (env::var(DIRECTORY), env::var(SESSION)) else { return };
    let session = SessionId::parse(&session).unwrap();
    let ended = append_forever::append_forever(Path::new(&directory), session, &mut io::stdout().lock());
    panic!("the writer outlived its reader: {ended:?}");
}

#[test]
fn no_acknowledged_record_is_lost_by_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut session = SessionId::random();
    let mut acknowledged = HashSet::new();
    let (mut total, mut torn) = (0, 0);
    for kill in 0..KILLS {
        if kill % KILLS_OF_ONE_SESSION == 0 {
            session = SessionId::random();
            acknowledged.clear();
        }
        let acknowledgements = random.below(24);
        total += run_and_kill(directory.path(), &session, acknowledgements, &mut acknowledged);

        let loaded = load(directory.path(), &session, None, None).unwrap();
        let found: HashSet<Uuid> = loaded.thread.iter().map(|message| message.uuid).collect();
        let lost: Vec<&Uuid> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "kill {kill}: {lost:?} were lost; {:?}", loaded.repairs);
        torn += usize::from(loaded.repairs.iter().any(|repair| repair.contains("cut off")));
    }
    assert!(total > 1_000, "only {total} records were acknowledged");
    println!("{KILLS} kills, {total} acknowledged, {torn} torn tails");
}

/// Kills after so many acknowledgements, and takes in those that came meanwhile.
fn run_and_kill(
    directory: &Path,
    session: &SessionId,
    count: u64,
    acknowledged: &mut HashSet<Uuid>,
) -> usize {
    let mut writer = Command::new(env::current_exe().unwrap())
        .args(["--exact", "appends_while_it_lives", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(SESSION, session.as_str())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut seen = 0;
    // The test harness of the child writes lines of its own.
    let mut take = |line: String| match Uuid::from_str(line.rsplit(' ').next().unwrap_or_default()) {
        Ok(uuid) => {
            acknowledged.insert(uuid);
            true
        }
        Err(_) => false,
    };
    while seen <= count {
        let Some(Ok(line)) = lines.next() else { panic!("the writer stopped by itself") };
        seen += u64::from(take(line));
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let late =
        lines.map_while(Result::ok).filter(|line| line.len() >= 36).filter(|line| take(line.clone())).count();
    seen as usize + late
}

/// Xorshift: the same kills in every run, as far as the scheduler lets them be.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
