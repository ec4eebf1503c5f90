//! What a sealed program must not inherit: variables of others, and open files.
//!
//! Walls do not hold for files that are open already. Nothing of ours leaves files open for a child, but whoever started
//! us may have. The helper cannot close what it does not own, so it starts over through a shell that can; the same
//! removes from the process's own memory (`/proc/self/environ`) what was in the environment.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Seek as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
};

use rustix::{
    fs::{FileType, OFlags, fcntl_getfl, fstat},
    io::Errno,
};

use crate::{
    environment::is_harmless,
    launch::{Launch, environment_here, wrap},
};

/// The only shell that can close numbers of two digits.
const SHELL: &str = "/bin/bash";

/// Closes the numbers before `--`, and runs what comes after it.
const CLOSE: &str = r#"while [ "$1" != -- ]; do eval "exec $1>&-"; shift; done; shift; exec "$@""#;

/// As the kernel writes it in `fdinfo`.
const CLOSED_ON_EXECUTION: u32 = 0o2_000_000;

/// Returns only if there is nothing to clean, or if that is not possible.
pub(crate) fn establish(launch: &Launch, program: &OsStr, arguments: &[OsString]) -> io::Result<()> {
    let files = inherited_files()?;
    if files.is_empty() && std::env::vars_os().all(|(name, value)| is_harmless(&name, &value)) {
        return Ok(());
    }
    // The name that stays right when the file is replaced; but after the shell it would be the shell's.
    let own = if files.is_empty() { PathBuf::from("/proc/self/exe") } else { std::env::current_exe()? };
    let line = wrap(&own, launch);
    let mut again = match line.split_first() {
        Some((own, rest)) if files.is_empty() => {
            let mut again = Command::new(own);
            again.args(rest);
            again
        }
        _ => {
            let mut again = Command::new(SHELL);
            again.args(["-c", CLOSE, "bash"]).args(files).arg("--").args(line);
            again
        }
    };
    Err(again.arg(program).args(arguments).env_clear().envs(environment_here()?).exec())
}

/// A file that was opened for writing stays writable, whatever the walls say; what comes in is only to be read.
pub(crate) fn only_read_stdin() -> io::Result<()> {
    let stdin = io::stdin();
    let (flags, found) = match (fcntl_getfl(&stdin), fstat(&stdin)) {
        (Ok(flags), Ok(found)) => (flags & OFlags::RWMODE, FileType::from_raw_mode(found.st_mode)),
        // There is none.
        (Err(Errno::BADF), _) => return Ok(()),
        (Err(error), _) | (_, Err(error)) => return Err(error.into()),
    };
    if flags == OFlags::RDONLY || !matches!(found, FileType::RegularFile | FileType::BlockDevice) {
        return Ok(());
    }
    let reopened = File::open("/proc/self/fd/0").ok().filter(|_| flags == OFlags::RDWR);
    let file = match reopened {
        Some(mut file) => {
            file.seek(io::SeekFrom::Start(rustix::fs::tell(&stdin)?))?;
            file
        }
        None => File::open("/dev/null")?,
    };
    Ok(rustix::stdio::dup2_stdin(&file)?)
}

/// The numbers of open files, beyond the three usual ones, that a program would inherit.
fn inherited_files() -> io::Result<Vec<String>> {
    let mut inherited = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.parse::<u32>().is_ok_and(|number| number <= 2) {
            continue;
        }
        match fs::read_to_string(entry.path()) {
            Ok(text) if !is_closed_on_execution(&text) => inherited.push(name),
            Ok(_) => {}
            // That of the listing itself.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(inherited)
}

fn is_closed_on_execution(information: &str) -> bool {
    let flags = information.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| flags & CLOSED_ON_EXECUTION != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_the_kernel_writes_them() {
        assert!(is_closed_on_execution("pos:\t0\nflags:\t02100000\nmnt_id:\t1\n"));
        assert!(!is_closed_on_execution("pos:\t0\nflags:\t0100002\nmnt_id:\t1\n"));
        assert!(!is_closed_on_execution(""));
    }
}
