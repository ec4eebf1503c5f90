//! The start of every request of a session: rendered with the first turn, restored from the transcript after a
//! resume, sent byte for byte until the model changes.

use std::sync::{Arc, PoisonError};

use context::budget::{Budget, Level};
use conversation::{Prefix, Record};
use model::{ModelError, catalogue::ModelSpec};
use settings::Settings;

use crate::{
    event::{ContextLevel, NoticeLevel, TurnId},
    prompt,
    session::{Opening, Rendered, Session},
};

/// Finds or makes the opening. Fails when the model cannot be used, in words for the user.
pub(crate) async fn prepare(
    session: &Arc<Session>,
    turn: &TurnId,
    settings: &Settings,
) -> Result<Opening, ModelError> {
    let (rendered, wanted) = {
        let state = session.state();
        let wanted = state.model_name.clone().or_else(|| session.shared.command_line_model());
        (state.rendered.clone(), wanted)
    };
    // The provider is found anew each turn: a corrected key holds at once.
    let models = session.shared.models(settings);
    if let Some(rendered) = rendered {
        match models.resolve(Some(wanted.as_deref().unwrap_or(&rendered.model))) {
            Ok((spec, provider)) if spec.id() == rendered.model => {
                return Ok(Opening { rendered, spec, provider });
            }
            Ok(_) => {}
            Err(error) if wanted.is_some() => return Err(error),
            Err(error) => {
                let text =
                    format!("this session ran on {}, which cannot be used now ({error})", rendered.model);
                session.notice(Some(turn), NoticeLevel::Warning, text);
            }
        }
    }
    let (spec, provider) = models.resolve(wanted.as_deref())?;
    let prefix = render(session, settings, &spec).await;
    session.record(&Record::Prefix(prefix.clone()));
    let rendered = Rendered::of(&prefix).ok_or_else(|| ModelError::Fatal {
        code: "internal",
        message: "the system prompt could not be rendered".to_owned(),
    })?;
    session.state().rendered = Some(rendered.clone());
    Ok(Opening { rendered, spec, provider })
}

async fn render(session: &Arc<Session>, settings: &Settings, spec: &ModelSpec) -> Prefix {
    let reading = session.git.lock().unwrap_or_else(PoisonError::into_inner).take();
    let git = match reading {
        Some(task) => task.await.ok().flatten(),
        None => crate::git::read(session.cwd.clone()).await,
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
