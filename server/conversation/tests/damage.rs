//! Damaged transcripts of every kind: whatever is intact is found, whatever is lost is told, and nothing hangs.

#![expect(clippy::unwrap_used, reason = "a failure in a test should end it")]

use std::{collections::HashSet, fs, path::Path, sync::Arc};

use conversation::{
    Block, Body, Flags, ForkedFrom, Loaded, Message, Record, SessionId, Stamp, StopReason, Transcript,
    decode, list, load, transcript_path,
};
use jiff::Timestamp;
use uuid::Uuid;

const MESSAGES: usize = 12;

fn session() -> SessionId {
    SessionId::parse("3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11").unwrap()
}

fn uuid(number: usize) -> Uuid {
    Uuid::from_u128(0x1111_0000_0000_4000_8000_0000_0000_0000 + number as u128)
}

fn message(number: usize) -> Message {
    let content =
        vec![Block::text(format!("text {number} \"quoted\" {{\"type\":\"x\"}} {}", "ö".repeat(number)))];
    let body = match number % 2 {
        1 => Body::User { content },
        _ => Body::Assistant {
            id: Some(format!("msg_{number}")),
            model: "claude".to_owned(),
            content,
            stop_reason: Some(StopReason::EndTurn),
            usage: None,
        },
    };
    Message {
        uuid: uuid(number),
        parent: (number > 1).then(|| uuid(number - 1)),
        timestamp: Timestamp::from_second(1_750_000_000 + number as i64).unwrap(),
        flags: Flags::default(),
        body,
    }
}

/// The lines of a sound transcript, each with its line break.
fn lines() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let stamp = Stamp { session: session(), cwd: "/a".into(), version: "0.1.0".to_owned(), git_branch: None };
    let transcript = Transcript::create(directory.path(), stamp);
    for number in 1..=MESSAGES {
        transcript.append(&Record::Message(Arc::new(message(number)))).unwrap();
    }
    let bytes = fs::read(transcript.path()).unwrap();
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

struct Damaged {
    directory: tempfile::TempDir,
    files: usize,
    intact: usize,
    reached: usize,
    /// The same for what is off the thread, which only another branch can lead to.
    beside: usize,
    beside_reached: usize,
}

impl Damaged {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            files: 0,
            intact: 0,
            reached: 0,
            beside: 0,
            beside_reached: 0,
        }
    }

    /// `intact` are the numbers of the messages that are whole in the file.
    fn check(&mut self, what: &str, bytes: &[u8], intact: impl IntoIterator<Item = usize>) {
        let path = transcript_path(self.directory.path(), &session());
        fs::write(&path, bytes).unwrap();
        let loaded = load(self.directory.path(), &session(), None, None).unwrap();
        let found: HashSet<Uuid> = loaded.thread.iter().map(|message| message.uuid).collect();
        let intact: Vec<usize> = intact.into_iter().collect();
        self.check_branches(what, &loaded, &found, bytes);
        let reached = intact.iter().filter(|number| found.contains(&uuid(**number))).count();
        assert!(
            reached == intact.len() || !loaded.repairs.is_empty(),
            "{what}: {reached} of {} and not a word",
            intact.len()
        );
        let lost = MESSAGES - intact.len();
        assert!(lost == 0 || !loaded.repairs.is_empty(), "{what}: {lost} records are gone and not a word");
        assert!(!loaded.thread.is_empty() || intact.is_empty(), "{what}: blank");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{what}: reading changed the file");
        assert_eq!(list(&[self.directory.path().to_owned()]).len(), 1, "{what}: not listed");
        self.files += 1;
        self.intact += intact.len();
        self.reached += reached;
    }
}

impl Damaged {
    /// In words, if it is as it has to be.
    fn outcome(&self) -> String {
        let Self { files, intact, reached, beside, beside_reached, .. } = self;
        assert!(*files >= 400, "only {files} files");
        assert!(*beside > 100, "only {beside} beside");
        assert!(reached * 1_000 >= intact * 999, "{reached} of {intact}");
        assert_eq!(beside_reached, beside, "out of reach");
        format!("{files} files, {reached} of {intact} intact records reached, and {beside} on other branches")
    }

    /// Every message that is whole in the file is on some branch.
    fn check_branches(&mut self, what: &str, loaded: &Loaded, found: &HashSet<Uuid>, bytes: &[u8]) {
        let mut anywhere = found.clone();
        for branch in loaded.branches.iter().filter(|branch| !branch.leaf.is_nil()) {
            let other = load(self.directory.path(), &session(), None, Some(branch.leaf)).unwrap();
            let current = other.branches.first().unwrap();
            assert!(current.current && current.leaf == branch.leaf, "{what}");
            anywhere.extend(other.thread.iter().map(|message| message.uuid));
        }
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(Record::Message(message)) = decode(line) else { continue };
            if !found.contains(&message.uuid) {
                self.beside += 1;
                self.beside_reached += usize::from(anywhere.contains(&message.uuid));
            }
        }
    }
}

