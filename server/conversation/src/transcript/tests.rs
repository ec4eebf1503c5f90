use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use super::*;
use crate::{SessionId, Strategy, list, load, sample::user};

const SESSION: &str = "3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11";

fn stamp() -> Stamp {
    let session = SessionId::parse(SESSION).unwrap();
    Stamp { session, cwd: "/home/ada".into(), version: "0.1.0".to_owned(), git_branch: None }
}

fn message(number: u32, text: &str) -> Record {
    Record::Message(user(number, text))
}

#[test]
fn nothing_is_on_disk_before_the_first_append_and_then_it_is_private() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("projects/-home-ada");
    let transcript = Transcript::create(&directory, stamp());
    transcript.sync().unwrap();
    assert!(!directory.exists());
    transcript.append(&message(1, "hello")).unwrap();
    transcript.sync().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(transcript.path()), mode(&directory)), (0o600, 0o700));
}

#[test]
fn only_one_may_write() {
    let directory = tempfile::tempdir().unwrap();
    let first = Transcript::create(directory.path(), stamp());
    first.append(&message(1, "hello")).unwrap();
    assert!(matches!(Transcript::open(directory.path(), stamp()), Err(TranscriptError::Busy)));
    let second = Transcript::create(directory.path(), stamp());
    assert!(matches!(second.append(&message(2, "me too")), Err(TranscriptError::Busy)));
    drop(first);
    Transcript::open(directory.path(), stamp()).unwrap();
}

#[test]
fn a_session_that_does_not_exist_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Transcript::open(directory.path(), stamp()), Err(TranscriptError::Io(_))));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn opening_a_session_changes_nothing_and_it_can_be_loaded_then() {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(directory.path(), stamp());
    transcript.append(&message(1, "hello")).unwrap();
    let path = transcript.path().to_owned();
    drop(transcript);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"torn");
    fs::write(&path, &bytes).unwrap();

    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    let loaded = load(directory.path(), &stamp().session, None, None).unwrap();
    assert_eq!(loaded.thread.len(), 1);
    transcript.sync().unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// A transcript whose directory cannot be made, and what is in the way.
fn without_directory(home: &Path) -> (Transcript, PathBuf) {
    let directory = home.join("projects");
    fs::write(&directory, "in the way").unwrap();
    (Transcript::create(&directory, stamp()), directory)
}

#[test]
fn records_wait_until_the_file_can_be_made() {
    let home = tempfile::tempdir().unwrap();
    let (transcript, directory) = without_directory(home.path());
    transcript.sync().unwrap();
    assert!(matches!(transcript.append(&message(1, "one")), Err(TranscriptError::Io(_))));
    assert!(matches!(transcript.append(&Record::Title("Chosen".to_owned())), Err(TranscriptError::Io(_))));
    assert!(transcript.sync().is_err());
    fs::remove_file(&directory).unwrap();
    transcript.append(&message(2, "two")).unwrap();
    assert_eq!(transcript.lost(), 0);
    let loaded = load(&directory, &stamp().session, None, None).unwrap();
    assert_eq!((loaded.thread.len(), loaded.title.as_deref()), (2, Some("Chosen")));
    assert_eq!(loaded.repairs, Vec::<String>::new());
}

#[test]
fn a_sync_writes_what_waits() {
    let home = tempfile::tempdir().unwrap();
    let (transcript, directory) = without_directory(home.path());
    transcript.append(&message(1, "one")).unwrap_err();
    fs::remove_file(&directory).unwrap();
    transcript.sync().unwrap();
    assert_eq!(load(&directory, &stamp().session, None, None).unwrap().thread.len(), 1);
}

#[test]
fn what_could_not_be_kept_is_counted_for_good() {
    let home = tempfile::tempdir().unwrap();
    let (transcript, directory) = without_directory(home.path());
    let large = "x".repeat(5 << 20);
    assert!(matches!(transcript.append(&message(1, &large)), Err(TranscriptError::Io(_))));
    assert!(matches!(transcript.append(&message(2, &large)), Err(TranscriptError::Full)));
    fs::remove_file(&directory).unwrap();
    transcript.append(&message(3, "three")).unwrap();
    assert_eq!(transcript.lost(), 1);
    assert_eq!(load(&directory, &stamp().session, None, None).unwrap().thread.len(), 2);
}

#[test]
fn a_sync_under_way_holds_up_no_append() {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(directory.path(), stamp());
    transcript.append(&message(1, "one")).unwrap();
    let file = transcript.flushed_file().unwrap().unwrap();
    assert!(transcript.state.try_lock().is_ok(), "the disk is waited for without the lock");
    transcript.append(&message(2, "two")).unwrap();
    file.sync_data().unwrap();
}

