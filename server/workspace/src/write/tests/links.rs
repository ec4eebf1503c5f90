//! A closed file is written at the path that was judged, through no link, whenever that link appeared.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Mode, RenameFlags, linkat, mkfifoat, renameat_with, symlinkat, unlinkat};

use super::*;
use crate::testing::folder;

/// Writes as the tools do: over what is there, as it is read now, or a new file.
async fn put(workspace: &Workspace, path: &Path, text: &str) -> Result<Written, WriteError> {
    let basis = match workspace.read(path) {
        Ok(file) => Basis::Unchanged(file.fingerprint),
        Err(_) => Basis::NewFile,
    };
    workspace.write(path, text, basis, "edit").await
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_is_no_plain_file_in_plain_folders_is_refused() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("outside/deep")).unwrap();
    fs::write(path("outside/file"), "theirs").unwrap();
    symlink("outside", path("link")).unwrap();
    symlink("outside/file", path("link to file")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    fs::write(path("file"), "").unwrap();
    let workspace = Workspace::new(Vec::new());
    let through_link =
        "a folder in its path is a symbolic link that was not there when the write was allowed";
    let below_file = "a part of the path is a file, not a directory";
    for (name, words) in [
        ("link/file", through_link),
        ("link/new", through_link),
        ("link/deep/new", through_link),
        ("link/missing/new", through_link),
        ("dangling/new", through_link),
        ("link to file", "this is a symbolic link, not a regular file; it is not read"),
        ("dangling", "this is a symbolic link, not a regular file; it is not read"),
        ("pipe", "this is a named pipe, not a regular file; it is not read"),
        ("socket", "this is a socket, not a regular file; it is not read"),
        ("/dev/null", "this is a character device, not a regular file; it is not read"),
        ("outside", "this is a directory, not a file"),
        ("file/new", below_file),
        ("file/missing/new", below_file),
        ("pipe/new", below_file),
        ("/", "the path does not name a file"),
        ("outside/..", "the path does not name a file"),
        ("outside/../new", "Invalid argument (os error 22)"),
    ] {
        let path = path(name);
        let any = Fingerprint { mtime_ns: 0, size: 0, hash: None };
        for basis in [Basis::NewFile, Basis::Unchanged(any)] {
            let error = workspace.write(&path, "ours", basis, "edit").await.unwrap_err();
            assert_eq!(error.to_string(), words, "{name}");
        }
    }
    assert!(workspace.write(Path::new("new"), "ours", Basis::NewFile, "edit").await.is_err());
    assert_eq!(fs::read_to_string(path("outside/file")).unwrap(), "theirs");
    assert_eq!(names(&path("outside")), ["deep", "file"]);
    let left = ["dangling", "file", "link", "link to file", "outside", "pipe", "socket"];
    assert_eq!(names(folder.path()), left);
}

#[tokio::test]
async fn the_target_of_a_link_is_written_by_its_real_path() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("real")).unwrap();
    fs::write(path("real/file"), "one\n").unwrap();
    symlink("real/file", path("link")).unwrap();
    let workspace = Workspace::new(Vec::new());
    put(&workspace, &path("link").canonicalize().unwrap(), "two\n").await.unwrap();
    assert!(path("link").is_symlink());
    assert_eq!(fs::read_to_string(path("link")).unwrap(), "two\n");
    assert_eq!(names(&path("real")), ["file"]);
}

#[tokio::test]
async fn the_other_name_of_a_file_keeps_its_content() {
    let folder = folder();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    fs::write(&one, "old\n").unwrap();
    fs::hard_link(&one, &other).unwrap();
    put(&Workspace::new(Vec::new()), &one, "new\n").await.unwrap();
    assert_eq!(
        (fs::read_to_string(one).unwrap(), fs::read_to_string(other).unwrap()),
        ("new\n".into(), "old\n".into())
    );
}

/// The editor knows the document by a link that leads elsewhere since it was looked up last, into a folder that is not
/// there yet.
#[tokio::test(start_paused = true)]
async fn a_document_is_found_where_its_link_leads_now() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("before")).unwrap();
    fs::create_dir(path("now")).unwrap();
    symlink("before", path("link")).unwrap();
    let workspace = Workspace::new(Vec::new());
    let client = Client::open(&workspace, &path("link/new/file"), "", Manner::Honest, false, Encoding::Utf16);
    assert!(workspace.read(&path("before/new/file")).unwrap().from_buffer);
    fs::remove_file(path("link")).unwrap();
    symlink("now", path("link")).unwrap();
    let written = workspace.write(&path("now/new/file"), "text\n", Basis::NewFile, "edit").await.unwrap();
    assert_eq!((written.route, client.text().as_str()), (Route::EditorUnsaved, "text\n"));
    assert!(names(&path("now")).is_empty());
}

/// Attackers swap a folder, and the file in it, for links that lead outside, as fast as they can.
#[test]
fn no_write_escapes_while_folders_become_links() {
    let seconds = std::env::var("REVERIE_RACE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let (inside, link, outside) = (path("inside"), path("link"), path("outside"));
    for folder in [&inside, &outside] {
        fs::create_dir(folder).unwrap();
        // The same text, so that what was read here would be found unchanged there.
        fs::write(folder.join("file"), "theirs\n").unwrap();
    }
    symlink("outside", &link).unwrap();
    // By a handle: by its name the second attacker would be led outside by the first.
    let handle = fs::File::open(&inside).unwrap();
    // In one step: a folder that is missing for a moment would be made anew by the writer, and no longer be swapped.
    let swap_the_folder = || renameat_with(CWD, &inside, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    let swap_the_file = || {
        unlinkat(&handle, "file", AtFlags::empty()).ok();
        symlinkat(outside.join("file"), &handle, "file").ok();
        unlinkat(&handle, "file", AtFlags::empty()).ok();
        linkat(CWD, outside.join("file"), &handle, "file", AtFlags::empty()).ok();
    };
    let attackers: [&(dyn Fn() + Sync); 2] = [&swap_the_folder, &swap_the_file];
    let over = AtomicBool::new(false);
    let (mut written, mut refused) = (0_u64, 0_u64);
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
        let workspace = Workspace::new(Vec::new());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let end = Instant::now() + Duration::from_secs(seconds);
        for number in 0_u64.. {
            if Instant::now() >= end {
                break;
            }
            for path in [inside.join("file"), inside.join(format!("{number}/new"))] {
                match runtime.block_on(put(&workspace, &path, "ours\n")) {
                    Ok(_) => written += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        attackers.map(|attacker| attacker.join().unwrap())
    });
    let figures = format!("{written} written, {refused} refused, swaps {swaps:?}");
    assert_eq!(names(&outside), ["file"], "{figures}");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "theirs\n", "{figures}");
    assert!(written > 0 && refused > 0 && swaps.iter().all(|swaps| *swaps > 0), "{figures}");
    let inside = if inside.is_symlink() { &link } else { &inside };
    assert!(!names(inside).iter().any(|name| name.ends_with(".tmp")), "{figures}");
    eprintln!("{figures} in {seconds} s");
}
