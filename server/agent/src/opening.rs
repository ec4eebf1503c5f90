//! The start of every request of a session: rendered with the first turn, restored from the transcript after a
//! resume, sent byte for byte until the model changes.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use conversation::{Block, Prefix, Record};
use memory::{instructions::Reason, rules::Keeping};
use model::{ModelError, Provider, ToolDefinition, catalogue::ModelSpec};
use settings::Settings;
use tools::{Needs, Tool, Toolbox};
use uuid::Uuid;

use crate::{
    event::{NoticeLevel, TurnId},
    extensions,
    frontend::Offers,
    instructions, prompt,
    session::{Opening, Rendered, Session},
    types::InstructionFile,
    web_search::WebSearch,
};

/// Finds or makes the opening. Fails when the model cannot be used, in words for the user.
pub(crate) async fn prepare(
    session: &Arc<Session>,
    turn: Option<&TurnId>,
    settings: &Settings,
    servers_are_starting: bool,
) -> Result<Opening, ModelError> {
    let (rendered, wanted) = {
        let state = session.state();
        let wanted = state.model_name.clone().or_else(|| session.shared.command_line_model());
        (state.rendered.clone(), wanted)
    };
    // Only the first request that could have them waits for servers.
    let waits = rendered.is_none() || servers_are_starting;
    let patience = if waits { extensions::PATIENCE } else { Duration::ZERO };
    let external = session.shared.extensions.tools(&session.cwd, patience).await;
    // The provider is found anew each turn: a corrected key holds at once.
    let models = session.shared.models(settings);
    if let Some(rendered) = rendered {
        match models.resolve(Some(wanted.as_deref().unwrap_or(&rendered.model))) {
            Ok((spec, provider)) if spec.id() == rendered.model => {
                let toolbox = toolbox(session, &spec, &provider, external);
                let rendered = with_new_tools(session, turn, rendered, &toolbox);
                return Ok(Opening { rendered, spec, provider, toolbox });
            }
            Ok((spec, _)) => {
                let detail = format!("{} answers instead of {}", spec.id(), rendered.model);
                announce_break(session, turn, "model", detail);
            }
            Err(error) if wanted.is_some() => return Err(error),
            Err(error) => {
                let text =
                    format!("this session ran on {}, which cannot be used now ({error})", rendered.model);
                announce_break(session, turn, "model", text.clone());
                session.notice(turn, NoticeLevel::Warning, text);
            }
        }
    }
    if std::mem::take(&mut session.state().opening_is_stale) {
        let detail = "the session was begun by another release, whose opening this one cannot send";
        announce_break(session, turn, "opening", detail.to_owned());
    }
    let (spec, provider) = models.resolve(wanted.as_deref())?;
    let toolbox = toolbox(session, &spec, &provider, external);
    let mut prefix = render(session, settings, &spec, &toolbox).await?;
    prefix.instructions = session.instructions().to_value();
    // Another model may go on behind a compaction.
    prefix.boundary = session.state().rendered.as_ref().and_then(|rendered| rendered.boundary);
    session.record(&Record::Prefix(prefix.clone()));
    let rendered = Rendered::of(&prefix).ok_or_else(unrendered)?;
    session.state().rendered = Some(rendered.clone());
    Ok(Opening { rendered, spec, provider, toolbox })
}

/// The opening of a session that has begun, outside of a turn.
pub(crate) async fn current(session: &Arc<Session>, settings: &Settings) -> Result<Opening, ModelError> {
    prepare(session, None, settings, false).await
}

/// All that can be called; which of it is offered is a part of the opening, and stays.
fn toolbox(
    session: &Arc<Session>,
    spec: &ModelSpec,
    provider: &Arc<dyn Provider>,
    external: Vec<Arc<dyn Tool>>,
) -> Toolbox {
    let mut others = external;
    if spec.has_web_search() {
        let (session, provider, spec) = (Arc::clone(session), Arc::clone(provider), spec.clone());
        others.insert(0, Arc::new(WebSearch { session, provider, spec }));
    }
    Toolbox::builtin().with(others)
}

/// Servers that were not ready, or not trusted, when the session began bring their tools later. That breaks the cache,
/// and is said; tools that are gone stay, since calling one says what is wrong.
fn with_new_tools(
    session: &Arc<Session>,
    turn: Option<&TurnId>,
    rendered: Rendered,
    toolbox: &Toolbox,
) -> Rendered {
    let offered = |name: &str| rendered.tools.iter().any(|tool| tool.name == name);
    let new = toolbox.iter().map(|tool| tool.name()).filter(|name| name.starts_with("mcp__"));
    let new: Vec<&str> = new.filter(|name| !offered(name)).collect();
    if new.is_empty() {
        return rendered;
    }
    announce_break(session, turn, "tools", format!("new tools: {}", new.join(", ")));
    let more = definitions(toolbox.iter().filter(|tool| new.contains(&tool.name())));
    let tools: Arc<[ToolDefinition]> = rendered.tools.iter().cloned().chain(more).collect();
    let rendered = Rendered { tools, ..rendered };
    session.record(&Record::Prefix(rendered.to_prefix(session.instructions().to_value())));
    session.state().rendered = Some(rendered.clone());
    rendered
}

/// Tells that the next request is not served from the cache, and why.
pub(crate) fn announce_break(session: &Session, turn: Option<&TurnId>, layer: &str, detail: String) {
    session.remark(turn, layer, detail, false);
}

