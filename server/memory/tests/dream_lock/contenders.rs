//! Many at once: never two who dream.

use std::fs::{self, File};
use std::mem;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use memory::dream_lock::{Acquired, DreamLock, Hold};

use crate::role::Role;
use crate::{age, held};

const THREADS: usize = 32;
const ROUNDS: usize = 200;
const PROCESSES: usize = 8;
const ROUNDS_OF_EACH: usize = 50;

/// All come at the same moment, and whoever has it keeps it until all have tried.
#[test]
fn of_many_threads_one_dreams_in_each_round() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let barrier = Barrier::new(THREADS);
    let (won, errors) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let lock = DreamLock::new(dir);
                for round in 0..ROUNDS {
                    barrier.wait();
                    let acquired = lock.acquire();
                    // Nothing in here may panic: the others would wait for ever.
                    match &acquired {
                        Ok(Acquired::Held(_)) => won.fetch_add(1, Ordering::Relaxed),
                        Ok(Acquired::Busy(_)) => 0,
                        Err(_) => errors.fetch_add(1, Ordering::Relaxed),
                    };
                    barrier.wait();
                    let Ok(Acquired::Held(hold)) = acquired else { continue };
                    if round % 3 == 2 {
                        // The next round finds one who is silent, and all want to take it over.
                        mem::forget(hold);
                        age(dir, 2);
                    } else if !end(hold, round) {
                        errors.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!((won.into_inner(), errors.into_inner()), (ROUNDS, 0));
}

/// Nobody waits for anybody: some take it while others give it back.
#[test]
fn of_many_processes_never_two_dream_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let start =
        |_| Role::Contend.command(&[], folder.path()).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut children: Vec<Child> = (0..PROCESSES).map(start).map(Result::unwrap).collect();
    for child in &mut children {
        drop(child.stdin.take());
    }
    let mut won = 0;
    for child in &mut children {
        assert!(child.wait().unwrap().success());
        let text = fs::read_to_string(folder.path().join(format!("won-{}", child.id()))).unwrap();
        won += text.parse::<usize>().unwrap();
    }
    println!("{won} of {} attempts took the lock", PROCESSES * ROUNDS_OF_EACH);
    assert!(won > 0);
    held(&DreamLock::new(folder.path())).complete().unwrap();
}

/// How often it was had. The witness is a file that only one can make.
pub fn contend(lock: &DreamLock, witness: &Path) -> usize {
    let mut won = 0;
    for round in 0..ROUNDS_OF_EACH {
        if let Acquired::Held(hold) = lock.acquire().unwrap() {
            File::create_new(witness).expect("nobody else dreams");
            hold.beat().unwrap();
            hold.check().unwrap();
            fs::remove_file(witness).unwrap();
            assert!(end(hold, round));
            won += 1;
        }
    }
    won
}

fn end(hold: Hold, round: usize) -> bool {
    if round.is_multiple_of(2) {
        return hold.complete().is_ok();
    }
    hold.release();
    true
}
