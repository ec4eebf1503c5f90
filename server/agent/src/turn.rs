//! What one turn carries through its rounds: who answers, what is allowed, what was spent.

use std::{
    collections::HashSet,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use context::{Entry, Event, budget::Compaction};
use conversation::Usage;
use jiff::Timestamp;
use model::{AppliedEdit, Break, ModelSpec, QuerySource};
use permissions::{Access, Decision, Mode, Policy, ReadFilter, Rule, Rules};
use settings::{Diagnostic, Features, Settings, Trust, TrustState};
use tokio_util::sync::CancellationToken;
use tools::{FetchPolicy, Toolbox};
use uuid::Uuid;

use crate::{
    attachments,
    collapse::Summaries,
    event::{AgentEvent, NoticeLevel, TurnEnd, TurnId, TurnStop},
    instructions,
    loops::Refills,
    meter, opening,
    recall::Recall,
    report,
    session::{Opening, Session, default_mode, surroundings},
    stream::Response,
    window,
};

/// What a question about trust names; `reverie trust` shows all.
const TRUST_ITEMS: usize = 12;

pub(crate) struct Turn {
    pub id: TurnId,
    pub session: Arc<Session>,
    pub cancel: CancellationToken,
    pub settings: Settings,
    trust: TrustState,
    pub opening: Opening,
    policy: Arc<Mutex<Policy>>,
    pub rounds: u32,
    pub continuations: u32,
    pub usage: Usage,
    /// What the user's messages bring to mind.
    pub recalls: Vec<Recall>,
    /// What can be done once about a request that is too long was done.
    pub reacted: bool,
    /// Spans that are being summarised.
    pub collapsing: HashSet<(Uuid, Uuid)>,
    pub summaries: Summaries,
}

/// The part of a turn that tool calls share; cheap to clone.
#[derive(Clone)]
pub(crate) struct TurnHandle {
    pub id: TurnId,
    pub session: Arc<Session>,
    pub toolbox: Toolbox,
    spec: Arc<ModelSpec>,
    features: Arc<Features>,
    policy: Arc<Mutex<Policy>>,
    fetch: FetchPolicy,
}

impl Turn {
    /// Reads the settings, finds the model and renders the opening if this is the first turn.
    pub async fn begin(
        session: Arc<Session>,
        id: TurnId,
        cancel: CancellationToken,
    ) -> Result<Self, TurnEnd> {
        let loaded = session.shared.settings(&session.cwd);
        // Trust may have come since the session began.
        let starting = session.shared.extensions.keep(&session.shared, &session.cwd, &loaded);
        let opening =
            opening::prepare(&session, Some(&id), &loaded.settings, starting).await.map_err(|error| {
                TurnEnd {
                    error: Some((error_code(&error).to_owned(), error.to_string())),
                    ..TurnEnd::unasked(TurnStop::Error)
                }
            })?;
        // A hint is for whoever has the file open.
        for diagnostic in loaded.diagnostics.iter().filter(|it| it.severity != settings::Severity::Hint) {
            let text = format!("settings: {diagnostic}");
            if session.state().told.insert(text.clone()) {
                session.notice(Some(&id), NoticeLevel::Warning, text);
            }
        }
        instructions::look_for_changes(&session, &id);
        {
            let mut state = session.state();
            state.turn_cost_usd = 0.0;
            state.window.refills = Refills::default();
        }
        ask_for_trust(&session, &id, &loaded.trust);
        session.shell.surround(surroundings(&session.shared, &loaded.settings, &session.id, &session.cwd));
        let policy = policy(&session, &loaded);
        attachments::tell_mode(&session, policy.mode);
        let policy = Arc::new(Mutex::new(policy));
        Ok(Self {
            id,
            session,
            cancel,
            settings: loaded.settings,
            trust: loaded.trust.status,
            opening,
            policy,
            rounds: 0,
            continuations: 0,
            usage: Usage::default(),
            recalls: Vec::new(),
            reacted: false,
            collapsing: HashSet::new(),
            summaries: Summaries::new(),
        })
    }

    /// Attaches what has come to mind by now.
    pub async fn recall(&mut self) {
        for recall in &mut self.recalls {
            recall.attach(&self.session, &self.id).await;
        }
    }

    /// Settings that changed meanwhile hold from the next request on.
    pub fn refresh(&mut self) {
        let loaded = self.session.shared.settings(&self.session.cwd);
        if loaded.settings != self.settings || loaded.trust.status != self.trust {
            let session = &self.session;
            session.shell.surround(surroundings(
                &session.shared,
                &loaded.settings,
                &session.id,
                &session.cwd,
            ));
            *self.policy.lock().unwrap_or_else(PoisonError::into_inner) = policy(&self.session, &loaded);
            self.settings = loaded.settings;
            self.trust = loaded.trust.status;
        }
    }

    pub fn handle(&self) -> TurnHandle {
        TurnHandle {
            id: self.id.clone(),
            session: Arc::clone(&self.session),
            toolbox: self.opening.toolbox.clone(),
            spec: Arc::new(self.opening.spec.clone()),
            features: Arc::new(self.settings.features(&self.session.shared.environment)),
            policy: Arc::clone(&self.policy),
            fetch: FetchPolicy { allow_private: self.settings.web_fetch.allow_private.clone() },
        }
    }

    pub fn emit(&self, event: AgentEvent) {
        self.session.emit(Some(&self.id), event);
    }

    pub fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.session.notice(Some(&self.id), level, text);
    }

    /// Books what a response used, shows it, and looks whether the cache did what it should.
    pub fn account(&mut self, response: &Response) {
        let usage = response.usage;
        self.book(usage);
        meter::learn(&self.session, &self.opening);
        let broken = self.session.state().window.watch.after(&usage, Timestamp::now());
        if let Some(broken) = broken {
            self.tell_break(&broken);
        }
        for edit in &response.applied {
            self.tell_edit(edit);
        }
        let spec = &self.opening.spec;
        let budget = meter::budget(&self.session, &self.settings, spec);
        let context_used = usage.context_tokens();
        self.emit(AgentEvent::Usage {
            usage,
            context_used,
            context_window: spec.context_window,
            level: meter::level(&budget, context_used),
            percent_left: budget.percent_left(context_used),
            next_step: budget.next_step(context_used, self.compaction()),
            cache_hit_rate: report::cache_hit_rate(&usage),
            cost_usd: self.session.state().cost.cost_usd(),
        });
    }

    /// Whether the conversation is compacted by itself.
    pub fn compaction(&self) -> Compaction {
        meter::compaction(&self.session.state().window, &self.session, &self.settings)
    }

    /// The cache did not have what it should, and nobody had said so before.
    fn tell_break(&self, broken: &Break) {
        tracing::debug!(session = %self.session.id, diff = broken.diff(), "{broken}");
        self.session.remark(Some(&self.id), window::CACHE, broken.to_string(), false);
    }

    fn tell_edit(&self, edit: &AppliedEdit) {
        let entry = Entry {
            layer: "server".to_owned(),
            detail: edit.to_string(),
            messages: edit.count(),
            tokens_freed: edit.tokens_freed(),
            cache_kept: false,
            original: Some(self.session.transcript.path().display().to_string()),
        };
        self.session.decide(Some(&self.id), Event::Remark, Some(entry));
    }

    /// Adds to what the turn and the session have used, and writes it down.
    pub fn book(&mut self, usage: Usage) {
        self.usage += usage;
        self.session.book(&self.opening.spec, &QuerySource::Main, usage, 0.0);
    }

    pub fn end(&self, stop: TurnStop) -> TurnEnd {
        TurnEnd { usage: self.usage, ..TurnEnd::unasked(stop) }
    }

    pub fn fail(&self, code: &str, message: impl Into<String>) -> TurnEnd {
        TurnEnd { error: Some((code.to_owned(), message.into())), ..self.end(TurnStop::Error) }
    }
}