/// The opening rendered anew, for the conversation behind a compaction: sections are computed again, instructions and the
/// index of memories read again. The tools stay.
pub(crate) async fn renewed(
    session: &Arc<Session>,
    settings: &Settings,
    opening: &Opening,
    boundary: Uuid,
) -> Result<(Opening, Prefix), ModelError> {
    let mut prefix = render(session, settings, &opening.spec, &opening.toolbox).await?;
    prefix.instructions = session.instructions().to_value();
    prefix.tools = serde_json::to_value(&*opening.rendered.tools).unwrap_or_default();
    prefix.boundary = Some(boundary);
    let rendered = Rendered::of(&prefix).ok_or_else(unrendered)?;
    Ok((Opening { rendered, ..opening.clone() }, prefix))
}

fn unrendered() -> ModelError {
    ModelError::Fatal { code: "internal", message: "the system prompt could not be rendered".to_owned() }
}

/// What the model is told of the tools.
fn definitions<'a>(tools: impl IntoIterator<Item = &'a Arc<dyn Tool>>) -> Vec<ToolDefinition> {
    let definition = |tool: &Arc<dyn Tool>| ToolDefinition {
        name: tool.name().to_owned(),
        description: tool.description(),
        input_schema: tool.input_schema(),
    };
    tools.into_iter().map(definition).collect()
}

/// Whether what the tool needs is there.
fn is_offered(tool: &dyn Tool, offers: Offers, has_skills: bool) -> bool {
    match tool.needs() {
        Needs::Nothing => true,
        Needs::OpenDocuments => offers.documents,
        Needs::Diagnostics => offers.diagnostics,
        Needs::Symbols => offers.symbols,
        Needs::Skills => has_skills,
    }
}

async fn render(
    session: &Arc<Session>,
    settings: &Settings,
    spec: &ModelSpec,
    toolbox: &Toolbox,
) -> Result<Prefix, ModelError> {
    let reading = session.git.lock().unwrap_or_else(PoisonError::into_inner).take();
    let git = match reading {
        Some(task) => task.await.ok().flatten(),
        None => crate::git::read(session.cwd.clone(), session.shared.is_trusted(&session.cwd)).await,
    };
    let (session, settings, model) = (Arc::clone(session), settings.clone(), spec.clone());
    let toolbox = toolbox.clone();
    let rendered = tokio::task::spawn_blocking(move || {
        session.shared.faults.reach("opening");
        // Created before the model is told that it exists.
        let memory_dir =
            session.memory_dir.as_deref().filter(|dir| match crate::files::create_private_dir(dir) {
                Ok(()) => true,
                Err(error) => {
                    let text =
                        format!("the memory directory {} could not be created: {error}", dir.display());
                    session.notice(None, NoticeLevel::Warning, text);
                    false
                }
            });
        if let Some(memories) = session.memories().filter(|_| memory_dir.is_some()) {
            memories.keep_watching(&session.shared.frontend);
        }
        let mut skills = session.shared.library(&session.cwd).skills;
        skills.retain(|skill| !skill.user_only && !skill.untrusted);
        let offers = session.shared.frontend.offers();
        let offered: Vec<_> =
            toolbox.iter().filter(|tool| is_offered(&***tool, offers, !skills.is_empty())).collect();
        prompt::render(&prompt::Inputs {
            cwd: &session.cwd,
            memory: memory_dir.map(|directory| memory_section(&session, &settings, directory)),
            memory_dir,
            shell: session.shared.environment.get("SHELL").unwrap_or("/bin/sh"),
            settings: &settings,
            model: &model,
            tools: definitions(offered),
            skills: &skills,
            git,
            instructions: &instructions::load(&session, Reason::SessionStart),
            today: session.shared.faults.clock().today(),
        })
    });
    rendered.await.map_err(|error| {
        tracing::error!(%error, "rendering the opening panicked");
        unrendered()
    })
}

/// Reads CLAUDE.md files and the index anew. Where that changes what is sent, the cache is broken, and it is said. Reads
/// files.
pub(crate) fn reload(session: &Arc<Session>) -> Vec<InstructionFile> {
    let pieces = instructions::load(session, Reason::SessionStart);
    let today = session.shared.faults.clock().today();
    let text = prompt::first_message(&pieces, session.memory_dir.as_deref(), today);
    let context: Arc<[Block]> = [Block::text(text)].into();
    let changed = match &mut session.state().rendered {
        Some(rendered) if rendered.context != context => {
            rendered.context = context;
            true
        }
        _ => false,
    };
    if changed {
        let detail = "instructions and the index of memories were read anew".to_owned();
        announce_break(session, None, "instructions", detail);
    }
    session.keep_opening();
    session.instructions().files()
}

/// What the model is told about memory: the same for all sessions in one directory.
fn memory_section(session: &Session, settings: &Settings, directory: &Path) -> String {
    let environment = &session.shared.environment;
    let features = settings.features(environment);
    let keeping = if features.daily_log { Keeping::DailyLog } else { Keeping::Topics };
    let transcripts = features.search_past_context.then(|| session.project_dir());
    let guidelines = settings.memory_guidelines(environment);
    memory::rules::section(directory, keeping, transcripts.as_deref(), guidelines.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_render_to_the_same_bytes_every_time() {
        let render = || serde_json::to_string(&definitions(Toolbox::builtin().iter())).unwrap();
        assert_eq!(render(), render());
    }
}
