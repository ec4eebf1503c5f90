//! Measures the ranker on the dev queries of every task in a folder, and how long it takes at 10,000 documents.
//!
//! `cargo run --release -p memory --example evaluate -- FOLDER`; with `FEATURES=file`, also writes what speaks
//! for the first hit of each query, for fitting the confidence; with `TIME=1`, only measures the time.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a tool for people; a broken corpus may stop it"
)]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    hint::black_box,
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use memory::{
    Kind,
    ranker::{Document, Query, Ranker, Ranking},
};
use serde_json::Value;

struct Message {
    text: String,
    relevant: Vec<String>,
    store: String,
    time: Option<i64>,
}

struct Task {
    stores: BTreeMap<String, (Ranker, i64)>,
    answerable: Vec<Message>,
    unanswerable: Vec<Message>,
}

fn main() {
    let Some(root) = std::env::args_os().nth(1) else { return println!("evaluate FOLDER") };
    let tasks = tasks(Path::new(&root));
    if std::env::var_os("TIME").is_some() {
        return time(&tasks);
    }
    let mut features = String::new();
    let mut rows = Vec::new();
    // Confidence of the first hit, and whether it was relevant.
    let mut sure: Vec<(f32, bool)> = Vec::new();
    println!("{:<14} recall@5  mrr@10  recall@200    AUC", "task");
    for folder in &tasks {
        let name = &folder.file_name().unwrap_or_default().to_string_lossy();
        let row = Task::load(folder).measure(name, &mut features, &mut sure);
        print_row(name, row);
        rows.push(row);
    }
    let count = rows.len() as f32;
    let mean = rows.iter().fold([0.0; 4], |mean, row| std::array::from_fn(|at| mean[at] + row[at] / count));
    print_row("mean", mean);
    println!("\nfirst hits by their confidence, those to unanswerable messages included");
    for least in [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
        let chosen: Vec<bool> =
            sure.iter().filter(|(sure, _)| *sure >= least).map(|(_, right)| *right).collect();
        let right = chosen.iter().filter(|right| **right).count();
        println!(
            "≥ {least} {:5} hits, {:5.1} % right",
            chosen.len(),
            100.0 * right as f32 / chosen.len() as f32
        );
    }
    if let Ok(path) = std::env::var("FEATURES") {
        fs::write(path, features).unwrap();
    }
    time(&tasks);
}

/// The folders that hold a task, in the order of their names.
fn tasks(root: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut tasks: Vec<PathBuf> = folders.filter(|folder| folder.join("docs.jsonl.gz").is_file()).collect();
    tasks.sort();
    tasks
}

fn print_row(name: &str, [five, mrr, many, auc]: [f32; 4]) {
    println!("{name:<14} {:8.2} {:7.2} {:11.2} {auc:6.3}", five * 100.0, mrr * 100.0, many * 100.0);
}

impl Task {
    fn load(dir: &Path) -> Self {
        let mut stores: BTreeMap<String, Vec<Document>> = BTreeMap::new();
        for line in lines(&dir.join("docs.jsonl.gz")) {
            stores.entry(text(&line, "store")).or_default().push(document(&line));
        }
        let stores = stores.into_iter().map(|(store, documents)| {
            let newest = documents.iter().map(|document| document.modified).max().unwrap_or_default();
            (store, (Ranker::build(documents), newest))
        });
        Self {
            stores: stores.collect(),
            answerable: messages(&dir.join("queries.dev.jsonl.gz")),
            unanswerable: messages(&dir.join("queries.none.jsonl.gz")),
        }
    }

    fn ask(&self, message: &Message) -> Ranking {
        let Some((ranker, newest)) = self.stores.get(&message.store) else { return Ranking::default() };
        let now = message.time.unwrap_or(*newest);
        ranker.rank(&Query {
            text: &message.text,
            limit: 200,
            now,
            not_after: message.time,
            without: &|_| false,
        })
    }

    fn measure(&self, name: &str, features: &mut String, sure: &mut Vec<(f32, bool)>) -> [f32; 4] {
        let mut row = [0.0; 4];
        let mut confidences = [Vec::new(), Vec::new()];
        for (message, answerable) in
            self.answerable.iter().map(|m| (m, 1)).chain(self.unanswerable.iter().map(|m| (m, 0)))
        {
            let ranking = self.ask(message);
            confidences[answerable].push(ranking.confidence);
            for (place, hit) in ranking.hits.iter().take(3).enumerate() {
                let right = u8::from(message.relevant.contains(&hit.id));
                writeln!(features, "{name} {answerable} {place} {right} {:?}", hit.parts.evidence).unwrap();
            }
            if let Some(hit) = ranking.hits.first() {
                sure.push((hit.confidence, message.relevant.contains(&hit.id)));
            }
            if answerable == 0 {
                continue;
            }
            let places: Vec<usize> = message
                .relevant
                .iter()
                .filter_map(|id| ranking.hits.iter().position(|hit| hit.id == *id))
                .collect();
            let share = 1.0 / (self.answerable.len() * message.relevant.len()) as f32;
            row[0] += share * places.iter().filter(|place| **place < 5).count() as f32;
            row[2] += share * places.len() as f32;
            if let Some(first) = places.iter().min().filter(|place| **place < 10) {
                row[1] += 1.0 / (first + 1) as f32 / self.answerable.len() as f32;
            }
        }
        row[3] = auc(&confidences[1], &confidences[0]);
        row
    }
}

