//! The server's shared state, and its part in LSP's own requests: `initialize`, `shutdown`, `executeCommand`.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use agent::{Agent, Dependencies, Faults};
use ls_types::{
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, CompletionParams, CompletionResponse,
    DocumentDiagnosticParams, DocumentDiagnosticReportResult, DocumentFormattingParams, DocumentLink,
    DocumentLinkParams, DocumentSymbolParams, DocumentSymbolResponse, ExecuteCommandOptions,
    ExecuteCommandParams, FileOperationFilter, FileOperationPattern, FileOperationPatternKind,
    FileOperationRegistrationOptions, FoldingRange, FoldingRangeParams, GotoDefinitionParams,
    GotoDefinitionResponse, Hover, HoverParams, InitializeParams, InitializeResult, InlayHint,
    InlayHintParams, Location, OneOf, PositionEncodingKind, PrepareRenameResponse, ReferenceParams,
    RenameFilesParams, RenameParams, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    TextEdit, WorkspaceEdit, WorkspaceFileOperationsServerCapabilities, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};
use protocol::{ClientRequest, ProgressToken};
use serde_json::{Value, json};
use tokio::sync::{OnceCell, SetOnce};
use tower_lsp::{
    LanguageServer, LspService,
    jsonrpc::{self, Error},
};
use workspace::{Encoding, Workspace};

use crate::{
    Options,
    client::Client,
    configuration::{self, Questions},
    documents::OpenDocuments,
    frontend::{EditorFrontend, News},
    handlers,
    language::{self, Language},
    outbound::Outbound,
    settings_watch::SettingsWatch,
    uri,
};

/// How long ending the turns may take before `shutdown` is answered all the same.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct Server(Arc<Shared>);

struct Shared {
    agent: Arc<Agent>,
    faults: Faults,
    workspace: Workspace,
    frontend: Arc<EditorFrontend>,
    cwd: PathBuf,
    questions: Questions,
    settings_watch: SettingsWatch,
    language: Arc<Language>,
    parent: SetOnce<u32>,
    shut_down: OnceCell<()>,
}

impl Server {
    pub(crate) fn new(options: Options, outbound: Outbound) -> Self {
        let Options { environment, cwd, command_line_settings, watch_parent: _, faults } = options;
        let frontend = Arc::new(EditorFrontend {
            outbound,
            client: Arc::default(),
            documents: Arc::default(),
            news: News::default(),
            language: OnceLock::new(),
        });
        let workspace = Workspace::new(vec![cwd.clone()]);
        let settings_watch = SettingsWatch::new(environment.clone());
        let agent = Agent::new(Dependencies {
            environment,
            workspace: workspace.clone(),
            frontend: frontend.clone(),
            command_line_settings,
            faults: faults.clone(),
        });
        frontend.news.of(Arc::downgrade(&agent));
        let language = Language::new(
            Arc::clone(&agent),
            workspace.clone(),
            Arc::clone(&frontend),
            settings_watch.environment().clone(),
            faults.clone(),
        );
        if frontend.language.set(Arc::downgrade(&language)).is_err() {
            tracing::debug!("the frontend has its language features already");
        }
        settings_watch.tell(Arc::downgrade(&language));
        Self(Arc::new(Shared {
            agent,
            faults,
            workspace,
            frontend,
            cwd,
            questions: Questions::default(),
            settings_watch,
            language,
            parent: SetOnce::new(),
            shut_down: OnceCell::new(),
        }))
    }

    /// tower-lsp's router over this server, with a row for each request of the protocol.
    pub(crate) fn into_service(self) -> LspService<Self> {
        let mut builder = LspService::build(|_client| self);
        for request in ClientRequest::ALL {
            let request = *request;
            builder = builder.custom_method(request.name(), move |server: &Self, params: Value| {
                handlers::dispatch(server.clone(), request, params)
            });
        }
        // The socket is for tower-lsp's own transport; ours is `outbound`.
        let (service, _socket) = builder.finish();
        service
    }

