use super::*;

/// What the kernel would decide: the stricter answer of both filters.
fn decision(walls: &Walls, signals: Signals, call: c_long, arguments: [u64; 6]) -> u32 {
    let call = u32::try_from(call).unwrap();
    let programs = [known_calls(walls.strength), compile(walls, signals).unwrap()];
    // The stricter one has the lower number, signs apart.
    programs
        .iter()
        .map(|program| interpret(program, call, arguments))
        .min_by_key(|answer| *answer as i32)
        .unwrap()
}

/// As much of the filters' language as they use.
fn interpret(program: &[sock_filter], call: u32, arguments: [u64; 6]) -> u32 {
    let architecture: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
    let words = [call, architecture, 0, 0];
    let words: Vec<u32> = words
        .into_iter()
        .chain(arguments.iter().flat_map(|value| [*value as u32, (*value >> 32) as u32]))
        .collect();
    let (mut at, mut accumulator) = (0_usize, 0_u32);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let holds = match code {
            0x20 => {
                accumulator = words[k as usize / 4];
                continue;
            }
            0x54 => {
                accumulator &= k;
                continue;
            }
            0x05 => {
                at += k as usize;
                continue;
            }
            0x06 => return k,
            0x15 => accumulator == k,
            0x25 => accumulator > k,
            0x35 => accumulator >= k,
            other => panic!("instruction {other:#x}"),
        };
        at += usize::from(if holds { jt } else { jf });
    }
}

const ALLOWED: u32 = 0x7fff_0000;
const REFUSED: u32 = 0x0005_0001;
const MISSING: u32 = 0x0005_0026;
const KILLED: u32 = 0x8000_0000;

fn sealed() -> Walls {
    Walls::sealed("/memory".into())
}

fn workbench(network: Network) -> Walls {
    Walls::workbench([], "/tmp/private".into(), network)
}

#[test]
fn whatever_is_listed_is_refused() {
    let lists = [MACHINE, MACHINE_OLD, METADATA, METADATA_OLD, OTHERS, UNCOUNTED, ADDRESSING];
    for call in lists.into_iter().flatten() {
        assert_eq!(decision(&sealed(), Signals::Contained, *call, [0; 6]), REFUSED, "{call}");
    }
    for call in SIGNALS {
        assert_eq!(decision(&sealed(), Signals::Loose, *call, [0; 6]), REFUSED, "{call}");
        assert_eq!(decision(&sealed(), Signals::Contained, *call, [0; 6]), ALLOWED, "{call}");
    }
}

#[test]
fn programs_that_look_can_look() {
    for call in [
        libc::SYS_openat,
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_execve,
        libc::SYS_mmap,
        libc::SYS_wait4,
        libc::SYS_statx,
        libc::SYS_getdents64,
        libc::SYS_renameat2,
        libc::SYS_exit_group,
    ] {
        assert_eq!(decision(&sealed(), Signals::Loose, call, [0; 6]), ALLOWED, "{call}");
    }
}

#[test]
fn the_work_of_the_user_keeps_modes_times_and_debuggers() {
    for call in METADATA.iter().chain(OTHERS).chain(UNCOUNTED).chain(SCHEDULING).chain(SIGNALS) {
        assert_eq!(decision(&workbench(Network::None), Signals::Loose, *call, [0; 6]), ALLOWED, "{call}");
    }
    assert_eq!(decision(&workbench(Network::Open), Signals::Loose, libc::SYS_mount, [0; 6]), REFUSED);
}

#[test]
fn sockets_are_those_of_the_network_that_is_allowed() {
    let socket = |walls: &Walls, family: libc::c_int| {
        let family = family.unsigned_abs().into();
        decision(walls, Signals::Contained, libc::SYS_socket, [family, 0, 0, 0, 0, 0]) == ALLOWED
    };
    let connects = |walls: &Walls| decision(walls, Signals::Contained, libc::SYS_connect, [0; 6]) == ALLOWED;
    let families =
        [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK];
    for (walls, expected, connected) in [
        (sealed(), [true, false, false, false, false, false], false),
        (workbench(Network::Unix), [true, false, false, false, false, false], true),
        (workbench(Network::Open), [true; 6], true),
    ] {
        assert_eq!(families.map(|family| socket(&walls, family)), expected);
        assert_eq!(connects(&walls), connected);
    }
    // To a socket that is connected already, and to a name.
    let send = |address| decision(&sealed(), Signals::Contained, libc::SYS_sendto, [3, 0, 0, 0, address, 0]);
    assert_eq!([send(0), send(0x7fff_0000_0000)], [ALLOWED, REFUSED]);
    // The kernel does not look at the upper half.
    let padded = [u64::from(libc::AF_INET.unsigned_abs()) | (1 << 32), 0, 0, 0, 0, 0];
    assert_eq!(decision(&sealed(), Signals::Contained, libc::SYS_socket, padded), REFUSED);
}

#[test]
fn new_processes_are_in_the_same_name_spaces() {
    let clone = |flags: libc::c_int| {
        decision(&sealed(), Signals::Contained, libc::SYS_clone, [flags.unsigned_abs().into(), 0, 0, 0, 0, 0])
    };
    assert_eq!(clone(libc::SIGCHLD), ALLOWED);
    assert_eq!(clone(libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND), ALLOWED);
    for flag in NAMESPACES {
        assert_eq!(clone(flag | libc::SIGCHLD), REFUSED);
    }
    assert_eq!(decision(&sealed(), Signals::Contained, libc::SYS_clone3, [0; 6]), MISSING);
}

