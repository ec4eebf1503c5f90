//! What the system offers for walls, in words for `doctor`.

use std::fmt;

/// What this machine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock that is in force; `None` without it.
    pub landlock_abi: Option<i32>,
    pub seccomp: bool,
}

/// Looks, without changing anything for this process.
pub fn support() -> Support {
    // Walls hold for the thread that raises them, so a thread can try.
    std::thread::spawn(tried).join().unwrap_or(Support { landlock_abi: None, seccomp: false })
}

impl Support {
    /// Whether background agents can be given a shell: the third version is the first that can forbid truncating.
    pub fn is_enough(&self) -> bool {
        self.landlock_abi.is_some_and(|abi| abi >= 3) && self.seccomp
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock_abi {
            Some(abi) => write!(f, "Landlock {abi}")?,
            None => write!(f, "no Landlock")?,
        }
        write!(f, "{}", if self.seccomp { ", seccomp" } else { ", no seccomp" })?;
        if !self.is_enough() {
            write!(
                f,
                ": background agents run no commands, and sandbox.mainBash has no effect but refusals"
            )?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn tried() -> Support {
    Support { landlock_abi: landlock_abi(), seccomp: seccomp() }
}

#[cfg(not(target_os = "linux"))]
fn tried() -> Support {
    Support { landlock_abi: None, seccomp: false }
}

#[cfg(target_os = "linux")]
fn landlock_abi() -> Option<i32> {
    use landlock::{AccessFs, LandlockStatus, Ruleset, RulesetAttr as _};
    let ruleset = Ruleset::default().handle_access(AccessFs::MakeSock).and_then(Ruleset::create).ok()?;
    match ruleset.restrict_self().ok()?.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            Some(kernel_abi.unwrap_or(effective_abi as i32))
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

#[cfg(target_os = "linux")]
fn seccomp() -> bool {
    // "Return: allowed".
    let all =
        [seccompiler::sock_filter { code: 0x06, jt: 0, jf: 0, k: seccompiler::SeccompAction::Allow.into() }];
    seccompiler::apply_filter(&all).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_changes_nothing_here() {
        let (first, second) = (support(), support());
        assert_eq!(first, second);
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    }

    #[test]
    fn what_is_missing_is_said_with_its_consequence() {
        let check = |landlock_abi, seccomp, expected: expect_test::Expect| {
            expected.assert_eq(&Support { landlock_abi, seccomp }.to_string());
        };
        check(Some(7), true, expect_test::expect!["Landlock 7, seccomp"]);
        check(
            Some(2),
            true,
            expect_test::expect![
                "Landlock 2, seccomp: background agents run no commands, and sandbox.mainBash has no effect but refusals"
            ],
        );
        check(
            None,
            false,
            expect_test::expect![
                "no Landlock, no seccomp: background agents run no commands, and sandbox.mainBash has no effect but refusals"
            ],
        );
    }
}
