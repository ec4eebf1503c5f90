//! What stands around a command: the judgement, the process that guards it, the copies that a rewind needs.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{ModelServer, Reply},
};

use super::{Figure, at_rest, each, in_milliseconds, median, turns::gaps};

const RUNS: usize = 10;

/// What the first command changes, so that a rewind has something to bring back.
const CHANGED: usize = 100;

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut figures = in_a_workspace(binary).await?;
    figures.push(judgement(binary)?);
    figures.push(guard(binary)?);
    Ok(figures)
}

/// 10,000 files in 100 folders, 40 MB.
async fn in_a_workspace(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("");
    for folder in 0..100 {
        for file in 0..100 {
            let text = format!("// {folder} {file}\n{}", "let value = compute(1, 2);\n".repeat(150));
            fixture.write(&format!("pkg_{folder}/module_{file}.rs"), &text);
        }
    }
    let server = ModelServer::start().await;
    let environment = fixture.environment(&server.url());
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    client.ignore("reverie/session/update");
    client.ignore("$/progress");
    client.allow_everything();
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let session = client.new_session().await;
    server.reply(Reply::text("ready"));
    client.turn(&session, "the first turn renders the prompt").await;

    let run = async |command: String| {
        let before = server.requests().len();
        server.reply(Reply::tool("Bash", json!({ "command": command })));
        server.reply(Reply::text("done"));
        client.turn(&session, &command).await;
        gaps(&server, before).first().copied().unwrap_or_default()
    };
    let change = "for file in pkg_1/*; do echo '// more' >> \"$file\"; done".to_owned();
    let first = run(change.clone()).await;
    let (mut later, mut reading) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        later.push(run(format!("echo {number} > pkg_2/module_{number}.rs")).await);
        reading.push(run("cat pkg_3/module_7.rs".to_owned()).await);
    }

    at_rest(client.process_id().unwrap_or_default()).await?;
    let prompt = uuid_of_prompt(&fs::read_to_string(fixture.transcript(&session))?, &change)?;
    let started = Instant::now();
    let params = json!({"sessionId": session, "messageUuid": prompt});
    let rewound = client.request("reverie/session/rewind", params).await;
    let rewinding = started.elapsed();
    let rewound = rewound.map_err(|error| anyhow::anyhow!("rewind: {}", error.message))?;
    let restored = rewound["restored"].as_array().map(Vec::len).unwrap_or_default();
    client.shutdown().await;
    server.finish();

    let reading = in_milliseconds(median(reading));
    let beside = format!("one that only reads: {reading:.2} ms");
    Ok(vec![
        Figure::milliseconds("first command that may change 10,000 files", first, 500.0)
            .beside("copies of them included, 40 MB; asked and answered"),
        Figure::milliseconds("later commands that may change them", median(later), 100.0).beside(beside),
        Figure::milliseconds("rewind with files", rewinding, 300.0)
            .beside(format!("{restored} files restored"))
            .provided(restored == CHANGED + RUNS),
    ])
}

fn uuid_of_prompt(transcript: &str, text: &str) -> anyhow::Result<String> {
    let records = transcript.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut prompts = records.filter(|record| record["type"] == "user");
    let prompt = prompts.find(|record| {
        let content = &record["message"]["content"];
        content == text || content[0]["text"] == text
    });
    let uuid = prompt.and_then(|record| record["uuid"].as_str().map(str::to_owned));
    uuid.context("the prompt is not in the transcript")
}

/// By `reverie debug shell`, one JSON line each; its start is not counted.
fn judgement(binary: &Path) -> anyhow::Result<Figure> {
    const LINES: usize = 5_000;
    let commands = [
        "ls -la",
        "git log --oneline -20",
        "grep -rn 'foo bar' src | head -20",
        "find . -name '*.rs' -not -path './target/*' | wc -l",
        "cargo build && ./run --all",
    ];
    let lines: String =
        commands.iter().cycle().take(LINES).map(|cmd| format!("{}\n", json!({ "cmd": cmd }))).collect();
    let judge = |lines: &str| {
        let started = Instant::now();
        let mut child = Command::new(binary)
            .args(["debug", "shell"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (mut stdin, lines) = (child.stdin.take().context("stdin is piped")?, lines.to_owned());
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
        let answers = output.stdout.split(|byte| *byte == b'\n').count() - 1;
        anyhow::Ok((started.elapsed(), answers))
    };
    let (nothing, _) = judge("")?;
    let (took, answers) = judge(&lines)?;
    let each = took.saturating_sub(nothing).as_secs_f64() * 1e6 / LINES as f64;
    Ok(Figure::number("judging whether a command only reads", each, 200.0, " µs")
        .beside(format!("{answers} lines through `reverie debug shell`"))
        .provided(answers == LINES))
}

/// The process between the server and a command, started as the server starts it.
fn guard(binary: &Path) -> anyhow::Result<Figure> {
    let run = |program: &Path, arguments: &[&str]| -> anyhow::Result<Duration> {
        each(5, || {
            let mut child = Command::new(program).args(arguments).stdin(Stdio::piped()).spawn()?;
            // Closed, it would tell the guard that the server is gone.
            let lifeline = child.stdin.take();
            let status = child.wait()?;
            drop(lifeline);
            anyhow::ensure!(status.success(), "{} failed", program.display());
            Ok(())
        })
    };
    let guarded = run(binary, &["__contained", r#"{"lifeline":true}"#, "--", "true"])?;
    let bare = run(Path::new("true"), &[])?;
    let beside =
        format!("`true` with it {:.2} ms, without {:.2} ms", in_milliseconds(guarded), in_milliseconds(bare));
    Ok(Figure::milliseconds("the process that guards a command", guarded.saturating_sub(bare), 5.0)
        .beside(beside))
}