    pub(crate) fn agent(&self) -> &Arc<Agent> {
        &self.0.agent
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.0.faults
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.0.workspace
    }

    pub(crate) fn documents(&self) -> &OpenDocuments {
        &self.0.frontend.documents
    }

    pub(crate) fn frontend(&self) -> &Arc<EditorFrontend> {
        &self.0.frontend
    }

    pub(crate) fn outbound(&self) -> &Outbound {
        &self.0.frontend.outbound
    }

    /// `None` before `initialize`.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.0.frontend.client.get()
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.0.questions
    }

    pub(crate) fn settings_watch(&self) -> &SettingsWatch {
        &self.0.settings_watch
    }

    pub(crate) fn language(&self) -> &Arc<Language> {
        &self.0.language
    }

    /// The process that started us, once `initialize` has named it.
    pub(crate) async fn parent(&self) -> u32 {
        *self.0.parent.wait().await
    }

    /// Shows a turn as work in progress, under the client's token if it gave one.
    pub(crate) fn show_turn(&self, session: &str, turn: &str, token: Option<ProgressToken>) {
        match token {
            Some(ProgressToken::Number(number)) => {
                self.outbound().begin_progress(session, turn, number.into())
            }
            Some(ProgressToken::String(text)) => self.outbound().begin_progress(session, turn, text.into()),
            None if self.client().is_some_and(|client| client.work_done_progress) => {
                self.outbound().offer_turn(session, turn);
            }
            None => {}
        }
    }

    /// Ends turns and their children and leaves the transcripts complete; the second call waits for the first.
    pub(crate) async fn shut_down(&self) {
        self.0.shut_down.get_or_init(|| self.0.agent.shutdown()).await;
    }

    fn roots(&self, params: &InitializeParams) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = params
            .workspace_folders
            .iter()
            .flatten()
            .filter_map(|folder| uri::to_path(folder.uri.as_str()))
            .collect();
        if !folders.is_empty() {
            return folders;
        }
        #[expect(deprecated, reason = "older clients send nothing else")]
        let (root_uri, root_path) = (params.root_uri.as_ref(), params.root_path.as_ref());
        let root = root_uri
            .and_then(|root| uri::to_path(root.as_str()))
            .or_else(|| root_path.map(PathBuf::from).filter(|path| path.is_absolute()));
        vec![root.unwrap_or_else(|| self.0.cwd.clone())]
    }
}