fn all_but(missing: &[usize]) -> Vec<usize> {
    (1..=MESSAGES).filter(|number| !missing.contains(number)).collect()
}

#[test]
fn intact_records_are_reached_in_whatever_is_around_them() {
    let lines = lines();
    let whole = lines.concat();
    let mut damaged = Damaged::new();

    let last = lines.last().unwrap();
    for cut in 0..last.len() {
        let bytes = &whole[..whole.len() - last.len() + cut];
        let is_whole = cut + 1 == last.len();
        let intact = if is_whole { all_but(&[]) } else { all_but(&[MESSAGES]) };
        // Cut exactly between two records, nothing shows that there was another.
        if cut == 0 {
            continue;
        }
        damaged.check(&format!("cut after {cut} bytes of the last record"), bytes, intact);
    }

    for number in 1..=MESSAGES {
        let before = lines[..number - 1].concat();
        let after = lines[number..].concat();
        let line = &lines[number - 1];
        for run in [1, 511, 512, 4_096] {
            let nul = vec![0; run];
            damaged.check(
                "NUL run before a record",
                &[&before[..], &nul, line, &after].concat(),
                all_but(&[]),
            );
            let alone = [&before[..], &nul, b"\n", line, &after].concat();
            damaged.check("NUL run as a line", &alone, all_but(&[]));
        }
        let half = line.len() / 2;
        let torn = &line[..half];
        let zeroed = [torn, &vec![0; line.len() - half - 1], b"\n"].concat();
        damaged.check(
            "half of a record zeroed",
            &[&before[..], &zeroed, &after].concat(),
            all_but(&[number]),
        );
        let run_on = [torn, &vec![0; line.len() - half]].concat();
        damaged.check(
            "zeroed with its line break",
            &[&before[..], &run_on, &after].concat(),
            all_but(&[number]),
        );
        damaged.check("torn, then the next", &[&before, torn, &after].concat(), all_but(&[number]));
        for rubbish in [&b"\xff\xfe\x00{{{\n"[..], b"null\n", b"{\"a\":\n", b"\n\r\n", b"[[[[\n", b"\"\n"] {
            damaged.check("rubbish between", &[&before, rubbish, line, &after].concat(), all_but(&[]));
            // Behind the last message, blank lines leave no trace of what was there.
            if number < MESSAGES {
                damaged.check("rubbish instead", &[&before, rubbish, &after].concat(), all_but(&[number]));
            }
        }
        let twice = [&whole[..], line].concat();
        damaged.check("twice", &twice, all_but(&[]));
        if number < MESSAGES {
            // Another writer's record inside of this one.
            let next = &lines[number];
            let rest = lines[number + 1..].concat();
            let inside = [&before[..], torn, next, &line[half..], &rest].concat();
            damaged.check("one record inside of another", &inside, all_but(&[number]));
            let glued = [&before[..], &line[..line.len() - 1], next, &rest].concat();
            damaged.check("two records on a line", &glued, all_but(&[]));
            let swapped = [&before[..], next, line, &rest].concat();
            damaged.check(
                "out of order",
                &swapped,
                all_but(if number + 1 == MESSAGES { &[MESSAGES] } else { &[] }),
            );
        }
    }

    for number in 1..=MESSAGES {
        for target in (1..=MESSAGES).chain([99]) {
            if target == number.saturating_sub(1) {
                continue;
            }
            let mut changed = lines.clone();
            let mut looped = message(number);
            looped.parent = Some(uuid(target));
            changed[number - 1] = encode(&looped);
            // A link to an earlier message is a branch, not damage.
            let intact = match target < number {
                true => all_but(&(target + 1..number).collect::<Vec<_>>()),
                false => all_but(&[]),
            };
            damaged.check(&format!("{number} follows {target}"), &changed.concat(), intact);
        }
    }

    for sector in 0..whole.len() / 512 {
        let range = sector * 512..(sector + 1) * 512;
        let hit: Vec<usize> = {
            let mut start = 0;
            let spans = lines.iter().zip(1..).map(|(line, number)| {
                let span = (start, start + line.len(), number);
                start += line.len();
                span
            });
            spans
                .filter(|(start, end, _)| *start < range.end && range.start < *end)
                .map(|(_, _, n)| n)
                .collect()
        };
        let mut zeroed = whole.clone();
        zeroed[range.clone()].fill(0);
        damaged.check("a sector zeroed", &zeroed, all_but(&hit));
        let mut garbled = whole.clone();
        garbled[range.clone()].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(167).wrapping_add(13));
        damaged.check("a sector garbled", &garbled, all_but(&hit));
    }

    println!("{}", damaged.outcome());
}

