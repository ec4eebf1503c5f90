//! What the caches that were left out would save, each by the few lines that it would come down to; and what the
//! working memory, which is in, does save.
//!
//! "All of it must show its worth in the benchmark or stay off."

use std::{
    collections::HashMap,
    fs::{self, File},
    hint::black_box,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use ignore::{WalkBuilder, WalkState};
use rustix::fs::{Advice, fadvise};
use serde_json::json;
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{ModelServer, Reply},
};
use workspace::Workspace;

use super::{Figure, each, in_milliseconds, median};

/// As many as one answer of a model reads at once.
const TOGETHER: usize = 30;

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("//- .gitignore\ntarget\n*.o\n");
    for folder in 0..100 {
        for file in 0..100 {
            let lines = 40 + file * 7 % 300;
            let text = format!("// {folder} {file}\n{}", "let value = compute(1, 2);\n".repeat(lines));
            fixture.write(&format!("pkg_{}/src_{folder}/module_{file}.rs", folder % 10), &text);
        }
    }
    let root = &fixture.workspace;
    let files: Vec<PathBuf> = (0..TOGETHER)
        .map(|number| root.join(format!("pkg_{}/src_{number}/module_{number}.rs", number % 10)))
        .collect();
    Ok(vec![
        repeated_read(binary).await?,
        in_memory(root, &files)?,
        on_disk(&fixture, &files)?,
        ahead(&files)?,
        listing(root)?,
        results(root)?,
    ])
}

/// Through the real server: the working memory knows what the model has before it.
async fn repeated_read(binary: &Path) -> anyhow::Result<Figure> {
    let fixture = Fixture::new("");
    fixture.write("long.rs", &"pub fn something() -> u32 { 42 }\n".repeat(500));
    let server = ModelServer::start().await;
    let environment = fixture.environment(&server.url());
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    client.ignore("reverie/session/update");
    client.ignore("$/progress");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let session = client.new_session().await;
    for _ in 0..2 {
        server.reply(Reply::tool("Read", json!({"file_path": "long.rs"})));
    }
    server.reply(Reply::text("done"));
    client.turn(&session, "read it twice").await;
    let sizes: Vec<f64> = server.requests().iter().map(|request| request.bytes.len() as f64 / 4.0).collect();
    client.shutdown().await;
    server.finish();
    let [none, once, twice] = <[f64; 3]>::try_from(sizes).map_err(|sizes| anyhow::anyhow!("{sizes:?}"))?;
    Ok(Figure::number(
        "working memory: what an unchanged file adds when it is read again",
        twice - once,
        250.0,
        " tokens",
    )
    .beside(format!("the call included, bytes / 4; the first time {:.0} tokens", once - none)))
}

/// Hot, or warm for the first read of another session: the text by path, size, time and inode.
fn in_memory(root: &Path, files: &[PathBuf]) -> anyhow::Result<Figure> {
    let workspace = Workspace::new(vec![root.to_owned()]);
    let read = each(20, || {
        for file in files {
            black_box(workspace.read_lines(file, 1, 2_000, 4 << 20)?);
        }
        Ok(())
    })?;
    let mut kept = HashMap::new();
    for file in files {
        kept.insert(file.clone(), (state(file)?, Arc::<str>::from(fs::read_to_string(file)?)));
    }
    let kept = Mutex::new(kept);
    let hit = each(20, || {
        for file in files {
            let now = state(file)?;
            let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let (then, text) = kept.get(file).context("it was put there")?;
            anyhow::ensure!(*then == now, "it has changed");
            black_box(Arc::clone(text));
        }
        Ok(())
    })?;
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6 / files.len() as f64;
    Ok(Figure::left_out("file contents in memory, thirty reads", saving(read, hit)).beside(format!(
        "a hit {:.1} µs, a read {:.1} µs",
        microseconds(hit),
        microseconds(read)
    )))
}

