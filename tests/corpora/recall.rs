//! The local ranker against public data: which of these memory files helps with this message?
//!
//! Three tasks under `recall/`, whose README names their sources. The bar is the best method without a neural model.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::program;

/// Name, recall@5 × 100 of the best baseline.
const TASKS: [(&str, f64); 3] = [("metatool", 64.4), ("madial", 42.4), ("gorilla-api", 31.8)];

/// How well the confidence must tell messages that a file answers from those that none does.
const LEAST_AUC: f64 = 0.85;

#[test]
fn the_ranker_finds_more_than_the_best_baseline_and_knows_when_there_is_nothing() {
    let mut sum = 0.0;
    for (task, baseline) in TASKS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/recall").join(task);
        let store = write_store(&lines(&folder.join("docs.jsonl.gz")));
        let (answerable, unanswerable) =
            (lines(&folder.join("queries.dev.jsonl.gz")), lines(&folder.join("queries.none.jsonl.gz")));
        let queries: Vec<String> = answerable
            .iter()
            .chain(&unanswerable)
            .map(|query| json!({ "id": query["id"], "text": query["text"], "k": 10 }).to_string())
            .collect();
        let answers = program::answers(&["rank", "--dir", store.path().to_str().unwrap()], &queries);
        let (found, nothing) = answers.split_at(answerable.len());

        let recall: f64 = answerable.iter().zip(found).map(|(query, answer)| share(query, answer)).sum();
        let recall = recall * 100.0 / answerable.len() as f64;
        assert!(recall >= baseline, "{task}: recall@5 is {recall:.1}, the baseline's {baseline}");
        sum += auc(&confidences(found), &confidences(nothing));
    }
    let mean = sum / TASKS.len() as f64;
    assert!(mean >= LEAST_AUC, "the confidence has an AUC of {mean:.3} on average");
}

/// Each doc as a memory file of its time.
fn write_store(docs: &[Value]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for doc in docs {
        // A JSON string is YAML, whatever is in it.
        let text = format!(
            "---\nname: {}\ndescription: {}\ntype: {}\n---\n\n{}\n",
            doc["name"],
            doc["description"],
            doc["type"],
            doc["body"].as_str().unwrap()
        );
        let path: PathBuf = folder.path().join(format!("{}.md", doc["id"].as_str().unwrap()));
        fs::write(&path, text).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(doc["mtime"].as_u64().unwrap());
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }
    folder
}

/// Of the relevant files, how many are among the first five.
fn share(query: &Value, answer: &Value) -> f64 {
    assert_eq!(query["id"], answer["id"]);
    let ranked: HashMap<&str, usize> = answer["ranked"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(place, file)| (file.as_str().unwrap().trim_end_matches(".md"), place))
        .collect();
    let relevant = query["relevant"].as_array().unwrap();
    let is_found = |id: &&Value| ranked.get(id.as_str().unwrap()).is_some_and(|place| *place < 5);
    relevant.iter().filter(is_found).count() as f64 / relevant.len() as f64
}

fn confidences(answers: &[Value]) -> Vec<f64> {
    answers.iter().map(|answer| answer["conf"].as_f64().unwrap()).collect()
}

/// How often a message that a file answers has the greater confidence.
fn auc(answerable: &[f64], unanswerable: &[f64]) -> f64 {
    let mut won = 0.0;
    for one in answerable {
        for other in unanswerable {
            won += if one > other {
                1.0
            } else if one == other {
                0.5
            } else {
                0.0
            };
        }
    }
    won / (answerable.len() * unanswerable.len()) as f64
}

fn lines(path: &Path) -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
