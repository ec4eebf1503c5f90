//! What should not be there.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

#[test]
fn what_nobody_understands_holds_nothing_and_its_time_counts() {
    let large = "7".repeat(10 << 20);
    check(
        &[
            ("empty", Fixture::with("", DAY)),
            ("garbage", Fixture::with("\u{0}\u{1}}{", MINUTE)),
            ("half a body", Fixture::with("1\nstart=5\nacq", MINUTE)),
            ("no number", Fixture::with("token=x\n", MINUTE)),
            ("10 MB", Fixture::with(&large, MINUTE)),
            ("from the future", Fixture::with("?", -TEN_YEARS)),
        ],
        expect![[r#"
            empty: last 1440 min ago, held by nobody; takes it, the file stays, last 1440 min ago
            garbage: last 1 min ago, held by nobody; takes it, the file stays, last 1 min ago
            half a body: last 1 min ago, held by nobody; takes it, the file stays, last 1 min ago
            no number: last 1 min ago, held by nobody; takes it, the file stays, last 1 min ago
            10 MB: last 1 min ago, held by nobody; takes it, the file stays, last 1 min ago
            from the future: last never, held by nobody; takes it, no file is left, last never
        "#]],
    );
}

#[test]
fn a_link_is_replaced_and_never_followed() {
    let fixture = Fixture::new();
    let target = fixture.folder.path().join("target");
    fs::write(&target, "12").unwrap();
    for to in ["target", "nowhere", file::NAME] {
        symlink(to, fixture.path()).unwrap();
        assert_eq!(fixture.lock.look().unwrap(), Seen::default());
        let hold = fixture.acquired();
        assert!(fixture.path().symlink_metadata().unwrap().is_file());
        drop(hold);
        assert!(fixture.path().symlink_metadata().is_err());
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "12");
}

#[test]
fn a_pipe_keeps_nobody_waiting() {
    let fixture = Fixture::new();
    mknodat(CWD, fixture.path(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(fixture.story(), "last never, held by nobody; takes it, no file is left, last never");
}

#[test]
fn a_folder_in_its_place_is_an_error_in_words() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path()).unwrap();
    assert_eq!(fixture.lock.look().unwrap(), Seen::default());
    let error = fixture.lock.acquire().unwrap_err().to_string();
    assert_eq!(error, ".consolidate-lock cannot be taken: Is a directory (os error 21)");
    assert_eq!(fixture.names(), [file::NAME]);
    fs::remove_dir(fixture.path()).unwrap();
    fixture.acquired().complete().unwrap();
}

#[test]
fn without_a_memory_folder_nobody_dreams() {
    let fixture = Fixture::new();
    let lock = DreamLock::new(&fixture.folder.path().join("gone"));
    assert_eq!(lock.look().unwrap(), Seen::default());
    let error = lock.acquire().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_a_killed_server_left_is_replaced() {
    let fixture = Fixture::new();
    let left = fixture.folder.path().join(".consolidate-lock.tmp");
    fs::write(&left, "half").unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o400)).unwrap();
    fixture.acquired().complete().unwrap();
    assert_eq!(fixture.names(), [file::NAME]);
}
