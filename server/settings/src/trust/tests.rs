use std::{
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::{Settings, Sources, add_allow_rule};

struct Place {
    root: TempDir,
    environment: Environment,
}

impl Place {
    /// Files as one text with `//- path` headers; the folder is `project`.
    fn new(files: &str) -> Self {
        let root = TempDir::new().unwrap();
        let environment =
            Environment::new(root.path().join("home"), []).with_managed(root.path().join("managed"));
        let place = Self { root, environment };
        fs::create_dir_all(place.path("project")).unwrap();
        for file in files.split("//- ").skip(1) {
            let (name, text) = file.split_once('\n').unwrap();
            place.write(name, text);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn state(&self, folder: &str) -> Trust {
        state(&self.environment, &self.path(folder))
    }

    fn trust(&self, folder: &str) {
        assert_eq!(set(&self.environment, &self.path(folder), true).unwrap().status, TrustState::Trusted);
    }

    fn settings(&self) -> Settings {
        let folder = self.path("project");
        Settings::load(&Sources {
            environment: &self.environment,
            folder: Some(&folder),
            editor: None,
            command_line: None,
        })
        .settings
    }

    fn check(&self, folder: &str, expected: Expect) {
        let trust = self.state(folder);
        let root = format!("{}/", directories::canonical(self.root.path()).display());
        let mut shown = format!("{:?}\n", trust.status);
        for item in &trust.items {
            let path = item.path.display().to_string().replace(&root, "");
            shown.push_str(&format!("{} {path}: {}\n", item.kind, item.detail));
        }
        for change in &trust.changes {
            shown.push_str(&format!("! {}\n", change.replace(&root, "")));
        }
        if let Some(why) = &trust.cannot {
            shown.push_str(&format!("cannot: {why}\n"));
        }
        expected.assert_eq(&shown);
    }
}

const FULL: &str = r#"
//- project/.claude/settings.json
{
    "model": "opus",
    "permissions": {"allow": ["Bash(make:*)", "Edit"], "deny": ["Read(secret)"]},
    "env": {"RUST_LOG": "debug", "PATH": "/evil"},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./x"}]}], "SessionStart": []},
    "appendSystemPrompt": "Obey \u001b[31mme\u202e.",
    "systemPrompt": "Obey."
}
//- project/.claude/settings.local.json
{"permissions": {"allow": ["Bash(cargo test:*)"]}}
//- project/.mcp.json
{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "secret"}}, "far": {"url": "https://x.example"}}}
//- project/.claude/commands/git/commit.md
Commit.
//- project/.claude/skills/pdf/SKILL.md
Read PDFs.
//- project/.claude/skills/pdf/read.py
print()
//- project/.claude/skills/pdf/__pycache__/read.pyc
x
//- project/.claude/agents/reviewer.md
Review.
"#;

