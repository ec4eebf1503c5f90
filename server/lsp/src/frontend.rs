//! The client as the agent and the workspace see it: someone to tell, to ask, and to hand edits to.
//!
//! Asks through `reverie/*` where the client announced it, else through `window/showMessageRequest`, which every client
//! may be sent; where nobody answers, the answer is no. How long an edit or a save may take is for the workspace to say,
//! which knows what follows from silence; it drops the future then, and that withdraws the request.

mod news;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use agent::{
    DreamProgress, EditorDiagnostic, EditorSymbol, Frontend, JobEvent, JobStep, MemoryEvent, Offers,
    PermissionAnswer, PermissionOption, PermissionQuestion, PlanAnswer, SessionEvent, SymbolQuery,
};
use futures_util::future::BoxFuture;
use protocol::{
    AskPermissionParams, AskPermissionResult, AskPlanParams, AskPlanResult, AskUserParams, AskUserResult,
    EditorDiagnosticsParams, EditorDiagnosticsResult, EditorSymbolsParams, EditorSymbolsResult, Notification,
    PermissionPreview, Request, SaveDocumentParams, SaveDocumentResult,
    method::{self, DocumentSave, EditorDiagnostics, EditorSymbols, PermissionAsk, PlanAsk, UserAsk},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use workspace::{EditRefused, Editor, TextEdit};

use crate::{
    client::Client,
    convert::{self, SessionId},
    documents::OpenDocuments,
    language::Language,
    outbound::{Asked, Outbound},
};
pub(crate) use news::News;

/// How much of a preview a message box can bear.
const MAX_SHOWN_PREVIEW: usize = 1_500;

/// How long the editor may take to collect what its language servers know.
const EDITOR_LIMIT: Duration = Duration::from_secs(10);

/// LSP's number of a message that is no warning.
const INFO: u8 = 3;

const PLAN_ANSWERS: [&str; 3] = ["Approve", "Approve, and accept edits", "Reject"];

pub(crate) struct EditorFrontend {
    pub outbound: Outbound,
    pub client: Arc<OnceLock<Client>>,
    pub documents: Arc<OpenDocuments>,
    pub news: News,
    /// It is made with this frontend, so it comes later.
    pub language: OnceLock<Weak<Language>>,
}

impl Frontend for EditorFrontend {
    fn event(&self, event: SessionEvent) {
        self.outbound.update(event.session.as_str(), event.turn, convert::update(event.event));
    }

    fn memory_event(&self, event: MemoryEvent) {
        if let Some(language) = self.language() {
            language.happened(&event);
        }
        self.tell_memory_event(event);
    }

    fn memory_changed(&self) {
        if let Some(language) = self.language() {
            language.memories_changed();
        }
    }

    fn memory_counted(&self) {
        if let Some(language) = self.language() {
            language.memories_counted();
        }
    }

    fn job(&self, event: JobEvent) {
        if !self.client_is(|client| client.work_done_progress) {
            return;
        }
        match event.step {
            JobStep::Begun { title } => self.outbound.offer_job(&event.id, &title),
            JobStep::Report { message } => self.outbound.report_progress(&event.id, &message),
            JobStep::Ended { message } => self.outbound.end_progress(&event.id, message),
        }
    }

    fn dream_progress(&self, progress: DreamProgress) {
        match serde_json::to_value(convert::dream_progress(progress)) {
            Ok(params) => self.outbound.notify_latest(method::DreamProgress::NAME, "dreamId", params),
            Err(error) => tracing::error!(%error, "a dream's progress cannot be written as JSON"),
        }
    }

    fn news(&self, news: agent::News) {
        self.tell_news(news);
    }

    fn ask_permission(&self, question: PermissionQuestion) -> BoxFuture<'_, PermissionAnswer> {
        let params = convert::permission_question(question);
        let session = params.session_id.clone();
        if self.client_is(|client| client.reverie.permission_ask) {
            let asked = self.outbound.request(Some(&session), PermissionAsk::NAME, &params);
            return Box::pin(async move {
                match answer::<AskPermissionResult>(asked).await {
                    Some(AskPermissionResult { option, message }) => {
                        PermissionAnswer { option: convert::permission_option(option), message }
                    }
                    None => PermissionAnswer { option: PermissionOption::Deny, message: None },
                }
            });
        }
        let labels: Vec<&str> = params.options.iter().map(|option| option.label.as_str()).collect();
        let asked = self.show_message_request(&session, &permission_text(&params), &labels);
        Box::pin(async move {
            let chosen = chosen_title(asked).await;
            let option = params
                .options
                .iter()
                .find(|option| Some(&option.label) == chosen.as_ref())
                .map_or(PermissionOption::Deny, |option| convert::permission_option(option.id));
            PermissionAnswer { option, message: None }
        })
    }

    fn ask_user(
        &self,
        session: SessionId,
        question: String,
        options: Vec<String>,
    ) -> BoxFuture<'_, Option<String>> {
        if self.client_is(|client| client.reverie.user_ask) {
            let params = AskUserParams { session_id: session.to_string(), question, options };
            let asked = self.outbound.request(Some(session.as_str()), UserAsk::NAME, &params);
            return Box::pin(async move { answer::<AskUserResult>(asked).await?.answer });
        }
        if options.is_empty() {
            // A message box has no field to type an answer in.
            return Box::pin(async { None });
        }
        let labels: Vec<&str> = options.iter().map(String::as_str).collect();
        let asked = self.show_message_request(session.as_str(), &question, &labels);
        Box::pin(chosen_title(asked))
    }

    fn ask_plan(&self, session: SessionId, tool_use_id: String, plan: String) -> BoxFuture<'_, PlanAnswer> {
        if self.client_is(|client| client.reverie.plan_ask) {
            let params = AskPlanParams { session_id: session.to_string(), tool_use_id, plan };
            let asked = self.outbound.request(Some(session.as_str()), PlanAsk::NAME, &params);
            return Box::pin(async move {
                match answer::<AskPlanResult>(asked).await {
                    Some(AskPlanResult { approved: true, accept_edits, .. }) => {
                        PlanAnswer::Approved { accept_edits }
                    }
                    Some(AskPlanResult { message, .. }) => PlanAnswer::Rejected { message },
                    None => PlanAnswer::Nobody,
                }
            });
        }
        let message = format!("Carry out this plan?\n\n{}", beginning(&plan));
        let asked = self.show_message_request(session.as_str(), &message, &PLAN_ANSWERS);
        Box::pin(async move {
            let [approve, approve_edits, reject] = PLAN_ANSWERS;
            match chosen_title(asked).await.as_deref() {
                Some(title) if title == approve => PlanAnswer::Approved { accept_edits: false },
                Some(title) if title == approve_edits => PlanAnswer::Approved { accept_edits: true },
                Some(title) if title == reject => PlanAnswer::Rejected { message: None },
                _ => PlanAnswer::Nobody,
            }
        })
    }

    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>> {
        if !self.offers().diagnostics {
            return Box::pin(async { None });
        }
        let params = EditorDiagnosticsParams { uri: path.map(|path| self.documents.uri(&path)) };
        let asked = self.outbound.request(None, EditorDiagnostics::NAME, &params);
        Box::pin(async move {
            let result = answer::<EditorDiagnosticsResult>(within(EDITOR_LIMIT, asked)).await?;
            Some(result.diagnostics.into_iter().filter_map(convert::editor_diagnostic).collect())
        })
    }

    fn symbols(&self, query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>> {
        let params = match query {
            SymbolQuery::File(path) => {
                EditorSymbolsParams { uri: Some(self.documents.uri(&path)), query: None }
            }
            SymbolQuery::Workspace(query) => EditorSymbolsParams { uri: None, query: Some(query) },
        };
        let asked = self.ask_symbols(params);
        Box::pin(async move {
            let symbols = asked.await?;
            Some(symbols.into_iter().filter_map(convert::editor_symbol).collect())
        })
    }

    fn offers(&self) -> Offers {
        self.client.get().map_or_else(Offers::default, |client| Offers {
            documents: client.applies_edits,
            diagnostics: client.reverie.editor_diagnostics,
            symbols: client.reverie.editor_symbols,
            trust: client.reverie.trust_view,
        })
    }
}

