//! How much a program may use, and that the power of root does not come along.

use std::io;

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CapabilitySet, remove_capability_from_bounding_set},
};

use super::{Strength, Unavailable, Walls};

const MEBIBYTE: u64 = 1 << 20;

/// Besides all that run already.
const NEW_TASKS: u64 = 512;

/// For commands that nobody watches. Memory counts what is a process's own; large files can still be mapped.
///
/// What remains: the limits are those of each process, so many processes use as many times the memory, and many files
/// fill the memory folder; whoever starts the program counts its processes and its time. What pipes and sockets hold
/// is limited only by the number of open files.
const SEALED: [(Resource, u64); 4] = [
    (Resource::Fsize, 64 * MEBIBYTE),
    (Resource::Data, 1024 * MEBIBYTE),
    // Seconds. The clock on the wall is watched by whoever started the program.
    (Resource::Cpu, 120),
    (Resource::Nofile, 256),
];

/// Root reads what only root may read, as it does outside; it can do nothing else that others cannot.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

pub(super) fn lower(walls: &Walls) -> Result<(), Unavailable> {
    // A core file would be written where the program stands, with its memory in it.
    limit(Resource::Core, 0)?;
    if walls.strength == Strength::Sealed {
        for (resource, most) in SEALED {
            limit(resource, most)?;
        }
        // Counts all that the user runs, the editor's threads included, and so must begin above them.
        if let Some(running) = tasks_of_all_users() {
            limit(Resource::Nproc, running + NEW_TASKS)?;
        }
        drop_capabilities();
    }
    Ok(())
}

fn tasks_of_all_users() -> Option<u64> {
    // "0.20 0.18 0.12 1/80 11206": the fourth are the running and all tasks.
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split('/').nth(1)?.parse().ok()
}

/// Never raises what is lower already.
fn limit(resource: Resource, most: u64) -> Result<(), Unavailable> {
    let old = getrlimit(resource);
    let lower = |value: Option<u64>| Some(value.map_or(most, |value| value.min(most)));
    let new = Rlimit { current: lower(old.current), maximum: lower(old.maximum) };
    setrlimit(resource, new)
        .map_err(|error| Unavailable(format!("a limit cannot be set: {}", io::Error::from(error))))
}

/// Takes effect when the program is executed. Whoever may not do this has little to drop.
fn drop_capabilities() {
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if !KEPT.contains(capability) {
            remove_capability_from_bounding_set(capability).ok();
        }
    }
}