impl TurnHandle {
    pub fn emit(&self, event: AgentEvent) {
        self.session.emit(Some(&self.id), event);
    }

    pub fn features(&self) -> &Features {
        &self.features
    }

    /// How large messages are for the model that answers.
    pub fn tokens(&self) -> impl Fn(&conversation::Message) -> u64 + use<> {
        meter::of_message(&self.session, &self.spec)
    }

    pub fn fetch_policy(&self) -> FetchPolicy {
        self.fetch.clone()
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

    /// Whether no rule denies this file: for searches in a folder that the user was asked about.
    pub fn not_denied(&self) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        let (handle, filter) = (self.clone(), OnceLock::new());
        Arc::new(move |path| {
            let only_denials = || {
                let mut policy = handle.current_policy().clone();
                // What is left of a policy without questions.
                policy.mode = Mode::Bypass;
                policy.rules.ask.clear();
                ReadFilter::new(policy)
            };
            filter.get_or_init(only_denials).may_read(path)
        })
    }

    /// The turn's policy with what the user has granted since.
    fn current_policy(&self) -> std::sync::MutexGuard<'_, Policy> {
        let (granted, mode) = {
            let state = self.session.state();
            (state.granted.clone(), state.mode)
        };
        let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.session_rules = session_rules(&self.session, granted);
        // It may change while the turn runs: an approved plan, the user's word.
        policy.mode = mode.unwrap_or(policy.mode);
        policy
    }
}