fn state(path: &Path) -> anyhow::Result<(u64, i64, i64, u64)> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.size(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino()))
}

/// Cold: a copy is as far away as the file itself.
fn on_disk(fixture: &Fixture, files: &[PathBuf]) -> anyhow::Result<Figure> {
    let mut copies = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let copy = fixture.home.join(format!("copy_{number}"));
        fs::copy(file, &copy)?;
        copies.push(copy);
    }
    let (file, copy) = (from_disk(files)?, from_disk(&copies)?);
    Ok(Figure::left_out("file contents on disk, thirty reads after a restart", saving(file, copy))
        .beside(format!("copies {:.2} ms, files {:.2} ms", in_milliseconds(copy), in_milliseconds(file))))
}

/// What a perfect guess at the next thirty reads could save.
fn ahead(files: &[PathBuf]) -> anyhow::Result<Figure> {
    let cold = from_disk(files)?;
    let warm = each(20, || read_all(files))?;
    Ok(Figure::left_out("reading ahead, thirty reads guessed right", saving(cold, warm)).beside(format!(
        "from the disk {:.2} ms, from the system's cache {:.2} ms",
        in_milliseconds(cold),
        in_milliseconds(warm)
    )))
}

fn from_disk(files: &[PathBuf]) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..10 {
        for file in files {
            let file = File::open(file)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        let started = Instant::now();
        read_all(files)?;
        times.push(started.elapsed());
    }
    Ok(median(times))
}

fn read_all(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        black_box(fs::read(file)?);
    }
    Ok(())
}

/// The names below a folder, which hold as long as no folder's time has changed.
fn listing(root: &Path) -> anyhow::Result<Figure> {
    let walk = each(3, || {
        walk(root);
        Ok(())
    })?;
    let (folders, files) = walk_once(root);
    let check = each(3, || {
        for folder in &folders {
            black_box(state(folder)?);
        }
        Ok(())
    })?;
    Ok(Figure::left_out("names of a workspace, one search", saving(walk, check)).beside(format!(
        "{} files: walked {:.2} ms, checked {:.2} ms",
        files.len(),
        in_milliseconds(walk),
        in_milliseconds(check)
    )))
}

/// The results of a search, which hold as long as no file has changed: every one must be looked at to know. That
/// costs each search that is not a repeated one; one in ten of them is many.
fn results(root: &Path) -> anyhow::Result<Figure> {
    let (_, files) = walk_once(root);
    let over_halves = |work: fn(&PathBuf) -> anyhow::Result<()>| {
        each(1, || {
            thread::scope(|scope| {
                let halves = files.chunks(files.len() / 2 + 1);
                let threads: Vec<_> =
                    halves.map(|half| scope.spawn(move || half.iter().try_for_each(work))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
            })
        })
    };
    let search = over_halves(|file| {
        black_box(fs::read(file)?);
        Ok(())
    })?;
    let check = over_halves(|file| {
        black_box(state(file)?);
        Ok(())
    })?;
    let saves = saving(search, check) * 0.1 - in_milliseconds(check) * 0.9;
    Ok(Figure::left_out("results of searches, one in ten a repeated one", saves).beside(format!(
        "{} files: read {:.2} ms, checked {:.2} ms",
        files.len(),
        in_milliseconds(search),
        in_milliseconds(check)
    )))
}

/// As Grep and Glob walk.
fn walk(root: &Path) {
    WalkBuilder::new(root).require_git(false).build_parallel().run(|| {
        Box::new(|entry| {
            black_box(entry.is_ok());
            WalkState::Continue
        })
    });
}

fn walk_once(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = WalkBuilder::new(root).require_git(false).build().flatten();
    entries.map(ignore::DirEntry::into_path).partition(|path| path.is_dir())
}

/// In milliseconds; less than nothing where it costs.
fn saving(without: Duration, with: Duration) -> f64 {
    in_milliseconds(without) - in_milliseconds(with)
}
