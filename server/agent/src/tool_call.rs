//! One tool call: what it touches → permission → run → result. Whatever happens, there is exactly one outcome.

use std::{panic::AssertUnwindSafe, path::PathBuf, sync::Arc, time::Duration};

use conversation::ResultContent;
use futures_util::future::BoxFuture;
use permissions::{Access, Decision, Mode, Rule};
use serde_json::Value;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tools::{
    AgentHost, Display, EditorDiagnostic, EditorSymbol, PlanAnswer, SymbolQuery, ToolContext, ToolFailure,
};

use crate::{
    event::{AgentEvent, NoticeLevel, TodoItem, TurnId},
    frontend::{PermissionOption, PermissionQuestion},
    instructions,
    memories::{self, Memories},
    report,
    session::Session,
    tool_round::Call,
    turn::TurnHandle,
};

/// What the model is told of a call that the user stopped or did not allow. Views say it to the user, and so in other
/// words: [`to_the_user`].
const STOPPED: &str = "the user stopped this call before it finished";
const DENIED: &str = "the user denied this call; do not try it again in another way without asking";
const DENIED_SAYING: &str = "the user denied this call and says: ";

/// How long a cancelled tool may take to clean up behind itself.
const CLEAN_UP: Duration = Duration::from_secs(3);

pub(crate) struct Outcome {
    pub ok: bool,
    pub content: ResultContent,
    display: Display,
}

impl Outcome {
    fn failed(words: impl Into<String>) -> Self {
        let words = words.into();
        Self {
            ok: false,
            display: Display::Text { text: to_the_user(&words) },
            content: ResultContent::Text(words),
        }
    }

    pub fn internal_error(error: &JoinError) -> Self {
        tracing::error!(%error, "a tool call panicked");
        Self::failed(
            "the tool failed inside Reverie; this is a bug, and its log has the details. Try another way.",
        )
    }

    /// Of a call whose response is void.
    pub fn discarded() -> Self {
        Self::failed("the response was cut off; it is asked for again")
    }

    fn cancelled() -> Self {
        Self::failed(STOPPED)
    }
}

/// Why a call failed, as a view says it.
pub(crate) fn to_the_user(words: &str) -> String {
    match words {
        STOPPED => "You stopped this.".to_owned(),
        DENIED => "You said no.".to_owned(),
        _ => match words.strip_prefix(DENIED_SAYING) {
            Some(message) => format!("You said no: {message}"),
            None => words.to_owned(),
        },
    }
}

/// What is known about a call before its turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes nothing, and nobody has to be asked.
    ReadsUnasked,
    /// Changes nothing, or cannot run at all.
    Reads,
    Writes,
}

/// Looks at a call, once: judging a command takes a while.
pub(crate) fn kind(handle: &TurnHandle, call: &Call) -> Kind {
    let Some(tool) = handle.toolbox.find(&call.name) else { return Kind::Reads };
    let Ok(input) = &call.input else { return Kind::Reads };
    let context = tool_context(handle, &call.id, CancellationToken::new());
    let looked = AssertUnwindSafe(|| {
        handle.session.shared.faults.reach(&format!("look at {}", call.name));
        tool.access(input, &context)
    });
    // What panics here panics again when the call is run, and fails it there.
    match std::panic::catch_unwind(looked).unwrap_or_else(|_| Err(ToolFailure(String::new()))) {
        Ok(access) if !access.is_read_only() => Kind::Writes,
        Ok(access) if matches!(handle.decide(tool.name(), &access), Decision::Allow { .. }) => {
            Kind::ReadsUnasked
        }
        Ok(_) | Err(_) => Kind::Reads,
    }
}

/// Runs the call. Its end is shown by [`show_end`], once the result is recorded. Ends soon after `cancel` fires.
pub(crate) async fn run(handle: &TurnHandle, call: Call, cancel: CancellationToken) -> Outcome {
    let Call { id, name, input } = call;
    let shown = input.clone().unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
    handle.emit(AgentEvent::ToolStart { tool_use_id: id.clone(), tool: name.clone(), input: shown });
    match input {
        Ok(input) => permitted(handle, &id, &name, input, cancel).await.unwrap_or_else(|outcome| outcome),
        Err(why) => Outcome::failed(why),
    }
}

