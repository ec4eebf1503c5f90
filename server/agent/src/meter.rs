//! How full the window of a session is: what the provider last reported, and an estimate of what came after it that
//! learns from what is reported.

use std::sync::Arc;

use context::{
    Budget, Calibration, Composition, Level,
    estimate::{self, Observation},
};
use conversation::Message;
use model::ModelSpec;
use settings::Settings;

use crate::{
    event::ContextLevel,
    session::{Opening, Rendered, Session},
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

/// The size of the context as the next request would have it.
pub(crate) fn used(session: &Session, opening: &Opening) -> u64 {
    let thread = session.state().thread.clone();
    size(session, opening, &thread)
}

/// The size of the context with this thread.
pub(crate) fn size(session: &Session, opening: &Opening, thread: &[Arc<Message>]) -> u64 {
    let (calibration, projection) = {
        let state = session.state();
        (state.window.calibration.clone(), state.window.projection.clone())
    };
    let model = opening.spec.id();
    let prefix = || calibration.tokens(&model, &composition(&opening.rendered));
    let counted = estimate::calibrated_context_tokens(thread, &model, &calibration, prefix);
    counted.saturating_sub(projection.freed_since(thread))
}

pub(crate) fn prefix_tokens(session: &Session, opening: &Opening) -> u64 {
    session.state().window.calibration.tokens(&opening.spec.id(), &composition(&opening.rendered))
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

pub(crate) fn of_text(session: &Session, spec: &ModelSpec) -> impl Fn(&str) -> u64 + use<> {
    let (calibration, model) = learnt(session, spec);
    move |text| calibration.tokens(&model, &Composition::of_text(text))
}

fn learnt(session: &Session, spec: &ModelSpec) -> (Calibration, String) {
    (session.state().window.calibration.clone(), spec.id())
}

/// Compares the estimate with what the last response reported.
pub(crate) fn learn(session: &Session, opening: &Opening) {
    let mut state = session.state();
    let Some(Observation { composition: mut seen, reported, is_first }) = estimate::observation(&state.thread)
    else {
        return;
    };
    if is_first {
        seen += composition(&opening.rendered);
    }
    let model = opening.spec.id();
    state.window.calibration.learn(&model, &seen, reported);
}
