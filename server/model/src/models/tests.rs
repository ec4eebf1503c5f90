use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use expect_test::{Expect, expect};
use settings::ModelSettings;

use super::*;

type Variables = &'static [(&'static str, &'static str)];

fn environment(variables: &[(&str, &str)]) -> Environment {
    let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Environment::new(PathBuf::from("/home/nobody"), owned)
}

fn models(variables: &[(&str, &str)], model: Option<&str>) -> Models {
    let mut settings = Settings::default();
    settings.model = model.map(str::to_owned);
    Models::new(&environment(variables), &settings)
}

fn print(resolved: Result<Resolved, ModelError>) -> String {
    match resolved {
        Ok((spec, _provider)) => spec.id(),
        Err(ModelError::Fatal { code, message }) => format!("{code}: {message}"),
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn the_default_model() {
    let mut out = String::new();
    let cases: &[(Variables, Option<&str>)] = &[
        (&[], None),
        (&[], Some("sonnet")),
        (&[], Some("offline")),
        (&[("ANTHROPIC_API_KEY", "k")], None),
        (&[("ANTHROPIC_AUTH_TOKEN", "k")], None),
        (&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")], None),
        (&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_MODEL", "opus")], None),
        (&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_MODEL", "opus")], Some("claude-haiku-4-5")),
        (&[("OPENAI_BASE_URL", "http://127.0.0.1:11434")], None),
        (&[("OPENAI_BASE_URL", "http://127.0.0.1:11434"), ("OPENAI_MODEL", "qwen3:8b")], None),
        (&[("OPENAI_BASE_URL", "http://127.0.0.1:11434")], Some("qwen3:8b")),
        (&[("OPENAI_API_KEY", "k")], None),
        (&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")], None),
        (&[], Some("openai/gpt")),
        (&[], Some("qwen3:8b")),
    ];
    for (variables, model) in cases {
        let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
        let models = models(variables, *model);
        writeln!(out, "{names:?} {model:?} → {}", print(models.resolve(None))).unwrap();
    }
    expect![[r#"
        [] None → offline/offline
        [] Some("sonnet") → auth: no API key for anthropic: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and start again, or choose the model "offline"
        [] Some("offline") → offline/offline
        ["ANTHROPIC_API_KEY"] None → anthropic/claude-sonnet-5-5
        ["ANTHROPIC_AUTH_TOKEN"] None → anthropic/claude-sonnet-5-5
        ["ANTHROPIC_BASE_URL"] None → offline/offline
        ["ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"] None → anthropic/claude-opus-5-5
        ["ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"] Some("claude-haiku-4-5") → anthropic/claude-haiku-4-5
        ["OPENAI_BASE_URL"] None → openai/default
        ["OPENAI_BASE_URL", "OPENAI_MODEL"] None → openai/qwen3:8b
        ["OPENAI_BASE_URL"] Some("qwen3:8b") → openai/qwen3:8b
        ["OPENAI_API_KEY"] None → offline/offline
        ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"] None → anthropic/claude-sonnet-5-5
        [] Some("openai/gpt") → auth: no address and no key for openai: set OPENAI_BASE_URL (a server of your own, for example http://127.0.0.1:11434) or OPENAI_API_KEY, and start again
        [] Some("qwen3:8b") → model_not_found: there is no model called qwen3:8b; known are opus, sonnet, haiku, anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5, anthropic/claude-haiku-5-5, anthropic/claude-fable-5-1, offline/offline, and any openai/MODEL of a server at OPENAI_BASE_URL
    "#]].assert_eq(&out);
}

#[test]
fn inherit_means_the_default() {
    let models = models(&[("ANTHROPIC_API_KEY", "k")], Some("opus"));
    assert_eq!(print(models.resolve(Some("inherit"))), print(models.resolve(None)));
}

fn check_list(models: &Models, expected: Expect) {
    let lines = models.list().into_iter().map(|(spec, available)| format!("{} {available}\n", spec.id()));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn the_list_shows_what_can_be_used() {
    check_list(
        &models(&[], None),
        expect![[r#"
        anthropic/claude-opus-5-5 false
        anthropic/claude-sonnet-5-5 false
        anthropic/claude-haiku-5-5 false
        anthropic/claude-fable-5-1 false
        offline/offline true
    "#]],
    );
    let mut settings = Settings::default();
    settings.models = BTreeMap::from([("openai/qwen3:8b".to_owned(), ModelSettings::default())]);
    let local = Models::new(&environment(&[("OPENAI_BASE_URL", "http://127.0.0.1:1")]), &settings);
    check_list(
        &local,
        expect![[r#"
        anthropic/claude-opus-5-5 false
        anthropic/claude-sonnet-5-5 false
        anthropic/claude-haiku-5-5 false
        anthropic/claude-fable-5-1 false
        openai/qwen3:8b true
        offline/offline true
    "#]],
    );
    assert_eq!(print(local.resolve(None)), "openai/qwen3:8b");
}

#[test]
fn variables_of_the_settings_count() {
    let mut settings = Settings::default();
    settings.env = BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]);
    let models = Models::new(&environment(&[]), &settings);
    assert_eq!(print(models.resolve(None)), "anthropic/claude-sonnet-5-5");
    assert!(!format!("{models:?}").contains("\"k\""));
}

#[test]
fn certificates_that_the_system_reads_anyway_are_not_read_twice() {
    let extra = |variables: &[(&str, &str)]| extra_authorities(&environment(variables));
    assert_eq!(extra(&[]), None);
    assert_eq!(extra(&[("NODE_EXTRA_CA_CERTS", "/a.pem")]), Some(PathBuf::from("/a.pem")));
    assert_eq!(extra(&[("NODE_EXTRA_CA_CERTS", "/a.pem"), ("SSL_CERT_FILE", "/a.pem")]), None);
}