#[test]
fn what_comes_after_a_torn_record_is_not_hidden_by_it() {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(directory.path(), stamp());
    transcript.append(&message(1, "one")).unwrap();
    let path = transcript.path().to_owned();
    drop(transcript);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"parentUuid\":\"to");
    fs::write(&path, bytes).unwrap();

    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&message(2, "two")).unwrap();
    let loaded = load(directory.path(), &stamp().session, None, None).unwrap();
    assert_eq!((loaded.thread.len(), loaded.strategy), (2, Strategy::Full));
    assert_eq!(loaded.repairs, ["1 damaged line was skipped (line 2)."]);
}

#[test]
fn title_and_cost_stay_in_sight_of_a_listing() {
    let directory = tempfile::tempdir().unwrap();
    let title = |transcript: &Transcript| {
        let path = transcript.path().parent().unwrap().to_owned();
        let summaries = list(&[path]);
        (summaries[0].title.clone(), summaries[0].cost_usd)
    };
    let transcript = Transcript::create(directory.path(), stamp());
    transcript.append(&message(1, "hello")).unwrap();
    transcript.append(&Record::Title("Chosen".to_owned())).unwrap();
    let mut cost = crate::CostState::default();
    cost.models.insert("a".to_owned(), crate::ModelCost { usage: Default::default(), cost_usd: 1.5 });
    transcript.append(&Record::Cost(cost)).unwrap();
    for number in 2..40 {
        transcript.append(&message(number, &"x".repeat(10_000))).unwrap();
    }
    transcript.append(&message(40, &"x".repeat(300_000))).unwrap();
    assert_eq!(title(&transcript), ("Chosen".to_owned(), Some(1.5)));
    drop(transcript);

    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&message(41, &"x".repeat(300_000))).unwrap();
    assert_eq!(title(&transcript), ("Chosen".to_owned(), Some(1.5)));
    assert_eq!(load(directory.path(), &stamp().session, None, None).unwrap().thread.len(), 41);
}

#[test]
fn a_generated_title_stays_in_sight_and_gives_way_to_the_users() {
    let directory = tempfile::tempdir().unwrap();
    let titles = || {
        let loaded = load(directory.path(), &stamp().session, None, None).unwrap();
        let listed = list(&[directory.path().to_owned()]).remove(0).title;
        (listed, loaded.title.unwrap_or_default(), loaded.title_is_given)
    };
    let transcript = Transcript::create(directory.path(), stamp());
    transcript.append(&message(1, "hello")).unwrap();
    transcript.append(&Record::GeneratedTitle("Made".to_owned())).unwrap();
    transcript.append(&message(2, &"x".repeat(300_000))).unwrap();
    drop(transcript);
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&message(3, &"x".repeat(300_000))).unwrap();
    assert_eq!(titles(), ("Made".to_owned(), "Made".to_owned(), false));
    transcript.append(&Record::Title("Chosen".to_owned())).unwrap();
    transcript.append(&Record::GeneratedTitle("Made anew".to_owned())).unwrap();
    assert_eq!(titles(), ("Chosen".to_owned(), "Chosen".to_owned(), true));
}

