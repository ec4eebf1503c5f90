//! What this binary does when a test starts it again.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, Read as _};
use std::path::Path;
use std::process::{Command, exit};

use memory::dream_lock::{Acquired, DreamLock, Hold, Lost};

use crate::contenders;

const ROLE: &str = "REVERIE_TEST_DREAM_ROLE";
const DIR: &str = "REVERIE_TEST_DREAM_DIR";

/// How a process ends whose lock gave an error.
pub const ERROR: i32 = 3;

#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// Contends with others for as long as it is told; begins when its input ends.
    Contend,
    /// Dreams and is done.
    Complete,
    /// Dreams and fails.
    Release,
    /// Dreams, and asks what it may do each time it gets a line.
    Ask,
}

const ALL: [Role; 4] = [Role::Contend, Role::Complete, Role::Release, Role::Ask];

impl Role {
    /// The rest of a command line that begins with nothing, or with a program that starts another.
    pub fn command(self, wrapper: &[&str], dir: &Path) -> Command {
        let own = env::current_exe().unwrap();
        let mut words = wrapper.iter().map(AsRef::as_ref).chain([own.as_os_str()]);
        let mut command = Command::new(words.next().unwrap());
        // One thread, so that the calls of the kernel come in the same order each time.
        command.args(words).args([
            "--exact",
            "role::does_what_it_is_told",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env(ROLE, format!("{self:?}")).env(DIR, dir);
        command
    }
}

/// On its own it has nothing to do.
#[test]
fn does_what_it_is_told() {
    let (Ok(role), Ok(dir)) = (env::var(ROLE), env::var(DIR)) else { return };
    let role = ALL.into_iter().find(|known| format!("{known:?}") == role).unwrap();
    let dir = Path::new(&dir);
    let lock = DreamLock::new(dir);
    match role {
        Role::Contend => {
            io::stdin().read_to_end(&mut Vec::new()).unwrap();
            let won = contenders::contend(&lock, &dir.join("witness"));
            fs::write(dir.join(format!("won-{}", std::process::id())), won.to_string()).unwrap();
        }
        Role::Complete | Role::Release => {
            // Nothing is told: where the disk is full, nothing can be.
            exit(if dream(&lock, role).is_ok() { 0 } else { ERROR });
        }
        Role::Ask => {
            let hold = crate::held(&lock);
            println!("\nheld");
            let mut lines = io::stdin().lock().lines();
            lines.next().unwrap().unwrap();
            println!("check: {}\nbeat: {}", words(&hold.check()), words(&hold.beat()));
            println!("complete: {}", words(&hold.complete()));
        }
    }
}

fn dream(lock: &DreamLock, role: Role) -> Result<(), Lost> {
    let hold: Hold = match lock.acquire()? {
        Acquired::Held(hold) => hold,
        Acquired::Busy(_) => return Err(Lost::Taken),
    };
    hold.beat()?;
    hold.check()?;
    match role {
        Role::Complete => hold.complete(),
        Role::Release | Role::Contend | Role::Ask => {
            hold.release();
            Ok(())
        }
    }
}

fn words(result: &Result<(), Lost>) -> String {
    format!("{result:?}")
}
