use std::{cell::Cell, fs};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::{
    Block, Message, Record, Stamp, Transcript,
    record::transcript_path,
    sample::{assistant, message, result, uuid},
};

struct Home {
    home: TempDir,
}

fn session(number: u32) -> SessionId {
    SessionId::parse(&format!("3f0c7d0e-6f1d-4f4e-9a55-{number:012x}")).unwrap()
}

impl Home {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    fn directory(&self) -> PathBuf {
        self.home.path().join("projects")
    }

    fn cache(&self) -> PathBuf {
        self.home.path().join("cache")
    }

    fn path(&self, number: u32) -> PathBuf {
        transcript_path(&self.directory(), &session(number))
    }

    fn index(&self) -> SearchIndex {
        SearchIndex::with_threshold(&self.cache(), &[self.directory()], 16 << 10)
    }

    /// Appends messages to session `number`; each message's number is also its time.
    fn write(&self, number: u32, messages: &[Arc<Message>]) {
        let stamp = Stamp {
            session: session(number),
            cwd: "/a".into(),
            version: "0.1.0".to_owned(),
            git_branch: None,
        };
        let transcript = Transcript::create(&self.directory(), stamp);
        for message in messages {
            transcript.append(&Record::Message(Arc::clone(message))).unwrap();
        }
    }

    /// A session so long that it is worth a segment.
    fn write_long(&self, number: u32, first: u32) {
        let text = "lorem ipsum dolor sit amet ".repeat(10);
        let messages: Vec<_> = (first..first + 60).map(|n| user(n, &format!("{text} number{n}"))).collect();
        self.write(number, &messages);
    }

    fn segments(&self) -> Vec<PathBuf> {
        let folder = folder_for(&self.cache(), &self.directory());
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "segment")).collect()
    }
}

fn user(number: u32, text: &str) -> Arc<Message> {
    message(number, crate::Body::User { content: vec![Block::text(text)] })
}

fn never() -> bool {
    false
}

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), limit: 100, ..Query::default() }
}

/// Session, message, who, what.
fn check(index: &SearchIndex, query: &Query, expected: Expect) {
    let lines: Vec<String> = index
        .search(query)
        .iter()
        .map(|hit| {
            let session = hit.session.as_str().rsplit('-').next().unwrap().trim_start_matches('0');
            let message = hit.message.as_u128() & 0xffff;
            format!("{session}/{message} {}: {}\n", hit.role.name(), hit.snippet)
        })
        .collect();
    expected.assert_eq(&lines.concat());
}

fn small() -> Home {
    let home = Home::new();
    home.write(
        1,
        &[
            user(1, "Why does the carry stop at column 20?"),
            assistant(2, "a", vec![Block::text("Because of the Größe of COLUMNS.")]),
            result(3, "t1"),
            user(9, "Widen the carry"),
        ],
    );
    home.write(2, &[user(5, "An engine,\n\tand its carry"), user(6, "nothing")]);
    home
}

