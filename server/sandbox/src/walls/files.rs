//! Landlock: where files may be changed, and, on newer kernels, whom signals and sockets reach.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope, make_bitflags,
};

use super::{Network, Signals, Strength, Unavailable, Walls};

/// The first version that can forbid truncating; without that every file could be emptied.
const NEEDED: ABI = ABI::V3;

/// Written to by harmless programs everywhere.
const NOWHERE: &str = "/dev/null";

/// What builds and tests write to besides files. Not `/dev/shm`, where the shared memory of the user's other programs
/// can be changed by its name; programs that make named semaphores there (Python's `multiprocessing` pools) fail.
const DEVICES: [&str; 5] = ["/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];

pub(super) fn restrict(walls: &Walls) -> Result<Signals, Unavailable> {
    let mut rules = ruleset(walls).map_err(|error| unavailable(&error))?;
    for folder in &walls.writable {
        match PathFd::new(folder) {
            Ok(handle) => rules = grant(rules, handle, folder, granted(walls.strength))?,
            // A workspace folder may be gone by now. A memory folder that is not there was never meant to be written.
            Err(_) if walls.strength == Strength::Workbench => {}
            Err(error) => return Err(Unavailable(error.to_string())),
        }
    }
    let devices: &[&str] = match walls.strength {
        Strength::Sealed => &[],
        Strength::Workbench => &DEVICES,
    };
    for device in [NOWHERE].iter().chain(devices) {
        let Ok(handle) = PathFd::new(device) else { continue };
        rules = grant(rules, handle, Path::new(device), granted(walls.strength))?;
    }
    let status = rules.restrict_self().map_err(|error| unavailable(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(Unavailable("this kernel does not enforce Landlock".to_owned()));
    }
    let contained = matches!(
        status.landlock,
        LandlockStatus::Available { effective_abi, .. } if effective_abi >= ABI::V6
    );
    Ok(if contained { Signals::Contained } else { Signals::Loose })
}

/// What is forbidden unless granted. The first version's rights must be there, the later ones are a gain.
fn ruleset(walls: &Walls) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort);
    if walls.strength == Strength::Sealed {
        rules = rules.handle_access(AccessFs::from_write(ABI::V9))?.scope(Scope::from_all(ABI::V6))?;
    }
    if walls.network != Network::Open {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    rules.create()
}

/// In a sealed folder no links, pipes or sockets: whoever reads it later should find files there.
fn granted(strength: Strength) -> BitFlags<AccessFs> {
    match strength {
        Strength::Sealed => make_bitflags!(AccessFs::{
            WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir | Refer
        }),
        Strength::Workbench => AccessFs::from_write(NEEDED),
    }
}

fn grant(
    rules: RulesetCreated,
    handle: PathFd,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Unavailable> {
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(NEEDED) };
    rules.add_rule(PathBeneath::new(handle, rights)).map_err(|error| unavailable(&error))
}

fn unavailable(error: &RulesetError) -> Unavailable {
    Unavailable(format!("this kernel has no Landlock of version {NEEDED} or later: {error}"))
}
