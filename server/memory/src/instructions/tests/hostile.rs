//! G32: whatever a checkout puts in the way, loading ends soon and reads nothing outside that was not allowed.

use std::{
    fs::File,
    os::unix::net::UnixListener,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, Mode, mkfifoat};

use super::*;

const CANARY: &str = "canary-of-the-outside";

/// What is named, and what it may lead to.
fn zoo() -> (Tree, UnixListener) {
    let tree = Tree::of("//- w/inside.md\ninside\n//- w/d/x.md\nx\n");
    for outside in ["out/secret.md", "out/id_rsa", "home/.ssh/config", "home/notes.md", "w-evil/x.md"] {
        tree.write(outside, CANARY);
    }
    for (path, target) in [
        ("w/link.md", "../out/secret.md"),
        ("w/link2.md", "link.md"),
        ("w/folder", "../out"),
        ("w/deep/link.md", "../folder/secret.md"),
        ("w/absolute.md", "/etc/passwd"),
        ("w/dangling.md", "../nothing.md"),
        ("w/loop.md", "loop.md"),
        ("w/ping.md", "pong.md"),
        ("w/pong.md", "ping.md"),
        ("w/zero.md", "/dev/zero"),
        ("w/random.md", "/dev/urandom"),
        ("w/tty.md", "/dev/tty"),
        ("w/environ.md", "/proc/self/environ"),
        ("w/fd.md", "/proc/self/fd/0"),
        ("w/root", "/"),
        ("w/cwd", "/proc/self/cwd"),
    ] {
        tree.link(path, target);
    }
    mkfifoat(CWD, tree.path("w/pipe.md"), Mode::RWXU).unwrap();
    mkfifoat(CWD, tree.path("w/pipe"), Mode::RWXU).unwrap();
    mkfifoat(CWD, tree.path("out/pipe.md"), Mode::RWXU).unwrap();
    tree.link("w/pipe-link.md", "pipe.md");
    let socket = UnixListener::bind(tree.path("w/socket")).unwrap();
    File::create(tree.path("w/sparse.md")).unwrap().set_len(1 << 30).unwrap();
    File::create(tree.path("out/sparse.md")).unwrap().set_len(1 << 30).unwrap();
    fs::hard_link(tree.path("w/inside.md"), tree.path("w/hard.md")).unwrap();
    (tree, socket)
}

/// Includes in one CLAUDE.md.
const CASES: &[&str] = &[
    "@../out/secret.md",
    "@./../out/secret.md",
    "@d/../../out/secret.md",
    "@d/../d/../../out/id_rsa",
    "@../out/id_rsa",
    "@../w-evil/x.md",
    "@~/.ssh/config",
    "@~/notes.md",
    "@~/../out/secret.md",
    "@~//notes.md",
    "@link.md",
    "@link2.md",
    "@folder/secret.md",
    "@deep/link.md",
    "@absolute.md",
    "@dangling.md",
    "@loop.md",
    "@ping.md",
    "@zero.md",
    "@random.md",
    "@tty.md",
    "@environ.md",
    "@fd.md",
    "@root/etc/passwd",
    "@cwd/Cargo.toml",
    "@pipe.md",
    "@pipe",
    "@pipe-link.md",
    "@../out/pipe.md",
    "@socket",
    "@sparse.md",
    "@../out/sparse.md",
    "@hard.md",
    "@/dev/zero",
    "@/dev/random",
    "@/dev/stdin",
    "@/dev/tty",
    "@/dev/null",
    "@/dev/fd/0",
    "@/proc/self/environ",
    "@/proc/self/mem",
    "@/proc/self/maps",
    "@/proc/kmsg",
    "@/proc/kcore",
    "@/sys/kernel/notes",
    "@/etc/passwd",
    "@/etc/shadow",
    "@/",
    "@//etc/passwd",
    "@/./etc/../etc/passwd",
    "@~",
    "@~/",
    "@.",
    "@..",
    "@../..",
    "@.git",
    "@d",
    "@CLAUDE.md",
    "@inside.md/x.md",
    "@/etc/passwd#x",
    "@x\0y",
    "@(/etc/passwd)",
    "(@/etc/passwd)",
    "[x](@../out/secret.md)",
];