pub(crate) fn show_end(handle: &TurnHandle, id: &str, tool: &str, outcome: &Outcome) {
    let display = outcome.display.clone();
    handle.emit(AgentEvent::ToolEnd { tool_use_id: id.to_owned(), ok: outcome.ok, display });
    if outcome.ok && tool == "TodoWrite" {
        handle.emit(AgentEvent::Todo { items: todo_items(&handle.session) });
    }
}

/// `Err` for everything that ends the call before the tool itself says something.
async fn permitted(
    handle: &TurnHandle,
    id: &str,
    name: &str,
    input: Value,
    cancel: CancellationToken,
) -> Result<Outcome, Outcome> {
    let Some(tool) = handle.toolbox.find(name) else {
        let known: Vec<&str> = handle.toolbox.iter().map(|tool| tool.name()).collect();
        return Err(Outcome::failed(format!("there is no tool {name}; the tools are {}", known.join(", "))));
    };
    let mut context = tool_context(handle, id, cancel.clone());
    let access = tool.access(&input, &context).map_err(|ToolFailure(words)| Outcome::failed(words))?;
    context.binds_to(&access);
    let decision = handle.decide(name, &access);
    tracing::info!(target: "permission", session = %handle.session.id, tool = name, ?access, ?decision);
    match decision {
        Decision::Allow { .. } => {}
        Decision::Deny { why } => return Err(Outcome::failed(format!("not allowed: {why}"))),
        Decision::Ask { why } => {
            handle.session.history.expect(&access);
            let (shown, shown_in, shown_by) = (input.clone(), context.clone(), Arc::clone(&tool));
            // May read a large file and compare it.
            let preview =
                tokio::task::spawn_blocking(move || shown_by.preview(&shown, &shown_in)).await.ok().flatten();
            let question = PermissionQuestion {
                session: handle.session.id.clone(),
                tool_use_id: id.to_owned(),
                tool: name.to_owned(),
                input: input.clone(),
                reason: why,
                preview,
                rule: handle.suggested_rule(name, &access),
            };
            let asked = ask(handle, question);
            cancel.run_until_cancelled(asked).await.unwrap_or_else(|| Err(Outcome::cancelled()))?;
        }
    }
    if cancel.is_cancelled() {
        return Err(Outcome::cancelled());
    }
    let watched = handle.session.history.before(&handle.session, &access, tool.stays(&input)).await;
    let remembered = Remembered::before(handle, &access).await;
    let running = tool.run(input, context);
    let (faults, point) = (handle.session.shared.faults.clone(), format!("tool {name}"));
    // On a task of its own, so that a panic in a tool is that call's failure and nothing else's.
    let mut task = tokio::spawn(async move {
        faults.reach(&point);
        running.await
    });
    let finished = tokio::select! {
        finished = &mut task => finished,
        () = cancel.cancelled() => match tokio::time::timeout(CLEAN_UP, &mut task).await {
            Ok(finished) => finished,
            Err(_) => {
                task.abort();
                handle.session.history.after(&handle.session, &handle.id, watched).await;
                remembered.after(handle).await;
                return Err(Outcome::cancelled());
            }
        },
    };
    handle.session.history.after(&handle.session, &handle.id, watched).await;
    remembered.after(handle).await;
    if let (Ok(Ok(_)), Access::Read { path } | Access::Write { path, .. }) = (&finished, &access) {
        instructions::touched(&handle.session, path).await;
    }
    match finished {
        Ok(Ok(output)) => Ok(Outcome { ok: true, content: output.content, display: output.display }),
        Ok(Err(ToolFailure(words))) => Err(Outcome::failed(words)),
        Err(error) => Err(Outcome::internal_error(&error)),
    }
}

/// What a call does to what is remembered.
struct Remembered(Option<(Arc<Memories>, memories::Watched)>);

impl Remembered {
    async fn before(handle: &TurnHandle, access: &Access) -> Self {
        let Some(memories) = handle.session.memories() else { return Self(None) };
        let watched = memories.before(access).await;
        Self(Some((memories, watched)))
    }