#[test]
fn requests_to_open_files_only_look() {
    let ioctl =
        |request: u64| decision(&sealed(), Signals::Contained, libc::SYS_ioctl, [0, request, 0, 0, 0, 0]);
    // TCGETS, TIOCGWINSZ, FIONREAD, FICLONE, FS_IOC_GETFLAGS.
    for request in [0x5401, 0x5413, 0x541b, 0x4004_9409, 0x8008_6601] {
        assert_eq!(ioctl(request), ALLOWED, "{request:#x}");
    }
    // TIOCSTI, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FIFREEZE, BTRFS_IOC_SNAP_DESTROY, FS_IOC_ENABLE_VERITY.
    for request in [0x5412, 0x4008_6602, 0x401c_5820, 0xc004_5877, 0x5000_940f, 0x4080_6685] {
        assert_eq!(ioctl(request), REFUSED, "{request:#x}");
    }
}

#[test]
fn unknown_calls_do_not_exist_and_other_conventions_end_the_program() {
    let ask = |call| decision(&sealed(), Signals::Contained, call, [0; 6]);
    assert_eq!(ask(libc::c_long::from(recent::LAST) + 1), MISSING);
    assert_eq!(ask(0x4000_0000 | libc::SYS_write), KILLED);
}

#[test]
fn a_program_lowers_its_own_limits_and_ends_itself() {
    let limit = |process, new| {
        decision(&sealed(), Signals::Contained, libc::SYS_prlimit64, [process, 7, new, 0, 0, 0])
    };
    assert_eq!([limit(0, 1), limit(1, 0), limit(1, 1)], [ALLOWED, ALLOWED, REFUSED]);
    let send = |signal| decision(&sealed(), Signals::Loose, libc::SYS_tgkill, [1, 1, signal, 0, 0, 0]);
    assert_eq!([send(6), send(9)], [ALLOWED, REFUSED]);
}

#[test]
fn a_program_changes_only_its_own_turn() {
    let ask = |call, first, second| {
        decision(&sealed(), Signals::Contained, call, [first, second, 19, 0, 0, 0]) == ALLOWED
    };
    for call in SCHEDULING {
        assert_eq!([0, 1, 4711].map(|process| ask(*call, process, 0)), [true, false, false], "{call}");
    }
    for (call, one) in PRIORITIES {
        for kind in 0..4 {
            assert_eq!([0, 4711].map(|who| ask(call, kind, who)), [kind == one, false], "{call} {kind}");
        }
    }
}

#[test]
fn memory_is_counted() {
    let map = |flags: libc::c_int| {
        let flags = flags.unsigned_abs().into();
        decision(&sealed(), Signals::Contained, libc::SYS_mmap, [0, 4096, 3, flags, 0, 0]) == ALLOWED
    };
    assert!(map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) && map(libc::MAP_SHARED));
    assert!(!map(libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE));
    assert!(!map(libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS));
}

#[test]
fn no_file_sends_signals_where_they_are_loose() {
    let control = |signals, command: libc::c_int| {
        decision(&sealed(), signals, libc::SYS_fcntl, [0, command.unsigned_abs().into(), 0, 0, 0, 0])
    };
    for command in SIGNAL_OWNER {
        assert_eq!(control(Signals::Loose, command), REFUSED);
        assert_eq!(control(Signals::Contained, command), ALLOWED);
    }
    assert_eq!(control(Signals::Loose, libc::F_SETFL), ALLOWED);
}

#[test]
fn no_file_is_made_that_makes_others_of_its_users() {
    let ask = |walls: &Walls, call, flags: Option<(u8, libc::c_int)>, mode_at: u8, mode: u32| {
        let mut arguments = [0; 6];
        arguments[usize::from(mode_at)] = mode.into();
        if let Some((at, flags)) = flags {
            arguments[usize::from(at)] = flags.unsigned_abs().into();
        }
        decision(walls, Signals::Contained, call, arguments)
    };
    for (call, mode_at, flags_at) in MAKING.iter().chain(MAKING_OLD) {
        let making = [libc::O_CREAT | libc::O_WRONLY, libc::O_TMPFILE | libc::O_RDWR];
        for flags in making.map(|flags| flags_at.map(|at| (at, flags))) {
            for mode in [0o4755, 0o2755, 0o6755, 0o6000] {
                assert_eq!(ask(&sealed(), *call, flags, *mode_at, mode), REFUSED, "{call} {mode:o}");
                assert_eq!(ask(&workbench(Network::None), *call, flags, *mode_at, mode), ALLOWED);
            }
            for mode in [0, 0o644, 0o755, 0o1777] {
                assert_eq!(ask(&sealed(), *call, flags, *mode_at, mode), ALLOWED, "{call} {mode:o}");
            }
        }
        // Where nothing is made, nobody looks at the mode.
        if let Some(at) = flags_at {
            assert_eq!(ask(&sealed(), *call, Some((*at, libc::O_DIRECTORY)), *mode_at, 0o6755), ALLOWED);
        }
    }
    assert_eq!(decision(&sealed(), Signals::Contained, libc::SYS_openat2, [0; 6]), MISSING);
    assert_eq!(decision(&workbench(Network::None), Signals::Contained, libc::SYS_openat2, [0; 6]), ALLOWED);
}