impl Editor for EditorFrontend {
    fn apply_edit(
        &self,
        path: &Path,
        version: i32,
        edits: Vec<TextEdit>,
        label: &str,
    ) -> BoxFuture<'_, Result<(), EditRefused>> {
        if !self.client_is(|client| client.applies_edits) {
            let words = "it takes no edits from servers; close the file there, and it is edited on disk";
            return Box::pin(std::future::ready(Err(EditRefused::Refused(words.to_owned()))));
        }
        let path = path.to_owned();
        let uri = self.documents.uri(&path);
        let edits: Vec<Value> = edits.iter().map(text_edit).collect();
        // "One document per request": Neovim checks only the first document's version.
        let edit = if self.client_is(|client| client.versioned_edits) {
            json!({ "documentChanges": [{ "textDocument": { "uri": uri, "version": version }, "edits": edits }] })
        } else {
            json!({ "changes": { uri: edits } })
        };
        let params = json!({ "label": label, "edit": edit });
        let asked = self.outbound.request(None, "workspace/applyEdit", &params);
        Box::pin(async move {
            let answer = asked.await.map_err(|error| EditRefused::Refused(error.message.into_owned()))?;
            if answer.get("applied") == Some(&Value::Bool(true)) {
                return Ok(());
            }
            // Clients seldom say why; a document that moved on is the usual cause.
            if self.documents.version(&path) != Some(version) {
                return Err(EditRefused::Stale);
            }
            let reason = answer.get("failureReason").and_then(Value::as_str).unwrap_or("it did not say why");
            Err(EditRefused::Refused(reason.to_owned()))
        })
    }

    fn save(&self, path: &Path) -> BoxFuture<'_, Result<bool, EditRefused>> {
        if !self.client_is(|client| client.reverie.document_save) {
            return Box::pin(async { Ok(false) });
        }
        let params = SaveDocumentParams { uri: self.documents.uri(path) };
        let asked = self.outbound.request(None, DocumentSave::NAME, &params);
        Box::pin(async move {
            let answer = asked.await.map_err(|error| EditRefused::Refused(error.message.into_owned()))?;
            let result: SaveDocumentResult =
                serde_json::from_value(answer).map_err(|error| EditRefused::Refused(error.to_string()))?;
            Ok(result.saved)
        })
    }
}