    async fn after(self, handle: &TurnHandle) {
        let Some((memories, watched)) = self.0 else { return };
        if matches!(watched, memories::Watched::Nothing) {
            return;
        }
        let (session, turn) = (Arc::clone(&handle.session), handle.id.clone());
        let recorded = tokio::task::spawn_blocking(move || memories.after(&session, &turn, watched));
        if let Err(error) = recorded.await {
            tracing::error!(%error, "recording a change of memory panicked");
        }
    }
}

async fn ask(handle: &TurnHandle, question: PermissionQuestion) -> Result<(), Outcome> {
    let rule = question.rule.clone();
    let tool = question.tool.clone();
    let answer = handle.session.shared.frontend.ask_permission(question).await;
    tracing::info!(target: "permission", session = %handle.session.id, tool, option = ?answer.option, "permission answered");
    match answer.option {
        PermissionOption::AllowOnce => Ok(()),
        PermissionOption::AllowSession => {
            grant(handle, &rule);
            Ok(())
        }
        PermissionOption::AllowAlways => {
            grant(handle, &rule);
            let environment = &handle.session.shared.environment;
            if let Err(error) = settings::add_allow_rule(environment, &handle.session.cwd, &rule) {
                let text = format!("{rule} is allowed for this session, but could not be written: {error}");
                handle.session.notice(Some(&handle.id), NoticeLevel::Warning, text);
            }
            Ok(())
        }
        PermissionOption::Deny => Err(Outcome::failed(match answer.message {
            Some(message) if !message.trim().is_empty() => format!("{DENIED_SAYING}{}", message.trim()),
            _ => DENIED.to_owned(),
        })),
    }
}

fn grant(handle: &TurnHandle, rule: &str) {
    match Rule::parse(rule) {
        Ok(rule) => handle.session.state().granted.push(rule),
        Err(error) => tracing::error!(rule, %error, "our own rule does not parse"),
    }
}

fn tool_context(handle: &TurnHandle, tool_use_id: &str, cancel: CancellationToken) -> ToolContext {
    let session = &handle.session;
    let (shown_by, id) = (handle.clone(), tool_use_id.to_owned());
    ToolContext {
        cwd: session.cwd.clone(),
        workspace: session.shared.workspace.clone(),
        may_read: handle.may_read(),
        not_denied: handle.not_denied(),
        target: None,
        fetch: handle.fetch_policy(),
        reads: Arc::clone(&session.reads),
        shell: Arc::clone(&session.shell),
        judged: None,
        todos: Arc::clone(&session.todos),
        cancel,
        progress: Arc::new(move |text| {
            shown_by.emit(AgentEvent::ToolProgress { tool_use_id: id.clone(), text });
        }),
        host: Arc::new(Host {
            session: Arc::clone(session),
            turn: handle.id.clone(),
            tool_use_id: tool_use_id.to_owned(),
        }),
    }
}

struct Host {
    session: Arc<Session>,
    turn: TurnId,
    tool_use_id: String,
}

impl AgentHost for Host {
    fn ask_user(&self, question: String, options: Vec<String>) -> BoxFuture<'_, Option<String>> {
        self.session.shared.frontend.ask_user(self.session.id.clone(), question, options)
    }

    /// An approved plan ends plan mode, so that what it says can be done in the same turn.
    fn ask_plan(&self, plan: String) -> BoxFuture<'_, PlanAnswer> {
        let session = &self.session;
        session.emit(Some(&self.turn), AgentEvent::Plan { text: plan.clone() });
        Box::pin(async move {
            let frontend = &session.shared.frontend;
            let answer = frontend.ask_plan(session.id.clone(), self.tool_use_id.clone(), plan).await;
            if let PlanAnswer::Approved { accept_edits } = answer {
                let mode = if accept_edits { Mode::AcceptEdits } else { Mode::Default };
                session.set_mode(mode);
                report::tell_standing(session, Some(&self.turn));
            }
            answer
        })
    }

    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>> {
        self.session.shared.frontend.diagnostics(path)
    }

    fn symbols(&self, query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>> {
        self.session.shared.frontend.symbols(query)
    }

    fn skills(&self) -> Vec<skills::Skill> {
        self.session.shared.library(&self.session.cwd).skills
    }
}

pub(crate) fn todo_items(session: &Session) -> Vec<TodoItem> {
    session
        .todos
        .get()
        .into_iter()
        .map(|todo| TodoItem { content: todo.content, status: todo.status, active_form: todo.active_form })
        .collect()
}
