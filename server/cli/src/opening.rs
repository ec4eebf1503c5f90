//! Which session the command line means, and the settings it brings along.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use protocol::{
    Branch, ClientCapabilities, ErrorCode, ListSessionsParams, NewSessionParams, ResumeSessionParams,
    ResumeSessionResult, SessionMessage, method,
};
use serde_json::{Map, Value, json};

use crate::{
    arguments::{SessionOptions, Which},
    client::{Client, Refusal},
};

/// How many sessions are looked through for the beginning of an id.
const LOOKED_THROUGH: u32 = 1_000;
/// A whole id; whatever is shorter is the beginning of one.
const ID_LENGTH: usize = 36;

pub struct Opened {
    pub id: String,
    /// The conversation so far.
    pub messages: Vec<SessionMessage>,
    pub repairs: Vec<String>,
    /// Empty where the conversation went one way only.
    pub branches: Vec<Branch>,
}

/// Where to work: an existing folder, absolute.
pub fn folder(wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(wanted) = wanted else {
        return std::env::current_dir()
            .context("cannot work in the current folder, which may have been deleted");
    };
    let folder =
        wanted.canonicalize().with_context(|| format!("cannot work in the folder {}", wanted.display()))?;
    if !folder.is_dir() {
        bail!("cannot work in {}: it is not a folder", wanted.display());
    }
    Ok(folder)
}

/// Permissions are always answered here, by a person or by the command line. Only a person can answer the agent's
/// own questions.
pub fn capabilities() -> ClientCapabilities {
    ClientCapabilities {
        version: protocol::VERSION,
        permission_ask: true,
        user_ask: is_attended(),
        plan_ask: is_attended(),
        ..Default::default()
    }
}

/// Whether somebody is there to answer questions.
pub fn is_attended() -> bool {
    io::stderr().is_terminal() && std::fs::File::open("/dev/tty").is_ok()
}

/// The command line's layer of settings.
pub fn settings(options: &SessionOptions) -> Option<Value> {
    let mut permissions = Map::new();
    if !options.allow.is_empty() {
        permissions.insert("allow".to_owned(), json!(options.allow));
    }
    if let Some(mode) = &options.mode {
        permissions.insert("defaultMode".to_owned(), json!(mode));
    }
    let mut settings = match options.assistant {
        true => assistant(),
        false => json!({}),
    };
    let settings = settings.as_object_mut()?;
    if !permissions.is_empty() {
        settings.insert("permissions".to_owned(), Value::Object(permissions));
    }
    if options.bare {
        settings.insert("env".to_owned(), json!({"CLAUDE_CODE_SIMPLE": "1"}));
    }
    if let Some(model) = &options.model {
        settings.insert("model".to_owned(), json!(model));
    }
    (!settings.is_empty()).then(|| Value::Object(std::mem::take(settings)))
}

/// What `--assistant` sets: "daily-log mode, for long-running assistants".
pub fn assistant() -> Value {
    json!({"reverie": {"features": {"dailyLog": true}}})
}

/// A new session, or the one that was asked for.
pub async fn open(client: &Client, options: &SessionOptions, folder: &Path) -> anyhow::Result<Opened> {
    match &options.which {
        Which::New => {
            let params = NewSessionParams {
                cwd: Some(folder.to_string_lossy().into_owned()),
                model: options.model.clone(),
                ..Default::default()
            };
            let made = client.call::<method::SessionNew>(&params).await?;
            Ok(Opened {
                id: made.session_id,
                messages: Vec::new(),
                repairs: Vec::new(),
                branches: Vec::new(),
            })
        }
        Which::Newest => {
            let params = ListSessionsParams { limit: Some(1), ..Default::default() };
            let page = client.call::<method::SessionList>(&params).await?;
            let Some(newest) = page.sessions.into_iter().next() else {
                bail!("this project has no session to continue; leave out --continue to start one");
            };
            resume(client, &newest.session_id).await
        }
        Which::Id(id) => resume(client, id).await,
        Which::Branch { id, number } => resume_branch(client, id, *number).await,
    }
}

