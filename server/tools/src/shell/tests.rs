//! The script zoo: commands that hang, flood, hide and refuse to die, through the tools that run them.
//!
//! Each prints the numbers of its processes; a test ends by asking `/proc` whether they are gone, zombies
//! included.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use conversation::ResultContent;
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace::Workspace;

use crate::{
    Display, FetchPolicy, JobStatus, ReadState, Shell, Todos, Tool, ToolContext, ToolFailure, ToolOutput,
    bash::Bash, bash_output::BashOutput, kill_shell::KillShell, testing::User,
};

/// No test should come near it; it only keeps a broken one from hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a stopped command may take on top of its timeout.
const STOPPING: Duration = Duration::from_secs(2);

struct Session {
    folder: TempDir,
    context: ToolContext,
    shown: mpsc::UnboundedReceiver<String>,
}

impl Session {
    fn new() -> Self {
        Self::with_variables(&[])
    }

    fn with_variables(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
        let zoo = ("ZOO", cwd.to_str().unwrap());
        let variables = variables.iter().chain([&path, &zoo]);
        let environment = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let (sender, shown) = mpsc::unbounded_channel();
        let context = ToolContext {
            cwd: cwd.clone(),
            cancel: CancellationToken::new(),
            progress: Arc::new(move |text| sender.send(text).unwrap_or_default()),
            host: Arc::new(User::Absent),
            workspace: Workspace::new(vec![cwd.clone()]),
            may_read: Arc::new(|_| true),
            not_denied: Arc::new(|_| true),
            target: None,
            fetch: FetchPolicy::default(),
            reads: ReadState::new(),
            shell: Shell::with_environment(cwd.clone(), environment.collect()),
            todos: Todos::new(),
            judged: None,
        };
        Self { folder, context, shown }
    }

    fn cwd(&self) -> &Path {
        &self.context.cwd
    }

    /// The processes that carry this session's variable.
    fn survivors(&self) -> Vec<OsString> {
        let mark = format!("ZOO={}", self.cwd().display());
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let marked = processes.filter(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        });
        marked.map(|process| process.file_name()).collect()
    }

    async fn bash(&self, input: Value) -> ToolOutput {
        let mut context = self.context.clone();
        if let Ok(access) = Bash.access(&input, &context) {
            context.binds_to(&access);
        }
        let call = Bash.run(input, context);
        tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap()
    }

    async fn line(&self, command: &str) -> String {
        text(self.bash(json!({ "command": command })).await)
    }

    /// The text of a result, with the session's folder written as `~`.
    async fn check(&self, command: &str, expected: Expect) {
        let text = self.line(command).await;
        expected.assert_eq(&text.replace(self.cwd().to_str().unwrap(), "~"));
    }

    async fn output(&self, id: &str) -> String {
        text(BashOutput.run(json!({ "bash_id": id }), self.context.clone()).await.unwrap())
    }

    /// Output as it is shown, until `wanted` has come.
    async fn wait_for(&mut self, wanted: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(wanted) {
            seen += &tokio::time::timeout(PATIENCE, self.shown.recv()).await.unwrap().unwrap();
        }
        seen
    }
}

fn text(output: ToolOutput) -> String {
    match output.content {
        ResultContent::Text(text) => text,
        ResultContent::Blocks(blocks) => panic!("{blocks:?}"),
    }
}

/// The number after `word=` in a command's output.
fn pid(output: &str, word: &str) -> u32 {
    let start = output.find(&format!("{word}=")).unwrap_or_else(|| panic!("no {word} in {output:?}"));
    let digits = output[start + word.len() + 1..].chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap()
}

#[track_caller]
fn assert_gone(output: &str, words: &[&str]) {
    for word in words {
        let pid = pid(output, word);
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        assert!(status.is_err(), "{word} lives on: {}", status.unwrap());
    }
}