impl EditorFrontend {
    /// Tells the client and nobody else.
    pub(crate) fn tell_memory_event(&self, event: MemoryEvent) {
        match serde_json::to_value(convert::memory_event(event)) {
            Ok(params) => self.outbound.notify(method::MemoryEvent::NAME, params),
            Err(error) => tracing::error!(%error, "a memory event cannot be written as JSON"),
        }
    }

    /// What the document consists of, as the editor has it.
    pub(crate) fn outline(
        &self,
        path: &Path,
    ) -> impl Future<Output = Option<Vec<protocol::EditorSymbol>>> + Send + use<> {
        self.ask_symbols(EditorSymbolsParams { uri: Some(self.documents.uri(path)), query: None })
    }

    fn ask_symbols(
        &self,
        params: EditorSymbolsParams,
    ) -> impl Future<Output = Option<Vec<protocol::EditorSymbol>>> + Send + use<> {
        let asked = self.offers().symbols.then(|| self.outbound.request(None, EditorSymbols::NAME, &params));
        async move {
            let result = answer::<EditorSymbolsResult>(within(EDITOR_LIMIT, asked?)).await?;
            Some(result.symbols)
        }
    }

    fn language(&self) -> Option<Arc<Language>> {
        self.language.get().and_then(Weak::upgrade)
    }

    fn client_is(&self, capable: impl Fn(&Client) -> bool) -> bool {
        self.client.get().is_some_and(capable)
    }

    fn show_message_request(&self, session: &str, message: &str, labels: &[&str]) -> Asked {
        let actions: Vec<Value> = labels.iter().map(|label| json!({ "title": label })).collect();
        let params = json!({ "type": INFO, "message": message, "actions": actions });
        self.outbound.request(Some(session), "window/showMessageRequest", &params)
    }
}

/// A client that answers with an error or with something else has not answered.
async fn answer<T: DeserializeOwned>(
    asked: impl Future<Output = Result<Value, tower_lsp::jsonrpc::Error>>,
) -> Option<T> {
    match asked.await {
        Ok(value) => serde_json::from_value(value)
            .inspect_err(|error| tracing::warn!(%error, "an answer that cannot be read"))
            .ok(),
        Err(error) => {
            tracing::warn!(%error, "a question without an answer");
            None
        }
    }
}

/// A language server that hangs must not hang the turn.
async fn within(limit: Duration, asked: Asked) -> Result<Value, tower_lsp::jsonrpc::Error> {
    tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| {
        let mut error = tower_lsp::jsonrpc::Error::internal_error();
        error.message = "the editor did not answer in time".into();
        Err(error)
    })
}

async fn chosen_title(asked: Asked) -> Option<String> {
    let item = answer::<Value>(asked).await?;
    item.get("title")?.as_str().map(str::to_owned)
}

fn permission_text(params: &AskPermissionParams) -> String {
    let AskPermissionParams { tool, reason, preview, .. } = params;
    let mut text = format!("Allow {tool}? {reason}");
    let shown = match preview {
        Some(
            PermissionPreview::Diff { text }
            | PermissionPreview::Command { text }
            | PermissionPreview::Text { text },
        ) => text.as_str(),
        None => return text,
    };
    text.push_str("\n\n");
    text.push_str(&beginning(shown));
    text
}

/// As much of a long text as a message box can bear.
fn beginning(text: &str) -> String {
    let cut = text.floor_char_boundary(MAX_SHOWN_PREVIEW);
    let rest = if cut < text.len() { "…" } else { "" };
    format!("{}{rest}", text.get(..cut).unwrap_or_default())
}

fn text_edit(edit: &TextEdit) -> Value {
    let position = |place: workspace::Position| json!({ "line": place.line, "character": place.character });
    json!({
        "range": { "start": position(edit.range.start), "end": position(edit.range.end) },
        "newText": edit.new_text,
    })
}

#[cfg(test)]
mod tests;
