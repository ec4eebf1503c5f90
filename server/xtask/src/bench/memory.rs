//! What 10,000 memories cost: reading them all, and finding those that fit a message.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use testkit::fixture::Fixture;

use super::{Figure, in_milliseconds, median};

const MANY: usize = 10_000;
const STARTS: usize = 7;
const QUERIES: usize = 200;

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("");
    let folder = &fixture.workspace;
    let mut words = Words::default();
    for number in 0..MANY {
        fs::write(folder.join(format!("topic_{number}.md")), topic(&mut words, number))?;
    }
    let mut first = Vec::new();
    let mut later = Vec::new();
    for _ in 0..STARTS {
        let started = Instant::now();
        let mut child = Command::new(binary)
            .args(["debug", "rank", "--dir"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut asked = child.stdin.take().context("stdin is piped")?;
        let mut answered = BufReader::new(child.stdout.take().context("stdout is piped")?);
        let mut answer = |text: String| -> anyhow::Result<Duration> {
            let started = Instant::now();
            writeln!(asked, "{}", json!({ "id": 1, "text": text, "k": 200 }))?;
            let mut line = String::new();
            answered.read_line(&mut line)?;
            let answer: Value = serde_json::from_str(&line)?;
            anyhow::ensure!(answer["ranked"].as_array().is_some_and(|ranked| !ranked.is_empty()), "{line}");
            Ok(started.elapsed())
        };
        answer(words.line(12))?;
        first.push(started.elapsed());
        for _ in 0..QUERIES / STARTS {
            later.push(answer(words.line(12))?);
        }
        drop(asked);
        child.wait()?;
    }
    later.sort();
    let slow = later.get(later.len() * 95 / 100).copied().unwrap_or_default();
    Ok(vec![
        Figure::milliseconds("10,000 memories: start → the first answer of the ranker", median(first), 150.0)
            .beside("`reverie debug rank`; every file is read"),
        Figure::milliseconds("10,000 memories: the ranker's answer to a message", median(later), 5.0)
            .beside(format!("12 words, 200 of the answers; 95 % within {:.2} ms", in_milliseconds(slow))),
    ])
}

/// A memory as they are: a few lines of frontmatter, 600 bytes of text.
pub(super) fn topic(words: &mut Words, number: usize) -> String {
    let kind = ["user", "feedback", "project", "reference"].get(number % 4).copied().unwrap_or_default();
    format!(
        "---\nname: {}\ndescription: {}\ntype: {kind}\n---\n\n{}\n\n**Why:** {}\n",
        words.line(3),
        words.line(12),
        words.line(60),
        words.line(15)
    )
}

/// Words of a language that nobody speaks, few of them often, the same in every run.
#[derive(Default)]
pub(super) struct Words {
    state: u64,
}

impl Words {
    pub(super) fn line(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo", "dra", "ster",
        ];
        // Squared twice: the first of some 6,000 words come far more often than the last.
        let share = self.next() as f64 / u32::MAX as f64;
        let mut rank = (share.powi(4) * 6_000.0) as usize;
        let mut word = String::new();
        for _ in 0..2 + rank % 3 {
            word.push_str(SYLLABLES.get(rank % 16).copied().unwrap_or_default());
            rank = rank / 16 + 7;
        }
        word
    }

    /// Knuth's MMIX generator.
    fn next(&mut self) -> u32 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 32) as u32
    }
}