impl LanguageServer for Server {
    /// Does not wait for anything: `ingress` counts on it.
    async fn initialize(&self, params: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        let client = *self.0.frontend.client.get_or_init(|| Client::of(&params));
        self.0.workspace.set_roots(self.roots(&params));
        self.0.workspace.attach_editor(self.0.frontend.clone(), client.encoding);
        if let Some(options) = &params.initialization_options {
            configuration::take(self, options);
            self.0.agent.set_non_interactive(configuration::is_non_interactive(options));
        }
        if let Some(process_id) = params.process_id
            && self.0.parent.set(process_id).is_err()
        {
            tracing::debug!("a second initialize named another parent");
        }
        Ok(InitializeResult {
            capabilities: language::announced(capabilities(client.encoding), client.language),
            server_info: Some(ServerInfo {
                name: "reverie".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            offset_encoding: None,
        })
    }

    /// What the agent does by itself may come to its end first, in sight of the client; one that will not wait says
    /// `exit`, or hangs up, and `shut_down` stops it.
    async fn shutdown(&self) -> jsonrpc::Result<()> {
        self.0.agent.drain().await;
        if tokio::time::timeout(SHUTDOWN_LIMIT, self.shut_down()).await.is_err() {
            tracing::warn!("the shutdown is not complete yet");
        }
        // A client that says `exit` at once should have heard of what was done before.
        self.outbound().flush_all_updates();
        Ok(())
    }

    async fn hover(&self, params: HoverParams) -> jsonrpc::Result<Option<Hover>> {
        self.0.language.hover(params).await
    }

    async fn completion(&self, params: CompletionParams) -> jsonrpc::Result<Option<CompletionResponse>> {
        self.0.language.completion(params).await
    }

    async fn goto_definition(
        &self,
        params: GotoDefinitionParams,
    ) -> jsonrpc::Result<Option<GotoDefinitionResponse>> {
        self.0.language.definition(params).await
    }

    async fn references(&self, params: ReferenceParams) -> jsonrpc::Result<Option<Vec<Location>>> {
        self.0.language.references(params).await
    }

    async fn document_link(&self, params: DocumentLinkParams) -> jsonrpc::Result<Option<Vec<DocumentLink>>> {
        self.0.language.document_link(params).await
    }

    async fn document_symbol(
        &self,
        params: DocumentSymbolParams,
    ) -> jsonrpc::Result<Option<DocumentSymbolResponse>> {
        self.0.language.document_symbol(params).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> jsonrpc::Result<Option<Vec<FoldingRange>>> {
        self.0.language.folding_range(params).await
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> jsonrpc::Result<Option<Vec<TextEdit>>> {
        self.0.language.formatting(params).await
    }

    async fn prepare_rename(
        &self,
        params: TextDocumentPositionParams,
    ) -> jsonrpc::Result<Option<PrepareRenameResponse>> {
        self.0.language.prepare_rename(params).await
    }

    async fn rename(&self, params: RenameParams) -> jsonrpc::Result<Option<WorkspaceEdit>> {
        self.0.language.rename(params).await
    }

    async fn will_rename_files(&self, params: RenameFilesParams) -> jsonrpc::Result<Option<WorkspaceEdit>> {
        self.0.language.will_rename_files(params).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> jsonrpc::Result<Option<Vec<CodeLens>>> {
        self.0.language.code_lens(params).await
    }

    async fn code_action(&self, params: CodeActionParams) -> jsonrpc::Result<Option<CodeActionResponse>> {
        self.0.language.code_action(params).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> jsonrpc::Result<Option<Vec<InlayHint>>> {
        self.0.language.inlay_hint(params).await
    }

    async fn diagnostic(
        &self,
        params: DocumentDiagnosticParams,
    ) -> jsonrpc::Result<DocumentDiagnosticReportResult> {
        self.0.language.diagnostic(params).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> jsonrpc::Result<Option<Value>> {
        let ExecuteCommandParams { command, arguments, .. } = params;
        let known = handlers::COMMANDS.iter().find(|(name, _)| *name == command);
        let Some((_, request)) = known else {
            return Err(Error::invalid_params(format!("there is no command `{command}`")));
        };
        let argument = arguments.into_iter().next().unwrap_or_default();
        handlers::dispatch(self.clone(), *request, argument).await.map(Some)
    }
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let reverie = protocol::ServerCapabilities {
        version: protocol::VERSION,
        methods: ClientRequest::ALL.iter().map(|request| request.name().to_owned()).collect(),
    };
    let filter = |glob: &str, matches| FileOperationFilter {
        scheme: Some("file".to_owned()),
        pattern: FileOperationPattern { glob: glob.to_owned(), matches, options: None },
    };
    let every_file = filter("**/*", None);
    // Whatever else is renamed is nothing to memories.
    let memories = vec![filter("**/*.md", None), filter("**/*", Some(FileOperationPatternKind::Folder))];
    ServerCapabilities {
        position_encoding: Some(match encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: handlers::COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: Some(WorkspaceFileOperationsServerCapabilities {
                did_rename: Some(FileOperationRegistrationOptions { filters: vec![every_file] }),
                will_rename: Some(FileOperationRegistrationOptions { filters: memories }),
                ..WorkspaceFileOperationsServerCapabilities::default()
            }),
        }),
        experimental: Some(json!({ "reverie": reverie })),
        ..ServerCapabilities::default()
    }
}
