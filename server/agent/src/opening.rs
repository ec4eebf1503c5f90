//! The start of every request of a session: rendered with the first turn, restored from the transcript after a
//! resume, sent byte for byte until the model changes.

use std::sync::{Arc, PoisonError};

use context::budget::{Budget, Level};
use conversation::{Prefix, Record};
use model::{ModelError, Provider, SystemBlock, ToolDefinition, catalogue::ModelSpec};
use settings::Settings;

use crate::{
    event::{ContextLevel, NoticeLevel, TurnId},
    prompt,
    session::{Opening, Session},
};

/// Finds or makes the opening. Fails when the model cannot be used, in words for the user.
pub(crate) async fn prepare(
    session: &Arc<Session>,
    turn: &TurnId,
    settings: &Settings,
) -> Result<Opening, ModelError> {
    let (ready, saved, wanted) = {
        let state = session.state();
        let wanted = state.model_name.clone().or_else(|| session.shared.command_line_model());
        (state.opening.clone(), state.saved_prefix.clone(), wanted)
    };
    let models = session.shared.models(settings);
    if let Some(opening) = ready {
        return Ok(opening);
    }
    if let Some(prefix) = saved {
        let name = wanted.as_deref().unwrap_or(&prefix.model);
        match models.resolve(Some(name)) {
            Ok((spec, provider)) => {
                if spec.id() == prefix.model
                    && let Some(opening) = restore(&prefix, spec, provider)
                {
                    session.state().opening = Some(opening.clone());
                    return Ok(opening);
                }
            }
            Err(error) if wanted.is_none() => {
                let text =
                    format!("this session ran on {}, which cannot be used now ({error})", prefix.model);
                session.notice(Some(turn), NoticeLevel::Warning, text);
            }
            Err(error) => return Err(error),
        }
    }
    let (spec, provider) = models.resolve(wanted.as_deref())?;
    let prefix = render(session, settings, &spec).await;
    session.record(&Record::Prefix(prefix.clone()));
    let opening = restore(&prefix, spec, provider).ok_or_else(|| ModelError::Fatal {
        code: "internal",
        message: "the system prompt could not be rendered".to_owned(),
    })?;
    session.state().opening = Some(opening.clone());
    Ok(opening)
}

/// `None` when the saved opening is not of this release: a tool it offers is gone.
fn restore(prefix: &Prefix, spec: ModelSpec, provider: Arc<dyn Provider>) -> Option<Opening> {
    let system: Vec<SystemBlock> = serde_json::from_value(prefix.system.clone()).ok()?;
    let tools: Vec<ToolDefinition> = serde_json::from_value(prefix.tools.clone()).ok()?;
    if tools.iter().any(|tool| tools::find(&tool.name).is_none()) {
        return None;
    }
    Some(Opening {
        system: system.into(),
        tools: tools.into(),
        context: prefix.context.clone().into(),
        spec,
        provider,
    })
}

async fn render(session: &Arc<Session>, settings: &Settings, spec: &ModelSpec) -> Prefix {
    let reading = session.git.lock().unwrap_or_else(PoisonError::into_inner).take();
    let git = match reading {
        Some(task) => task.await.ok().flatten(),
        None => {
            let cwd = session.cwd.clone();
            tokio::task::spawn_blocking(move || crate::git::read(&cwd)).await.ok().flatten()
        }
    };
    // Created before the model is told that it exists.
    let memory_dir =
        session.memory_dir.as_deref().filter(|dir| match crate::files::create_private_dir(dir) {
            Ok(()) => true,
            Err(error) => {
                let text = format!("the memory directory {} could not be created: {error}", dir.display());
                session.notice(None, NoticeLevel::Warning, text);
                false
            }
        });
    let shell = session.shared.environment.get("SHELL").unwrap_or("/bin/sh").to_owned();
    prompt::render(&prompt::Inputs {
        cwd: &session.cwd,
        memory_dir,
        shell: &shell,
        settings,
        model: spec,
        git,
        today: jiff::Zoned::now().date(),
    })
}

pub(crate) fn budget(spec: &ModelSpec) -> Budget {
    Budget::new(spec.context_window, spec.max_output_tokens)
}

pub(crate) fn level(spec: &ModelSpec, used: u64) -> ContextLevel {
    match budget(spec).level(used) {
        Level::Normal => ContextLevel::Normal,
        Level::Warning => ContextLevel::Warning,
        Level::Error => ContextLevel::Error,
        Level::Critical => ContextLevel::Critical,
    }
}