#[test]
fn no_include_hangs_or_reads_outside_unasked() {
    assert!(CASES.len() >= 60);
    let (tree, _socket) = zoo();
    for case in CASES {
        let line = if case.contains('\0') { case.replace('\0', "\u{1}") } else { (*case).to_owned() };
        tree.write("w/CLAUDE.md", format!("rules\n{line}\n"));
        let begin = Instant::now();
        let instructions = tree.load();
        assert!(begin.elapsed() < Duration::from_millis(500), "{case}: {:?}", begin.elapsed());
        for piece in &instructions.pieces {
            assert!(!piece.text.contains(CANARY), "{case} was read");
            let real = fs::canonicalize(&piece.path).unwrap();
            assert!(real.starts_with(tree.path("w")), "{case} was read as {}", real.display());
        }
        for (path, text) in [("/etc/passwd", "root:"), ("/proc/self/environ", "PATH=")] {
            assert!(!instructions.pieces.iter().any(|piece| piece.text.contains(text)), "{case}: {path}");
        }
    }
}

#[test]
fn what_is_no_file_does_not_hang_even_when_it_is_allowed() {
    let (tree, _socket) = zoo();
    for case in CASES {
        tree.write("w/CLAUDE.md", format!("rules\n{}\n", case.replace('\0', "\u{1}")));
        let begin = Instant::now();
        let (instructions, _) = tree.load_in("w", &|_| true);
        assert!(begin.elapsed() < Duration::from_secs(2), "{case}: {:?}", begin.elapsed());
        assert_eq!(instructions.outside, Vec::<PathBuf>::new());
    }
    for (case, problem) in [
        ("@pipe.md", "is not a regular file"),
        ("@zero.md", "is not a regular file"),
        ("@sparse.md", "is not text"),
        ("@socket", "cannot be read"),
        ("@loop.md", "cannot be read"),
    ] {
        tree.write("w/CLAUDE.md", format!("rules\n{case}\n"));
        let (instructions, _) = tree.load_in("w", &|_| true);
        let problems = tree.problems(&instructions);
        let expected = format!("w/CLAUDE.md:1 includes `{case}`, which {problem}");
        assert!(problems.starts_with(&expected), "{problems}");
    }
}

#[test]
fn what_stands_where_a_file_is_expected_may_be_anything() {
    type Make = fn(&Path);
    let makes: [(&str, Make); 6] = [
        ("pipe", |path| mkfifoat(CWD, path, Mode::RWXU).unwrap()),
        ("folder", |path| fs::create_dir_all(path).unwrap()),
        ("sparse", |path| File::create(path).unwrap().set_len(1 << 30).unwrap()),
        ("binary", |path| fs::write(path, b"a\0b").unwrap()),
        ("device", |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap()),
        ("loop", |path| std::os::unix::fs::symlink(path, path).unwrap()),
    ];
    for (what, make) in makes {
        for place in [
            "w/CLAUDE.md",
            "w/AGENTS.md",
            "w/CLAUDE.local.md",
            "w/.claude/rules/r.md",
            "w/.claude",
            "home/.claude/CLAUDE.md",
            "w/.git",
            "w",
        ] {
            let tree = Tree::of("//- home/x\nx\n");
            let path = tree.path(place);
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap();
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            make(&path);
            let begin = Instant::now();
            let instructions = tree.load();
            assert!(begin.elapsed() < Duration::from_millis(500), "{what} at {place}");
            assert_eq!(tree.pieces(&instructions), "", "{what} at {place}");
        }
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere() {
    let tree = Tree::of("//- w/CLAUDE.md\nrules @d/x.md\n//- w/d/x.md\ninside\n");
    tree.write("out/x.md", CANARY);
    tree.link("w/e", "../out");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, tree.path("w/d"), CWD, tree.path("w/e"), exchange).unwrap();
            }
        });
        for _ in 0..500 {
            let instructions = tree.load();
            let leak = instructions.pieces.iter().find(|piece| piece.text.contains(CANARY));
            done.store(leak.is_some(), Ordering::Relaxed);
            assert_eq!(leak, None);
        }
        done.store(true, Ordering::Relaxed);
    });
}
