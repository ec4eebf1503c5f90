//! Measures the looks at a made-up workspace: `measure [FILES] [MEGABYTES]`, or at a real one, of which nothing is
//! changed: `measure FOLDER`. Only an optimised build says something about users.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkpoints::{Config, Store, Tracker};

type Failure = Box<dyn std::error::Error>;

const WAIT: Duration = Duration::from_secs(60);
const ROUNDS: usize = 11;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |position: usize| arguments.get(position).and_then(|text| text.parse::<usize>().ok());
    let folder = tempfile::tempdir()?;
    let store = Arc::new(Store::new(folder.path().join("store")));
    let real = arguments.first().filter(|first| first.parse::<usize>().is_err());
    let root = real.map_or_else(|| folder.path().join("root"), PathBuf::from);
    let mut out = io::stdout().lock();
    if real.is_none() {
        let (files, megabytes) = (number(0).unwrap_or(10_000), number(1).unwrap_or(100));
        make(&root, files, megabytes * 1_000_000 / files)?;
        writeln!(out, "{files} files, {megabytes} MB")?;
    }
    let config = Config { roots: vec![root.clone()], ..Config::default() };
    let tracker = Tracker::new(Arc::clone(&store), config);

    let start = Instant::now();
    let first = tracker.before_command(WAIT);
    writeln!(out, "first look            {:>9.1?}  {:?}", start.elapsed(), first.coverage)?;
    drop(first);
    // So that no file counts as changed a moment ago.
    std::thread::sleep(Duration::from_millis(100));
    drop(tracker.before_command(WAIT));

    let (mut before, mut after) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let start = Instant::now();
        let running = tracker.before_command(WAIT);
        before.push(start.elapsed());
        if real.is_none() {
            for number in 0..5 {
                fs::write(path_of(&root, number * 7), format!("round {round}"))?;
            }
        }
        let start = Instant::now();
        let observed = running.finish();
        after.push(start.elapsed());
        if round == 0 {
            writeln!(out, "seen                  {} changes", observed.changes.len())?;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    writeln!(
        out,
        "before, then after    {:>9.1?}  {:>9.1?}  (median of {ROUNDS})",
        median(before),
        median(after)
    )?;
    if real.is_some() {
        return Ok(());
    }

    let path = path_of(&root, 3);
    let start = Instant::now();
    let written = store.before_write(&path)?;
    let kept = start.elapsed();
    fs::write(&path, "edited")?;
    let start = Instant::now();
    let entry = store.after_write(written)?.into_entry("message");
    writeln!(out, "before, after a write {kept:>9.1?}  {:>9.1?}", start.elapsed())?;
    let start = Instant::now();
    store.sync()?;
    writeln!(out, "sync                  {:>9.1?}", start.elapsed())?;

    let running = tracker.before_command(WAIT);
    for number in 0..1_000 {
        fs::write(path_of(&root, number), "all of them")?;
    }
    let start = Instant::now();
    let many = running.finish().into_entry("message");
    writeln!(out, "after 1,000 changes   {:>9.1?}", start.elapsed())?;
    let start = Instant::now();
    let plan = store.plan(&[entry, many]);
    writeln!(out, "plan                  {:>9.1?}", start.elapsed())?;
    let start = Instant::now();
    let (restored, _) = store.restore(&plan, "rewind")?;
    writeln!(out, "restore               {:>9.1?}  {} files", start.elapsed(), restored.paths.len())?;
    Ok(())
}

/// Ten files a folder, ten folders a folder.
fn path_of(root: &Path, number: usize) -> PathBuf {
    root.join(format!("{}/{}/{number}.rs", number / 100 % 100, number / 10 % 10))
}

fn make(root: &Path, files: usize, bytes: usize) -> io::Result<()> {
    for number in 0..files {
        let path = path_of(root, number);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, number.to_string().repeat(bytes).get(..bytes).unwrap_or_default())?;
    }
    fs::write(root.join(".gitignore"), "target/\n*.log\nnode_modules/\n")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
