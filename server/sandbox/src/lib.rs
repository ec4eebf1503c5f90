//! Walls around a program: what it may write, that it reaches no network, and that it does not outlive us.
//!
//! A process cannot be walled in from outside, so the binary starts itself again as a helper ([`wrap`], [`enter`]) which
//! raises the [`Walls`] around itself and becomes the program. Whether a command may run at all, and where its output
//! goes, is decided elsewhere.

#[cfg(target_os = "linux")]
mod cleanness;
mod environment;
mod foreground;
mod launch;
mod memory_folder;
mod private_folder;
mod support;
mod walls;
pub mod warden;

pub use environment::{rebuilt_environment, workbench_environment};
pub use foreground::{Ending, run};
pub use launch::{HELPER, Launch, enter, wrap};
pub use memory_folder::too_wide;
pub use private_folder::private_folder;
pub use support::{Support, support};
pub use walls::{Network, Strength, Unavailable, Walls};
