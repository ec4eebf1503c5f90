//! The signals that end a conversation in the terminal.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

pub enum Interrupt {
    /// Ctrl-C.
    Keyboard,
    /// The terminal is gone, or somebody ends this program.
    Terminate,
}

/// Caught from the start of a conversation, so that commands are ended with it.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`, which asks to be left alone.
    hang_up: Option<Signal>,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hang_up = if ignores_hang_up(&status) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    pub async fn next(&mut self) -> Interrupt {
        let hung_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Keyboard,
            _ = self.terminate.recv() => Interrupt::Terminate,
            _ = hung_up => Interrupt::Terminate,
        }
    }
}

/// From the status that the kernel shows of a process: a mask in hexadecimal, its lowest bit for SIGHUP.
fn ignores_hang_up(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::ignores_hang_up;

    #[test]
    fn nohup_is_heeded() {
        assert!(ignores_hang_up("Name:\treverie\nSigIgn:\t0000000000001001\n"));
        assert!(!ignores_hang_up("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_hang_up(""));
    }
}
