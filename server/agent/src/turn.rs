//! What one turn carries through its rounds: who answers, what is allowed, what was spent.

use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use conversation::{Record, Usage};
use permissions::{Access, Decision, Mode, Policy, ReadFilter, Rules};
use settings::Settings;
use tokio_util::sync::CancellationToken;

use crate::{
    event::{AgentEvent, NoticeLevel, TurnEnd, TurnId, TurnStop},
    opening,
    session::{Opening, Session},
};

pub(crate) struct Turn {
    pub id: TurnId,
    pub session: Arc<Session>,
    pub cancel: CancellationToken,
    pub settings: Settings,
    pub opening: Opening,
    policy: Arc<Mutex<Policy>>,
    pub rounds: u32,
    pub continuations: u32,
    pub usage: Usage,
    pub cost_usd: f64,
}

/// The part of a turn that tool calls share; cheap to clone.
#[derive(Clone)]
pub(crate) struct TurnHandle {
    pub id: TurnId,
    pub session: Arc<Session>,
    policy: Arc<Mutex<Policy>>,
}

impl Turn {
    /// Reads the settings, finds the model and renders the opening if this is the first turn.
    pub async fn begin(
        session: Arc<Session>,
        id: TurnId,
        cancel: CancellationToken,
    ) -> Result<Self, TurnEnd> {
        let loaded = session.shared.settings(&session.cwd);
        let opening = opening::prepare(&session, &id, &loaded.settings).await.map_err(|error| TurnEnd {
            stop: TurnStop::Error,
            usage: Usage::default(),
            error: Some((error_code(&error).to_owned(), error.to_string())),
        })?;
        for diagnostic in &loaded.diagnostics {
            let text = format!("settings: {diagnostic}");
            if session.state().told.insert(text.clone()) {
                session.notice(Some(&id), NoticeLevel::Warning, text);
            }
        }
        let policy = Arc::new(Mutex::new(policy(&session, &loaded.settings)));
        Ok(Self {
            id,
            session,
            cancel,
            settings: loaded.settings,
            opening,
            policy,
            rounds: 0,
            continuations: 0,
            usage: Usage::default(),
            cost_usd: 0.0,
        })
    }

    pub fn handle(&self) -> TurnHandle {
        TurnHandle {
            id: self.id.clone(),
            session: Arc::clone(&self.session),
            policy: Arc::clone(&self.policy),
        }
    }

    pub fn emit(&self, event: AgentEvent) {
        self.session.emit(Some(&self.id), event);
    }

    pub fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.session.notice(Some(&self.id), level, text);
    }

    /// Books what a response used, and shows it.
    pub fn account(&mut self, usage: Usage) {
        self.book(usage);
        let spec = &self.opening.spec;
        let context_used = usage.context_tokens();
        self.emit(AgentEvent::Usage {
            usage,
            context_used,
            context_window: spec.context_window,
            level: opening::level(spec, context_used),
            cache_hit_rate: cache_hit_rate(&self.usage),
            cost_usd: self.session.state().cost.cost_usd(),
        });
    }

    /// Adds to what the turn and the session have used, and writes it down.
    pub fn book(&mut self, usage: Usage) {
        if usage == Usage::default() {
            return;
        }
        let spec = &self.opening.spec;
        let cost = spec.cost_usd(&usage);
        self.usage += usage;
        self.cost_usd += cost;
        let total = {
            let mut state = self.session.state();
            let entry = state.cost.models.entry(spec.id()).or_default();
            entry.usage += usage;
            entry.cost_usd += cost;
            state.cost.clone()
        };
        self.session.record(&Record::Cost(total));
    }

    pub fn end(&self, stop: TurnStop) -> TurnEnd {
        TurnEnd { stop, usage: self.usage, error: None }
    }

    pub fn fail(&self, code: &str, message: impl Into<String>) -> TurnEnd {
        TurnEnd { stop: TurnStop::Error, usage: self.usage, error: Some((code.to_owned(), message.into())) }
    }
}

impl TurnHandle {
    pub fn emit(&self, event: AgentEvent) {
        self.session.emit(Some(&self.id), event);
    }

    pub fn decide(&self, tool: &str, access: &Access) -> Decision {
        permissions::decide(tool, access, &self.current_policy())
    }

    pub fn suggested_rule(&self, tool: &str, access: &Access) -> String {
        permissions::suggest_rule(tool, access, &self.current_policy())
    }

    /// Whether the model may see this file at all: for searches, which touch many.
    pub fn may_read(&self) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        // Made by the first search: most calls need none.
        let (handle, filter) = (self.clone(), OnceLock::new());
        Arc::new(move |path| {
            filter.get_or_init(|| ReadFilter::new(handle.current_policy().clone())).may_read(path)
        })
    }

    /// The turn's policy with what the user has granted since.
    fn current_policy(&self) -> std::sync::MutexGuard<'_, Policy> {
        let granted = self.session.state().granted.clone();
        let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.session_rules = granted;
        policy
    }
}

pub(crate) fn error_code(error: &model::ModelError) -> &'static str {
    match error {
        model::ModelError::Transient { .. } => "unavailable",
        model::ModelError::TooLong { .. } => "prompt_too_long",
        model::ModelError::Fatal { code, .. } => code,
    }
}

fn policy(session: &Session, settings: &Settings) -> Policy {
    let lists = &settings.permissions;
    let (rules, errors) = Rules::parse(&lists.allow, &lists.ask, &lists.deny);
    for error in errors {
        let text = format!("a permission rule is ignored: {error}");
        if session.state().told.insert(text.clone()) {
            session.notice(None, NoticeLevel::Warning, text);
        }
    }
    let state = session.state();
    let mode = state.mode.or_else(|| Mode::parse(lists.default_mode.as_str())).unwrap_or(Mode::Default);
    let mut roots = session.shared.workspace.roots();
    if !roots.contains(&session.cwd) {
        roots.push(session.cwd.clone());
    }
    Policy {
        mode,
        rules,
        session_rules: state.granted.clone(),
        roots,
        free_write_dirs: session.memory_dir.iter().cloned().collect(),
        readable_dirs: session.memory_dir.iter().cloned().chain([session.project_dir()]).collect(),
        home: session.shared.environment.home().to_owned(),
    }
}

fn cache_hit_rate(usage: &Usage) -> f64 {
    let read = usage.cache_read_input_tokens as f64;
    let all = read + usage.input_tokens as f64 + usage.cache_creation_input_tokens as f64;
    if all == 0.0 { 0.0 } else { read / all }
}
