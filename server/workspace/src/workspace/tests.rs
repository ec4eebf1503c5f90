use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { workspace: Workspace::new(vec![folder.path().to_owned()]), folder }
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

#[test]
fn a_workspace_goes_everywhere() {
    fn goes_everywhere<T: Clone + Send + Sync + 'static>() {}
    goes_everywhere::<Workspace>();
    fn goes_to_any_thread(_: impl Future + Send) {}
    let workspace = Workspace::new(Vec::new());
    goes_to_any_thread(workspace.write(Path::new("a"), "", crate::Basis::NewFile, ""));
}

#[test]
fn an_open_buffer_hides_the_file_behind_it() {
    let fixture = Fixture::new();
    let path = fixture.file("a", "disk\n");
    assert!(!fixture.workspace.read(&path).unwrap().from_buffer);
    fixture.workspace.open_document(&path, "text", 1, "\u{feff}buffer\r\nunsaved\r");
    let read = fixture.workspace.read(&path).unwrap();
    assert_eq!((read.text.as_str(), read.from_buffer), ("buffer\nunsaved\n", true));
    assert_eq!(fixture.workspace.read_lines(&path, 2, 5, 100).unwrap().text, "unsaved\n");
    assert_eq!(fixture.workspace.document_text(&path).unwrap(), "\u{feff}buffer\r\nunsaved\r");
    fixture.workspace.close_document(&path);
    assert_eq!(fixture.workspace.read(&path).unwrap().text, "disk\n");
}

#[test]
fn every_path_to_an_open_file_leads_to_its_buffer() {
    let fixture = Fixture::new();
    let path = fixture.file("a", "disk");
    let link = fixture.folder.path().join("link");
    symlink(fixture.folder.path(), &link).unwrap();
    fixture.workspace.open_document(&path, "text", 1, "buffer");
    fixture.workspace.open_document(&link.join("new"), "text", 1, "not yet on disk");
    let read = |path: PathBuf| fixture.workspace.read(&path).unwrap().text;
    assert_eq!(read(link.join("a")), "buffer");
    assert_eq!(read(link.join("../").join(fixture.folder.path().file_name().unwrap()).join("a")), "buffer");
    assert_eq!(read(fixture.folder.path().join("new")), "not yet on disk");
    assert_eq!(read(fixture.file("b", "other")), "other");
}

#[test]
fn unchanged_is_a_matter_of_text() {
    let fixture = Fixture::new();
    let path = fixture.file("a", "one\r\ntwo\r\n");
    let seen = fixture.workspace.read(&path).unwrap().fingerprint;
    let unchanged = || fixture.workspace.unchanged_since(&path, &seen).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    assert!(unchanged(), "touched");
    fixture.workspace.open_document(&path, "text", 1, "one\ntwo\n");
    assert!(unchanged(), "opened");
    let change = ContentChange { range: None, text: "one\n".to_owned() };
    fixture.workspace.change_document(&path, 2, &[change]).unwrap();
    assert!(!unchanged(), "edited");
    fixture.workspace.close_document(&path);
    assert!(unchanged(), "closed without saving");
    fixture.file("a", "one\r\ntwO\r\n");
    assert!(!unchanged(), "same size");
    fixture.file("a", "\0");
    assert!(!unchanged(), "no text any more");
    fs::remove_file(&path).unwrap();
    assert_eq!(fixture.workspace.unchanged_since(&path, &seen), Err(ReadError::NotFound));
}

#[test]
fn what_was_read_of_a_buffer_holds_for_the_saved_file() {
    let fixture = Fixture::new();
    let path = fixture.file("a", "old\n");
    fixture.workspace.open_document(&path, "text", 1, "new\n");
    let seen = fixture.workspace.read_lines(&path, 1, 1, 100).unwrap().fingerprint;
    assert_eq!(seen, fixture.workspace.fingerprint(&path).unwrap());
    fixture.workspace.close_document(&path);
    assert!(!fixture.workspace.unchanged_since(&path, &seen).unwrap());
    fixture.file("a", "new\n");
    assert!(fixture.workspace.unchanged_since(&path, &seen).unwrap());
}

#[test]
fn a_part_read_before_opening_is_unchanged_while_file_and_buffer_agree() {
    let fixture = Fixture::new();
    let path = fixture.file("a", "text\n");
    let seen = fixture.workspace.fingerprint(&path).unwrap();
    assert_eq!(seen.hash, None);
    assert!(fixture.workspace.unchanged_since(&path, &seen).unwrap());
    fixture.workspace.open_document(&path, "text", 1, "text\n");
    assert!(fixture.workspace.unchanged_since(&path, &seen).unwrap());
    fixture.workspace.open_document(&path, "text", 2, "other\n");
    assert!(!fixture.workspace.unchanged_since(&path, &seen).unwrap());
}

#[test]
fn a_panic_under_the_lock_does_not_end_the_workspace() {
    let fixture = Fixture::new();
    let path = fixture.file("a", "text\n");
    let workspace = fixture.workspace.clone();
    let panicked = std::thread::spawn(move || {
        let _state = workspace.state();
        panic!("under the lock");
    });
    assert!(panicked.join().is_err());
    assert_eq!(fixture.workspace.read(&path).unwrap().text, "text\n");
}

#[test]
fn roots_and_encoding_can_change() {
    let workspace = Workspace::new(vec![PathBuf::from("/a")]);
    assert_eq!((workspace.roots(), workspace.encoding()), (vec![PathBuf::from("/a")], Encoding::Utf16));
    workspace.set_roots(vec![PathBuf::from("/b")]);
    workspace.attach_editor(Arc::new(NoEditor), Encoding::Utf8);
    assert_eq!((workspace.roots(), workspace.encoding()), (vec![PathBuf::from("/b")], Encoding::Utf8));
}
