//! What a stranger sees first, and what someone sees who mistypes.

use expect_test::expect;

use crate::program::Program;

#[tokio::test]
async fn help_fits_a_screen_and_has_examples() {
    let program = Program::offline("");
    let help = program.run(&["--help"]).await;
    expect![[r#"
        reverie — an agent that lives in your editor and remembers

        Usage: reverie COMMAND [OPTIONS]

        Commands
          ask "PROMPT" [-]       one turn in the terminal; what is piped in goes with it
          chat                   a conversation in the terminal
          sessions [list|show|search|export|fork|rewind]
                                 past conversations: list [WORDS], show ID, search WORDS
                                 [--all --since DAY --role user], export ID [-o FILE],
                                 fork ID, rewind ID PROMPT-NUMBER [--no-files]
          memory [list|show|search|lint|history|undo|forget]
                                 what is remembered: undo [CHANGE | --since DAY]
          dream [--dry-run]      puts memories in order; dream status, report, undo [ID]
          trust [--yes|--revoke] may this folder's own files run programs?
          doctor [--repair]      is everything there? what was mended so far: --repairs
          lsp                    the language server that editors start (stdio)
          debug PART             tokens shell path sandbox rank secrets layout

        Options of ask and chat
          -c, --continue         go on with this project's newest session
              --resume ID        go on with this session; its start will do [--branch N]
          -m, --model NAME       opus, sonnet, haiku, provider/model, or offline
              --mode MODE        default, acceptEdits, plan, or bypass (never asks)
              --allow RULE       allow without asking, as 'Bash(make:*)'; repeatable
              --bare             no memory, nothing in the background
              --assistant        a log a day, put in order at night (also with lsp)
              --json             ask: the raw update stream, one JSON object a line
        Of all: -C, --cwd DIR    work in DIR        -h, --help        -V, --version

        Examples
          reverie ask "how is this project built?"
          git diff | reverie ask "review this change"
          ANTHROPIC_API_KEY=… reverie chat --model opus
        Without a key the offline model answers. Exit: 0 done, 1 failed, 2 usage, 130 ^C
        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&help.transcript());
    assert_eq!(program.run(&[]).await.stdout, help.stdout);
    assert_eq!(program.run(&["ask", "--help"]).await.stdout, help.stdout);
}

#[tokio::test]
async fn the_version_is_one_line() {
    let run = Program::offline("").run(&["--version"]).await;
    expect![[r#"
        reverie 0.1.0
        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
}

#[tokio::test]
async fn wrong_usage_is_said_with_a_hint_and_exit_code_2() {
    let program = Program::offline("");
    expect![[r#"
        --- stderr
        reverie: there is no command 'aks'
        Try 'reverie --help'.
        --- exit code 2
    "#]]
    .assert_eq(&program.run(&["aks", "x"]).await.transcript());
    for wrong in [
        &["where is it?"][..],
        &["ask", "--jason", "x"],
        &["ask", "x", "--mode", "yolo"],
        &["ask", "x", "--model"],
        &["ask", "x", "-c", "--resume", "y"],
        &["chat", "x"],
        &["sessions", "show"],
        &["sessions", "burn"],
        &["debug"],
        &["doctor", "who"],
        &["lsp", "--port", "1"],
    ] {
        let run = program.run(wrong).await;
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{wrong:?}");
        assert!(run.stderr.contains("Try 'reverie --help'."), "{wrong:?}: {}", run.stderr);
    }
}

#[tokio::test]
async fn without_a_prompt_there_is_nothing_to_ask() {
    let run = Program::offline("").run(&["ask"]).await;
    expect![[r#"
        --- stderr
        reverie: there is no prompt; try: reverie ask "what does this project do?"
        --- exit code 2
    "#]]
    .assert_eq(&run.transcript());
}

#[tokio::test]
async fn a_reader_that_leaves_is_no_error() {
    let program = Program::offline("");
    let run = program.shell(r#""$REVERIE" --help | head -1; echo "${PIPESTATUS[0]}""#).await;
    expect![[r#"
        reverie — an agent that lives in your editor and remembers
        0
        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
}
