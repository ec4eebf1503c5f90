//! Measures two ways to search all sessions, on made-up ones: (a) the index of words, (b) a case-insensitive scan of
//! the transcripts on all cores, newest sessions first, with the time of each session's last message known.
//! `search_measure [SESSIONS]`. Only an optimised build says something about users.
//!
//! 1,000 sessions of 209 MB, 2 cores, warm, at most 20 hits, medians of 15; in brackets while the machine was busy:
//!
//! | query | (a) index | (b) scan |
//! |---|---|---|
//! | a common word | 3.2 ms (6) | 1.4 ms (3) |
//! | a rare word | 2.8 ms (4) | 30 ms (101) |
//! | no such word | 2.4 ms (3) | 26 ms (81) |
//! | a common and a rare one | 3.0 ms (7) | 31 ms (101) |
//! | a beginning of two letters | 7.6 ms (12) | 1.3 ms (2) |
//! | a phrase nearly nobody used, of common words | 30 ms (47) | (does not know phrases) |
//!
//! (a) was taken: it does not grow with the transcripts, and leaves the cores to others. Its price: 28 MB on disk, 4 MB
//! of memory in a process that searches, 5 s of one core for the first build (11 MB at most meanwhile), 2.6 ms for a
//! refresh after an append, 27 ms when 600 KB are new. Until it is built, a search takes 0.7 s.

