//! Measures what settings cost at the begin of a turn: read for the first time, and again with nothing changed.
//! `measure`. Only an optimised build says something about users.
//!
//! A trusted project with 3 and with 200 skills, 2 cores, medians of 200 (in brackets what it was without [`Cache`]
//! keeping the result): 0.07 ms (0.38), 0.75 ms (6.8). What is left is a question to the system for each file and
//! folder, 1.7 µs each: trust is bound to the content of every one, and a file that is changed in place does not show
//! in its folder.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::{
    env, fs, io,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use settings::{Cache, Environment, Sources};

const TIMES: usize = 200;
/// Longer than what may still change within a tick of the clock.
const UNTIL_SETTLED: Duration = Duration::from_secs(4);

fn main() -> io::Result<()> {
    for skills in [3, 200] {
        let root = env::temp_dir().join(format!("reverie-settings-measure-{}-{skills}", process::id()));
        let measured = measure(&root, skills);
        fs::remove_dir_all(&root)?;
        measured?;
    }
    Ok(())
}

fn measure(root: &Path, skills: usize) -> io::Result<()> {
    let folder = root.join("home/work/projects/project");
    fill(root, &folder, skills)?;
    let environment = Environment::new(root.join("home"), []).with_managed(root.join("managed"));
    settings::trust::set(&environment, &folder, true)?;
    thread::sleep(UNTIL_SETTLED);
    let sources =
        Sources { environment: &environment, folder: Some(&folder), editor: None, command_line: None };
    let begun = Instant::now();
    let trusted = Cache::default().load(&sources).trust.is_trusted();
    let first = begun.elapsed();
    let cache = Cache::default();
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let begun = Instant::now();
            drop(cache.load(&sources));
            begun.elapsed()
        })
        .collect();
    times.sort();
    let median = times.get(TIMES / 2).copied().unwrap_or_default();
    println!("{skills} skills, trusted: {trusted}; first {first:?}, then {median:?}");
    Ok(())
}

fn fill(root: &Path, folder: &Path, skills: usize) -> io::Result<()> {
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, text)
    };
    write(
        &root.join("home/.claude/settings.json"),
        r#"{"model": "sonnet", "permissions": {"allow": ["Read"]}}"#,
    )?;
    write(&folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    write(
        &folder.join(".mcp.json"),
        r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"]}}}"#,
    )?;
    let claude = folder.join(".claude");
    write(
        &claude.join("settings.json"),
        r#"{"permissions": {"allow": ["Bash(make:*)"], "deny": ["Bash(rm:*)"]}}"#,
    )?;
    write(&claude.join("settings.local.json"), r#"{"permissions": {"allow": ["Bash(cargo test:*)"]}}"#)?;
    for number in 0..3 {
        write(&claude.join(format!("commands/command{number}.md")), "Do it.")?;
    }
    write(&claude.join("agents/reviewer.md"), "Review.")?;
    for number in 0..skills {
        let path = claude.join(format!("skills/skill{number}/SKILL.md"));
        write(&path, &format!("---\ndescription: Number {number}\n---\n{}", "Some text.\n".repeat(200)))?;
    }
    Ok(())
}
