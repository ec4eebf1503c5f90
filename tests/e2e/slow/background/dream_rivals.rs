//! More than one who wants to dream.

use std::{fs, process::Command, time::SystemTime};

use rustix::process::{Pid, Signal, kill_process};

use super::{Night, dream, end, hours_ago, set_modified, start, status};

const ROUNDS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_servers_in_two_worktrees_exactly_one_dreams() {
    let night = Night::new().await;
    night.fixture.git_init();
    let second = night.fixture.workspace.parent().unwrap().join("second");
    night.fixture.git(&["worktree", "add", "--quiet", second.to_str().unwrap()]);
    let one = night.server().await;
    let two = night.server_in(&[], &second).await;
    let processes = [one.process_id().unwrap(), two.process_id().unwrap()];
    let mut wins = [0, 0];
    for round in 0..ROUNDS {
        let gate = night.hold_back(0);
        let answers = tokio::join!(start(&one), start(&two));
        let (winner, skipped, which) = match (&answers.0["dreamId"], &answers.1["dreamId"]) {
            (dream, _) if dream.is_string() => (&one, &answers.1["skipped"], 0),
            _ => (&two, &answers.0["skipped"], 1),
        };
        let words = skipped.as_str().unwrap_or_else(|| panic!("round {round}: both dream: {answers:?}"));
        assert!(words.contains(&format!("process {}", processes[which])), "round {round}: {words}");
        let other = if which == 0 { &two } else { &one };
        assert_eq!(status(winner).await["state"], "running");
        assert_eq!(status(other).await["state"], "locked");
        gate.open();
        assert_eq!(end(winner).await.unwrap()["status"], "completed", "round {round}");
        assert_eq!(status(other).await["state"], "idle");
        wins[which] += 1;
    }
    eprintln!("wins: {wins:?}");
    assert_eq!(night.model.requests_of("dream").len(), ROUNDS * 3);
    one.shutdown().await;
    two.shutdown().await;
    night.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_claude_code_holds_while_its_process_lives_and_for_an_hour() {
    let night = Night::new().await;
    let mut alive = Command::new("sleep").arg("600").spawn().unwrap();
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let client = night.server().await;
    for (process, modified, dreams) in [
        (alive.id(), SystemTime::now(), false),
        (alive.id(), hours_ago(2), true),
        (dead.id(), SystemTime::now(), true),
        (dead.id(), hours_ago(2), true),
    ] {
        let before = night.memories();
        fs::write(night.lock(), process.to_string()).unwrap();
        set_modified(&night.lock(), modified);
        if dreams {
            dream(&client).await;
        } else {
            let answer = start(&client).await;
            let words = answer["skipped"].as_str().unwrap();
            assert!(words.contains(&format!("process {process}")), "{words}");
            assert_eq!(status(&client).await["state"], "locked");
            assert_eq!(fs::read_to_string(night.lock()).unwrap(), process.to_string());
            assert_eq!(night.memories(), before);
        }
    }
    alive.kill().unwrap();
    alive.wait().unwrap();
    client.shutdown().await;
    night.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_stopped_for_hours_and_goes_on_commits_nothing() {
    let night = Night::new().await;
    // In its first round, and when all that is left to do is the commit.
    for round in [0, 2] {
        night.reset();
        let gate = night.hold_back(round);
        let sleeper = night.server().await;
        assert!(start(&sleeper).await["dreamId"].is_string());
        gate.reached().await;
        let process = Pid::from_raw(i32::try_from(sleeper.process_id().unwrap()).unwrap()).unwrap();
        // Not while it looks what has changed: nobody writes memories then, and whoever waits for it gives up.
        let history =
            fs::File::options().create(true).append(true).open(night.memory().join(".history/lock"));
        let history = history.unwrap();
        history.lock().unwrap();
        kill_process(process, Signal::STOP).unwrap();
        drop(history);
        set_modified(&night.lock(), hours_ago(2));

        let other = night.server().await;
        dream(&other).await;
        let lock = || {
            let metadata = fs::metadata(night.lock()).unwrap();
            (fs::read(night.lock()).unwrap(), metadata.modified().unwrap())
        };
        // What the sleeper would undo.
        fs::write(night.memory().join("tabs.md"), "changed by the user in the morning\n").unwrap();
        let (memories, left) = (night.memories(), lock());

        kill_process(process, Signal::CONT).unwrap();
        gate.open();
        let ended = end(&sleeper).await.unwrap();
        assert_eq!(ended["status"], "failed", "{ended}");
        let words = ended["text"].as_str().unwrap();
        assert!(words.contains("another process has taken the dream lock over"), "{words}");
        assert_eq!(night.memories(), memories);
        assert_eq!(lock(), left);
        assert_eq!(status(&sleeper).await["state"], "idle");
        sleeper.shutdown().await;
        other.shutdown().await;
        assert_eq!((night.memories(), lock()), (memories, left));
    }
    night.model.finish();
}
