//! What single keys take, and from whom.

use super::*;
use crate::Features;

#[test]
fn switches_are_checked_at_their_place_and_listed_with_their_defaults() {
    check(
        &Case {
            files: r#"
//- home/.claude/settings.json
{"reverie": {"features": {
    "recall": "yes",
    "Snip": true,
    "dream": {"minHours": 0, "minSessions": 3, "minhours": 2, "idleMinutes": -1, "at": "25:00"},
    "toolResultLimits": {"Bash": 1000, "Read": -1},
    "recallModel": 5,
    "extractionEveryN": 2.5,
    "prefetch": true,
}}}
"#,
            ..Case::default()
        },
        expect![[r#"
            autoCompactEnabled = true (default)
            autoMemoryEnabled = true (default)
            inline.diagnostics = true (default)
            inline.hints = true (default)
            inline.hover = true (default)
            inline.lens = true (default)
            maxRounds = 500 (default)
            notifications.quiet = false (default)
            permissions.defaultMode = "default" (default)
            reverie.features.Snip = true (home/.claude/settings.json)
            reverie.features.dream.minSessions = 3 (home/.claude/settings.json)
            reverie.features.dream.minhours = 2 (home/.claude/settings.json)
            reverie.features.prefetch = true (home/.claude/settings.json)
            reverie.features.toolResultLimits.Bash = 1000 (home/.claude/settings.json)
            sandbox.mainBash = false (default)
            sandbox.network = false (default)
            ! home/.claude/settings.json:1:14-19 reverie.features.recall: expected true or false, not "yes"
            ! home/.claude/settings.json:3:26-27 reverie.features.dream.minHours: must be more than 0
            ! home/.claude/settings.json:3:77-79 reverie.features.dream.idleMinutes: invalid value: integer `-1`, expected u32
            ! home/.claude/settings.json:3:87-94 reverie.features.dream.at: expected a time such as "03:30"
            ! home/.claude/settings.json:4:47-49 reverie.features.toolResultLimits.Read: expected a number from 1 on, not -1
            ! home/.claude/settings.json:5:19-20 reverie.features.recallModel: expected "auto", "local" or a model, not 5
            ! home/.claude/settings.json:6:24-27 reverie.features.extractionEveryN: expected a number from 1 on, not 2.5
            ? home/.claude/settings.json:2:4-10 reverie.features.Snip: nothing reads this key; did you mean `snip`?
            ? home/.claude/settings.json:3:47-57 reverie.features.dream.minhours: nothing reads this key; did you mean `minHours`?
        "#]],
    );
    let (loaded, _root) = load(&Case::default());
    let entries = loaded.settings.entries();
    let shown = |name: &str| {
        let entry = entries.iter().find(|entry| entry.key == format!("reverie.features.{name}")).unwrap();
        (entry.value.clone(), entry.source.as_str())
    };
    assert_eq!(shown("recall"), (json!(true), DEFAULT));
    assert_eq!(shown("dream.minHours"), (json!(24), DEFAULT));
    assert_eq!(shown("toolResultLimits"), (json!({}), DEFAULT));
}

#[test]
fn a_switch_takes_its_parameters_through_the_layers() {
    let dream = |user: Value, editor: Value, command_line: Value| {
        let features = |dream: Value| json!({"reverie": {"features": {"dream": dream}}});
        let files = format!("//- home/.claude/settings.json\n{}", features(user));
        let (editor, command_line) = (Some(features(editor)), Some(features(command_line)));
        let (loaded, _root) = load(&Case { files: &files, editor, command_line });
        let dream = loaded.settings.features(&Environment::default()).dream;
        dream.map(|dream| (dream.min_hours, dream.min_sessions))
    };
    assert_eq!(dream(json!({"minHours": 2}), json!({"minSessions": 3}), json!(null)), Some((2, 3)));
    assert_eq!(dream(json!({"minHours": 2}), json!(true), json!(true)), Some((2, 5)));
    assert_eq!(dream(json!({"minHours": 2}), json!(false), json!(null)), None);
    assert_eq!(dream(json!(false), json!({"minHours": 2}), json!(null)), None);
    assert_eq!(dream(json!(false), json!(true), json!({"minHours": 2})), Some((2, 5)));
}

#[test]
fn a_repository_switches_features_off_and_the_editor_both_ways() {
    let wanted = json!({"reverie": {"features": {
        "snip": true, "dream": {"minHours": 1}, "recallModel": "dear", "recall": false, "extractionEveryN": 9,
    }}});
    for file in ["settings.json", "settings.local.json"] {
        let files = format!("//- project/.claude/{file}\n{wanted}");
        let (loaded, _root) = load(&Case { files: &files, ..Case::default() });
        let expected = Features { recall: false, ..Features::default() };
        assert_eq!(loaded.settings.reverie.features, expected, "{file}");
        let refused: Vec<&str> = loaded.diagnostics.iter().map(|found| found.key.as_str()).collect();
        let of = |name: &str| format!("reverie.features.{name}");
        assert_eq!(refused, [of("snip"), of("dream"), of("recallModel"), of("extractionEveryN")]);
    }
    let (loaded, _root) = load(&Case { editor: Some(wanted), ..Case::default() });
    let features = loaded.settings.reverie.features;
    assert!(features.snip && !features.recall && features.extraction_every_n == 9);
    assert_eq!(loaded.diagnostics, []);
}

#[test]
fn the_plain_settings_are_checked() {
    check(
        &Case {
            files: r#"
//- home/.claude/settings.json
{
    "smallModel": 1, "selectorModel": "haiku",
    "autoCompactEnabled": "no", "autoCompactPercent": 101,
    "notifications": {"quiet": 1}, "inline": {"lens": false, "hint": false},
    "team": {"url": "team.example", "token": "t-secret"},
    "budgets": {"backgroundDayUsd": -1},
    "hooks": [], "agents": {"a": {"prompt": "x"}}
}
"#,
            ..Case::default()
        },
        expect![[r#"
            agents.a.prompt = "x" (home/.claude/settings.json)
            autoCompactEnabled = true (default)
            autoMemoryEnabled = true (default)
            budgets = {} (home/.claude/settings.json)
            inline.diagnostics = true (default)
            inline.hint = false (home/.claude/settings.json)
            inline.hints = true (default)
            inline.hover = true (default)
            inline.lens = false (home/.claude/settings.json)
            maxRounds = 500 (default)
            notifications.quiet = false (default)
            permissions.defaultMode = "default" (default)
            sandbox.mainBash = false (default)
            sandbox.network = false (default)
            selectorModel = "haiku" (home/.claude/settings.json)
            team.token = "********" (home/.claude/settings.json)
            ! home/.claude/settings.json:1:18-19 smallModel: invalid type: integer `1`, expected a string
            ! home/.claude/settings.json:2:26-30 autoCompactEnabled: invalid type: string "no", expected a boolean
            ! home/.claude/settings.json:2:54-57 autoCompactPercent: 101 is not between 1 and 100
            ! home/.claude/settings.json:3:31-32 notifications.quiet: invalid type: integer `1`, expected a boolean
            ! home/.claude/settings.json:4:20-34 team.url: expected an address such as `https://team.example`
            ! home/.claude/settings.json:5:36-38 budgets.backgroundDayUsd: -1 is negative
            ! home/.claude/settings.json:6:13-15 hooks: invalid type: sequence, expected a map
            ? home/.claude/settings.json:3:61-67 inline.hint: nothing reads this key; did you mean `hints`?
        "#]],
    );
}

#[test]
fn a_team_and_what_runs_programs_do_not_come_from_a_repository() {
    let files = r#"
//- home/.claude/settings.json
{"budgets": {"backgroundDayUsd": 1}}
//- project/.claude/settings.json
{
    "team": {"url": "https://evil.example", "token": "x"},
    "hooks": {"Stop": [{"command": "evil"}]},
    "agents": {"a": {"prompt": "evil"}},
    "budgets": {"backgroundDayUsd": 5}
}"#;
    let (loaded, root) = load(&Case { files, ..Case::default() });
    let taken = |settings: &Settings| {
        let Settings { team, hooks, agents, budgets, .. } = settings;
        (team.url.is_some() || team.token.is_some(), hooks.len(), agents.len(), budgets.background_day_usd)
    };
    assert_eq!(taken(&loaded.settings), (false, 0, 0, Some(1.0)));
    assert_eq!(loaded.diagnostics.len(), 4);

    let environment =
        Environment::new(root.path().join("home"), []).with_managed(root.path().join("managed"));
    let folder = root.path().join("project");
    trust::set(&environment, &folder, true).unwrap();
    let sources =
        Sources { environment: &environment, folder: Some(&folder), editor: None, command_line: None };
    assert_eq!(taken(&Settings::load(&sources).settings), (false, 1, 1, Some(1.0)));
}

#[test]
fn hooks_of_all_layers_run() {
    let hook = |command: &str| json!({"hooks": {"Stop": [{"command": command}]}});
    let files = format!(
        "//- home/.claude/settings.json\n{}\n//- managed/managed-settings.json\n{}",
        hook("mine"),
        hook("theirs")
    );
    let (loaded, _root) = load(&Case { files: &files, ..Case::default() });
    let stop = loaded.settings.hooks.get("Stop").unwrap();
    assert_eq!(*stop, json!([{"command": "mine"}, {"command": "theirs"}]));
}

#[test]
fn a_rule_that_is_none_is_told_at_its_place() {
    check(
        &Case {
            files: r#"
//- home/.claude/settings.json
{"permissions": {
    "allow": ["Read", "Bash(("],
    "deny": ["rm -rf", "Bash(rm:*)"]
}}
"#,
            command_line: Some(json!({"permissions": {"ask": ["Edit("]}})),
            ..Case::default()
        },
        expect![[r#"
            autoCompactEnabled = true (default)
            autoMemoryEnabled = true (default)
            inline.diagnostics = true (default)
            inline.hints = true (default)
            inline.hover = true (default)
            inline.lens = true (default)
            maxRounds = 500 (default)
            notifications.quiet = false (default)
            permissions.allow = ["Read"] (home/.claude/settings.json)
            permissions.ask = [] (command line)
            permissions.defaultMode = "default" (default)
            permissions.deny = ["Bash(rm:*)"] (home/.claude/settings.json)
            sandbox.mainBash = false (default)
            sandbox.network = false (default)
            ! home/.claude/settings.json:1:22-30 permissions.allow: the rule `Bash((` is not understood: the closing parenthesis is missing; the entry is left out
            ! home/.claude/settings.json:2:13-21 permissions.deny: the rule `rm -rf` is not understood: it must begin with the name of a tool, as in `Bash(cargo test:*)`; the entry is left out
            ! command line permissions.ask: the rule `Edit(` is not understood: the closing parenthesis is missing; the entry is left out
        "#]],
    );
}

#[test]
fn the_token_is_not_logged() {
    let files = r#"//- home/.claude/settings.json
{"team": {"url": "https://t.example", "token": "t-secret"}}"#;
    let (loaded, _root) = load(&Case { files, ..Case::default() });
    assert_eq!(loaded.settings.team.token.as_deref(), Some("t-secret"));
    assert!(!format!("{loaded:?}").contains("t-secret"));
}

#[test]
fn a_server_of_a_higher_layer_replaces_one_of_the_same_name() {
    let files = r#"
//- home/.claude/settings.json
{"mcpServers": {"x": {"command": "mine", "env": {"KEY": "k"}}, "y": {"command": "mine"}}}
//- managed/managed-settings.json
{"mcpServers": {"x": {"url": "https://x.example"}}}"#;
    let (loaded, _root) = load(&Case { files, ..Case::default() });
    let servers = loaded.settings.mcp_servers;
    let shown = |name: &str| {
        let server = servers.get(name).unwrap();
        (server.command.as_deref(), server.url.as_deref(), server.env.len())
    };
    assert_eq!(shown("x"), (None, Some("https://x.example"), 0));
    assert_eq!(shown("y"), (Some("mine"), None, 0));
}