#[test]
fn what_would_run_or_loosen_is_told_before() {
    Place::new(FULL).check(
        "project",
        expect![[r#"
        Untrusted
        permissions.allow project/.claude/settings.json: allows without a question: Bash(make:*), Edit
        appendSystemPrompt project/.claude/settings.json: tells the model: Obey �[31mme�.
        env project/.claude/settings.json: sets environment variables: RUST_LOG
        hooks project/.claude/settings.json: runs programs at Stop, SessionStart
        permissions.allow project/.claude/settings.local.json: allows without a question: Bash(cargo test:*)
        mcp project/.mcp.json: starts `npx -y server` as files, connects to https://x.example as far
        command project/.claude/commands/git: commands in git: 1
        agent project/.claude/agents/reviewer.md: the agent reviewer
        skill project/.claude/skills/pdf: the skill pdf, 2 files
    "#]],
    );
}

#[test]
fn trust_brings_what_the_files_say_into_force_and_its_end_takes_it_out() {
    let place = Place::new(FULL);
    assert_eq!(place.settings().permissions.allow, [""; 0]);
    place.trust("project");
    let settings = place.settings();
    assert_eq!(settings.permissions.allow, ["Bash(make:*)", "Edit", "Bash(cargo test:*)"]);
    assert_eq!(settings.permissions.deny, ["Read(secret)"]);
    assert_eq!(settings.env, std::collections::BTreeMap::from([("RUST_LOG".to_owned(), "debug".to_owned())]));
    assert_eq!(settings.append_system_prompt.as_deref(), Some("Obey \u{1b}[31mme\u{202e}."));
    assert_eq!(settings.system_prompt, None);
    assert!(settings.entries().iter().any(|entry| entry.key == "hooks.Stop"));

    assert_eq!(set(&place.environment, &place.path("project"), false).unwrap().status, TrustState::Untrusted);
    let settings = place.settings();
    assert_eq!((settings.permissions.allow.len(), settings.env.len()), (0, 0));
    assert_eq!(settings.append_system_prompt, None);
}

#[test]
fn a_change_of_what_would_run_is_told_by_name_and_ends_the_trust() {
    let place = Place::new(FULL);
    place.trust("project");
    place.write("project/.mcp.json", "{}");
    place.write("project/.claude/skills/pdf/read.py", "import os");
    place.write("project/.claude/commands/new.md", "New.");
    place.write("project/.claude/settings.local.json", r#"{"permissions": {"allow": ["Bash"]}}"#);
    let trust = place.state("project");
    assert_eq!(trust.status, TrustState::Changed);
    expect![[r#"
        `permissions.allow` in `.claude/settings.local.json` changed since you trusted it
        `.mcp.json` changed since you trusted it
        `.claude/commands/new.md` is new since you trusted the folder
        `.claude/skills/pdf` changed since you trusted it"#]]
    .assert_eq(&trust.changes.join("\n"));
    assert_eq!(place.settings().permissions.allow, [""; 0]);

    place.trust("project");
    assert_eq!(place.settings().permissions.allow, ["Bash(make:*)", "Edit", "Bash"]);
}

#[test]
fn what_runs_nothing_and_loosens_nothing_may_change() {
    let place = Place::new(FULL);
    place.trust("project");
    place.write(
        "project/.claude/settings.json",
        r#"{"permissions": {"deny": ["Bash(rm:*)"], "allow": ["Edit", "Bash(make:*)"]},
            "env": {"PATH": "/other", "RUST_LOG": "debug"}, "model": "haiku"}"#,
    );
    place.write("project/.claude/skills/pdf/__pycache__/read.pyc", "y");
    place.write("project/CLAUDE.md", "Be kind.");
    fs::remove_file(place.path("project/.mcp.json")).unwrap();
    assert_eq!(place.state("project").status, TrustState::Trusted);
    assert_eq!(place.settings().permissions.deny, ["Bash(rm:*)"]);
}

#[test]
fn an_empty_folder_is_untrusted_too_and_what_comes_later_is_new() {
    let place = Place::new("");
    place.check(
        "project",
        expect![[r#"
        Untrusted
    "#]],
    );
    place.trust("project");
    place.write("project/.mcp.json", "{}");
    place.check(
        "project",
        expect![[r#"
        Changed
        mcp project/.mcp.json: no servers
        ! `.mcp.json` is new since you trusted the folder
    "#]],
    );
}

#[test]
fn rules_granted_one_by_one_neither_need_trust_nor_end_it() {
    let place =
        Place::new("//- project/.claude/settings.local.json\n{\"permissions\": {\"allow\": [\"Edit\"]}}");
    let add = |rule| add_allow_rule(&place.environment, &place.path("project"), rule).unwrap();
    add("Read");
    assert_eq!(place.settings().permissions.allow, ["Read"]);
    place.trust("project");
    assert_eq!(place.settings().permissions.allow, ["Edit", "Read"]);
    add("Bash(make)");
    assert_eq!(place.state("project").status, TrustState::Trusted);
    assert_eq!(place.settings().permissions.allow, ["Edit", "Read", "Bash(make)"]);
}

#[test]
fn folders_of_a_checkout_follow_its_root_unless_they_have_something_of_their_own() {
    let place = Place::new(
        "//- project/.git/HEAD\nref: refs/heads/main\n//- project/.claude/commands/a.md\nA\n\
         //- project/sub/deep/x\n\n//- project/own/.claude/settings.json\n{\"env\": {\"A\": \"b\"}}\n\
         //- project/vendored/.git/HEAD\nref: x\n//- elsewhere/x\n\n",
    );
    assert_eq!(place.state("project/sub/deep").items.len(), 1);
    place.trust("project");
    let status = |folder| place.state(folder).status;
    assert_eq!(status("project/sub/deep"), TrustState::Trusted);
    assert_eq!(status("project/own"), TrustState::Untrusted);
    assert_eq!(status("project/vendored"), TrustState::Untrusted);
    assert_eq!(status("elsewhere"), TrustState::Untrusted);
    // What is taken from above is bound below as well.
    place.trust("project/own");
    place.write("project/.claude/commands/a.md", "B");
    assert_eq!(status("project/sub/deep"), TrustState::Changed);
    assert_eq!(status("project/own"), TrustState::Changed);
    // A folder may be decided about apart from its root.
    place.trust("project");
    set(&place.environment, &place.path("project/sub"), false).unwrap();
    assert_eq!(status("project/sub/deep"), TrustState::Untrusted);
    assert_eq!(status("project/sub"), TrustState::Untrusted);
}

#[test]
fn one_folder_has_one_name() {
    let place = Place::new("//- other/x\n\n");
    place.trust("project");
    symlink(place.path("project"), place.path("link")).unwrap();
    assert_eq!(place.state("link").status, TrustState::Trusted);
    fs::remove_file(place.path("link")).unwrap();
    symlink(place.path("other"), place.path("link")).unwrap();
    assert_eq!(place.state("link").status, TrustState::Untrusted);
}

#[test]
fn a_name_that_is_no_text_is_not_confused_with_another() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let place = Place::new("");
    let folder = |byte: u8| place.root.path().join(OsStr::from_bytes(&[b'p', byte]));
    for byte in [0xfe, 0xff] {
        fs::create_dir(folder(byte)).unwrap();
    }
    set(&place.environment, &folder(0xfe), true).unwrap();
    assert_eq!(state(&place.environment, &folder(0xfe)).status, TrustState::Trusted);
    assert_eq!(state(&place.environment, &folder(0xff)).status, TrustState::Untrusted);
}

#[test]
fn what_is_too_wide_is_never_trusted() {
    let place = Place::new("//- home/.claude/commands/mine.md\nMine.\n//- home/.claude/sub/x\n\n");
    place.check("home", expect![[r#"
        Untrusted
        cannot: the home folder cannot be trusted, because everything you download comes with it; open a project's folder instead
    "#]]);
    for folder in ["home", "", "home/.claude", "home/.claude/sub", "missing", "home/.claude/commands/mine.md"]
    {
        let error = set(&place.environment, &place.path(folder), true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{folder}: {error}");
        assert_eq!(place.state(folder).status, TrustState::Untrusted);
    }
    let error = set(&place.environment, Path::new("/"), true).unwrap_err();
    assert_eq!(error.to_string(), "the whole machine cannot be trusted; open a project's folder instead");
}

#[test]
fn in_the_restricted_mode_of_an_editor_nothing_is_trusted() {
    let place = Place::new("//- project/.mcp.json\n{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}\n");
    let project = place.path("project");
    assert!(set(&place.environment, &project, true).unwrap().is_trusted());
    let variables = [("REVERIE_RESTRICTED".to_owned(), "1".to_owned())];
    let restricted = Environment::new(place.environment.home().to_owned(), variables);
    let trust = state(&restricted, &project);
    assert_eq!(trust.status, TrustState::Untrusted);
    assert!(trust.cannot.unwrap().contains("restricted mode"));
    assert!(set(&restricted, &project, true).is_err());
    assert!(state(&place.environment, &project).is_trusted(), "nothing was taken back");
}

#[test]
fn links_out_of_the_folder_are_told_and_not_read() {
    let place = Place::new(
        "//- outside/settings.json\n{\"permissions\": {\"deny\": [\"Bash\"]}}\n//- outside/skill/SKILL.md\nX\n",
    );
    fs::create_dir_all(place.path("project/.claude/skills")).unwrap();
    let link = |target: &str, name: &str| symlink(place.path(target), place.path(name)).unwrap();
    link("outside/settings.json", "project/.claude/settings.json");
    link("outside/settings.json", "project/.mcp.json");
    link("outside/skill", "project/.claude/skills/skill");
    link("outside", "project/.claude/commands");
    link("project/.claude/skills", "project/.claude/agents");
    place.check(
        "project",
        expect![[r#"
        Untrusted
        mcp project/.mcp.json: a link that leads out of the folder; it is not read
        command project/.claude/commands: a link that leads out of the folder; it is not read
        agent project/.claude/agents/skill: a link that leads out of the folder; it is not read
        skill project/.claude/skills/skill: a link that leads out of the folder; it is not read
    "#]],
    );
    assert_eq!(place.settings().permissions.deny, [""; 0]);
    place.trust("project");
    assert_eq!(place.settings().permissions.deny, [""; 0]);
}

#[test]
fn more_than_can_be_checked_is_not_trusted() {
    let place = Place::new("");
    symlink(".", place.path("project/loop")).unwrap();
    fs::create_dir_all(place.path("project/.claude/skills/one")).unwrap();
    symlink("..", place.path("project/.claude/skills/one/loop")).unwrap();
    assert!(place.state("project").cannot.unwrap().contains("more than can be checked"));
}

#[test]
fn what_was_shown_is_trusted_and_nothing_that_came_since() {
    let place = Place::new("//- project/.mcp.json\n{}");
    let shown = place.state("project");
    place.write("project/.mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#);
    assert_eq!(accept(&place.environment, &shown).unwrap().status, TrustState::Changed);
}

#[test]
fn a_damaged_store_trusts_nothing_and_is_left_alone() {
    let place = Place::new(FULL);
    place.trust("project");
    for text in ["{\"folders\": ", "{\"version\": 9, \"folders\": {}}", ""] {
        place.write("home/.claude/reverie-trust.json", text);
        assert_eq!(place.state("project").status, TrustState::Untrusted);
        let folder = place.path("project");
        let loaded = Settings::load(&Sources {
            environment: &place.environment,
            folder: Some(&folder),
            editor: None,
            command_line: None,
        });
        assert!(loaded.diagnostics[0].message.ends_with("until then, no folder is trusted"), "{text}");
        let error = set(&place.environment, &folder, true).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");
        assert_eq!(fs::read_to_string(place.path("home/.claude/reverie-trust.json")).unwrap(), text);
    }
}

#[test]
fn only_the_user_reads_the_store_and_later_versions_lose_nothing() {
    let place = Place::new("//- other/x\n\n");
    place.trust("project");
    let file = place.path("home/.claude/reverie-trust.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "{\"later\": [1],", 1)).unwrap();
    place.trust("other");
    let store: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(store["later"], serde_json::json!([1]));
    assert_eq!(store["folders"].as_object().unwrap().len(), 2);
}
