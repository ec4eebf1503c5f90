//! seccomp: what may be asked of the kernel. A forbidden call fails with "operation not permitted", which programs
//! know how to take; a call of another architecture ends the program.
//!
//! A list of what is forbidden is only as good as it is complete: calls newer than those looked at here do not exist
//! for the program, so that it falls back on older ones.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::{Network, Signals, Strength, Unavailable, Walls};

/// Numbers that are the same everywhere, of calls that the constants do not name yet on all architectures.
mod recent {
    use libc::c_long;

    pub const FCHMODAT2: c_long = 452;
    pub const LSM_SET_SELF_ATTR: c_long = 460;
    pub const SETXATTRAT: c_long = 463;
    pub const REMOVEXATTRAT: c_long = 466;
    pub const OPEN_TREE_ATTR: c_long = 467;
    pub const FILE_SETATTR: c_long = 469;
    /// The last one that was looked at, `listns`.
    pub const LAST: u32 = 470;
}

/// What administers the machine, makes other name spaces, or reaches around the file system.
const MACHINE: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    recent::OPEN_TREE_ATTR,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_syslog,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Does what other calls do, unseen by this list.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    recent::LSM_SET_SELF_ATTR,
];

#[cfg(target_arch = "x86_64")]
const MACHINE_OLD: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib, libc::SYS__sysctl];
#[cfg(not(target_arch = "x86_64"))]
const MACHINE_OLD: &[c_long] = &[];

/// Modes, owners, times and attributes: Landlock knows nothing of them, wherever the file is.
const METADATA: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    recent::FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    recent::SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    recent::REMOVEXATTRAT,
    recent::FILE_SETATTR,
];

#[cfg(target_arch = "x86_64")]
const METADATA_OLD: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const METADATA_OLD: &[c_long] = &[];

/// What makes a file: at which argument the mode is, and at which the flags that say whether it is looked at.
const MAKING: &[(c_long, u8, Option<u8>)] =
    &[(libc::SYS_openat, 3, Some(2)), (libc::SYS_mknodat, 2, None), (libc::SYS_mkdirat, 2, None)];

#[cfg(target_arch = "x86_64")]
const MAKING_OLD: &[(c_long, u8, Option<u8>)] = &[
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_creat, 1, None),
    (libc::SYS_mknod, 1, None),
    (libc::SYS_mkdir, 1, None),
];
#[cfg(not(target_arch = "x86_64"))]
const MAKING_OLD: &[(c_long, u8, Option<u8>)] = &[];

/// With these, whoever runs the file becomes its owner or its group.
const BECOMING_ANOTHER: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// With these, a file is made; the second is what `O_TMPFILE` is besides a folder's flag.
const MADE: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// The memory of others, and what would stay in the kernel when the program is gone.
const OTHERS: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
];