#[tokio::test]
async fn output_of_both_streams_comes_in_order_with_the_exit_code() {
    let session = Session::new();
    session.check("echo one; echo two >&2; echo three", expect!["one\ntwo\nthree"]).await;
    session.check("true", expect!["(no output)"]).await;
    session.check("echo bad; exit 3", expect!["bad\n[exit code 3]"]).await;
    session.check("-x; true", expect!["bash: line 1: -x: command not found"]).await;
    session.check("kill -9 $$", expect!["(no output)\n[killed by signal 9]"]).await;
    session.check("set -e; false; echo not reached", expect!["(no output)\n[exit code 1]"]).await;
    session
        .check(
            "if then",
            expect![[r#"
        bash: eval: line 1: syntax error near unexpected token `then'
        bash: eval: line 1: ` if then'
        [exit code 2]"#]],
        )
        .await;
    session
        .check(
            "echo a\nnot-a-command",
            expect![[r#"
        a
        bash: line 2: not-a-command: command not found
        [exit code 127]"#]],
        )
        .await;
    session
        .check(
            "cat <<'END'\nit's \"quoted\" $HOME\nEND\necho $# \"$@\" $0",
            expect![[r#"
        it's "quoted" $HOME
        0 bash"#]],
        )
        .await;
}

#[tokio::test]
async fn the_display_is_a_terminal() {
    let session = Session::new();
    let output = session.bash(json!({"command": "echo x; exit 4"})).await;
    let expected =
        Display::Terminal { command: "echo x; exit 4".into(), output: "x\n".into(), exit_code: Some(4) };
    assert_eq!(output.display, expected);
}

#[tokio::test]
async fn the_folder_carries_over_and_nothing_else_does() {
    let session = Session::new();
    fs::create_dir_all(session.cwd().join("a/b c")).unwrap();
    session.check("cd a; X=1; pwd", expect!["~/a\n[the working directory is now ~/a]"]).await;
    session.check("pwd; echo \"[$X]\"", expect!["~/a\n[]"]).await;
    session
        .check(
            "cd 'b c'; exit 7",
            expect![[r#"
        (no output)
        [exit code 7]
        [the working directory is now ~/a/b c]"#]],
        )
        .await;
    session.check("trap 'echo bye' EXIT; cd ..", expect!["bye\n[the working directory is now ~/a]"]).await;
    session.check("set -C; (cd ..; pwd); false", expect!["~\n[exit code 1]"]).await;
    session
        .check("cd /usr", expect!["(no output)\n[the working directory is now /usr, outside the workspace]"])
        .await;
    session.check("pwd", expect!["/usr"]).await;
}

#[tokio::test]
async fn a_folder_that_is_gone_is_told() {
    let session = Session::new();
    session
        .check(
            "mkdir x && cd x && mkdir y && cd y",
            expect!["(no output)\n[the working directory is now ~/x/y]"],
        )
        .await;
    fs::remove_dir_all(session.cwd().join("x")).unwrap();
    session.check("pwd", expect!["~\n[the working directory ~/x/y is gone; this ran in ~]"]).await;
    session.check("mkdir z; cd z; rmdir ../z", expect!["(no output)"]).await;
    session.check("pwd", expect!["~"]).await;
}

#[tokio::test]
async fn a_link_keeps_its_name() {
    let session = Session::new();
    fs::create_dir(session.cwd().join("real")).unwrap();
    std::os::unix::fs::symlink("real", session.cwd().join("link")).unwrap();
    session.check("cd link", expect!["(no output)\n[the working directory is now ~/link]"]).await;
    session.check("echo $PWD; pwd", expect!["~/link\n~/link"]).await;
}

#[tokio::test]
async fn keys_do_not_reach_commands_and_pagers_are_off() {
    let session = Session::with_variables(&[
        ("ANTHROPIC_API_KEY", "secret"),
        ("ANTHROPIC_AUTH_TOKEN", "secret"),
        ("OPENAI_API_KEY", "secret"),
        ("OTHER", "kept"),
        ("TERM", "xterm"),
    ]);
    session
        .check(
            "env | grep -v -e REVERIE_JOB -e PATH -e SHLVL -e ZOO -e ^_= | sort",
            expect![[r#"
            GIT_EDITOR=true
            GIT_PAGER=cat
            GIT_TERMINAL_PROMPT=0
            OTHER=kept
            PAGER=cat
            PWD=~
            TERM=dumb"#]],
        )
        .await;
}

#[tokio::test]
async fn nobody_answers_at_stdin_or_at_a_terminal() {
    let session = Session::new();
    session
        .check(
            "cat; read line || echo end; (: </dev/tty) 2>/dev/null || echo no terminal",
            expect!["end\nno terminal"],
        )
        .await;
}

#[tokio::test]
async fn bytes_that_are_not_text_are_replaced() {
    let session = Session::new();
    session
        .check(r"printf 'a\xff\xc3(b\x1b[31mred\x1b[0m\0'", expect!["a\u{fffd}\u{fffd}(bred\u{fffd}"])
        .await;
}

#[tokio::test]
async fn a_hanging_command_is_stopped_at_its_timeout() {
    let session = Session::new();
    let begun = Instant::now();
    let output = text(
        session
            .bash(json!({"command": "echo shell=$$; sleep 1000 & echo sleep=$!; wait", "timeout": 200}))
            .await,
    );
    assert!(begun.elapsed() < Duration::from_millis(200) + STOPPING);
    assert!(output.ends_with("[stopped after the timeout of 0.2 s; this is the output so far]"), "{output}");
    assert_gone(&output, &["shell", "sleep"]);
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed() {
    let session = Session::new();
    let begun = Instant::now();
    let command = "trap '' TERM HUP INT; echo shell=$$; sleep 1000 & echo sleep=$!; while :; do wait; done";
    let output = text(session.bash(json!({"command": command, "timeout": 200})).await);
    assert!(begun.elapsed() < Duration::from_millis(200) + STOPPING);
    assert_gone(&output, &["shell", "sleep"]);
}

#[tokio::test]
async fn a_stopped_command_is_killed() {
    let session = Session::new();
    let command = "echo shell=$$; setsid sh -c 'echo inner=$$; kill -STOP $$; sleep 1000'";
    let output = text(session.bash(json!({"command": command, "timeout": 300})).await);
    assert_gone(&output, &["shell", "inner"]);
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_still_waited_for_and_stopped() {
    let session = Session::new();
    let command = "echo shell=$$; sleep 1000 >/dev/null 2>&1 & echo sleep=$!; exec >&- 2>&-; wait";
    let output = text(session.bash(json!({"command": command, "timeout": 300})).await);
    assert!(output.contains("stopped after the timeout"), "{output}");
    assert_gone(&output, &["shell", "sleep"]);
    session.check("exec >&- 2>&-; touch done", expect!["(no output)"]).await;
    assert!(session.cwd().join("done").exists());
}

#[tokio::test]
async fn cancelling_ends_the_command_at_once() {
    let mut session = Session::new();
    let call = Bash
        .run(json!({"command": "echo shell=$$; sleep 1000 & echo sleep=$!; wait"}), session.context.clone());
    let call = tokio::spawn(call);
    session.wait_for("sleep=").await;
    session.context.cancel.cancel();
    let begun = Instant::now();
    let output = text(tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap().unwrap());
    assert!(begun.elapsed() < STOPPING);
    assert!(output.ends_with("[stopped because the call was cancelled]"), "{output}");
    assert_gone(&output, &["shell", "sleep"]);
}

#[tokio::test]
async fn dropping_the_call_ends_the_command() {
    let mut session = Session::new();
    let call = Bash
        .run(json!({"command": "echo shell=$$; sleep 1000 & echo sleep=$!; wait"}), session.context.clone());
    let call = tokio::spawn(call);
    let output = session.wait_for("sleep=").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::time::timeout(PATIENCE, session.context.shell.kill_all()).await.unwrap();
    assert_gone(&output, &["shell", "sleep"]);
}

#[tokio::test]
async fn what_outlives_the_shell_does_not_hang_the_call_and_is_stopped() {
    let session = Session::new();
    let begun = Instant::now();
    let output = session.line("sleep 1000 & echo sleep=$!").await;
    assert!(begun.elapsed() < STOPPING);
    assert!(
        output.ends_with("[1 process was still running and was stopped; run_in_background keeps it]"),
        "{output}"
    );
    assert_gone(&output, &["sleep"]);
}

/// Forks twice and leaves the session, as daemons do, and tells its number through a file.
fn daemon(environment: &str, output: &str) -> String {
    format!(
        "mkfifo told; {environment} setsid sh -c '(echo daemon=$$; exec sh -c \"echo inner=\\$\\$ >told; exec sleep 1000\") {output} & ' & cat told"
    )
}

#[tokio::test]
async fn daemons_do_not_escape() {
    for (environment, redirection) in [
        ("", ""),
        ("", ">/dev/null 2>&1"),
        ("env -i", ">/dev/null 2>&1"),
        ("env -i PATH=/usr/bin:/bin nohup", ">/dev/null 2>&1 </dev/null"),
    ] {
        let session = Session::new();
        let output = session.line(&daemon(environment, redirection)).await;
        assert!(output.contains("stopped; run_in_background"), "{output}");
        assert_gone(&output, &["inner"]);
    }
}

#[tokio::test]
async fn daemons_do_not_escape_a_timeout() {
    let session = Session::new();
    let command = format!("{}; sleep 1000", daemon("env -i", ">/dev/null 2>&1"));
    let output = text(session.bash(json!({"command": command, "timeout": 500})).await);
    assert_gone(&output, &["inner"]);
}

#[tokio::test]
async fn fifty_daemons_do_not_escape() {
    let session = Session::new();
    let output = session
        .line("for i in {1..50}; do setsid sh -c 'trap \"\" TERM; sleep 1000; :' & echo p$i=$!; done")
        .await;
    let words: Vec<String> = (1..=50).map(|number| format!("p{number}")).collect();
    assert_gone(&output, &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(session.survivors(), Vec::<OsString>::new());
}

#[tokio::test]
async fn a_flood_is_drained_and_cut() {
    let session = Session::new();
    let before = resident_kilobytes();
    let output = session.line("echo first; yes | head -c 200000000; echo last").await;
    assert!(output.starts_with("first\ny\ny\n"), "{}", &output[..100]);
    assert!(output.ends_with("y\ny\nlast"), "{}", &output[output.len() - 100..]);
    assert!(output.contains("[... 199,"), "{output}");
    assert!(output.chars().count() < 220_000, "as much as is kept");
    assert!(resident_kilobytes().saturating_sub(before) < 50_000);
}

fn resident_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn an_endless_flood_is_stopped_and_shown_in_few_batches() {
    let mut session = Session::new();
    let begun = Instant::now();
    let output = text(session.bash(json!({"command": "echo shell=$$; yes", "timeout": 500})).await);
    assert!(begun.elapsed() < Duration::from_millis(500) + STOPPING);
    assert_gone(&output, &["shell"]);
    session.shown.close();
    let mut batches = Vec::new();
    while let Some(batch) = session.shown.recv().await {
        assert!(batch.len() <= 4096);
        batches.push(batch);
    }
    assert!((1..=30).contains(&batches.len()), "{}", batches.len());
}

#[tokio::test]
async fn too_many_processes_are_stopped() {
    let mut session = Session::new();
    Arc::get_mut(&mut session.context.shell).unwrap().most_processes = 20;
    // Not by the limit on tasks, which does not hold for everyone, but by being counted.
    let command = "ulimit -S -u hard; for i in {1..60}; do sleep 1000 & done; echo all; wait";
    let output = session.line(command).await;
    assert!(output.ends_with("[stopped because it had started thousands of processes]"), "{output}");
    assert_eq!(session.survivors(), Vec::<OsString>::new());
}

fn contain(session: &Session, containment: super::Containment) {
    let surroundings = super::Surroundings::clone(&super::lock(&session.context.shell.surroundings));
    session.context.shell.surround(super::Surroundings { containment, ..surroundings });
}

#[tokio::test]
async fn walls_without_a_helper_are_a_refusal() {
    let session = Session::new();
    let walls = sandbox::Walls::workbench([], session.cwd().to_owned(), sandbox::Network::None);
    contain(&session, super::Containment { main_walls: Some(walls), ..super::Containment::default() });
    for background in [false, true] {
        let input = json!({"command": "touch made", "run_in_background": background});
        let ToolFailure(words) = Bash.run(input, session.context.clone()).await.unwrap_err();
        expect!["the sandbox cannot be applied here: this program has no helper process; switch sandbox.mainBash off or run the `reverie` program itself"].assert_eq(&words);
    }
    assert!(!session.cwd().join("made").exists());
}

#[tokio::test]
async fn a_helper_that_refuses_is_quoted_and_nothing_was_run() {
    let session = Session::new();
    let helper = session.cwd().join("helper");
    fs::write(&helper, "#!/bin/sh\necho 'reverie: no walls today' >&2; exit 126\n").unwrap();
    fs::set_permissions(&helper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let walls = sandbox::Walls::workbench([], session.cwd().to_owned(), sandbox::Network::None);
    for (main_walls, expected) in [
        (None, expect!["the command was not run: no walls today"]),
        (
            Some(walls),
            expect![
                "the sandbox cannot be applied here: no walls today; switch sandbox.mainBash off or run on a system that has it"
            ],
        ),
    ] {
        contain(&session, super::Containment { reverie: Some(helper.clone()), main_walls });
        for background in [false, true] {
            let input = json!({"command": "touch made", "run_in_background": background});
            let ToolFailure(words) = Bash.run(input, session.context.clone()).await.unwrap_err();
            expected.assert_eq(&words);
        }
    }
    assert!(!session.cwd().join("made").exists());
    assert_eq!(session.context.shell.jobs(), []);
}

#[tokio::test]
async fn what_only_reads_is_run_as_it_was_judged() {
    let session = Session::with_variables(&[
        ("BASH_FUNC_cat%%", "() { echo another cat; }"),
        ("BASH_ENV", "/dev/stdin"),
    ]);
    fs::write(session.cwd().join("a"), "text\n").unwrap();
    let judged = |input: Value| match Bash.access(&input, &session.context).unwrap() {
        permissions::Access::Command { judged, .. } => judged,
        other => panic!("{other:?}"),
    };
    let reads = judged(json!({"command": "cat a | wc -l"})).unwrap().reads;
    assert_eq!(reads, [session.cwd().join("a")]);
    assert_eq!(judged(json!({"command": "touch a"})), None);
    assert_eq!(judged(json!({"command": "cat a", "run_in_background": true})), None);
    session.check("cat a", expect!["text"]).await;
    session.check("cat a; :", expect!["another cat"]).await;
    let output = session.bash(json!({"command": "cat a"})).await;
    let expected = Display::Terminal { command: "cat a".into(), output: "text\n".into(), exit_code: Some(0) };
    assert_eq!(output.display, expected);
}

#[tokio::test]
async fn a_judgement_holds_for_its_folder_alone() {
    let session = Session::new();
    fs::create_dir(session.cwd().join("inner")).unwrap();
    fs::write(session.cwd().join("a"), "outer\n").unwrap();
    fs::write(session.cwd().join("inner/a"), "inner\n").unwrap();
    let judged = session.context.shell.judge("cat a").unwrap();
    session.line("cd inner").await;
    let limit = Duration::from_secs(1);
    let manner = super::Manner::Foreground { limit, progress: Arc::new(|_| {}) };
    let ToolFailure(words) = session.context.shell.start_judged("cat a", &judged, manner).err().unwrap();
    assert_eq!(
        words,
        format!("the working directory has changed to {}/inner; try again", session.cwd().display())
    );
    session.check("cat a", expect!["inner"]).await;
    // A folder that is gone is the session's own again, for the judgement too.
    fs::remove_dir_all(session.cwd().join("inner")).unwrap();
    let reads = session.context.shell.judge("cat a").unwrap().reads;
    assert_eq!(reads, [session.cwd().join("a")]);
    session.check("cat a", expect!["outer\n[the working directory ~/inner is gone; this ran in ~]"]).await;
}

#[tokio::test]
async fn what_only_reads_runs_together() {
    let session = Session::new();
    fs::write(session.cwd().join("a"), "text\n").unwrap();
    let command = format!("{}cat a", "cat a > /dev/null; ".repeat(20));
    let calls = (0..10).map(|_| session.line(&command));
    let outputs = futures_util::future::join_all(calls).await;
    assert_eq!(outputs, vec!["text"; 10]);
}

#[tokio::test]
async fn bad_inputs_are_refused_in_words() {
    let session = Session::new();
    let check = |input: Value, expected: Expect| {
        let ToolFailure(words) = Bash.access(&input, &session.context).unwrap_err();
        expected.assert_eq(&words);
    };
    check(json!({"command": " "}), expect!["the command is empty"]);
    check(json!({"command": "a\0b"}), expect!["the command contains a NUL character, which no command can"]);
    check(json!({}), expect!["the input of Bash is not valid: command is missing"]);
    let long = json!({"command": format!("echo {}", "x".repeat(200_000))});
    let ToolFailure(words) = Bash.run(long, session.context.clone()).await.unwrap_err();
    expect!["the command is too long for the system (128 KiB); write it to a file and run that"]
        .assert_eq(&words);
}

#[tokio::test]
async fn a_background_job_is_read_in_pieces_and_killed() {
    let session = Session::new();
    // The sleeper tells its number itself: a child of bash that is killed before it has become another program may say
    // that it has no record of some process.
    let command =
        "mkfifo go; echo shell=$$; cat go; echo more; sh -c 'echo sleep=$$; exec sleep 1000' & wait";
    let started = session.bash(json!({"command": command, "run_in_background": true})).await;
    expect!["Started in the background with the id bash_1. Read its output with BashOutput."]
        .assert_eq(&text(started));
    assert_eq!(session.context.shell.jobs()[0].status, JobStatus::Running);

    // The first line is there once the pipe below has a reader.
    session.line("until [ -p go ]; do :; done; echo now > go").await;
    let mut seen = String::new();
    let begun = Instant::now();
    while !seen.contains("sleep=") && begun.elapsed() < PATIENCE {
        let piece = session.output("bash_1").await;
        assert!(piece.ends_with("[still running]"), "{piece}");
        seen += &piece.replace("(no new output)", "").replace("[still running]", "");
        tokio::task::yield_now().await;
    }
    let lines: Vec<&str> = seen.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[1..3], ["now", "more"]);

    let killed = KillShell.run(json!({"shell_id": "bash_1"}), session.context.clone()).await.unwrap();
    expect!["(no new output)\n[was stopped]"].assert_eq(&text(killed));
    assert_eq!(session.context.shell.jobs()[0].status, JobStatus::Killed);
    assert_gone(&seen, &["shell", "sleep"]);
}

#[tokio::test]
async fn a_background_job_ends_with_its_last_process() {
    let session = Session::new();
    let command = "mkfifo go; echo a; (cat go; echo b) & disown; exit 5";
    session.bash(json!({"command": command, "run_in_background": true})).await;
    session.line("until [ -p go ]; do :; done; : > go").await;
    let job = session.context.shell.job("bash_1").unwrap();
    tokio::time::timeout(PATIENCE, job.ended()).await.unwrap();
    expect!["a\nb\n[ended with exit code 5]"].assert_eq(&session.output("bash_1").await);
    expect!["(no new output)\n[ended with exit code 5]"].assert_eq(&session.output("bash_1").await);
    assert_eq!(session.context.shell.jobs()[0].status, JobStatus::Exited { code: 5 });
}

#[tokio::test]
async fn an_unknown_job_is_named_with_those_there_are() {
    let session = Session::new();
    let ask = |id: &str| BashOutput.run(json!({ "bash_id": id }), session.context.clone());
    expect!["no background job has the id bash_9; known: there are none"]
        .assert_eq(&ask("bash_9").await.unwrap_err().0);
    session.bash(json!({"command": "true", "run_in_background": true})).await;
    expect!["no background job has the id 1; known: bash_1"].assert_eq(&ask("1").await.unwrap_err().0);
}

#[tokio::test]
async fn killing_all_ends_jobs_and_commands_within_two_seconds() {
    let mut session = Session::new();
    let job = "trap '' TERM; mkfifo told; (setsid sh -c 'echo inner=$$ >told; trap \"\" TERM; sleep 1000; :' &); cat told; sleep 1000; :";
    for folder in ["a", "b"] {
        session.line(&format!("cd {}; mkdir {folder}; cd {folder}", session.cwd().display())).await;
        session.bash(json!({"command": job, "run_in_background": true})).await;
    }
    let call = Bash.run(json!({"command": "echo shell=$$; sleep 1000; :"}), session.context.clone());
    let call = tokio::spawn(call);
    let foreground = session.wait_for("shell=").await;
    let mut outputs = Vec::new();
    for id in ["bash_1", "bash_2"] {
        let mut seen = String::new();
        let begun = Instant::now();
        while !seen.contains("inner=") && begun.elapsed() < PATIENCE {
            seen += &session.output(id).await;
            tokio::task::yield_now().await;
        }
        outputs.push(seen);
    }
    let begun = Instant::now();
    session.context.shell.kill_all().await;
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(call.await.unwrap().is_ok());
    assert_gone(&foreground, &["shell"]);
    outputs.iter().for_each(|output| assert_gone(output, &["inner"]));
    assert!(session.context.shell.jobs().iter().all(|job| job.status == JobStatus::Killed));
}

#[test]
fn the_end_of_the_runtime_is_the_end_of_its_commands() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let session = runtime.block_on(async {
        let mut session = Session::new();
        let call = Bash.run(json!({"command": "echo shell=$$; sleep 1000; :"}), session.context.clone());
        tokio::spawn(call);
        *seen.lock().unwrap() = session.wait_for("shell=").await;
        session
    });
    drop(runtime);
    let pid = pid(&seen.lock().unwrap(), "shell");
    wait_until_dead(pid);
    drop(session.folder);
}

#[tokio::test]
async fn dropping_the_shell_kills_its_jobs() {
    let session = Session::new();
    let started =
        session.bash(json!({"command": "echo shell=$$; sleep 1000; :", "run_in_background": true})).await;
    drop(started);
    let mut seen = String::new();
    let begun = Instant::now();
    while !seen.contains("shell=") && begun.elapsed() < PATIENCE {
        seen += &session.output("bash_1").await;
        tokio::task::yield_now().await;
    }
    drop(session);
    wait_until_dead(pid(&seen, "shell"));
}

/// Waits on the kernel's word for the process, not on the clock.
fn wait_until_dead(pid: u32) {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::{Pid, PidfdFlags, pidfd_open},
    };
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)), Ok(1));
}