/// Rewinds, a fork's origin, checkpoints and other records of ours between the messages, damaged byte by byte.
#[test]
fn records_of_ours_survive_what_is_around_them_and_lead_nowhere_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let stamp = Stamp { session: session(), cwd: "/a".into(), version: "0.1.0".to_owned(), git_branch: None };
    let transcript = Transcript::create(directory.path(), stamp);
    let origin = ForkedFrom { session: session(), message: Some(uuid(1)) };
    transcript.append(&Record::ForkedFrom(origin)).unwrap();
    for number in 1..=MESSAGES {
        let mut message = message(number);
        if number == 9 {
            transcript.append(&Record::Head { uuid: Some(uuid(4)) }).unwrap();
            message.parent = Some(uuid(4));
        }
        transcript.append(&Record::Message(Arc::new(message))).unwrap();
        transcript.append(&Record::Checkpoint(number.into())).unwrap();
    }
    transcript.append(&Record::Head { uuid: Some(uuid(10)) }).unwrap();
    let whole = fs::read(transcript.path()).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let mut damaged = Damaged::new();
    let sound = load(directory.path(), &session(), None, None).unwrap();
    let thread: Vec<Uuid> = sound.thread.iter().map(|message| message.uuid).collect();
    assert_eq!(thread, [1, 2, 3, 4, 9, 10].map(uuid));
    assert_eq!((sound.branches.len(), sound.repairs), (3, Vec::new()));
    for line in 0..lines.len() {
        let before = lines[..line].concat();
        let after = lines[line + 1..].concat();
        let is_message = matches!(decode(lines[line]), Ok(Record::Message(_)));
        for (what, piece) in [
            ("gone", Vec::new()),
            ("twice", [lines[line], lines[line]].concat()),
            ("torn", lines[line][..lines[line].len() / 2].to_vec()),
            ("zeroed", [vec![0; lines[line].len() - 1], b"\n".to_vec()].concat()),
            ("garbled", [&lines[line][..20], b"\xff\x00{{", &lines[line][25..]].concat()),
        ] {
            let bytes = [&before[..], &piece, &after].concat();
            fs::write(transcript_path(damaged.directory.path(), &session()), &bytes).unwrap();
            let loaded = load(damaged.directory.path(), &session(), None, None).unwrap();
            let found = loaded.thread.iter().map(|message| message.uuid).collect();
            damaged.check_branches(what, &loaded, &found, &bytes);
            assert!(!loaded.thread.is_empty(), "line {line} {what}: blank");
            // A record that is gone without a trace is only missed by what follows it.
            let leaves_trace = is_message && !["gone", "twice"].contains(&what);
            assert!(!leaves_trace || !loaded.repairs.is_empty(), "line {line} {what}: silent");
            damaged.files += 1;
        }
    }
    // Every field of ours with every kind of wrong value.
    let kinds = ["head", "forked-from", "branches", "checkpoint", "model"];
    let fields = ["headUuid", "fromSession", "fromMessage", "count", "checkpoint", "model"];
    let values = ["null", "7", "-1", "1e999", "\"\"", "\"x\"", "[]", "{}", "true", "\"\\ud83d\""];
    for kind in kinds {
        for field in fields {
            for value in values {
                let line =
                    format!("{{\"type\":\"reverie-{kind}\",\"sessionId\":\"s\",\"{field}\":{value}}}\n");
                let bytes = [line.as_bytes(), &lines[..9].concat(), line.as_bytes()].concat();
                fs::write(transcript_path(damaged.directory.path(), &session()), &bytes).unwrap();
                let loaded = load(damaged.directory.path(), &session(), None, None).unwrap();
                let found = loaded.thread.iter().map(|message| message.uuid).collect();
                damaged.check_branches(&line, &loaded, &found, &bytes);
                assert_eq!(list(&[damaged.directory.path().to_owned()]).len(), 1, "{line}: not listed");
                damaged.files += 1;
            }
        }
    }
    println!("{}", damaged.outcome());
}

fn encode(message: &Message) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let stamp = Stamp { session: session(), cwd: "/a".into(), version: "0.1.0".to_owned(), git_branch: None };
    let transcript = Transcript::create(directory.path(), stamp);
    transcript.append(&Record::Message(Arc::new(message.clone()))).unwrap();
    fs::read(transcript.path()).unwrap()
}

#[test]
fn one_very_long_line_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut long = message(2);
    long.body = Body::User { content: vec![Block::text("z".repeat(100_000_000))] };
    let bytes = [encode(&message(1)), encode(&long), encode(&message(3))].concat();
    write(directory.path(), &bytes);
    let loaded = load(directory.path(), &session(), None, None).unwrap();
    assert_eq!((loaded.thread.len(), loaded.repairs), (3, Vec::new()));
}

#[test]
fn a_line_without_an_end_is_skipped_without_being_held() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = [encode(&message(1)), vec![b'z'; 140 << 20], b"\n".to_vec(), encode(&message(2))].concat();
    write(directory.path(), &bytes);
    let loaded = load(directory.path(), &session(), None, None).unwrap();
    assert_eq!(loaded.thread.len(), 2);
    assert_eq!(loaded.repairs, ["1 line was too long to be read and was skipped."]);
}

fn write(directory: &Path, bytes: &[u8]) {
    fs::write(transcript_path(directory, &session()), bytes).unwrap();
}
