//! The editor's settings: pulled from clients that answer `workspace/configuration`, taken as pushed from others.
//!
//! Nothing waits for them; until they come, the agent runs with the settings files.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::{Value, json, value::RawValue};

use crate::server::Server;

const SECTION: &str = "reverie";
const NON_INTERACTIVE: &str = "nonInteractive";
/// A client that has not answered by then is not going to.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Tells an answer to the last question from one that was overtaken.
#[derive(Default)]
pub(crate) struct Questions(AtomicU64);

/// After `initialized`: asks to be told of changes, and for the settings as they are.
pub(crate) fn begin(server: &Server) {
    let Some(client) = server.client() else { return };
    if client.registers_configuration {
        let registration = json!({ "id": "reverie/configuration", "method": "workspace/didChangeConfiguration",
                    "registerOptions": { "section": SECTION } });
        let asked = server.outbound().request(
            None,
            "client/registerCapability",
            &json!({ "registrations": [registration] }),
        );
        tokio::spawn(async move {
            if let Ok(Err(error)) = tokio::time::timeout(ANSWER_LIMIT, asked).await {
                tracing::warn!(%error, "the client does not tell of changed settings");
            }
        });
    }
    if client.configuration {
        pull(server);
    }
}

/// `workspace/didChangeConfiguration`.
pub(crate) fn changed(server: &Server, params: Option<&RawValue>) {
    if server.client().is_some_and(|client| client.configuration) {
        pull(server);
        return;
    }
    let params: Value = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    if let Some(settings) = params.get("settings") {
        take(server, settings);
    }
}

/// Settings that came unasked, in `didChangeConfiguration` or as `initializationOptions`: the section, or an object that
/// holds it.
pub(crate) fn take(server: &Server, settings: &Value) {
    let section = settings.get(SECTION).unwrap_or(settings);
    if let Value::Object(mut section) = section.clone() {
        // Says what the client is; it is no setting.
        section.remove(NON_INTERACTIVE);
        server.agent().set_editor_settings(Value::Object(section));
        server.language().settings_changed();
    }
}

/// Whether `initializationOptions` say that nobody is there to see what happens: `{"reverie": {"nonInteractive": true}}`.
pub(crate) fn is_non_interactive(options: &Value) -> bool {
    let section = options.get(SECTION).unwrap_or(options);
    section.get(NON_INTERACTIVE) == Some(&Value::Bool(true))
}

fn pull(server: &Server) {
    let question = server.questions().0.fetch_add(1, Ordering::SeqCst) + 1;
    let asked = server.outbound().request(
        None,
        "workspace/configuration",
        &json!({ "items": [{ "section": SECTION }] }),
    );
    let server = server.clone();
    tokio::spawn(async move {
        let sections = match tokio::time::timeout(ANSWER_LIMIT, asked).await {
            Ok(Ok(sections)) => sections,
            Ok(Err(error)) => return tracing::warn!(%error, "the client did not tell its settings"),
            Err(_elapsed) => return tracing::warn!("the client did not tell its settings in time"),
        };
        let is_latest = server.questions().0.load(Ordering::SeqCst) == question;
        if let Some(section) = sections.get(0).filter(|section| is_latest && section.is_object()) {
            server.agent().set_editor_settings(section.clone());
            server.language().settings_changed();
        }
    });
}
