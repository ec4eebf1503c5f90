//! When the server ends, and with which exit code.

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

/// "When the parent process dies or stdin closes the server is gone, children included, within 2 s": this much for
/// ending turns and children, the rest for the last words.
pub(crate) const ENDING_LIMIT: Duration = Duration::from_millis(1_500);
pub(crate) const LAST_WORDS_LIMIT: Duration = Duration::from_millis(300);
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The client said `exit`.
    Exit,
    /// The input is closed or unusable.
    InputClosed,
    /// The client reads no more.
    OutputClosed,
    ParentDied,
}

/// "Exit code 0 after shutdown, 1 without", whatever the end was.
pub(crate) fn exit_code(shutdown_received: bool) -> u8 {
    u8::from(!shutdown_received)
}

/// Resolves when the process is gone; at once if it is already.
pub(crate) async fn process_death(process_id: u32) {
    let Some(pid) = i32::try_from(process_id).ok().and_then(Pid::from_raw) else {
        tracing::warn!(process_id, "not a process id");
        return std::future::pending().await;
    };
    if let Watch::Ended = watch(pid).await {
        return;
    }
    loop {
        if test_kill_process(pid) == Err(rustix::io::Errno::SRCH) {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

enum Watch {
    Ended,
    Unsupported,
}

/// Through a handle of the process, which cannot be confused by a reused id.
#[cfg(target_os = "linux")]
async fn watch(pid: Pid) -> Watch {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::{Interest, unix::AsyncFd};

    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Watch::Ended,
        Err(error) => {
            tracing::debug!(%error, "no handle of the parent process");
            return Watch::Unsupported;
        }
    };
    #[expect(deprecated, reason = "an `OwnedFd` keeps its descriptor, so the safe function is sound for it")]
    let registered = AsyncFd::with_interest(handle, Interest::READABLE);
    let Ok(handle) = registered else { return Watch::Unsupported };
    match handle.readable().await {
        Ok(_ended) => Watch::Ended,
        Err(_error) => Watch::Unsupported,
    }
}

#[cfg(not(target_os = "linux"))]
async fn watch(_pid: Pid) -> Watch {
    Watch::Unsupported
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn the_death_of_a_process_is_noticed() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let watched = tokio::spawn(process_death(child.id()));
        child.kill().unwrap();
        tokio::time::timeout(Duration::from_secs(2), watched).await.unwrap().unwrap();
        child.wait().unwrap();
        // Gone already: at once.
        tokio::time::timeout(Duration::from_secs(2), process_death(child.id())).await.unwrap();
    }
}