#[test]
fn appending_and_syncing_from_many_threads_keeps_lines_whole() {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Arc::new(Transcript::create(directory.path(), stamp()));
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let transcript = Arc::clone(&transcript);
            scope.spawn(move || {
                for number in 1..=50 {
                    transcript.append(&message(thread * 50 + number, &"y".repeat(500))).unwrap();
                    transcript.sync().unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(transcript.path()).unwrap();
    assert_eq!(text.lines().filter(|line| crate::decode(line.as_bytes()).is_ok()).count(), 200);
}

#[test]
fn a_released_session_can_be_opened_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let stamp = stamp();
    let first = Transcript::create(folder.path(), stamp.clone());
    first.append(&Record::Title("one".to_owned())).unwrap();
    assert!(matches!(Transcript::open(folder.path(), stamp.clone()), Err(TranscriptError::Busy)));
    first.release().unwrap();
    Transcript::open(folder.path(), stamp).unwrap();
}

fn texts(directory: &Path) -> Vec<String> {
    let loaded = load(directory, &stamp().session, None, None).unwrap();
    assert_eq!(loaded.repairs, Vec::<String>::new());
    let text = |message: &Arc<crate::Message>| match &message.body {
        crate::Body::User { content } => match content.as_slice() {
            [crate::Block::Text { text }] => text.clone(),
            _ => panic!(),
        },
        _ => panic!(),
    };
    loaded.thread.iter().map(text).collect()
}

#[test]
fn a_deleted_transcript_is_written_again() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("projects");
    let transcript = Transcript::create(&directory, stamp());
    transcript.append(&message(1, "one")).unwrap();
    fs::remove_file(transcript.path()).unwrap();
    transcript.append(&message(2, "two")).unwrap();
    assert_eq!(transcript.take_incident(), Some(Incident::Restored));
    assert_eq!(transcript.take_incident(), None);
    assert_eq!(texts(&directory), ["one", "two"]);
    assert!(
        matches!(Transcript::open(&directory, stamp()), Err(TranscriptError::Busy)),
        "it is locked again"
    );

    fs::remove_dir_all(&directory).unwrap();
    transcript.sync().unwrap();
    assert_eq!(transcript.take_incident(), Some(Incident::Restored));
    assert_eq!(texts(&directory), ["one", "two"]);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left beside it");
    let mode = fs::metadata(transcript.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn a_transcript_that_cannot_be_written_again_waits_until_it_can() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("projects");
    let transcript = Transcript::create(&directory, stamp());
    transcript.append(&message(1, "one")).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    fs::write(&directory, "in the way").unwrap();
    assert!(matches!(transcript.append(&message(2, "two")), Err(TranscriptError::Gone(_))));
    assert!(matches!(transcript.append(&message(3, "three")), Err(TranscriptError::Gone(_))));
    assert!(transcript.sync().is_err());
    fs::remove_file(&directory).unwrap();
    transcript.append(&message(4, "four")).unwrap();
    assert_eq!(texts(&directory), ["one", "two", "three", "four"]);
}

#[test]
fn a_file_in_the_place_of_the_transcript_gets_what_it_lacks() {
    let home = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(home.path(), stamp());
    transcript.append(&message(1, "one")).unwrap();
    let old = fs::read(transcript.path()).unwrap();
    transcript.append(&message(2, "two")).unwrap();
    // An older copy comes back, as from a backup.
    fs::write(home.path().join("copy"), old).unwrap();
    fs::rename(home.path().join("copy"), transcript.path()).unwrap();
    transcript.append(&message(3, "three")).unwrap();
    assert_eq!(transcript.take_incident(), Some(Incident::Rejoined));
    assert_eq!(texts(home.path()), ["one", "two", "three"]);
    transcript.append(&message(4, "four")).unwrap();
    assert_eq!(transcript.take_incident(), None);
    assert_eq!(texts(home.path()), ["one", "two", "three", "four"]);
}

#[test]
fn a_file_that_another_process_holds_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(home.path(), stamp());
    transcript.append(&message(1, "one")).unwrap();
    fs::remove_file(transcript.path()).unwrap();
    let other = Transcript::create(home.path(), stamp());
    other.append(&message(9, "another")).unwrap();
    assert!(matches!(transcript.append(&message(2, "two")), Err(TranscriptError::Gone(_))));
    assert_eq!(fs::read_to_string(other.path()).unwrap().lines().count(), 1);
    drop(other);
    transcript.append(&message(3, "three")).unwrap();
    assert_eq!(fs::read_to_string(transcript.path()).unwrap().lines().count(), 4);
}

#[test]
fn a_moved_transcript_goes_on_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(home.path(), stamp());
    transcript.append(&message(1, "one")).unwrap();
    let trash = home.path().join(".trash");
    fs::rename(transcript.path(), &trash).unwrap();
    transcript.append(&message(2, "two")).unwrap();
    transcript.sync().unwrap();
    assert_eq!((transcript.take_incident(), transcript.path().exists()), (None, false));
    assert_eq!(fs::read_to_string(trash).unwrap().lines().count(), 2);
}

#[test]
fn a_shortened_transcript_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(home.path(), stamp());
    transcript.append(&message(1, "one")).unwrap();
    File::options().write(true).open(transcript.path()).unwrap().set_len(10).unwrap();
    transcript.append(&message(2, "two")).unwrap();
    assert_eq!(transcript.take_incident(), Some(Incident::Shortened));
    transcript.append(&message(3, "three")).unwrap();
    assert_eq!(transcript.take_incident(), None);
    let loaded = load(home.path(), &stamp().session, None, None).unwrap();
    assert_eq!((loaded.thread.len(), loaded.repairs.len()), (2, 2), "{:?}", loaded.repairs);
}

#[test]
fn the_number_of_branches_stays_in_sight_of_a_listing() {
    let home = tempfile::tempdir().unwrap();
    let branches = || list(&[home.path().to_owned()])[0].branches;
    let transcript = Transcript::create(home.path(), stamp());
    for number in 1..=3 {
        transcript.append(&message(number, "x")).unwrap();
    }
    assert_eq!(branches(), 1);
    transcript.append(&Record::Head { uuid: Some(crate::sample::uuid(1)) }).unwrap();
    assert_eq!(branches(), 2);
    let mut other = crate::Message::clone(&user(4, "another way"));
    other.parent = Some(crate::sample::uuid(1));
    transcript.append(&Record::Message(Arc::new(other))).unwrap();
    for number in 5..9 {
        transcript.append(&message(number, &"x".repeat(50_000))).unwrap();
    }
    assert_eq!(branches(), 2);
    drop(transcript);
    let transcript = Transcript::open(home.path(), stamp()).unwrap();
    transcript.append(&message(9, &"x".repeat(300_000))).unwrap();
    transcript.append(&message(10, "x")).unwrap();
    assert_eq!(branches(), 2);
    transcript.append(&Record::Head { uuid: None }).unwrap();
    assert_eq!(branches(), 3);
}