#[test]
fn hits_are_newest_first_with_their_place() {
    let home = small();
    let hits = home.index().search(&query("carry"));
    assert_eq!(hits.len(), 3);
    assert_eq!(hits[0].timestamp, Timestamp::from_second(1_750_000_009).unwrap());
    check(
        &home.index(),
        &query("carry"),
        expect![[r#"
            1/9 user: Widen the carry
            2/5 user: An engine, and its carry
            1/1 user: Why does the carry stop at column 20?
        "#]],
    );
}

#[test]
fn every_condition_counts() {
    let home = small();
    let index = home.index();
    let at = |number: i64| Some(Timestamp::from_second(1_750_000_000 + number).unwrap());
    let count = |query: Query| index.search(&query).len();
    assert_eq!(count(query("grosse")), 1);
    assert_eq!(count(query("result")), 1);
    assert_eq!(count(query("carry engine")), 1);
    assert_eq!(count(query("carry nothing")), 0);
    assert_eq!(count(query("\"the carry\"")), 2);
    assert_eq!(count(query("col")), 2);
    assert_eq!(count(query("")), 6);
    assert_eq!(count(Query { limit: 2, ..query("") }), 2);
    assert_eq!(count(Query { since: at(5), ..query("carry") }), 2);
    assert_eq!(count(Query { until: at(5), ..query("carry") }), 2);
    assert_eq!(count(Query { since: at(5), until: at(5), ..query("carry") }), 1);
    assert_eq!(count(Query { role: Some(Speaker::Assistant), ..query("") }), 1);
    assert_eq!(count(Query { role: Some(Speaker::Tool), ..query("") }), 1);
    assert_eq!(count(Query { session: Some(session(2)), ..query("carry") }), 1);
    assert_eq!(count(Query { message: Some(uuid(9)), ..query("") }), 1);
    assert_eq!(count(Query { parent: Some(uuid(1)), ..query("") }), 1);
}

/// Whatever the state of the index, the same is found.
fn same_with_index(home: &Home, queries: &[Query]) {
    let index = home.index();
    let plain: Vec<_> = queries.iter().map(|query| index.search(query)).collect();
    index.refresh(&never).unwrap();
    assert!(!home.segments().is_empty(), "there is an index now");
    let indexed: Vec<_> = queries.iter().map(|query| index.search(query)).collect();
    assert_eq!(indexed, plain);
    let reopened: Vec<_> = queries.iter().map(|query| home.index().search(query)).collect();
    assert_eq!(reopened, plain);
}

fn queries() -> Vec<Query> {
    let at = |number: i64| Some(Timestamp::from_second(1_750_000_000 + number).unwrap());
    vec![
        query("carry"),
        query("number12"),
        query("number1"),
        query("\"amet number15\""),
        query("\"number15 amet\""),
        query("zzz"),
        query("lor"),
        query("ipsum lorem numb"),
        query(""),
        Query { limit: 3, ..query("lorem") },
        Query { since: at(20), until: at(30), ..query("lorem") },
        Query { session: Some(session(3)), ..query("lorem") },
        Query { role: Some(Speaker::Tool), ..query("") },
        Query { message: Some(uuid(17)), ..query("lorem") },
        Query { message: Some(uuid(17)), ..query("") },
        Query { parent: Some(uuid(17)), ..query("") },
        Query { message: Some(uuid(18)), parent: Some(uuid(17)), ..query("lorem") },
        Query { message: Some(uuid(17)), parent: Some(uuid(17)), ..query("") },
    ]
}

#[test]
fn an_index_changes_nothing_but_the_time_it_takes() {
    let home = small();
    home.write_long(3, 10);
    home.write_long(4, 40);
    same_with_index(&home, &queries());
}

#[test]
fn what_is_appended_is_found_at_once_and_indexed_when_it_is_much() {
    let home = small();
    home.write_long(3, 10);
    let index = home.index();
    index.refresh(&never).unwrap();
    let before = home.segments();
    home.write(3, &[user(90, "freshly appended")]);
    assert_eq!(index.search(&query("freshly")).len(), 1);
    index.refresh(&never).unwrap();
    assert_eq!(home.segments(), before, "so little stays where it is");
    home.write_long(3, 100);
    index.refresh(&never).unwrap();
    assert_eq!(home.segments().len(), 2);
    assert_eq!(index.search(&query("freshly")).len(), 1);
    assert_eq!(index.search(&query("lorem")).len(), 100);
    assert_eq!(index.search(&query("number150")).len(), 1);
}

#[test]
fn sessions_that_are_gone_or_written_anew_are_not_found_as_they_were() {
    let home = small();
    home.write_long(3, 10);
    home.write_long(4, 200);
    let index = home.index();
    index.refresh(&never).unwrap();
    fs::remove_file(home.path(3)).unwrap();
    fs::remove_file(home.path(4)).unwrap();
    assert_eq!(index.search(&query("lorem")), []);
    home.write_long(4, 300);
    assert_eq!(index.search(&query("number300")).len(), 1);
    assert_eq!(index.search(&query("number200")), []);
    index.refresh(&never).unwrap();
    assert_eq!(index.search(&query("number300")).len(), 1);
    assert_eq!(index.search(&query("number200")), []);
    assert_eq!(index.search(&query("carry")).len(), 3);
    same_with_index(&home, &queries());
}

#[test]
fn a_damaged_index_is_made_again_silently() {
    let home = small();
    home.write_long(3, 10);
    let expected: Vec<_> = queries().iter().map(|query| home.index().search(query)).collect();
    home.index().refresh(&never).unwrap();
    let folder = folder_for(&home.cache(), &home.directory());
    let files = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let files: Vec<(PathBuf, Vec<u8>)> = files
        .filter(|path| !path.ends_with("lock"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    assert_eq!(files.len(), 2, "a manifest and a segment");
    let found =
        |index: &SearchIndex| -> Vec<_> { queries().iter().map(|query| index.search(query)).collect() };
    let mut damages = 0;
    for (path, sound) in &files {
        let step = (sound.len() / 20).max(1);
        for at in (0..sound.len()).step_by(step) {
            for kind in 0..3 {
                let mut bytes = sound.clone();
                match kind {
                    0 => bytes[at] ^= 0x55,
                    1 => bytes.truncate(at),
                    _ => bytes[at..].fill(0),
                }
                fs::write(path, &bytes).unwrap();
                assert_eq!(found(&home.index()), expected, "{path:?} at {at}, {kind}");
                damages += 1;
            }
        }
        let index = home.index();
        found(&index);
        index.refresh(&never).unwrap();
        assert_eq!(found(&index), expected);
        assert_eq!(found(&home.index()), expected);
        for (path, sound) in &files {
            fs::write(path, sound).unwrap();
        }
    }
    assert!(damages > 100, "only {damages}");
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let home = small();
    home.write_long(3, 10);
    fs::write(home.cache(), "in the way").unwrap();
    let index = home.index();
    assert!(index.refresh(&never).is_err());
    assert_eq!(index.search(&query("number12")).len(), 1);
}

#[test]
fn a_build_that_is_stopped_goes_on_later() {
    let home = Home::new();
    for number in 1..=6 {
        home.write_long(number, number * 100);
    }
    let asked = Cell::new(0);
    let index = home.index();
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 4
    };
    index.refresh(&stop).unwrap();
    assert_eq!(index.search(&query("lorem")).len(), 100);
    assert_eq!(index.search(&query("number630")).len(), 1);
    let some = home.segments();
    index.refresh(&never).unwrap();
    assert_ne!(home.segments(), some);
    same_with_index(&home, &queries());
}

#[test]
fn many_segments_become_few() {
    let home = Home::new();
    let index = home.index();
    for number in 1..=12 {
        home.write_long(number, number * 100);
        index.refresh(&never).unwrap();
    }
    assert!(home.segments().len() <= 8, "{:?}", home.segments());
    let all = index.search(&Query { limit: 1_000, ..query("lorem") });
    assert_eq!(all.len(), 720);
    assert!(all.is_sorted_by(|newer, older| newer.timestamp >= older.timestamp));
    for number in 1..=12 {
        assert_eq!(index.search(&query(&format!("number{}", number * 100 + 7))).len(), 1);
    }
    let plain = SearchIndex::open(&home.home.path().join("other"), &[home.directory()]);
    for query in queries() {
        assert_eq!(index.search(&query), plain.search(&query), "{query:?}");
    }
}

#[test]
fn two_processes_share_an_index() {
    let home = small();
    home.write_long(3, 10);
    let (one, other) = (home.index(), home.index());
    assert_eq!(other.search(&query("number12")).len(), 1);
    one.refresh(&never).unwrap();
    let segments = home.segments();
    other.refresh(&never).unwrap();
    assert_eq!(home.segments(), segments, "it was done");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let home = &home;
            scope.spawn(move || {
                let index = home.index();
                home.write_long(10 + number, 1_000 + number * 100);
                index.refresh(&never).unwrap();
                assert_eq!(index.search(&query(&format!("number{}", 1_000 + number * 100))).len(), 1);
            });
        }
    });
    one.refresh(&never).unwrap();
    assert_eq!(other.search(&Query { limit: 1_000, ..query("lorem") }).len(), 300);
}

