use std::{cell::Cell, fs, os::unix::fs::symlink, time::Duration};

use expect_test::{Expect, expect};
use settings::{Settings, Sources};
use tempfile::TempDir;

use super::*;

struct Disk(TempDir);

impl Disk {
    fn new(files: &[(&str, &str)]) -> Self {
        let disk = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(disk.path("project")).unwrap();
        for (path, text) in files {
            let path = disk.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        disk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn environment(&self) -> Environment {
        Environment::new(self.path("home"), []).with_managed(self.path("managed"))
    }

    /// Those of the user, the command line and the administrator.
    fn servers(&self, command_line: Value) -> BTreeMap<String, McpServer> {
        let (environment, folder) = (self.environment(), self.path("project"));
        let sources = Sources {
            environment: &environment,
            folder: Some(&folder),
            editor: None,
            command_line: Some(&command_line),
        };
        Settings::load(&sources).settings.mcp_servers
    }

    fn configured(&self) -> Configured {
        configured(&self.environment(), &self.path("project"), &self.servers(json!({})))
    }

    fn check(&self, expected: Expect) {
        let Configured { servers, problems } = self.configured();
        let servers = servers.iter().map(|server| {
            let ServerConfig { name, scope, transport, .. } = server;
            format!("{name} {scope:?} {} {transport:?}\n", server.summary())
        });
        let problems = problems.iter().map(|problem| format!("{problem}\n"));
        let lines: String = servers.chain(problems).collect();
        let root = self.path("").display().to_string();
        expected.assert_eq(&lines.replace(&root, ""));
    }
}

#[test]
fn servers_of_the_user_and_of_the_project() {
    let project = "PROJECT";
    let disk = Disk::new(&[
        (
            "home/.claude/settings.json",
            "// mine\n{\"model\": \"x\", \"mcpServers\": {\"own\": {\"command\": \"npx\", \"args\": [\"-y\", \"pkg\", 5], \"env\": {\"KEY\": \"secret\", \"N\": 1}}, }}",
        ),
        (
            "project/.mcp.json",
            r#"{"mcpServers": {"web": {"type": "http", "url": "https://${HOST:-h}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}, "local": {"type": "stdio", "command": "./run.sh"}}}"#,
        ),
        (
            "home/.claude.json",
            r#"{"history": [1, 2], "mcpServers": {"from-claude": {"url": "https://c"}}, "projects": {"/elsewhere": {"mcpServers": {"not-here": {"command": "x"}}}, "PROJECT": {"mcpServers": {"here": {"command": "y"}}}, "/odd": {"mcpServers": null}}}"#,
        ),
    ]);
    let path = disk.path("home/.claude.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(project, &disk.path("project").display().to_string())).unwrap();
    disk.check(expect![[r#"
        from-claude User connects to https://c Http { url: "https://c", headers: [] }
        here User runs y Stdio { command: "y", args: [], env: [] }
        own User runs npx -y pkg 5 Stdio { command: "npx", args: ["-y", "pkg", "5"], env: ["KEY", "N"] }
        local Project runs ./run.sh Stdio { command: "./run.sh", args: [], env: [] }
        web Project connects to https://${HOST:-h}/mcp Http { url: "https://${HOST:-h}/mcp", headers: ["Authorization"] }
    "#]]);
    // Nothing that could be logged has a value in it.
    assert!(!format!("{:?}", disk.configured()).contains("secret"));
}

#[test]
fn the_users_own_cannot_be_replaced_and_the_rest_still_works() {
    Disk::new(&[
        ("home/.claude/settings.json", r#"{"mcpServers": {"github": {"command": "mine"}}}"#),
        (
            "project/.mcp.json",
            r#"{"mcpServers": {
                "github": {"command": "theirs"},
                "off": {"command": "x", "disabled": true},
                "old": {"type": "sse", "url": "https://x/sse"},
                "empty": {"command": " "},
                "odd": {"type": "pigeon", "command": "x"},
                "args": {"command": "x", "args": "y"},
                "env": {"command": "x", "env": {"A": {}}},
                "nul": {"command": "x", "args": ["a\u0000b"]},
                "\u0007": {"command": "x"},
                "text": "x",
                "fine": {"command": "x"}
            }}"#,
        ),
    ])
    .check(expect![[r#"
        github User runs mine Stdio { command: "mine", args: [], env: [] }
        fine Project runs x Stdio { command: "x", args: [], env: [] }
        project/.mcp.json: the MCP server github is left out: mcpServers in settings has another of the same name
        project/.mcp.json: the MCP server old uses the old SSE transport, which is not supported; give its streamable HTTP address with "type": "http"
        project/.mcp.json: the MCP server empty has neither a command nor a url
        project/.mcp.json: the MCP server odd has a type that is not known: pigeon; use stdio or http
        project/.mcp.json: the MCP server args has args that are not a list
        project/.mcp.json: the MCP server env has env that are not texts
        project/.mcp.json: the MCP server nul has a NUL character in its args
        project/.mcp.json: the MCP server  has a name that cannot be used
        project/.mcp.json: the MCP server text has neither a command nor a url
    "#]]);
}

#[test]
fn broken_files_are_problems() {
    let disk = Disk::new(&[("project/.mcp.json", "{\"mcpServers\": "), ("home/.claude.json", " \n")]);
    disk.check(expect![[r#"
        project/.mcp.json is not valid: EOF while parsing a value at line 1 column 15
    "#]]);
    Disk::new(&[("project/.mcp.json", "[]")]).check(expect![[r#""#]]);
    Disk::new(&[("project/.mcp.json", r#"{"mcpServers": []}"#)]).check(expect![[r#""#]]);
    let disk = Disk::new(&[]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        disk.path("project/.mcp.json"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    disk.check(expect![[r#"
        project/.mcp.json is not a regular file
    "#]]);
}

#[test]
fn fingerprints_are_of_the_content() {
    let of = |text: &str| {
        let disk = Disk::new(&[("project/.mcp.json", &format!("{{\"mcpServers\": {{{text}}}}}"))]);
        disk.configured().servers.remove(0).fingerprint
    };
    let one = of(r#""a": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "2"}}"#);
    assert_eq!(one.len(), 64);
    assert_eq!(one, of(r#""a": {"env": {"B": "2", "A": "1"}, "note": 1, "args": ["1"], "command": "x"}"#));
    for other in [
        r#""b": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "2"}}"#,
        r#""a": {"command": "x", "args": ["2"], "env": {"A": "1", "B": "2"}}"#,
        r#""a": {"command": "x", "args": ["1"], "env": {"A": "${A}", "B": "2"}}"#,
        r#""a": {"command": "x", "args": ["1"]}"#,
    ] {
        assert_ne!(one, of(other), "{other}");
    }
}

#[test]
fn a_project_cannot_have_a_file_read_that_lies_elsewhere() {
    let servers = r#"{"mcpServers": {"theirs": {"command": "x"}}}"#;
    let disk = Disk::new(&[("elsewhere/servers.json", servers), ("project/tools/mcp.json", servers)]);
    symlink(disk.path("elsewhere/servers.json"), disk.path("project/.mcp.json")).unwrap();
    disk.check(expect![[r#"
        project/.mcp.json leads out of the folder, so it is not read
    "#]]);
    fs::remove_file(disk.path("project/.mcp.json")).unwrap();
    symlink("tools/mcp.json", disk.path("project/.mcp.json")).unwrap();
    disk.check(expect![[r#"
        theirs Project runs x Stdio { command: "x", args: [], env: [] }
    "#]]);
}

#[test]
fn files_that_stay_as_they_are_are_read_once() {
    let disk = Disk::new(&[("home/.claude.json", "{}")]);
    let (known, times) = (Known::new(), Cell::new(0));
    let mut expected = 0;
    let mut names = |is_read_again: bool| {
        // When all files are old enough to be relied on.
        let later = SystemTime::now() + Duration::from_secs(10);
        let places = Places::new(&disk.environment(), &disk.path("project"), &disk.servers(json!({})));
        let configured: Configured = known.get(later, places.clone(), |seen| {
            times.set(times.get() + 1);
            read(&places, seen)
        });
        expected += usize::from(is_read_again);
        assert_eq!(times.get(), expected);
        configured.servers.into_iter().map(|server| server.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((names(true), names(false)), (String::new(), String::new()));
    for (path, name, all) in [
        ("home/.claude.json", "a", "a"),
        ("home/.claude/settings.json", "b", "a b"),
        ("project/.mcp.json", "c", "a b c"),
        ("home/.claude.json", "d", "b d c"),
    ] {
        fs::create_dir_all(disk.path(path).parent().unwrap()).unwrap();
        fs::write(disk.path(path), json!({"mcpServers": {name: {"command": "x"}}}).to_string()).unwrap();
        assert_eq!((names(true), names(false)), (all.to_owned(), all.to_owned()));
    }
}

#[test]
fn every_layer_of_the_owner_brings_servers_and_the_repository_none() {
    let server = |name: &str| json!({"mcpServers": {name: {"command": name}}});
    let disk = Disk::new(&[
        ("home/.claude/settings.json", &server("user").to_string()),
        ("managed/managed-settings.json", &server("managed").to_string()),
        ("project/.claude/settings.json", &server("evil").to_string()),
        ("project/.claude/settings.local.json", &server("evil").to_string()),
    ]);
    let servers = disk.servers(server("flag"));
    let found = configured(&disk.environment(), &disk.path("project"), &servers).servers;
    let names: Vec<&str> = found.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["flag", "managed", "user"]);
}

#[test]
fn settings_take_servers_as_people_write_them() {
    Disk::new(&[(
        "home/.claude/settings.json",
        r#"{"mcpServers": {
            "off": {"command": "x", "disabled": true},
            "http": {"type": "streamable-http", "url": "https://x", "headers": {"N": 5}},
            "old": {"type": "sse", "url": "https://x/sse"},
            "nul": {"command": "x", "args": ["a\u0000b"]},
            "stdio": {"command": "x", "args": [1, true, "y"]},
        }}"#,
    )])
    .check(expect![[r#"
        http User connects to https://x Http { url: "https://x", headers: ["N"] }
        stdio User runs x 1 true y Stdio { command: "x", args: ["1", "true", "y"], env: [] }
        mcpServers in settings: the MCP server nul has a NUL character in its args
        mcpServers in settings: the MCP server old uses the old SSE transport, which is not supported; give its streamable HTTP address with "type": "http"
    "#]]);
}