/// Memory that no limit counts.
const UNCOUNTED: &[c_long] = &[libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// Whose turn it is; the first argument says of whom, and 0 is the caller.
const SCHEDULING: &[c_long] = &[
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];

/// The kind of number that means one process or thread, for `setpriority` and for `ioprio_set`: the other kinds are
/// groups and users, where 0 is many.
const PRIORITIES: [(c_long, u64); 2] = [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// Has the kernel send signals when a file is ready.
const SIGNAL_OWNER: [libc::c_int; 3] = [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX];
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;

/// Where Landlock does not keep signals inside.
const SIGNALS: &[c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// What names whom a socket talks to. Messages carry the name in memory, where no filter sees it.
const ADDRESSING: &[c_long] = &[libc::SYS_connect, libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// Makes a process with name spaces of its own.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The requests to terminals and open files in general; among them four that type into a terminal or change it.
const TERMINAL_FIRST: u64 = 0x5401;
const TERMINAL_LAST: u64 = 0x5460;
const TERMINAL_FORBIDDEN: [u64; 4] = [
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS
    0x5423, // TIOCSETD
];

/// The requests outside that range which only look, or copy into a file that is open for writing.
const REQUESTS: [u64; 8] = [
    0x8004_5430, // TIOCGPTN
    0x4004_5431, // TIOCSPTLCK
    0x4004_9409, // FICLONE
    0x4020_940d, // FICLONERANGE
    0xc020_660b, // FS_IOC_FIEMAP
    0x8008_6601, // FS_IOC_GETFLAGS
    0x801c_581f, // FS_IOC_FSGETXATTR
    0x8008_1272, // BLKGETSIZE64
];

pub(super) fn restrict(walls: &Walls, signals: Signals) -> Result<(), Unavailable> {
    let filter = compile(walls, signals)
        .map_err(|error| Unavailable(format!("the list of forbidden calls is not right: {error}")))?;
    for program in [known_calls(walls.strength), filter] {
        apply_filter(&program)
            .map_err(|error| Unavailable(format!("this kernel does not filter calls: {error}")))?;
    }
    Ok(())
}

fn compile(walls: &Walls, signals: Signals) -> Result<BpfProgram, seccompiler::BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(forbidden(walls, signals)?, SeccompAction::Allow, refusal, architecture)?.try_into()
}

/// By call, when it is forbidden: always where there is no rule, else when one of the rules holds.
fn forbidden(
    walls: &Walls,
    signals: Signals,
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules = BTreeMap::new();
    let mut never = |calls: &[c_long]| rules.extend(calls.iter().map(|call| (*call, Vec::new())));
    never(MACHINE);
    never(MACHINE_OLD);
    let sealed = walls.strength == Strength::Sealed;
    if sealed {
        never(METADATA);
        never(METADATA_OLD);
        never(OTHERS);
        never(UNCOUNTED);
        if signals == Signals::Loose {
            never(SIGNALS);
        }
    }
    if walls.network == Network::None {
        never(ADDRESSING);
        rules.insert(libc::SYS_sendto, vec![rule([pointer(4, SeccompCmpOp::Ne, 0)?])?]);
    }
    if walls.network != Network::Open {
        for call in [libc::SYS_socket, libc::SYS_socketpair] {
            rules
                .insert(call, vec![rule([word(0, SeccompCmpOp::Ne, libc::AF_UNIX.unsigned_abs().into())?])?]);
        }
    }
    if sealed {
        rules.insert(libc::SYS_ioctl, requests()?);
        for (call, mode, flags) in MAKING.iter().chain(MAKING_OLD) {
            rules.insert(*call, made_to_become_another(*mode, *flags)?);
        }
        // The limits of others; its own a program may lower.
        let others = rule([word(0, SeccompCmpOp::Ne, 0)?, pointer(2, SeccompCmpOp::Ne, 0)?])?;
        rules.insert(libc::SYS_prlimit64, vec![others]);
        for call in SCHEDULING {
            rules.insert(*call, vec![rule([word(0, SeccompCmpOp::Ne, 0)?])?]);
        }
        for (call, one) in PRIORITIES {
            let others = [word(0, SeccompCmpOp::Ne, one)?, word(1, SeccompCmpOp::Ne, 0)?];
            let others = others.into_iter().map(|condition| rule([condition]));
            rules.insert(call, others.collect::<Result<_, _>>()?);
        }
        // Shared memory of no file is not counted either.
        let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs().into();
        rules.insert(libc::SYS_mmap, vec![rule([word(3, SeccompCmpOp::MaskedEq(shared), shared)?])?]);
        if signals == Signals::Loose {
            // A program may end itself.
            let abort = libc::SIGABRT.unsigned_abs().into();
            rules.insert(libc::SYS_tgkill, vec![rule([word(2, SeccompCmpOp::Ne, abort)?])?]);
            let owner =
                SIGNAL_OWNER.map(|command| rule([word(1, SeccompCmpOp::Eq, command.unsigned_abs().into())?]));
            rules.insert(libc::SYS_fcntl, owner.into_iter().collect::<Result<_, _>>()?);
        }
    }
    let mut apart = Vec::new();
    for flag in NAMESPACES {
        let flag = flag.unsigned_abs().into();
        apart.push(rule([word(0, SeccompCmpOp::MaskedEq(flag), flag)?])?);
    }
    rules.insert(libc::SYS_clone, apart);
    Ok(rules)
}

fn made_to_become_another(
    mode: u8,
    flags: Option<u8>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let has = |argument, bits: u64| word(argument, SeccompCmpOp::MaskedEq(bits), bits);
    let mut rules = Vec::new();
    for bit in BECOMING_ANOTHER {
        match flags {
            None => rules.push(rule([has(mode, bit.into())?])?),
            Some(flags) => {
                for made in MADE {
                    rules.push(rule([has(flags, made.unsigned_abs().into())?, has(mode, bit.into())?])?);
                }
            }
        }
    }
    Ok(rules)
}

fn requests() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![rule([word(1, SeccompCmpOp::Lt, TERMINAL_FIRST)?])?];
    for request in TERMINAL_FORBIDDEN {
        rules.push(rule([word(1, SeccompCmpOp::Eq, request)?])?);
    }
    let mut unknown = vec![word(1, SeccompCmpOp::Gt, TERMINAL_LAST)?];
    for request in REQUESTS {
        unknown.push(word(1, SeccompCmpOp::Ne, request)?);
    }
    rules.push(rule(unknown)?);
    Ok(rules)
}

fn rule(conditions: impl Into<Vec<SeccompCondition>>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

/// About an argument of which the kernel looks at 32 bits.
fn word(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn pointer(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)
}

/// Lets no call pass that was not looked at: numbers beyond the last known one do not exist, and neither does
/// `clone3`, whose flags are in memory, nor, where modes matter, `openat2`, whose mode is. The second calling convention
/// of x86-64 has numbers of its own for everything.
fn known_calls(strength: Strength) -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_GREATER: u16 = 0x25;
    const JUMP_IF_NOT_LESS: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const OTHER_CONVENTION: u32 = 0x4000_0000;
    let missing = u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    let number = |call: c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let clone3 = number(libc::SYS_clone3);
    let openat2 = match strength {
        Strength::Sealed => number(libc::SYS_openat2),
        Strength::Workbench => clone3,
    };
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        // The number of the call is the first word of what the filter sees.
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_NOT_LESS, 0, 1, OTHER_CONVENTION),
        instruction(RETURN, 0, 0, u32::from(SeccompAction::KillProcess)),
        instruction(JUMP_IF_GREATER, 2, 0, recent::LAST),
        instruction(JUMP_IF_EQUAL, 1, 0, clone3),
        instruction(JUMP_IF_EQUAL, 0, 1, openat2),
        instruction(RETURN, 0, 0, missing),
        instruction(RETURN, 0, 0, u32::from(SeccompAction::Allow)),
    ]
}

#[cfg(test)]
mod tests;
