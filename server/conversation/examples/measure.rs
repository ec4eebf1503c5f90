//! Measures resume and listing on made-up sessions: `measure resume MEGABYTES [COMPACTED_MEGABYTES]`,
//! `measure list COUNT [ROUNDS]`. Only an optimised build says something about users.

use std::{
    env,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::Instant,
};

use conversation::{SessionId, list, load, request_messages, transcript_path};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |position: usize| arguments.get(position).and_then(|text| text.parse::<u64>().ok());
    let directory = tempfile::tempdir()?;
    let mut out = io::stdout().lock();
    match arguments.first().map(String::as_str) {
        Some("resume") => {
            let session = SessionId::random();
            let bytes = number(1).unwrap_or(100) * 1_000_000;
            let compacted = number(2).unwrap_or(0) * 1_000_000;
            write_session(directory.path(), &session, bytes, compacted)?;
            for _ in 0..4 {
                let start = Instant::now();
                let loaded = load(directory.path(), &session, None, None)?;
                let elapsed = start.elapsed();
                let messages = loaded.thread.len();
                writeln!(out, "resumed {messages} messages in {elapsed:?}; {:?}", loaded.repairs)?;
                if bytes <= 200_000_000 {
                    let start = Instant::now();
                    let rendered = request_messages(loaded.thread.iter().map(AsRef::as_ref)).len();
                    writeln!(out, "rendered {rendered} request messages in {:?}", start.elapsed())?;
                }
            }
            writeln!(out, "peak memory {}", peak_memory()?)?;
        }
        Some("list") => {
            let count = number(1).unwrap_or(1_000);
            for _ in 0..count {
                write_session(directory.path(), &SessionId::random(), 200_000, 0)?;
            }
            for _ in 0..number(2).unwrap_or(4) {
                let start = Instant::now();
                let listed = list(&[directory.path().to_owned()]).len();
                writeln!(out, "listed {listed} sessions in {:?}", start.elapsed())?;
            }
        }
        _ => return Err("usage: measure resume MEGABYTES [COMPACTED_MEGABYTES] | list COUNT [ROUNDS]".into()),
    }
    Ok(())
}

/// Prompts, calls, results and answers of about 2 KB each, in Claude Code's shape, `compacted` bytes of them
/// before a compact boundary.
fn write_session(directory: &Path, session: &SessionId, bytes: u64, compacted: u64) -> Result<(), Failure> {
    std::fs::create_dir_all(directory)?;
    let mut file = BufWriter::new(File::create(transcript_path(directory, session))?);
    let code = "fn main() {\\n    println!(\\\"hello, wörld\\\");\\n}\\n".repeat(40);
    let mut written = 0;
    let mut number = 0_u64;
    let mut boundary = compacted > 0;
    while written < bytes {
        let uuid = format!("{number:08x}-0000-4000-8000-000000000000");
        let mut parent = match number {
            0 => "null".to_owned(),
            _ => format!("\"{:08x}-0000-4000-8000-000000000000\"", number - 1),
        };
        let body = if boundary && written >= compacted {
            boundary = false;
            parent = "null".to_owned();
            r#""type":"system","subtype":"compact_boundary","content":"compacted""#.to_owned()
        } else {
            match number % 4 {
                0 => format!(r#""type":"user","message":{{"role":"user","content":"question {number}"}}"#),
                1 => format!(
                    r#""type":"assistant","message":{{"model":"claude","id":"msg_{number}","type":"message","role":"assistant","content":[{{"type":"text","text":"{code}"}},{{"type":"tool_use","id":"t{number}","name":"Edit","input":{{"file_path":"/a","old_string":"{code}","new_string":"b"}}}}],"stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":2}}}}"#
                ),
                2 => format!(
                    r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"t{}","type":"tool_result","content":"{code}"}}]}},"toolUseResult":{{"stdout":"{code}"}}"#,
                    number - 1
                ),
                _ => format!(
                    r#""type":"assistant","message":{{"model":"claude","id":"msg_{number}","type":"message","role":"assistant","content":[{{"type":"text","text":"{code}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":2}}}}"#
                ),
            }
        };
        let line = format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/ada","sessionId":"{session}","version":"2.0.0","gitBranch":"main",{body},"uuid":"{uuid}","timestamp":"2025-10-02T08:00:00.000Z"}}"#
        );
        writeln!(file, "{line}")?;
        written += line.len() as u64 + 1;
        number += 1;
    }
    Ok(file.flush()?)
}

fn peak_memory() -> io::Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok(status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("unknown").to_owned())
}