/// How often an answerable message has the greater confidence.
fn auc(answerable: &[f32], unanswerable: &[f32]) -> f32 {
    let mut sum = 0.0;
    for one in answerable {
        for other in unanswerable {
            sum += if one > other {
                1.0
            } else if one == other {
                0.5
            } else {
                0.0
            };
        }
    }
    sum / (answerable.len() * unanswerable.len()) as f32
}

/// 10,000 documents out of all tasks, each more than once where there are fewer.
fn time(tasks: &[PathBuf]) {
    let mut all = Vec::new();
    for folder in tasks {
        for line in lines(&folder.join("docs.jsonl.gz")) {
            let mut document = document(&line);
            document.body.truncate(document.body.floor_char_boundary(1000));
            all.push(document);
        }
    }
    let mut documents: Vec<Document> = all.iter().cycle().take(10_000).cloned().collect();
    for (number, document) in documents.iter_mut().enumerate() {
        write!(document.id, "-{number}").unwrap();
    }
    let bytes: usize = documents.iter().map(|document| document.body.len()).sum();
    let before = resident();
    let (mut best, spent) = (Duration::MAX, processor_time());
    let mut ranker = Ranker::build(Vec::new());
    for _ in 0..40 {
        let copy = documents.clone();
        drop(ranker);
        let start = Instant::now();
        ranker = Ranker::build(copy);
        best = best.min(start.elapsed());
    }
    let (count, mean) = (ranker.len(), bytes / documents.len());
    let spent = (processor_time() - spent) / 40;
    println!("\nbuild: {count} documents, bodies of {mean} bytes on average");
    println!("build: {best:.1?} at best of 40, {spent:.1?} of the main thread's processor time on average");
    println!(
        "resident memory grew by {} KB, the last build's garbage included",
        resident().saturating_sub(before)
    );

    for (label, words) in [("10 words", 10), ("50 words", 50), ("200 words", 200), ("1 MB", 200_000)] {
        let mut times = Vec::new();
        let mut spent = Duration::ZERO;
        let all: Vec<&str> = documents.iter().flat_map(|document| document.body.split_whitespace()).collect();
        for round in 0..200 {
            let from = round * 7919 % (all.len() - words.min(all.len() - 1));
            let text = all.iter().cycle().skip(from).take(words).copied().collect::<Vec<_>>().join(" ");
            let query = Query { text: &text, limit: 200, now: 0, not_after: None, without: &|_| false };
            let (start, before) = (Instant::now(), processor_time());
            black_box(ranker.rank(&query));
            times.push(start.elapsed());
            spent += processor_time() - before;
        }
        times.sort();
        let (mean, median, most, worst) = (spent / 200, times[100], times[190], times[199]);
        println!(
            "query of {label:>9}: processor {mean:.2?}, median {median:.2?}, 95 % {most:.2?}, all {worst:.2?}"
        );
    }

    let start = Instant::now();
    for document in documents.iter().take(2000) {
        ranker.update(document.clone());
    }
    println!("update: {:.1?} on average of 2,000", start.elapsed() / 2000);
}

/// Of the main thread, which does half of a build: a busy machine falsifies it less than passing time.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let own = stat.split_whitespace().next().and_then(|spent| spent.parse().ok()).unwrap_or_default();
    Duration::from_nanos(own)
}

/// In KB, as Linux says.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn messages(path: &Path) -> Vec<Message> {
    let ids = |line: &Value| {
        line["relevant"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    };
    lines(path)
        .iter()
        .map(|line| Message {
            text: text(line, "text"),
            relevant: ids(line),
            store: text(line, "store"),
            time: line["time"].as_i64(),
        })
        .collect()
}

fn document(line: &Value) -> Document {
    Document {
        id: text(line, "id"),
        name: text(line, "name"),
        description: text(line, "description"),
        kind: match line["type"].as_str() {
            Some("user") => Some(Kind::User),
            Some("feedback") => Some(Kind::Feedback),
            Some("project") => Some(Kind::Project),
            Some("reference") => Some(Kind::Reference),
            _ => None,
        },
        body: text(line, "body"),
        modified: line["mtime"].as_i64().unwrap(),
        recalled: 0,
        cited: 0,
    }
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