#[test]
fn a_fork_does_not_double_what_was_said() {
    let home = small();
    let stamp =
        Stamp { session: session(7), cwd: "/a".into(), version: "0.1.0".to_owned(), git_branch: None };
    crate::fork(&home.directory(), &session(1), None, &stamp).unwrap();
    assert_eq!(home.index().search(&query("carry")).len(), 3);
    let in_fork = Query { session: Some(session(7)), ..query("carry") };
    assert_eq!(home.index().search(&in_fork).len(), 2);
}

#[test]
fn messages_in_damaged_lines_are_found() {
    let home = small();
    let mut bytes = fs::read(home.path(1)).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    bytes.remove(end);
    bytes.splice(0..0, *b"\0\0\0");
    bytes.extend_from_slice(b"{\"type\":\"user\",\"torn");
    fs::write(home.path(1), bytes).unwrap();
    assert_eq!(home.index().search(&query("carry")).len(), 3);
    home.write_long(3, 10);
    same_with_index(&home, &queries());
}

#[test]
fn a_message_is_found_by_its_id_or_its_parents_from_the_index_alone() {
    let home = Home::new();
    for number in 1..=40 {
        home.write_long(number, number * 100);
    }
    home.index().refresh(&never).unwrap();
    let segments: Vec<Segment> = home.segments().iter().map(|path| Segment::open(path).unwrap()).collect();
    let documents: usize = segments.iter().map(|segment| segment.keys().len()).sum();
    assert_eq!(documents, 40 * 60, "more than are looked at in one go");
    let candidates = |message: Option<Uuid>, parent: Option<Uuid>| {
        let mut found = 0;
        for segment in &segments {
            let mut set = Set::all(segment.keys().len());
            segment.narrow(&mut set, message, parent).unwrap();
            found += std::iter::from_fn(|| set.pop()).count();
        }
        found
    };
    assert_eq!(candidates(Some(uuid(3_117)), None), 1);
    assert_eq!(candidates(None, Some(uuid(3_117))), 1);
    assert_eq!(candidates(Some(uuid(3_118)), Some(uuid(3_117))), 1);
    assert_eq!(candidates(Some(uuid(3_118)), Some(uuid(3_118))), 0);
    assert_eq!(candidates(Some(uuid(99_999)), None), 0);
    assert_eq!(candidates(None, None), documents);
    let found = home.index().search(&Query { parent: Some(uuid(3_117)), ..Query::default() });
    assert_eq!(found.iter().map(|hit| hit.message).collect::<Vec<_>>(), [uuid(3_118)]);
}

