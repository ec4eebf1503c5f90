use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::XattrFlags;

use super::*;
use crate::testing::{Random, folder};

fn seen(path: &Path) -> Fingerprint {
    read::whole(path).unwrap().fingerprint
}

/// Writes over a closed file that was just read.
fn rewrite(path: &Path, text: &str) -> Result<Fingerprint, WriteError> {
    match replace(path, text, &seen(path), || true)? {
        Outcome::Written(fingerprint) => Ok(fingerprint),
        Outcome::Opened => panic!("it is closed"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_a_file_is_besides_its_text_stays() {
    let folder = folder();
    for (before, text, after) in [
        (&b"a\r\nb\r\n"[..], "a\nB\nc\n", &b"a\r\nB\r\nc\r\n"[..]),
        (b"\xef\xbb\xbfa\nb", "a\nc", b"\xef\xbb\xbfa\nc"),
        (b"\xef\xbb\xbfa\n", "\u{feff}b\n", b"\xef\xbb\xbfb\n"),
        (b"one\ntwo\r\nthree\rfour", "one\n2\nthree\nfour\nfive", b"one\n2\r\nthree\rfour\nfive"),
        (b"gr\xfc\xdfe\nb\n", "grüße\nä\n", b"gr\xfc\xdfe\n\xe4\n"),
        (b"a\r\n", "a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"", "a\n", b"a\n"),
        (b"a\n", "", b""),
    ] {
        let path = folder.path().join("file");
        fs::write(&path, before).unwrap();
        let fingerprint = rewrite(&path, text).unwrap();
        assert_eq!(fs::read(&path).unwrap(), after, "{before:?}");
        assert_eq!(seen(&path), fingerprint);
        assert_eq!(names(folder.path()), ["file"]);
    }
}

#[test]
fn random_edits_leave_all_other_bytes_alone() {
    let folder = folder();
    let path = folder.path().join("file");
    let mut random = Random::new(27);
    for round in 0..1_500 {
        let latin1 = random.below(3) == 0;
        let mark = !latin1 && random.below(3) == 0;
        let ends: &[&str] = random.pick(&[&["\n"][..], &["\r\n"][..], &["\n", "\r\n", "\r"][..]]);
        let mut old: Vec<Vec<u8>> = (0..random.below(20) + 1)
            .map(|number| {
                let text = match latin1 {
                    true => [b"gr\xfc\xdfe ".as_slice(), number.to_string().as_bytes()].concat(),
                    false => format!("größe 😀 {number}").into_bytes(),
                };
                [text, random.pick(ends).as_bytes().to_vec()].concat()
            })
            .collect();
        if random.below(2) == 0 {
            let last = old.last_mut().unwrap();
            last.truncate(last.trim_ascii_end().len());
        }
        let mark: &[u8] = if mark { b"\xef\xbb\xbf" } else { b"" };
        fs::write(&path, [mark, &old.concat()].concat()).unwrap();
        let view = read::whole(&path).unwrap().view().into_owned();
        let lines: Vec<&str> = view.split_inclusive('\n').collect();
        let start = random.below(lines.len());
        let end = start + random.below(lines.len() - start);
        let new: String = (0..random.below(3)).map(|number| format!("néw {number}\n")).collect();
        let text = [&lines[..start], &[new.as_str()], &lines[end..]].concat().concat();
        rewrite(&path, &text).unwrap();
        let written = fs::read(&path).unwrap();
        assert!(written.starts_with(&[mark, &old[..start].concat()].concat()), "round {round}");
        assert!(written.ends_with(&old[end..].concat()), "round {round}");
        assert_eq!(read::whole(&path).unwrap().view(), text, "round {round}");
    }
}

#[test]
fn mode_and_extended_attributes_are_copied() {
    let folder = folder();
    let path = folder.path().join("script");
    fs::write(&path, "a\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
    let with_attributes = rustix::fs::setxattr(&path, "user.note", b"kept", XattrFlags::empty()).is_ok();
    rewrite(&path, "b\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o4751);
    if with_attributes {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[test]
fn owner_and_group_are_copied_where_the_system_allows_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "a\n").unwrap();
    std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    rewrite(&path, "b\n").unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12, 34));
}

#[test]
fn a_file_that_changed_is_not_written_and_one_only_touched_is() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "a\n").unwrap();
    let before = seen(&path);
    fs::write(&path, "b\n").unwrap();
    assert!(matches!(replace(&path, "c\n", &before, || true), Err(WriteError::Changed)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "b\n");
    fs::write(&path, "a\n").unwrap();
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    replace(&path, "c\n", &before, || true).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "c\n");
}

#[test]
fn without_a_hash_time_and_size_decide() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "a\n").unwrap();
    let partly = read::fingerprint(&path).unwrap();
    let other = Fingerprint { mtime_ns: partly.mtime_ns + 1, ..partly.clone() };
    assert!(matches!(replace(&path, "b\n", &other, || true), Err(WriteError::Changed)));
    replace(&path, "b\n", &partly, || true).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "b\n");
}

