use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use rustix::fs::{linkat, symlinkat};
use tempfile::TempDir;

use super::*;

struct Fixture {
    folder: TempDir,
    beneath: Beneath,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("memory/topics")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret.md"), "secret").unwrap();
        fs::write(folder.path().join("memory/user.md"), "old").unwrap();
        let beneath = Beneath::open(&folder.path().join("memory")).unwrap();
        Self { folder, beneath }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn check(&self, path: &str) -> Result<Relative, Refusal> {
        self.beneath.check(&self.path("memory").join(path))
    }

    fn refused(&self, path: &str, expected: Expect) {
        expected.assert_eq(&self.check(path).unwrap_err().to_string());
    }
}

#[test]
fn a_new_file_comes_with_its_folders_and_for_its_owner_only() {
    let fixture = Fixture::new();
    let path = fixture.check("a/b/c.md").unwrap();
    assert_eq!(path.to_path(), Path::new("a/b/c.md"));
    fixture.beneath.write(&path, b"text").unwrap();
    assert_eq!(fs::read_to_string(fixture.path("memory/a/b/c.md")).unwrap(), "text");
    assert_eq!(fs::metadata(fixture.path("memory/a/b/c.md")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(fixture.path("memory/a")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fixture.beneath.read(&path).unwrap(), b"text");
    fixture.beneath.remove(&path).unwrap();
    assert!(!fixture.path("memory/a/b/c.md").exists());
    assert!(matches!(fixture.beneath.read(&path), Err(BeneathError::Io(_))));
}

#[test]
fn an_old_file_keeps_its_mode_and_nothing_is_left_beside_it() {
    let fixture = Fixture::new();
    let file = fixture.path("memory/user.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let path = fixture.check("user.md").unwrap();
    fixture.beneath.write(&path, b"new").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o644);
    let mut names: Vec<_> =
        fs::read_dir(fixture.path("memory")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["topics", "user.md"]);
}

#[test]
fn the_folder_is_known_by_both_of_its_names() {
    let fixture = Fixture::new();
    symlink(fixture.path("memory"), fixture.path("link")).unwrap();
    let beneath = Beneath::open(&fixture.path("link")).unwrap();
    for name in ["link/x.md", "memory/x.md"] {
        let path = beneath.check(&fixture.path(name)).unwrap();
        beneath.write(&path, b"x").unwrap();
    }
    assert!(fixture.path("memory/x.md").is_file());
    let crooked = Beneath::open(&fixture.path("outside/../memory")).unwrap();
    assert!(crooked.check(&fixture.path("memory/x.md")).is_ok());
    assert!(crooked.check(&fixture.path("outside/../memory/x.md")).is_err());
    assert!(beneath.check(&fixture.path("outside/x.md")).is_err());
}

#[test]
fn detours_are_followed_only_over_real_folders() {
    let fixture = Fixture::new();
    symlink(fixture.path("outside"), fixture.path("memory/link")).unwrap();
    for path in ["./user.md", "/user.md", "topics/../user.md", "topics/.././topics//x.md"] {
        let whole = format!("{}/{path}", fixture.path("memory").display());
        fixture.beneath.check(Path::new(&whole)).unwrap();
    }
    fixture.refused("link/../user.md", expect!["the path goes back over something that is not a folder"]);
    fixture.refused("nothing/../user.md", expect!["the path goes back over something that is not a folder"]);
    fixture.refused("../memory/user.md", expect!["the path leaves the memory folder"]);
    fixture.refused("topics/../../x.md", expect!["the path leaves the memory folder"]);
    fixture.refused("topics/", expect!["the path names a folder, not a file"]);
    fixture.refused("topics/..", expect!["the path names a folder, not a file"]);
}

#[test]
fn what_is_not_an_ordinary_file_is_refused() {
    let fixture = Fixture::new();
    let memory = fixture.path("memory");
    symlink(fixture.path("outside/secret.md"), memory.join("link.md")).unwrap();
    symlink(fixture.path("outside"), memory.join("folder")).unwrap();
    fs::hard_link(fixture.path("outside/secret.md"), memory.join("hard.md")).unwrap();
    fs::create_dir(memory.join("dir.md")).unwrap();
    std::os::unix::net::UnixListener::bind(memory.join("socket.md")).unwrap();
    fs::write(memory.join("fixed.md"), "").unwrap();
    fs::set_permissions(memory.join("fixed.md"), fs::Permissions::from_mode(0o444)).unwrap();
    fixture.refused("link.md", expect!["link.md is a symbolic link"]);
    fixture.refused("folder/x.md", expect!["folder is a link or a file, not a folder"]);
    fixture.refused("user.md/x.md", expect!["user.md is a link or a file, not a folder"]);
    fixture.refused("hard.md", expect!["hard.md has a second name elsewhere (a hard link)"]);
    fixture.refused("dir.md", expect!["dir.md is a folder"]);
    fixture.refused("socket.md", expect!["socket.md is a device, a pipe or a socket"]);
    fixture.refused("fixed.md", expect!["fixed.md is read-only"]);
    fixture
        .refused("USER.md", expect!["on other systems USER.md would be the same as user.md, which exists"]);
    fixture
        .refused("Topics/x.md", expect!["on other systems Topics would be the same as topics, which exists"]);
}

#[test]
fn what_changes_after_the_check_is_met_by_the_write() {
    let fixture = Fixture::new();
    let memory = fixture.path("memory");
    let (below, link) = (fixture.check("topics/x.md").unwrap(), fixture.check("y.md").unwrap());
    fs::rename(memory.join("topics"), memory.join("elsewhere")).unwrap();
    symlink(fixture.path("outside"), memory.join("topics")).unwrap();
    symlink(fixture.path("outside/secret.md"), memory.join("y.md")).unwrap();
    for path in [&below, &link] {
        assert!(matches!(fixture.beneath.write(path, b"x"), Err(BeneathError::Refused(_))));
        assert!(matches!(fixture.beneath.read(path), Err(BeneathError::Refused(_))));
        assert!(matches!(fixture.beneath.remove(path), Err(BeneathError::Refused(_))));
    }
    assert_eq!(fs::read_to_string(fixture.path("outside/secret.md")).unwrap(), "secret");
}

/// Attackers swap a folder, and the file in it, for links that lead outside, as fast as they can.
#[test]
fn no_write_escapes_while_folders_become_links() {
    let seconds = std::env::var("REVERIE_RACE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let fixture = Fixture::new();
    let (memory, outside) = (fixture.path("memory"), fixture.path("outside"));
    // By a handle: by its name the second attacker would be led outside by the first.
    let topics = File::open(memory.join("topics")).unwrap();
    let over = AtomicBool::new(false);
    let (mut written, mut refused) = (0_u64, 0_u64);
    let swap_the_folder = || {
        drop(fs::rename(memory.join("topics"), memory.join("away")));
        drop(symlink(&outside, memory.join("topics")));
        drop(fs::remove_file(memory.join("topics")));
        drop(fs::rename(memory.join("away"), memory.join("topics")));
    };
    let swap_the_file = || {
        unlinkat(&topics, "x.md", AtFlags::empty()).ok();
        symlinkat(outside.join("secret.md"), &topics, "x.md").ok();
        unlinkat(&topics, "x.md", AtFlags::empty()).ok();
        linkat(rustix::fs::CWD, outside.join("secret.md"), &topics, "x.md", AtFlags::empty()).ok();
    };
    let attackers: [&(dyn Fn() + Sync); 2] = [&swap_the_folder, &swap_the_file];
    let swaps = std::thread::scope(|scope| {
        let over = &over;
        let attackers = attackers.map(|attack| {
            scope.spawn(move || {
                let mut swaps = 0_u64;
                while !over.load(Ordering::Relaxed) {
                    attack();
                    swaps += 1;
                }
                swaps
            })
        });
        let end = Instant::now() + Duration::from_secs(seconds);
        let path = memory.join("topics/x.md");
        while Instant::now() < end {
            let checked = fixture.beneath.check(&path).map_err(BeneathError::from);
            match checked.and_then(|path| fixture.beneath.write(&path, b"escaped")) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
        attackers.map(|attacker| attacker.join().unwrap())
    });
    let left: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["secret.md"]);
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "secret");
    let figures = format!("{written} written, {refused} refused, swaps {swaps:?}");
    assert!(written > 0 && refused > 0 && swaps.iter().all(|swaps| *swaps > 0), "{figures}");
    eprintln!("{figures} in {seconds} s");
}