#[test]
fn an_index_that_was_not_written_for_long_takes_up_little_changes_too() {
    let home = small();
    home.write_long(3, 10);
    let index = home.index();
    index.refresh(&never).unwrap();
    let manifest = folder_for(&home.cache(), &home.directory()).join("manifest");
    let written = || fs::metadata(&manifest).unwrap().modified().unwrap();
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    let first = written();
    assert_eq!(index.refresh_stale(first + day).unwrap(), 0, "nothing was said since");
    home.write(3, &[user(90, "freshly appended")]);
    assert_eq!(index.refresh_stale(first - day).unwrap(), 0, "it is young");
    index.refresh(&never).unwrap();
    assert_eq!(written(), first, "so little is not worth a segment");
    assert_eq!(index.refresh_stale(first + day).unwrap(), 1);
    assert_eq!(index.refresh_stale(written() + day).unwrap(), 0, "it knows everything now");
    assert_eq!(home.index().search(&query("freshly")).len(), 1);
    let none = SearchIndex::open(&home.home.path().join("other"), &[home.directory()]);
    assert_eq!(none.refresh_stale(first + day).unwrap(), 0, "where there is none, none is stale");
}

#[test]
fn what_is_kept_for_directories_that_are_gone_is_removed() {
    let home = small();
    home.write_long(3, 10);
    home.index().refresh(&never).unwrap();
    let folder = folder_for(&home.cache(), &home.directory());
    let written = fs::metadata(&folder).unwrap().modified().unwrap();
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    let remove =
        |directories: &[PathBuf], before| SearchIndex::remove_unused(&home.cache(), directories, before);
    assert_eq!(remove(&[home.directory()], written + day), 0);
    assert_eq!(remove(&[], written - day), 0);
    fs::create_dir(home.cache().join("search/not-ours")).unwrap();
    assert_eq!(remove(&[], written + day), 1);
    assert!(!folder.exists() && home.cache().join("search/not-ours").exists());
}