#[test]
fn a_change_at_the_last_moment_is_not_overwritten() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "a\n").unwrap();
    let at_the_last_moment = || {
        fs::write(&path, "z\n").unwrap();
        true
    };
    assert!(matches!(replace(&path, "b\n", &seen(&path), at_the_last_moment), Err(WriteError::Changed)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "z\n");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_file_opened_meanwhile_is_left_to_the_editor() {
    let folder = folder();
    let path = folder.path().join("file");
    assert!(matches!(create(&path, "b\n", || false), Ok(Outcome::Opened)));
    assert!(names(folder.path()).is_empty());
    fs::write(&path, "a\n").unwrap();
    assert!(matches!(replace(&path, "b\n", &seen(&path), || false), Ok(Outcome::Opened)));
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("a\n", 1));
}

#[test]
fn a_folder_swapped_meanwhile_does_not_lead_the_write_elsewhere() {
    let folder = folder();
    let (here, moved, other) =
        (folder.path().join("here"), folder.path().join("moved"), folder.path().join("other"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(here.join("file"), "a\n").unwrap();
    fs::write(other.join("file"), "a\n").unwrap();
    let swap = || {
        fs::rename(&here, &moved).unwrap();
        symlink(&other, &here).unwrap();
        true
    };
    replace(&here.join("file"), "b\n", &seen(&here.join("file")), swap).unwrap();
    assert_eq!(fs::read_to_string(other.join("file")).unwrap(), "a\n");
    assert_eq!(fs::read_to_string(moved.join("file")).unwrap(), "b\n");
}

#[test]
fn nothing_is_written_where_nothing_changes() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "a\r\n").unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    rewrite(&path, "a\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn read_only_files_and_foreign_characters_are_refused() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, b"\xe4\n").unwrap();
    assert_eq!(rewrite(&path, "ä\n€\n"), Err(WriteError::NotLatin1 { character: '€', line: 2 }));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(rewrite(&path, "b\n"), Err(WriteError::Refused("the file is read-only".to_owned())));
    assert_eq!(fs::read(&path).unwrap(), b"\xe4\n");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_new_file_gets_its_folders_and_exactly_its_text() {
    let folder = folder();
    let path = folder.path().join("a/b/c.txt");
    let Ok(Outcome::Written(fingerprint)) = create(&path, "\u{feff}x\r\ny", || true) else { panic!() };
    assert_eq!(fs::read(&path).unwrap(), b"\xef\xbb\xbfx\r\ny");
    assert_eq!(seen(&path), fingerprint);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o111, 0);
    assert_eq!(names(path.parent().unwrap()), ["c.txt"]);
}

#[test]
fn what_exists_is_never_created_again() {
    let folder = folder();
    let path = folder.path().join("file");
    let appears = || {
        fs::write(&path, "theirs").unwrap();
        true
    };
    assert!(matches!(create(&path, "ours", appears), Err(WriteError::Exists)));
    assert!(matches!(create(&path, "ours", || true), Err(WriteError::Exists)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(names(folder.path()), ["file"]);
    assert!(matches!(create(folder.path(), "", || true), Err(WriteError::Read(ReadError::Directory))));
}

#[test]
fn missing_files_folders_and_special_files_are_not_replaced() {
    let folder = folder();
    let any = Fingerprint { mtime_ns: 0, size: 0, hash: None };
    let error = |path: &Path| replace(path, "", &any, || true).unwrap_err();
    assert_eq!(error(&folder.path().join("none")), WriteError::Read(ReadError::NotFound));
    assert_eq!(error(folder.path()), WriteError::Read(ReadError::Directory));
    assert_eq!(error(Path::new("/dev/null")), WriteError::Read(ReadError::Special("character device")));
}
