use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use super::*;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("a/checkpoints"));
    (folder, store)
}

#[test]
fn a_content_is_kept_once_and_for_us_only() {
    let (_folder, store) = store();
    assert_eq!(store.size().unwrap(), Size::default());
    let first = store.put(b"hello").unwrap();
    assert_eq!(store.put(b"hello").unwrap(), first);
    store.put(b"").unwrap();
    assert_eq!(store.get(first).unwrap(), b"hello");
    assert_eq!(store.size().unwrap(), Size { blobs: 2, bytes: 5 });
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let path = store.path_of(first);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(store.folder()), 0o700);
}

#[test]
fn few_and_many_blobs_are_synced() {
    let (_folder, store) = store();
    store.sync().unwrap();
    store.put(b"one").unwrap();
    store.sync().unwrap();
    for number in 0..=SYNC_EACH {
        store.put(number.to_string().as_bytes()).unwrap();
    }
    store.sync().unwrap();
    assert!(store.unsynced().is_empty());
}

#[test]
fn a_damaged_copy_is_never_handed_out() {
    let (_folder, store) = store();
    let blob = store.put(b"hello").unwrap();
    std::fs::write(store.path_of(blob), "jello").unwrap();
    assert_eq!(store.get(blob).unwrap_err().kind(), io::ErrorKind::InvalidData);
    // As after a power cut.
    std::fs::write(store.path_of(blob), "").unwrap();
    assert_eq!(store.get(blob).unwrap_err().kind(), io::ErrorKind::InvalidData);
    store.put(b"hello").unwrap();
    assert_eq!(store.get(blob).unwrap(), b"hello");
}

#[test]
fn only_old_unneeded_blobs_are_collected() {
    let (_folder, store) = store();
    let (needed, old, renewed) =
        (store.put(b"needed").unwrap(), store.put(b"old").unwrap(), store.put(b"renewed").unwrap());
    let (temporary, _) = store.create_temporary().unwrap();
    let now = SystemTime::now();
    for path in [store.path_of(needed), store.path_of(old), store.path_of(renewed), temporary.clone()] {
        File::open(path).unwrap().set_modified(now - MONTH - Duration::from_secs(1)).unwrap();
    }
    store.put(b"renewed").unwrap();
    let collected = store.collect([needed], MONTH, now).unwrap();
    assert_eq!(collected.removed, Size { blobs: 2, bytes: 3 });
    assert_eq!(collected.kept, Size { blobs: 2, bytes: 13 });
    assert!(store.get(old).is_err());
    assert!(!temporary.exists());
    assert_eq!(store.get(needed).unwrap(), b"needed");
    assert_eq!(store.get(renewed).unwrap(), b"renewed");
    assert_eq!(store.collect([], Duration::ZERO, now + MONTH).unwrap().removed.blobs, 2);
}
