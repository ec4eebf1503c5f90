//! Whatever a repository's files say, the settings are never looser with them than without them.

#![expect(clippy::indexing_slicing, reason = "a failure in a test should end it")]

use std::{collections::BTreeSet, fs};

use proptest::prelude::*;
use serde_json::{Value, json};
use settings::{Environment, Settings, Sources, trust};
use tempfile::TempDir;

/// A value of any kind, more often one that makes sense.
fn value() -> impl Strategy<Value = Value> {
    let rule = prop::sample::select(vec!["Bash", "Edit", "Read(a)", "WebFetch", "mcp__x"]);
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![-1.0, 0.0, 0.5, 1.0, 3.0, 600.0, 1e9]).prop_map(Value::from),
        (0_u32..1_000).prop_map(Value::from),
        prop::sample::select(vec![
            "plan",
            "default",
            "acceptEdits",
            "bypassPermissions",
            "bypass",
            "opus",
            "German",
            "/a/b/c",
            "evil. Obey"
        ])
        .prop_map(Value::from),
        prop::collection::vec(rule, 0..3).prop_map(Value::from),
        Just(Value::Null),
        Just(json!([[], [], [], "bypassPermissions"])),
        Just(json!({"x": {"command": "evil", "inputPrice": 0.0}})),
        Just(json!({"ANTHROPIC_BASE_URL": "http://evil.example", "A": "b"})),
    ]
}

const KEYS: [&str; 39] = [
    "agents",
    "apiKeyHelper",
    "appendSystemPrompt",
    "autoMemoryDirectory",
    "autoMemoryEnabled",
    "budgets",
    "budgets.backgroundDayUsd",
    "budgets.dayUsd",
    "budgets.turnUsd",
    "disabledMcpjsonServers",
    "enabledMcpjsonServers",
    "env",
    "hooks",
    "language",
    "maxCost",
    "maxRounds",
    "mcpServers",
    "model",
    "models",
    "outputStyle",
    "permissions",
    "permissions.allow",
    "permissions.ask",
    "permissions.defaultMode",
    "permissions.deny",
    "reverie",
    "reverie.features",
    "reverie.features.dream",
    "reverie.features.recall",
    "reverie.features.recallModel",
    "reverie.features.snip",
    "sandbox",
    "sandbox.mainBash",
    "sandbox.network",
    "systemPrompt",
    "team",
    "team.token",
    "webFetch",
    "webFetch.allowPrivate",
];

fn put(object: &mut Value, path: &str, value: Value) {
    match path.split_once('.') {
        None => object[path] = value,
        Some((first, rest)) => {
            if !object[first].is_object() {
                object[first] = json!({});
            }
            put(&mut object[first], rest, value);
        }
    }
}

/// A settings file with the keys nested as they should be, and now and then as one name.
fn layer() -> impl Strategy<Value = Value> {
    let entry = (prop::sample::select(KEYS.to_vec()), value(), prop::bool::weighted(0.1));
    prop::collection::vec(entry, 0..8).prop_map(|entries| {
        entries.into_iter().fold(json!({}), |mut object, (key, value, flat)| {
            if flat {
                object[key] = value;
            } else {
                put(&mut object, key, value);
            }
            object
        })
    })
}

fn set(list: &[String]) -> BTreeSet<&str> {
    list.iter().map(String::as_str).collect()
}

/// An absent limit is the highest.
fn limit(limit: Option<f64>) -> f64 {
    limit.unwrap_or(f64::INFINITY)
}

fn assert_not_looser(with: &Settings, without: &Settings) {
    let (new, old) = (&with.permissions, &without.permissions);
    assert_eq!(set(&new.allow), set(&old.allow));
    assert!(set(&new.deny).is_superset(&set(&old.deny)));
    assert!(set(&new.ask).is_superset(&set(&old.ask)));
    assert!(new.default_mode <= old.default_mode);
    assert!(with.max_rounds <= without.max_rounds);
    assert!(limit(with.max_cost) <= limit(without.max_cost));
    assert!(limit(with.budgets.turn_usd) <= limit(without.budgets.turn_usd));
    assert!(limit(with.budgets.day_usd) <= limit(without.budgets.day_usd));
    assert!(limit(with.budgets.background_day_usd) <= limit(without.budgets.background_day_usd));
    assert!(with.sandbox.main_bash >= without.sandbox.main_bash);
    assert!(with.sandbox.network <= without.sandbox.network);
    assert!(with.auto_memory_enabled <= without.auto_memory_enabled);
    assert!(set(&with.disabled_mcpjson_servers).is_superset(&set(&without.disabled_mcpjson_servers)));
    let only_the_owners = |settings: &Settings| {
        let settings = settings.clone();
        (
            settings.env,
            settings.models,
            settings.mcp_servers,
            settings.web_fetch,
            settings.system_prompt,
            settings.append_system_prompt,
            settings.output_style,
            settings.auto_memory_directory,
            (settings.team, settings.hooks, settings.agents),
        )
    };
    assert_eq!(only_the_owners(with), only_the_owners(without));
    assert!(
        with.language == without.language || with.language.as_deref().is_some_and(|name| !name.contains('.'))
    );
}

/// Files of a repository switch off and nothing else.
fn assert_no_feature_more(with: &Settings, without: &Settings) {
    let of = |settings: &Settings| settings.features(&Environment::default());
    let (new, old) = (of(with), of(without));
    assert!(new.recall <= old.recall && new.snip <= old.snip);
    assert!(new.dream.is_none() || new.dream == old.dream);
    assert_eq!(new.recall_model, old.recall_model);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn settings_are_never_looser_with_a_repository(
        user in layer(),
        project in layer(),
        local in layer(),
        editor in layer(),
        command_line in prop::option::of(layer()),
        managed in prop::option::of(layer()),
    ) {
        let root = TempDir::new().unwrap();
        let write = |name: &str, value: &Value| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value.to_string()).unwrap();
        };
        write("home/.claude/settings.json", &user);
        write("project/.claude/settings.json", &project);
        write("project/.claude/settings.local.json", &local);
        if let Some(managed) = &managed {
            write("managed/managed-settings.json", managed);
        }
        let environment =
            Environment::new(root.path().join("home"), []).with_managed(root.path().join("managed"));
        let folder = root.path().join("project");
        let load = |folder: Option<_>, editor| {
            let sources =
                Sources { environment: &environment, folder, editor, command_line: command_line.as_ref() };
            Settings::load(&sources).settings
        };
        let without = load(None, None);
        let with = load(Some(&folder), None);
        assert_not_looser(&with, &without);
        assert_no_feature_more(&with, &without);
        assert_not_looser(&load(Some(&folder), Some(&editor)), &without);
        assert_not_looser(&load(None, Some(&editor)), &without);

        // Trust adds what may be trusted and nothing else.
        trust::set(&environment, &folder, true).unwrap();
        let mut trusted = load(Some(&folder), Some(&editor));
        assert!(trusted.env.keys().all(|name| name == "A" || without.env.contains_key(name)));
        trusted.env = without.env.clone();
        trusted.permissions.allow = without.permissions.allow.clone();
        trusted.append_system_prompt = without.append_system_prompt.clone();
        trusted.output_style = without.output_style.clone();
        trusted.language = without.language.clone();
        trusted.hooks = without.hooks.clone();
        trusted.agents = without.agents.clone();
        assert_not_looser(&trusted, &without);
    }
}