pub(crate) fn error_code(error: &model::ModelError) -> &'static str {
    match error {
        model::ModelError::Transient { .. } => "unavailable",
        model::ModelError::TooLong { .. } => "prompt_too_long",
        model::ModelError::MediaTooLarge { .. } => "media_too_large",
        model::ModelError::Unsupported { .. } => "bad_request",
        model::ModelError::Fatal { code, .. } => code,
    }
}

/// What the session may touch, outside of a turn.
pub(crate) fn current_policy(session: &Session) -> Policy {
    policy(session, &session.shared.settings(&session.cwd))
}

fn policy(session: &Session, loaded: &settings::Loaded) -> Policy {
    // Where what denies may be lost, nothing runs unasked.
    let trusted = loaded.trust.is_trusted() && !loaded.diagnostics.iter().any(Diagnostic::may_loosen);
    let settings = &loaded.settings;
    let lists = &settings.permissions;
    let (rules, errors) = Rules::parse(&lists.allow, &lists.ask, &lists.deny);
    for error in errors {
        let text = format!("a permission rule is ignored: {error}");
        if session.state().told.insert(text.clone()) {
            session.notice(None, NoticeLevel::Warning, text);
        }
    }
    let state = session.state();
    let mode = state.mode.unwrap_or_else(|| default_mode(settings));
    let mut roots = session.shared.workspace.roots();
    if !roots.contains(&session.cwd) {
        roots.push(session.cwd.clone());
    }
    Policy {
        mode,
        rules,
        session_rules: session_rules(session, state.granted.clone()),
        roots,
        free_write_dirs: session.memory_dir.iter().cloned().collect(),
        untrusted: !trusted,
        unattended: false,
        readable_dirs: session.memory_dir.iter().cloned().chain([session.project_dir()]).collect(),
        home: session.shared.environment.home().to_owned(),
    }
}

/// What was allowed for this session: by the user's answers, and on the command line.
fn session_rules(session: &Session, mut granted: Vec<Rule>) -> Vec<Rule> {
    granted.extend(session.shared.command_line_rules());
    granted
}

/// Once for what a folder would run: the turn goes on without it meanwhile, and what the answer permits comes with the
/// next one.
fn ask_for_trust(session: &Arc<Session>, turn: &TurnId, trust: &Trust) {
    let shown_anyway = session.shared.frontend.offers().trust;
    if trust.is_trusted() || trust.items.is_empty() || trust.cannot.is_some() || shown_anyway {
        return;
    }
    let question = trust_question(trust);
    if !session.shared.ask_once(&question) {
        return;
    }
    let mut text =
        "this folder is not trusted: what its own files would run or allow is left out; every command asks. \
                    `reverie trust` shows what that is"
            .to_owned();
    if !trust.changes.is_empty() {
        text.push_str(&format!(". Since you trusted it: {}", trust.changes.join("; ")));
    }
    session.notice(Some(turn), NoticeLevel::Warning, text);
    let (session, shown) = (Arc::clone(session), trust.clone());
    tokio::spawn(async move {
        session.shared.faults.reach("trust question");
        // The harmless answer first: whoever answers without reading trusts nothing.
        let options = ["Not now", "Trust this folder"].map(str::to_owned).to_vec();
        let [_, yes] = options.as_slice() else { return };
        let yes = yes.clone();
        let answer = session.shared.frontend.ask_user(session.id.clone(), question, options).await;
        if answer != Some(yes) {
            return;
        }
        let environment = session.shared.environment.clone();
        let trusted =
            tokio::task::spawn_blocking(move || settings::trust::accept(&environment, &shown)).await;
        let (level, text) = match trusted {
            Ok(Ok(trust)) if trust.is_trusted() => {
                (NoticeLevel::Info, "this folder is trusted now, from the next prompt on".to_owned())
            }
            Ok(Ok(_)) => (
                NoticeLevel::Warning,
                "its files have changed meanwhile: the folder is not trusted".to_owned(),
            ),
            Ok(Err(error)) => (NoticeLevel::Error, format!("the trust could not be written down: {error}")),
            Err(error) => (NoticeLevel::Error, error.to_string()),
        };
        session.notice(None, level, text);
    });
}

fn trust_question(trust: &Trust) -> String {
    let mut text = format!("Do you trust the files in {}? They would:", trust.folder.display());
    for item in trust.items.iter().take(TRUST_ITEMS) {
        text.push_str(&format!("\n- {} ({})", item.detail, item.path.display()));
    }
    if let Some(more) = trust.items.len().checked_sub(TRUST_ITEMS).filter(|more| *more > 0) {
        text.push_str(&format!("\n- and {more} more"));
    }
    text
}
