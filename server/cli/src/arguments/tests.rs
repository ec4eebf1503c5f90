use expect_test::{Expect, expect};

use super::*;

/// The arguments are separated by `|`.
#[track_caller]
fn check(arguments: &str, expected: Expect) {
    let arguments = std::iter::once("reverie").chain(arguments.split('|')).map(OsString::from);
    let shown = match parse(arguments) {
        Ok(Command::Print(text)) => format!("prints: {}", text.lines().next().unwrap_or_default()),
        Ok(command) => format!("{command:?}"),
        Err(message) => format!("error: {message}"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn ask_takes_its_prompt_as_words() {
    check(
        "ask|where|is it?",
        expect![[
            r#"Ask(AskOptions { session: SessionOptions { which: New, model: None, mode: None, allow: [], bare: false, assistant: false, cwd: None }, prompt: PromptWords { text: Some("where is it?"), stdin: false }, json: false })"#
        ]],
    );
    check(
        "ask|--json|-c|-m|opus|--mode=plan|--allow|Bash(make:*)|--allow|Write|--bare|-C|/tmp|--|-v",
        expect![[
            r#"Ask(AskOptions { session: SessionOptions { which: Newest, model: Some("opus"), mode: Some("plan"), allow: ["Bash(make:*)", "Write"], bare: true, assistant: false, cwd: Some("/tmp") }, prompt: PromptWords { text: Some("-v"), stdin: false }, json: true })"#
        ]],
    );
}

#[test]
fn a_dash_asks_for_stdin() {
    for (arguments, text) in [("ask|-", None), ("ask|review|-", Some("review")), ("ask| |-", None)] {
        let arguments = std::iter::once("reverie").chain(arguments.split('|')).map(OsString::from);
        let Ok(Command::Ask(options)) = parse(arguments) else { panic!("not understood") };
        assert!(options.prompt.stdin);
        assert_eq!(options.prompt.text.as_deref(), text);
    }
}

#[test]
fn chat_resumes_a_session() {
    check(
        "chat|--resume|abc",
        expect![[
            r#"Chat(SessionOptions { which: Id("abc"), model: None, mode: None, allow: [], bare: false, assistant: false, cwd: None })"#
        ]],
    );
}

#[test]
fn a_branch_of_a_session_is_resumed_by_its_number() {
    for command in ["chat|--resume|abc|--branch|2", "ask|x|--branch=2|--resume|abc"] {
        let arguments = std::iter::once("reverie").chain(command.split('|')).map(OsString::from);
        let which = match parse(arguments) {
            Ok(Command::Chat(options)) => options.which,
            Ok(Command::Ask(options)) => options.session.which,
            other => panic!("{other:?}"),
        };
        assert!(matches!(which, Which::Branch { id, number: 2 } if id == "abc"));
    }
}

#[test]
fn sessions_lists_by_default() {
    check(
        "sessions",
        expect!["SessionsList { query: None, all: false, scope: Scope { cwd: None, json: false } }"],
    );
    check(
        "sessions|list|two|words|--json|-C|/x",
        expect![[
            r#"SessionsList { query: Some("two words"), all: false, scope: Scope { cwd: Some("/x"), json: true } }"#
        ]],
    );
    check(
        "sessions|show|abc",
        expect![[r#"SessionsShow { id: "abc", scope: Scope { cwd: None, json: false } }"#]],
    );
    check(
        "sessions|list|--all",
        expect!["SessionsList { query: None, all: true, scope: Scope { cwd: None, json: false } }"],
    );
    check(
        "sessions|rewind|abc|2|--no-files",
        expect![[
            r#"SessionsRewind { id: "abc", message: "2", restore_files: false, force: false, scope: Scope { cwd: None, json: false } }"#
        ]],
    );
}

#[test]
fn the_small_commands() {
    check("lsp|--stdio", expect!["Lsp { assistant: false }"]);
    check(
        "doctor|--json",
        expect!["Doctor { repair: false, repairs: false, scope: Scope { cwd: None, json: true } }"],
    );
    check(
        "doctor|--repairs",
        expect!["Doctor { repair: false, repairs: true, scope: Scope { cwd: None, json: false } }"],
    );
    check("debug|tokens|--model|opus", expect!["DebugTokens"]);
    check("debug|tokens", expect!["DebugTokens"]);
    check("debug|shell", expect!["DebugShell"]);
    check("debug|path|--root|/m|--write", expect![[r#"DebugPath { root: "/m", deed: Write }"#]]);
    check(
        "debug|sandbox|--memory|/m|--|ls|-h",
        expect![[
            r#"DebugSandbox(Contained { memory: "/m", what: Program { program: "ls", arguments: ["-h"] }, limit: 20s })"#
        ]],
    );
    check(
        "debug|sandbox|--memory|/m|--limit|5|--shell|ls -h",
        expect![[r#"DebugSandbox(Contained { memory: "/m", what: Shell("ls -h"), limit: 5s })"#]],
    );
    check("--version", expect!["prints: reverie 0.1.0"]);
    for help in
        ["--help", "-h", "help", "ask|--help", "chat|-h", "sessions|-h", "doctor|-h", "debug|-h", "lsp|-h"]
    {
        check(help, expect!["prints: reverie — an agent that lives in your editor and remembers"]);
    }
}

#[test]
fn a_dream_is_begun_looked_at_and_taken_back() {
    check(
        "dream",
        expect![
            "Dream { what: Start { dry_run: false, model: None }, scope: Scope { cwd: None, json: false } }"
        ],
    );
    check(
        "dream|--dry-run|--model|opus|--json|--cwd|/x",
        expect![[
            r#"Dream { what: Start { dry_run: true, model: Some("opus") }, scope: Scope { cwd: Some("/x"), json: true } }"#
        ]],
    );
    check("dream|status", expect!["Dream { what: Status, scope: Scope { cwd: None, json: false } }"]);
    check(
        "dream|report|7",
        expect![[r#"Dream { what: Report { id: Some("7") }, scope: Scope { cwd: None, json: false } }"#]],
    );
    check(
        "dream|undo",
        expect!["Dream { what: Undo { id: None }, scope: Scope { cwd: None, json: false } }"],
    );
    check("dream|undo|--dry-run", expect!["error: 'dream undo' takes neither --dry-run nor --model"]);
    check("dream|report|a|b", expect!["error: 'dream report' takes no more than one dream"]);
    check("dream|on", expect!["error: there is no command 'dream on'"]);
    check("dream|-h", expect!["prints: reverie — an agent that lives in your editor and remembers"]);
}

#[test]
fn an_assistant_keeps_a_log() {
    check("lsp|--assistant|--stdio", expect!["Lsp { assistant: true }"]);
    for command in ["chat|--assistant", "ask|x|--assistant"] {
        let arguments = std::iter::once("reverie").chain(command.split('|')).map(OsString::from);
        let assistant = match parse(arguments) {
            Ok(Command::Chat(options)) => options.assistant,
            Ok(Command::Ask(options)) => options.session.assistant,
            other => panic!("{other:?}"),
        };
        assert!(assistant, "{command}");
    }
}

#[test]
fn wrong_usage_says_what_is_wrong() {
    check("aks|hi", expect!["error: there is no command 'aks'"]);
    check(
        "where is it?",
        expect![[r#"error: that is no command; a prompt goes behind one: reverie ask "…""#]],
    );
    check("ask|--jason|x", expect!["error: invalid option '--jason'"]);
    check("ask|x|--model", expect!["error: missing argument for option '--model'"]);
    check(
        "ask|x|--mode|yolo",
        expect!["error: there is no mode 'yolo'; the modes are default, acceptEdits, plan and bypass"],
    );
    check("ask|x|-c|--resume|y", expect!["error: --continue and --resume exclude each other"]);
    check("chat|hi", expect![[r#"error: chat takes no prompt: type it there, or use reverie ask "…""#]]);
    check("chat|--json", expect!["error: --json goes with ask"]);
    check("sessions|show", expect!["error: 'sessions show' needs the id of one session"]);
    check(
        "sessions|rewind|x",
        expect!["error: 'sessions rewind' needs the id of a session and a prompt of it"],
    );
    check("chat|--branch|2", expect!["error: --branch goes with --resume"]);
    check("sessions|drop", expect!["error: there is no command 'sessions drop'"]);
    check("doctor|now", expect![[r#"error: unexpected argument "now""#]]);
    check(
        "debug",
        expect![
            "error: 'debug' needs the name of a part: tokens, shell, path, sandbox, rank, secrets or layout"
        ],
    );
    check("debug|path", expect!["error: 'debug path' needs --root DIR"]);
    check("debug|sandbox|--shell|ls", expect!["error: 'debug sandbox' needs --memory DIR"]);
    check(
        "debug|sandbox|--memory|/m",
        expect!["error: 'debug sandbox' needs -- and a program, or --shell and a line"],
    );
    check("debug|layout", expect!["error: 'debug layout' needs --session ID"]);
    check("lsp|--port|1", expect!["error: invalid option '--port'"]);
}

#[test]
fn the_help_fits_a_screen() {
    let help = help();
    assert!(help.lines().count() <= 35, "{} lines", help.lines().count());
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn sessions_are_searched_exported_and_forked() {
    check(
        "sessions|search|byte|mark|--since|2026-03-01T09:00:00Z|--role|user|--limit|5",
        expect![[
            r#"SessionsSearch { search: Search { words: "byte mark", since: Some("2026-03-01T09:00:00Z"), until: None, role: Some(User), session: None, limit: Some(5), all: false }, scope: Scope { cwd: None, json: false } }"#
        ]],
    );
    check(
        "sessions|export|7a3c|--format|json|-o|out.json",
        expect![[
            r#"SessionsExport { id: "7a3c", format: Json, to: Some("out.json"), scope: Scope { cwd: None, json: false } }"#
        ]],
    );
    check(
        "sessions|fork|7a3c",
        expect![[r#"SessionsFork { id: "7a3c", scope: Scope { cwd: None, json: false } }"#]],
    );
    check("sessions|search", expect!["error: 'sessions search' needs words to look for"]);
    check(
        "sessions|search|x|--since|yesterday",
        expect!["error: 'yesterday' is no time; write 2026-03-01 or 2026-03-01T09:30:00Z"],
    );
    check(
        "sessions|search|x|--role|nobody",
        expect!["error: there is no role 'nobody'; the roles are user, assistant and tool"],
    );
    check("sessions|export", expect!["error: 'sessions export' needs the id of one session"]);
    assert!(time("2026-03-01").unwrap().starts_with("2026-0"));
    check("trust", expect!["Trust { change: None, scope: Scope { cwd: None, json: false } }"]);
    check("trust|--yes", expect!["Trust { change: Some(true), scope: Scope { cwd: None, json: false } }"]);
    check(
        "trust|--revoke|--json",
        expect!["Trust { change: Some(false), scope: Scope { cwd: None, json: true } }"],
    );
    check(
        "doctor|--repair",
        expect!["Doctor { repair: true, repairs: false, scope: Scope { cwd: None, json: false } }"],
    );
}