use std::{
    env,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use conversation::{
    Block, Body, Query, Record, ResultContent, SearchIndex, SessionId, Speaker, decode, transcript_path,
};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use jiff::Timestamp;

type Failure = Box<dyn std::error::Error>;

const ROUNDS: usize = 15;

fn main() -> Result<(), Failure> {
    // Started again by itself: what a process needs that only searches.
    if let [_, mode, cache, directory, text] = env::args().collect::<Vec<_>>().as_slice()
        && mode == "resident"
    {
        return resident(Path::new(cache), Path::new(directory), text);
    }
    let count = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let home = tempfile::tempdir()?;
    let directory = home.path().join("projects");
    let cache = home.path().join("cache");
    fs::create_dir_all(&directory)?;
    let mut out = io::stdout().lock();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let words = Words::new(150_000);
    let mut summaries = Vec::new();
    let mut bytes = 0;
    for number in 0..count {
        // Half of the sessions below 50 KB, one in thirty around 5 MB.
        let size = match random.below(30) {
            0 => 4_000_000 + random.below(2_000_000),
            _ => 12_000 + random.below(80_000),
        };
        let (path, written, last) = write_session(&directory, number, size, &words, &mut random)?;
        bytes += written;
        summaries.push((last, path));
    }
    summaries.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
    writeln!(out, "{count} sessions, {} MB", bytes / 1_000_000)?;

    let index = SearchIndex::open(&cache, std::slice::from_ref(&directory));
    let common = Query { text: words.at(3).to_owned(), ..Query::default() };
    let (elapsed, hits) = timed(|| index.search(&common).len());
    writeln!(out, "(a) without an index, a search takes {elapsed:?} ({hits} hits)")?;
    let before = memory("VmRSS")?;
    let cpu = cpu_seconds()?;
    let (elapsed, built) = timed(|| index.refresh(&|| false));
    built?;
    let cpu = cpu_seconds()? - cpu;
    writeln!(
        out,
        "(a) built in {elapsed:?} ({cpu:.1} s of one core), {} MB on disk, resident +{} KB, peak +{} KB",
        size_of(&cache)? / 1_000_000,
        memory("VmRSS")?.saturating_sub(before),
        memory("VmHWM")?.saturating_sub(before),
    )?;
    let opened = SearchIndex::open(&cache, std::slice::from_ref(&directory));
    let searched = Command::new(env::current_exe()?)
        .args(["resident".as_ref(), cache.as_os_str(), directory.as_os_str(), common.text.as_ref()])
        .output()?;
    out.write_all(&searched.stdout)?;
    let (elapsed, refreshed) = timed(|| opened.refresh(&|| false));
    refreshed?;
    writeln!(out, "(a) refresh with nothing new {elapsed:?}")?;
    let (_, newest) = summaries.first().ok_or("no sessions")?;
    let mut grown = File::options().append(true).open(newest)?;
    writeln!(
        grown,
        "{}",
        line("user", 99_999_999, 99_999_998, r#""content":"a brand new needle""#, &SessionId::random())
    )?;
    let (elapsed, refreshed) = timed(|| opened.refresh(&|| false));
    refreshed?;
    let needle = Query { text: "brand needle".to_owned(), ..Query::default() };
    let (found_in, found) = timed(|| opened.search(&needle).len());
    writeln!(out, "(a) refresh after an append {elapsed:?}, then found {found} in {found_in:?}")?;
    for _ in 0..300 {
        writeln!(
            grown,
            "{}",
            line(
                "user",
                99_999_999,
                99_999_998,
                &format!(r#""content":"{}""#, words.text(300, &mut random)),
                &SessionId::random()
            )
        )?;
    }
    let (elapsed, refreshed) = timed(|| opened.refresh(&|| false));
    refreshed?;
    writeln!(out, "(a) refresh after 600 KB {elapsed:?}")?;

    let rare = words.at(90_000).to_owned();
    let queries = [
        ("a common word", words.at(3).to_owned()),
        ("a rare word", rare.clone()),
        ("no such word", "qqqqzzzz".to_owned()),
        ("two common words", format!("{} {}", words.at(3), words.at(40))),
        ("a common and a rare one", format!("{} {rare}", words.at(5))),
        ("the beginning of a word", words.at(500).get(..2).unwrap_or_default().to_owned()),
        ("a phrase", format!("\"{} {}\"", words.at(0), words.at(1))),
        ("a rare phrase of common words", format!("\"{} {}\"", words.at(300), words.at(400))),
    ];
    writeln!(out, "{:32} {:>12} {:>12}", "warm, 20 hits at most", "(a) index", "(b) scan")?;
    for (name, text) in queries {
        let query = Query { text, ..Query::default() };
        let (a, hits) = median(|| opened.search(&query).len());
        let scan = Scan::new(&query.text)?;
        let (b, scanned) = median(|| scan.search(&summaries, 20).len());
        writeln!(out, "{name:32} {:>12} {:>12}   {hits}/{scanned} hits", show(a), show(b))?;
    }
    let filtered = Query {
        text: words.at(3).to_owned(),
        role: Some(Speaker::User),
        until: Some(Timestamp::from_second(1_760_000_000)?),
        ..Query::default()
    };
    let (a, hits) = median(|| opened.search(&filtered).len());
    writeln!(out, "{:32} {:>12}   {hits} hits", "a common word, filtered", show(a))?;
    Ok(())
}

fn resident(cache: &Path, directory: &Path, text: &str) -> Result<(), Failure> {
    let before = memory("VmRSS")?;
    let index = SearchIndex::open(cache, &[directory.to_owned()]);
    let query = Query { text: text.to_owned(), ..Query::default() };
    let (elapsed, _) = timed(|| index.search(&query).len());
    let (resident, peak) = (memory("VmRSS")? - before, memory("VmHWM")? - before);
    writeln!(
        io::stdout(),
        "(a) first search of a process {elapsed:?}, resident +{resident} KB, peak +{peak} KB"
    )?;
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let value = work();
    (start.elapsed(), value)
}

fn median<T>(work: impl Fn() -> T) -> (Duration, T) {
    let mut times = Vec::new();
    let mut value = work();
    for _ in 0..ROUNDS {
        let (elapsed, again) = timed(&work);
        times.push(elapsed);
        value = again;
    }
    times.sort();
    (times.get(ROUNDS / 2).copied().unwrap_or_default(), value)
}

fn show(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}

/// Design (b).
struct Scan {
    /// For the longest word: it is the rarest, more often than not.
    matcher: RegexMatcher,
    words: Vec<String>,
}

impl Scan {
    fn new(query: &str) -> Result<Self, Failure> {
        let words: Vec<String> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect();
        let longest = words.iter().max_by_key(|word| word.len()).ok_or("no words")?;
        let matcher = RegexMatcherBuilder::new().case_insensitive(true).build(longest)?;
        Ok(Self { matcher, words })
    }

    fn search(&self, summaries: &[(i64, PathBuf)], limit: usize) -> Vec<i64> {
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let work = || {
            let mut bytes = Vec::new();
            while let Some((last, path)) = summaries.get(next.fetch_add(1, Ordering::Relaxed)) {
                {
                    let found: std::sync::MutexGuard<'_, Vec<i64>> =
                        found.lock().unwrap_or_else(PoisonError::into_inner);
                    // Nothing in this session or in those after it is newer than what there is.
                    if found.get(limit - 1).is_some_and(|oldest| oldest > last) {
                        break;
                    }
                }
                bytes.clear();
                let read = File::open(path).and_then(|mut file| io::copy(&mut file, &mut bytes));
                if read.is_err() {
                    continue;
                }
                let mut hits = self.hits(&bytes);
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.append(&mut hits);
                found.sort_by_key(|when| std::cmp::Reverse(*when));
                found.truncate(limit);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn hits(&self, bytes: &[u8]) -> Vec<i64> {
        let mut hits = Vec::new();
        let mut at = 0;
        while let Ok(Some(hit)) = self.matcher.find_at(bytes, at) {
            let start = bytes
                .get(..hit.start())
                .unwrap_or_default()
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |n| n + 1);
            let rest = bytes.get(hit.end()..).unwrap_or_default();
            let end = hit.end() + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            if let Some(Ok(Record::Message(message))) = bytes.get(start..end).map(decode) {
                let content = match &message.body {
                    Body::User { content } | Body::Assistant { content, .. } => content.as_slice(),
                    _ => &[],
                };
                let texts = content.iter().map(|block| match block {
                    Block::Text { text } => text.to_lowercase(),
                    Block::ToolResult { content: ResultContent::Text(text), .. } => text.to_lowercase(),
                    _ => String::new(),
                });
                let text: String = texts.collect();
                if self.words.iter().all(|word| text.contains(word)) {
                    hits.push(message.timestamp.as_millisecond());
                }
            }
            at = end + 1;
        }
        hits
    }
}

/// Prompts, answers, calls and results. Returns the file, its size and the time of the last message.
fn write_session(
    directory: &Path,
    number: u64,
    size: u64,
    words: &Words,
    random: &mut Random,
) -> Result<(PathBuf, u64, i64), Failure> {
    let session = SessionId::random();
    let path = transcript_path(directory, &session);
    let mut file = BufWriter::new(File::create(&path)?);
    let mut written = 0;
    let mut message = number * 100_000;
    while written < size {
        message += 1;
        let body = match message % 4 {
            1 => format!(r#""content":"{}""#, words.text(20 + random.below(60), random)),
            2 => format!(
                r#""model":"claude","id":"msg_{message}","content":[{{"type":"text","text":"{}"}},{{"type":"tool_use","id":"t{message}","name":"Edit","input":{{"file_path":"/a","new_string":"{}"}}}}],"stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":2}}"#,
                words.text(30 + random.below(100), random),
                words.text(random.below(200), random)
            ),
            3 => format!(
                r#""content":[{{"tool_use_id":"t{}","type":"tool_result","content":"{} {:016x}"}}]"#,
                message - 1,
                words.text(100 + random.below(700), random),
                random.next()
            ),
            _ => format!(
                r#""model":"claude","id":"msg_{message}","content":[{{"type":"text","text":"{}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":2}}"#,
                words.text(50 + random.below(200), random)
            ),
        };
        let kind = if message % 2 == 1 { "user" } else { "assistant" };
        let line = line(kind, message, message - 1, &body, &session);
        writeln!(file, "{line}")?;
        written += line.len() as u64 + 1;
    }
    file.flush()?;
    Ok((path, written, time(message) * 1_000))
}

fn time(message: u64) -> i64 {
    // Sessions overlap: some are months long.
    1_700_000_000 + i64::try_from(message).unwrap_or_default() % 70_000_000
}

fn line(kind: &str, message: u64, parent: u64, body: &str, session: &SessionId) -> String {
    let timestamp = Timestamp::from_second(time(message)).unwrap_or_default();
    format!(
        r#"{{"parentUuid":"{parent:08x}-0000-4000-8000-000000000000","isSidechain":false,"userType":"external","cwd":"/home/ada/engine","sessionId":"{session}","version":"2.0.0","gitBranch":"main","type":"{kind}","message":{{"role":"{kind}",{body}}},"uuid":"{message:08x}-0000-4000-8000-000000000000","timestamp":"{timestamp}"}}"#
    )
}

/// Made-up words, the first of which occur most: the n-th about 1/n as often as the first.
struct Words(Vec<String>);

impl Words {
    fn new(count: u64) -> Self {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let syllables = [
            "ka", "re", "to", "mi", "sol", "en", "ar", "qui", "ba", "lu", "ster", "io", "pe", "nd", "ver",
            "xa",
        ];
        let mut word = || {
            let length = 2 + random.below(3);
            let pieces = (0..length).filter_map(|_| syllables.get(random.below(16) as usize).copied());
            let mut word: String = pieces.collect();
            if random.below(4) == 0 {
                word = word.to_uppercase();
            }
            word
        };
        Self(
            (0..count)
                .map(|number| if number < 2_000 { word() } else { format!("{}{number}", word()) })
                .collect(),
        )
    }

    fn at(&self, number: usize) -> &str {
        self.0.get(number).map_or("", String::as_str)
    }

    fn text(&self, count: u64, random: &mut Random) -> String {
        let mut text = String::new();
        for number in 0..count {
            let limit = (self.0.len() as f64).ln();
            let rank = (random.fraction() * limit).exp() as usize - 1;
            text.push_str(self.at(rank));
            text.push_str(match number % 17 {
                16 => ".\\n",
                9 => "(",
                10 => ")",
                _ => " ",
            });
        }
        text
    }
}

/// Xorshift: the same sessions in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn size_of(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

fn cpu_seconds() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// In kilobytes.
fn memory(field: &str) -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    Ok(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default())
}
