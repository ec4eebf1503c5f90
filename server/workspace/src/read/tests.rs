use std::fs;
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Instant;

use super::*;
use crate::testing::Random;

fn read(path: &Path) -> Result<String, ReadError> {
    whole(path).map(|file| file.view().into_owned())
}

#[test]
fn special_files_are_refused_without_waiting_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let link = folder.path().join("link");
    symlink(&pipe, &link).unwrap();
    for (path, error) in [
        (pipe.as_path(), ReadError::Special("named pipe")),
        (link.as_path(), ReadError::Special("named pipe")),
        (socket.as_path(), ReadError::Special("socket")),
        (Path::new("/dev/zero"), ReadError::Special("character device")),
        (folder.path(), ReadError::Directory),
    ] {
        assert_eq!(read(path), Err(error.clone()));
        assert_eq!(fingerprint(path), Err(error.clone()));
        let wanted = Wanted { first_line: 1, max_lines: 1, max_bytes: 1 };
        assert_eq!(lines_of_file(path, wanted), Err(error));
    }
}

#[test]
fn loops_gaps_and_locks_have_their_words() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, secret] = ["one", "two", "secret"].map(|name| folder.path().join(name));
    symlink(&one, &two).unwrap();
    symlink(&two, &one).unwrap();
    assert_eq!(read(&one).unwrap_err().to_string(), "the symbolic links of this path form a loop");
    assert_eq!(read(&folder.path().join("none")), Err(ReadError::NotFound));
    fs::write(&secret, "a").unwrap();
    assert_eq!(
        read(&secret.join("below")).unwrap_err().to_string(),
        "a part of the path is a file, not a directory"
    );
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if !rustix::process::geteuid().is_root() {
        assert_eq!(read(&secret), Err(ReadError::Denied));
    }
    assert!(matches!(read(Path::new("a\0b")), Err(ReadError::Io(_))));
}

#[test]
fn files_that_lie_about_their_size_are_read_whole() {
    assert!(read(Path::new("/proc/self/status")).unwrap().contains("Pid:"));
}

#[test]
fn too_large_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    File::create(&path).unwrap().set_len(MAX_WHOLE + 1).unwrap();
    let error = read(&path).unwrap_err();
    assert_eq!(error, ReadError::TooLarge { bytes: MAX_WHOLE + 1 });
    assert!(error.to_string().contains("offset and limit"), "{error}");
}

/// What `lines_of_text` and the stream must agree on.
fn naive(view: &str, wanted: Wanted) -> (String, usize, bool, bool) {
    let lines: Vec<&str> = view.split_inclusive('\n').collect();
    let rest = lines.get(wanted.first_line.max(1) - 1..).unwrap_or_default();
    let mut text = String::new();
    for (count, line) in rest.iter().enumerate() {
        if count == wanted.max_lines {
            return (text, count, false, true);
        }
        if text.len() + line.len() > wanted.max_bytes {
            if count == 0 {
                text = line
                    .chars()
                    .scan(0, |bytes, character| {
                        *bytes += character.len_utf8();
                        (*bytes <= wanted.max_bytes).then_some(character)
                    })
                    .collect();
                return (text.clone(), usize::from(!text.is_empty()), true, true);
            }
            return (text, count, true, true);
        }
        text.push_str(line);
    }
    (text, rest.len(), false, false)
}

#[test]
fn streamed_lines_are_those_of_the_whole_text() {
    let mut random = Random::new(9);
    for round in 0..4_000 {
        let raw = random.text(40);
        let view = format::view(&raw);
        let wanted = Wanted {
            first_line: random.below(12),
            max_lines: random.below(8),
            max_bytes: [random.below(30), 1_000][random.below(2)],
        };
        let fingerprint = Fingerprint::of_buffer(&view);
        let whole = lines_of_text(&view, wanted, fingerprint.clone());
        let expected = naive(&view, wanted);
        let seen = |lines: &Lines| (lines.text.clone(), lines.line_count, lines.truncated, lines.more);
        assert_eq!(seen(&whole), expected, "{round} {view:?} {wanted:?}");
        let sizes = std::iter::repeat_with(|| random.below(5) + 1);
        let streamed = lines::stream_in_chunks(raw.as_bytes(), sizes, wanted, fingerprint);
        assert_eq!(seen(&streamed), expected, "{round} {raw:?} {wanted:?}");
        if let Some(total) = streamed.total_lines {
            assert_eq!(Some(total), whole.total_lines, "{round} {raw:?} {wanted:?}");
        }
        assert!(streamed.total_lines.is_some() || streamed.more, "{round} {raw:?} {wanted:?}");
    }
}

#[test]
fn the_head_of_a_gigabyte_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut file = File::create(&path).unwrap();
    file.write_all("\u{feff}first\r\nsecond\r\n".as_bytes()).unwrap();
    file.write_all(&b"line\n".repeat(100_000)).unwrap();
    file.set_len(1 << 30).unwrap();
    let start = Instant::now();
    let lines = lines_of_file(&path, Wanted { first_line: 1, max_lines: 2, max_bytes: 100 }).unwrap();
    assert!(start.elapsed().as_millis() < 2_000);
    assert_eq!((lines.text.as_str(), lines.line_count, lines.total_lines), ("first\nsecond\n", 2, None));
    assert_eq!((lines.truncated, lines.more, lines.fingerprint.hash), (false, true, None));
    let later = lines_of_file(&path, Wanted { first_line: 90_000, max_lines: 1, max_bytes: 100 }).unwrap();
    assert_eq!(later.text, "line\n");
}

#[test]
fn a_line_without_end_is_cut_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("minified");
    fs::write(&path, "ä€".repeat(2 << 20)).unwrap();
    let lines = lines_of_file(&path, Wanted { first_line: 1, max_lines: 10, max_bytes: 11 }).unwrap();
    assert_eq!((lines.text.as_str(), lines.line_count, lines.truncated, lines.more), ("ä€ä€", 1, true, true));
    let beyond = lines_of_file(&path, Wanted { first_line: 2, max_lines: 10, max_bytes: 10 }).unwrap();
    assert_eq!((beyond.text.as_str(), beyond.total_lines, beyond.more), ("", Some(1), false));
}

#[test]
fn large_files_that_are_no_text_are_refused_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let wanted = Wanted { first_line: 1, max_lines: 1, max_bytes: 100 };
    let mut file = File::create(&path).unwrap();
    file.set_len(16 << 20).unwrap();
    assert_eq!(
        lines_of_file(&path, wanted).unwrap_err().to_string(),
        "this is not a text file: it contains NUL bytes"
    );
    file.rewind().unwrap();
    file.write_all(b"gr\xfc\xdfe\n").unwrap();
    file.write_all(&vec![b'a'; 1 << 20]).unwrap();
    assert_eq!(lines_of_file(&path, wanted).unwrap().text, "grüße\n");
}
