//! Servers as child processes: one that does what it is told, and everything that can go wrong with it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure in a test should end it")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use expect_test::expect;
use mcp::{Content, McpError, McpTool, Options, Progress, Scope, ServerConfig, Servers, Status, Transport};
use serde_json::{Value, json};
use settings::Environment;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(60);

/// Built by cargo beside the tests.
fn scripted_server() -> String {
    let test = env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/scripted_server");
    assert!(path.is_file(), "{} is missing", path.display());
    path.display().to_string()
}

fn config(name: &str, command: &str, args: &[&str]) -> ServerConfig {
    let env = BTreeMap::from([("TOKEN".to_owned(), "${SECRET_TOKEN:-none} and more".to_owned())]);
    ServerConfig {
        name: name.to_owned(),
        scope: Scope::User,
        fingerprint: format!("{command} {args:?}"),
        transport: Transport::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env,
        },
        source: String::new(),
    }
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let path = [("PATH", env::var("PATH").unwrap())].into_iter();
    let given = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let variables = path.chain(given).map(|(name, value)| (name.to_owned(), value));
    Environment::new(PathBuf::from("/"), variables)
}

struct Rig {
    servers: Servers,
    folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        Self { servers: Servers::new(Options::default()), folder: tempfile::tempdir().unwrap() }
    }

    fn start(mode: &str) -> Self {
        Self::start_with(mode, &[])
    }

    fn start_with(mode: &str, variables: &[(&str, &str)]) -> Self {
        let rig = Self::new();
        let config = config("scripted", &scripted_server(), &[mode]);
        rig.servers.keep(vec![config], rig.folder.path(), &environment(variables));
        rig
    }

    async fn tools(&self) -> Vec<McpTool> {
        self.servers.tools(LONG).await
    }

    async fn status(&self) -> String {
        self.tools().await;
        let status = self.servers.status();
        let lines: Vec<String> = status
            .into_iter()
            .map(|(name, status)| match status {
                Status::Failed(why) => format!("{name} {why}\n"),
                status => format!("{name}: {status:?}\n"),
            })
            .collect();
        lines.concat()
    }

    async fn call(&self, tool: &str, input: Value) -> Result<Vec<Content>, McpError> {
        let name = format!("mcp__scripted__{tool}");
        self.servers.call(&name, input, CancellationToken::new(), Arc::new(|_| {})).await
    }

    async fn text(&self, tool: &str, input: Value) -> String {
        match self.call(tool, input).await.unwrap().remove(0) {
            Content::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

fn text(text: &str) -> Vec<Content> {
    vec![Content::Text(text.to_owned())]
}

#[tokio::test]
async fn nothing_is_started_when_nothing_is_configured() {
    let servers = Servers::new(Options::default());
    servers.keep(Vec::new(), &PathBuf::from("/"), &environment(&[]));
    assert_eq!(servers.tools(LONG).await, []);
    assert_eq!(servers.status(), []);
    let call = servers.call("mcp__x__y", json!({}), CancellationToken::new(), Arc::new(|_| {})).await;
    assert_eq!(call, Err(McpError::NoTool { name: "mcp__x__y".to_owned() }));
    servers.shutdown().await;
}

#[tokio::test]
async fn tools_are_listed_in_order_and_called() {
    let rig = Rig::start("plain");
    let tools = rig.tools().await;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.is_sorted() && names.contains(&"mcp__scripted__echo"), "{names:?}");
    expect![[r#"
        McpTool {
            server: "scripted",
            name: "mcp__scripted__endless",
            description: "Does endless",
            input_schema: Object {
                "type": String("object"),
                "properties": Object {
                    "text": Object {
                        "type": String("string"),
                    },
                },
            },
            read_only: false,
        }
    "#]]
    .assert_debug_eq(&tools[4]);
    assert_eq!(rig.call("echo", json!({"text": "hi"})).await.unwrap(), text("hi"));
    assert_eq!(rig.call("structured", json!({})).await.unwrap(), text(r#"{"sum":3}"#));
    assert_eq!(rig.call("fails", json!({})).await, Err(McpError::Tool("no such record".to_owned())));
    expect![[r#"
        Ok(
            [
                Image {
                    media_type: "image/png",
                    data: "iVBORw0KGgoAAAAN",
                },
            ],
        )
    "#]]
    .assert_debug_eq(&rig.call("image", json!({})).await);
    expect![[r#"
        Ok(
            [
                Text(
                    "(content of the kind \"hologram\", which is not known here)",
                ),
                Text(
                    "and text",
                ),
            ],
        )
    "#]]
    .assert_debug_eq(&rig.call("odd", json!({})).await);
    let missing = rig.call("nothing", json!({})).await.unwrap_err();
    expect![
        "there is no tool mcp__scripted__nothing (any more); its MCP server may have been removed or changed"
    ]
    .assert_eq(&missing.to_string());
    assert!(matches!(rig.call("echo", json!([])).await, Err(McpError::Tool(_))));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_with_the_next() {
    let rig = Rig::start("plain");
    let error = rig.call("dies", json!({})).await.unwrap_err();
    expect![[r#"
        the MCP server scripted ended (exit code 3); it is started again with the next call; its last lines were:
        about to die
        out of cheese"#]].assert_eq(&error.to_string());
    expect![[r#"
        scripted has ended; it is started again with the next call
    "#]]
    .assert_eq(&rig.status().await);
    assert_eq!(rig.call("echo", json!({"text": "again"})).await.unwrap(), text("again"));
    assert!(matches!(rig.call("dies", json!({})).await, Err(McpError::Ended { .. })));
    assert_eq!(rig.call("echo", json!({"text": "and again"})).await.unwrap(), text("and again"));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn noise_on_its_output_does_not_matter() {
    let rig = Rig::start("garbage");
    assert!(rig.tools().await.len() > 5);
    assert_eq!(rig.call("echo", json!({"text": "hi"})).await.unwrap(), text("hi"));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn what_keeps_a_server_from_starting_is_said() {
    let rig = Rig::start("dies");
    expect![[r#"
        scripted ended (exit code 7) before it answered; its last lines were:
        one
        two
        cannot find the database
    "#]]
    .assert_eq(&rig.status().await);
    // Each call tries once.
    expect![[r#"
        the MCP server scripted ended (exit code 7) before it answered; its last lines were:
        one
        two
        cannot find the database"#]]
    .assert_eq(&rig.call("x", json!({})).await.unwrap_err().to_string());

    let rig = Rig::start_with("silent", &[("MCP_TIMEOUT", "100")]);
    expect![[r#"
        scripted did not answer within 100ms
    "#]]
    .assert_eq(&rig.status().await);

    let rig = Rig::start("refuses");
    expect![[r#"
        scripted refused the connection: no handshakes here
    "#]]
    .assert_eq(&rig.status().await);

    let rig = Rig::new();
    let configs = vec![
        config("missing", "/no/such/program", &[]),
        config("unset", "cat", &["${NOT_SET}"]),
        config("no lines", "cat", &["/dev/zero"]),
    ];
    rig.servers.keep(configs, rig.folder.path(), &environment(&[]));
    expect![[r#"
        missing cannot be started: /no/such/program: No such file or directory (os error 2)
        no lines does not speak MCP: its first message has no end
        unset cannot be used: the environment variable NOT_SET is not set
    "#]]
    .assert_eq(&rig.status().await);
    let endless = vec![config("yes", "yes", &[])];
    rig.servers.keep(endless, rig.folder.path(), &environment(&[("MCP_TIMEOUT", "300")]));
    expect![[r#"
        yes did not answer within 300ms
    "#]]
    .assert_eq(&rig.status().await);
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_server_of_the_protocol_without_a_handshake() {
    let rig = Rig::start("modern");
    assert!(rig.tools().await.len() > 5, "{}", rig.status().await);
    assert_eq!(rig.call("echo", json!({"text": "hi"})).await.unwrap(), text("hi"));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn pages_are_joined_and_impossible_tools_left_out() {
    let rig = Rig::start("pages");
    let names: Vec<String> = rig.tools().await.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["mcp__scripted__a", "mcp__scripted__b", "mcp__scripted__c"]);
    expect![[r#"
        [
            "the tool \"\" of scripted is left out: it has no name",
            "the tool \"a\" of scripted is left out: another has the same name",
            "the tool \"list\" of scripted is left out: its schema is not an object",
        ]
    "#]]
    .assert_debug_eq(&rig.servers.problems());
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn huge_output_is_cut() {
    let rig = Rig::start("plain");
    let content = rig.call("huge", json!({})).await.unwrap();
    let Content::Text(first) = &content[0] else { panic!("{content:?}") };
    assert_eq!(first.len(), 100_000);
    expect![[r#"
        [
            Text(
                "[4900000 more characters of output are left out; ask the tool for less at a time]",
            ),
        ]
    "#]]
    .assert_debug_eq(&content[1..].to_vec());
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_message_without_end_ends_the_server() {
    let rig = Rig::start("plain");
    let error = rig.call("endless", json!({})).await.unwrap_err();
    expect!["the MCP server scripted sent a message of more than 16 MB and was ended; it is started again with the next call"].assert_eq(&error.to_string());
    assert_eq!(rig.call("echo", json!({"text": "hi"})).await.unwrap(), text("hi"));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn changed_tools_are_listed_again() {
    let rig = Rig::start("plain");
    let before = rig.tools().await.len();
    rig.call("change", json!({})).await.unwrap();
    while rig.tools().await.len() == before {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.tools().await.len(), before + 1);
    assert_eq!(rig.call("added", json!({})).await.unwrap(), text("added"));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let rig = Rig::start("plain");
    rig.tools().await;
    let cancel = CancellationToken::new();
    let progress: Progress = Arc::new(|_| {});
    let call = rig.servers.call("mcp__scripted__slow", json!({}), cancel.clone(), progress);
    let (called, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(called, Err(McpError::Cancelled));
    // One that is under way.
    let cancel = CancellationToken::new();
    let mut call =
        Box::pin(rig.servers.call("mcp__scripted__slow", json!({}), cancel.clone(), Arc::new(|_| {})));
    assert!(futures_util::poll!(&mut call).is_pending());
    while rig.text("echo", json!({"text": "x"})).await != "x" {}
    cancel.cancel();
    assert_eq!(call.await, Err(McpError::Cancelled));
    while rig.text("cancelled", json!({})).await == "[]" {}
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let rig = Rig::start_with("plain", &[("MCP_TOOL_TIMEOUT", "50")]);
    let error = rig.call("slow", json!({})).await.unwrap_err();
    expect!["the MCP server scripted did not answer within 50ms; the call was cancelled"]
        .assert_eq(&error.to_string());
    while rig.text("cancelled", json!({})).await == "[]" {}
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn progress_is_heard_while_a_call_runs() {
    let rig = Rig::start("plain");
    let (sender, mut steps) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let progress: Progress = Arc::new(move |line| sender.send(line).unwrap());
    let call = rig.servers.call("mcp__scripted__steps", json!({}), cancel.clone(), progress);
    let hear = async {
        let mut heard = vec![steps.recv().await.unwrap(), steps.recv().await.unwrap()];
        heard.sort();
        cancel.cancel();
        heard
    };
    let (called, heard) = tokio::join!(call, hear);
    assert_eq!(called, Err(McpError::Cancelled));
    assert_eq!(heard, ["1 of 2: step 1", "2 of 2: step 2"]);
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_server_gets_its_own_environment_and_folder_and_no_keys() {
    let secrets =
        [("ANTHROPIC_API_KEY", "sk-1"), ("SECRET_TOKEN", "t"), ("HOME", "/home/me"), ("OTHER", "x")];
    let rig = Rig::start_with("plain", &secrets);
    let text = rig.text("environment", json!({})).await;
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("PATH=")).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["HOME=/home/me", "TOKEN=t and more"]);
    rig.servers.shutdown().await;
}

fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

async fn until_gone(pid: &str) {
    let begun = Instant::now();
    while is_running(pid) {
        assert!(begun.elapsed() < LONG, "{pid} lives");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_shutdown_ends_servers_with_their_children() {
    let rig = Rig::start("plain");
    let pid = rig.text("leaves", json!({})).await;
    assert!(is_running(&pid));
    let begun = Instant::now();
    rig.servers.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(3));
    until_gone(&pid).await;
    assert_eq!(rig.servers.status(), []);
}

#[tokio::test]
async fn a_shutdown_ends_calls_that_are_under_way() {
    let rig = Rig::start("plain");
    rig.tools().await;
    let call = rig.call("slow", json!({}));
    let (called, ()) = tokio::join!(call, rig.servers.shutdown());
    assert!(matches!(called, Err(McpError::Ended { .. } | McpError::NoTool { .. })), "{called:?}");
}

#[tokio::test]
async fn servers_that_are_forgotten_end() {
    let rig = Rig::start("plain");
    let pid = rig.text("leaves", json!({})).await;
    drop(rig.servers);
    until_gone(&pid).await;
}

#[test]
fn servers_end_with_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rig = Rig::new();
    let pid = runtime.block_on(async {
        let config = config("scripted", &scripted_server(), &["plain"]);
        rig.servers.keep(vec![config], rig.folder.path(), &environment(&[]));
        rig.text("leaves", json!({})).await
    });
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(until_gone(&pid));
}

#[tokio::test]
async fn what_a_dead_server_left_behind_holds_nothing_up() {
    let rig = Rig::start("plain");
    let pid = rig.text("leaves", json!({"then": "die"})).await;
    until_gone(&pid).await;
    while matches!(rig.servers.status()[0].1, Status::Ready { .. }) {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.call("echo", json!({"text": "hi"})).await.unwrap(), text("hi"));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_ended() {
    let rig = Rig::new();
    let script = "echo $$ >> pids; \"$0\" plain; exec 1>&-; exec sleep 1000";
    let server = scripted_server();
    let config = config("scripted", "sh", &["-c", script, &server]);
    rig.servers.keep(vec![config], rig.folder.path(), &environment(&[]));
    let error = rig.call("dies", json!({})).await.unwrap_err();
    expect![[r#"
        the MCP server scripted closed its output and was ended; it is started again with the next call; its last lines were:
        about to die
        out of cheese"#]].assert_eq(&error.to_string());
    assert_eq!(rig.call("echo", json!({"text": "hi"})).await.unwrap(), text("hi"));
    // The one that takes its place leaves nothing of it.
    let pids = fs::read_to_string(rig.folder.path().join("pids")).unwrap();
    let [first, second] = pids.lines().collect::<Vec<_>>()[..] else { panic!("{pids}") };
    until_gone(first).await;
    assert!(is_running(second));
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn another_fingerprint_replaces_a_server_and_the_same_does_not() {
    let rig = Rig::start("plain");
    let pid = rig.text("leaves", json!({})).await;
    let same = config("scripted", &scripted_server(), &["plain"]);
    rig.servers.keep(vec![same], rig.folder.path(), &environment(&[]));
    assert!(is_running(&pid));
    let other = config("scripted", &scripted_server(), &["pages"]);
    rig.servers.keep(vec![other], rig.folder.path(), &environment(&[]));
    assert_eq!(rig.tools().await.len(), 3);
    until_gone(&pid).await;
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn servers_that_are_not_wanted_any_more_end_and_the_others_go_on() {
    let rig = Rig::new();
    let of = |name: &str| config(name, &scripted_server(), &["plain"]);
    let keep = |names: &[&str]| {
        let configs = names.iter().map(|name| of(name)).collect();
        rig.servers.keep(configs, rig.folder.path(), &environment(&[]));
    };
    let leaves = async |name: &str| {
        let tool = format!("mcp__{name}__leaves");
        let called = rig.servers.call(&tool, json!({}), CancellationToken::new(), Arc::new(|_| {})).await;
        match called.unwrap().as_slice() {
            [Content::Text(pid)] => pid.clone(),
            other => panic!("{other:?}"),
        }
    };
    keep(&["stays", "goes"]);
    let (stays, goes) = (leaves("stays").await, leaves("goes").await);
    keep(&["stays", "comes"]);
    until_gone(&goes).await;
    let gone = rig.servers.call("mcp__goes__echo", json!({}), CancellationToken::new(), Arc::new(|_| {}));
    assert!(matches!(gone.await, Err(McpError::NoTool { .. })));
    assert!(rig.tools().await.iter().all(|tool| tool.server != "goes"));
    let comes = leaves("comes").await;
    assert!(is_running(&stays));
    keep(&[]);
    until_gone(&stays).await;
    until_gone(&comes).await;
    assert_eq!(rig.servers.status(), []);
}

#[tokio::test]
async fn a_slow_server_does_not_hold_up_the_others() {
    let rig = Rig::new();
    let configs = [("scripted", "plain"), ("slow", "silent")];
    let configs = configs.map(|(name, mode)| config(name, &scripted_server(), &[mode]));
    rig.servers.keep(configs.into(), rig.folder.path(), &environment(&[]));
    assert!(rig.servers.tools(Duration::from_secs(2)).await.len() > 5);
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn servers_run_inside_the_wrapper() {
    let wrapper = vec!["env".into(), "WRAPPED=yes".into()];
    let rig = Rig { servers: Servers::new(Options { wrapper }), folder: tempfile::tempdir().unwrap() };
    let config = config("scripted", &scripted_server(), &["plain"]);
    rig.servers.keep(vec![config], rig.folder.path(), &environment(&[]));
    let text = rig.text("environment", json!({})).await;
    assert!(text.contains("WRAPPED=yes"), "{text}");
    rig.servers.shutdown().await;
}

#[tokio::test]
async fn many_calls_at_once() {
    let rig = Rig::start("plain");
    let seen = Mutex::new(0);
    let calls = (0..50).map(|number| {
        let (rig, seen) = (&rig, &seen);
        async move {
            let word = number.to_string();
            assert_eq!(rig.text("echo", json!({"text": word})).await, word);
            *seen.lock().unwrap() += 1;
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(*seen.lock().unwrap(), 50);
    rig.servers.shutdown().await;
}
