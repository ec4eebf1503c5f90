//! How full the window of a session is: what the provider last reported, and an estimate of what came after it that
//! learns from what is reported.

use std::sync::Arc;

use context::{
    Budget, Calibration, Composition, Level,
    budget::Compaction,
    estimate::{self, Observation},
};
use conversation::{Block, Body, Message};
use model::ModelSpec;
use serde::Serialize;
use settings::Settings;

use crate::{
    event::ContextLevel,
    session::{Opening, Rendered, Session},
    window::Window,
};

/// What fits, as the settings and the environment have it.
pub(crate) fn budget(session: &Session, settings: &Settings, spec: &ModelSpec) -> Budget {
    Budget::new(spec.context_window, spec.max_output_tokens)
        .with_compaction_window(settings.auto_compact_window(&session.shared.environment))
        .with_compaction_percent(settings.auto_compact_percent)
}

pub(crate) fn level(budget: &Budget, used: u64) -> ContextLevel {
    match budget.level(used) {
        Level::Normal => ContextLevel::Normal,
        Level::Warning => ContextLevel::Warning,
        Level::Error => ContextLevel::Error,
        Level::Critical => ContextLevel::Critical,
    }
}

/// Whether the conversation is compacted by itself.
pub(crate) fn compaction(window: &Window, session: &Session, settings: &Settings) -> Compaction {
    let features = settings.features(&session.shared.environment);
    let automatic = settings.auto_compact_enabled
        && !features.reactive_only
        && window.failures < crate::compaction::MOST_FAILURES;
    if automatic { Compaction::Automatic } else { Compaction::Manual }
}

/// The size of the context as the next request would have it.
pub(crate) fn used(session: &Session, rendered: Option<&Rendered>, spec: &ModelSpec) -> u64 {
    let thread = session.state().thread.clone();
    size(session, rendered, spec, &thread)
}

/// The size of the context with this thread.
pub(crate) fn size(
    session: &Session,
    rendered: Option<&Rendered>,
    spec: &ModelSpec,
    thread: &[Arc<Message>],
) -> u64 {
    let (calibration, projection) = {
        let state = session.state();
        (state.window.calibration.clone(), state.window.projection.clone())
    };
    let model = spec.id();
    match estimate::context_tokens(thread, &model, &calibration) {
        Some(counted) => counted.saturating_sub(projection.freed_since(thread)),
        // Nobody counts what is not sent.
        None => {
            let view = projection.view(thread);
            let sent: Composition = view.iter().map(|message| Composition::of_message(message)).sum();
            let prefix = rendered.map(composition).unwrap_or_default();
            calibration.tokens(&model, &prefix) + calibration.tokens(&model, &sent)
        }
    }
}

impl Opening {
    /// The size of the context as the next request would have it.
    pub fn used(&self, session: &Session) -> u64 {
        used(session, Some(&self.rendered), &self.spec)
    }

    /// The size of the context with this thread.
    pub fn size(&self, session: &Session, thread: &[Arc<Message>]) -> u64 {
        size(session, Some(&self.rendered), &self.spec, thread)
    }
}

pub(crate) fn prefix_tokens(session: &Session, opening: &Opening) -> u64 {
    session.state().window.calibration.tokens(&opening.spec.id(), &composition(&opening.rendered))
}

/// The size of a conversation without what stands in front of it.
pub(crate) fn conversation_tokens(session: &Session, opening: &Opening, thread: &[Arc<Message>]) -> u64 {
    let projection = session.state().window.projection.clone();
    let (calibration, model) = learnt(session, &opening.spec);
    let sent = projection.view(thread).iter().map(|message| Composition::of_message(message)).sum();
    let behind_prefix = opening.size(session, thread).saturating_sub(prefix_tokens(session, opening));
    behind_prefix.max(calibration.tokens(&model, &sent))
}

fn composition(rendered: &Rendered) -> Composition {
    let mut composition: Composition = rendered.system.iter().map(|it| Composition::of_text(&it.text)).sum();
    composition += Composition::of_json(&&*rendered.tools);
    composition += Composition::of_blocks(&rendered.context);
    composition
}

/// What a message is large, for this model.
pub(crate) fn of_message(session: &Session, spec: &ModelSpec) -> impl Fn(&Message) -> u64 + use<> {
    let (calibration, model) = learnt(session, spec);
    move |message| calibration.tokens(&model, &Composition::of_message(message))
}

pub(crate) fn of_blocks(session: &Session, spec: &ModelSpec, blocks: &[Block]) -> u64 {
    let (calibration, model) = learnt(session, spec);
    calibration.tokens(&model, &Composition::of_blocks(blocks))
}

pub(crate) fn of_json(session: &Session, spec: &ModelSpec, value: &impl Serialize) -> u64 {
    let (calibration, model) = learnt(session, spec);
    calibration.tokens(&model, &Composition::of_json(value))
}

fn learnt(session: &Session, spec: &ModelSpec) -> (Calibration, String) {
    (session.state().window.calibration.clone(), spec.id())
}

/// Compares the estimate with what the last response reported.
pub(crate) fn learn(session: &Session, opening: &Opening) {
    let mut state = session.state();
    let is_response = |message: &Arc<Message>| matches!(message.body, Body::Assistant { .. });
    let asked_with = state.thread.iter().rposition(is_response).and_then(|last| state.thread.get(..last));
    // What was left out of the request is in the thread all the same.
    if asked_with.is_none_or(|thread| state.window.projection.freed_since(thread) > 0) {
        return;
    }
    let model = opening.spec.id();
    if let Some(Observation { composition: seen, reported }) = estimate::observation(&state.thread) {
        state.window.calibration.learn(&model, &seen, reported);
    } else if let Some(Observation { composition: mut seen, reported }) =
        estimate::first_observation(&state.thread)
    {
        seen += composition(&opening.rendered);
        state.window.calibration.learn(&model, &seen, reported);
    }
}