/// As `sessions show` numbers them, from 1.
async fn resume_branch(client: &Client, id: &str, number: usize) -> anyhow::Result<Opened> {
    let opened = resume(client, id).await?;
    let branch = number.checked_sub(1).and_then(|at| opened.branches.get(at));
    match branch {
        Some(branch) if branch.current => Ok(opened),
        Some(branch) => {
            let params = ResumeSessionParams {
                session_id: opened.id,
                strategy: None,
                message_uuid: Some(branch.message_uuid.clone()),
            };
            Ok(client.call::<method::SessionResume>(&params).await?.into())
        }
        None if number == 1 => Ok(opened),
        None => bail!(
            "session {id} has no branch {number}, only {}; 'reverie sessions show {id}' lists them",
            opened.branches.len().max(1)
        ),
    }
}

impl From<ResumeSessionResult> for Opened {
    fn from(resumed: ResumeSessionResult) -> Self {
        let ResumeSessionResult { session_id: id, messages, repairs, branches, .. } = resumed;
        Self { id, messages, repairs, branches }
    }
}

/// Brings a session back by its id or the beginning of it.
pub async fn resume(client: &Client, id: &str) -> anyhow::Result<Opened> {
    let session_id = whole_id(client, id).await?;
    let params = ResumeSessionParams { session_id, strategy: None, message_uuid: None };
    let resumed = client.call::<method::SessionResume>(&params).await.map_err(|error| {
        match error.downcast_ref::<Refusal>() {
            Some(refusal) if refusal.code == ErrorCode::UNKNOWN_SESSION.code => unknown(id),
            _ => error,
        }
    })?;
    Ok(resumed.into())
}

pub async fn whole_id(client: &Client, beginning: &str) -> anyhow::Result<String> {
    if beginning.len() >= ID_LENGTH {
        return Ok(beginning.to_owned());
    }
    // This project's, else any.
    for all in [false, true] {
        let params = ListSessionsParams { limit: Some(LOOKED_THROUGH), all, ..Default::default() };
        let page = client.call::<method::SessionList>(&params).await?;
        let mut fitting = page.sessions.into_iter().map(|session| session.session_id);
        let mut fitting = fitting.by_ref().filter(|id| !beginning.is_empty() && id.starts_with(beginning));
        match (fitting.next(), fitting.next()) {
            (Some(id), None) => return Ok(id),
            (Some(_), Some(_)) => bail!("several sessions begin with {beginning}; give more of the id"),
            (None, _) => {}
        }
    }
    Err(unknown(beginning))
}

fn unknown(id: &str) -> anyhow::Error {
    anyhow::anyhow!("there is no session {id}; 'reverie sessions' lists this project's, with --all every one")
}

#[cfg(test)]
mod tests {
    use settings::{Environment, Settings, Sources};

    use super::*;

    fn loaded(options: &SessionOptions, environment: &Environment) -> Settings {
        let layer = settings(options).unwrap();
        Settings::load(&Sources { environment, folder: None, editor: None, command_line: Some(&layer) })
            .settings
    }

    #[test]
    fn bare_is_the_variable() {
        let environment = Environment::default();
        let settings = loaded(&SessionOptions { bare: true, ..SessionOptions::default() }, &environment);
        assert!(settings.is_bare(&environment) && !settings.auto_memory(&environment));
    }

    #[test]
    fn an_assistant_keeps_a_log_beside_what_else_is_asked_for() {
        let environment = Environment::default();
        let options = SessionOptions {
            assistant: true,
            model: Some("offline".to_owned()),
            ..SessionOptions::default()
        };
        let settings = loaded(&options, &environment);
        assert!(settings.features(&environment).daily_log);
        assert_eq!(settings.model.as_deref(), Some("offline"));
    }
}
