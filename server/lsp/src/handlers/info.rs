//! `reverie/models/list`, `reverie/settings/get`, `reverie/commands/list`, `reverie/doctor`. All of them read files.

use agent::{CheckStatus, CommandSource};
use protocol::{
    Check, DoctorParams, DoctorResult, GetSettingsParams, GetSettingsResult, ListCommandsParams,
    ListCommandsResult, ListModelsParams, ListModelsResult, Model, Repair, Setting, SlashCommand,
};
use tower_lsp::jsonrpc;

use super::blocking;
use crate::server::Server;

pub(super) async fn models(server: Server, _params: ListModelsParams) -> jsonrpc::Result<ListModelsResult> {
    let models = blocking(move || Ok(server.agent().models())).await?;
    Ok(ListModelsResult {
        models: models
            .into_iter()
            .map(|model| Model {
                id: model.id,
                name: model.name,
                context_window: model.context_window,
                max_output_tokens: model.max_output_tokens,
                available: model.available,
                default: model.default,
            })
            .collect(),
    })
}

pub(super) async fn settings(
    server: Server,
    _params: GetSettingsParams,
) -> jsonrpc::Result<GetSettingsResult> {
    let settings = blocking(move || Ok(server.agent().settings())).await?;
    Ok(GetSettingsResult {
        settings: settings
            .into_iter()
            .map(|setting| Setting { key: setting.key, value: setting.value, source: setting.source })
            .collect(),
    })
}

pub(super) async fn commands(
    server: Server,
    _params: ListCommandsParams,
) -> jsonrpc::Result<ListCommandsResult> {
    let commands = blocking(move || Ok(server.agent().commands())).await?;
    Ok(ListCommandsResult {
        commands: commands
            .into_iter()
            .map(|command| SlashCommand {
                name: command.name,
                description: command.description,
                argument_hint: command.argument_hint,
                source: match command.source {
                    CommandSource::BuiltIn => protocol::CommandSource::BuiltIn,
                    CommandSource::User => protocol::CommandSource::User,
                    CommandSource::Project => protocol::CommandSource::Project,
                },
            })
            .collect(),
    })
}

pub(super) async fn doctor(server: Server, params: DoctorParams) -> jsonrpc::Result<DoctorResult> {
    let examined = move || Ok((server.agent().doctor(params.repair), server.agent().repairs()));
    let (checks, repairs) = blocking(examined).await?;
    Ok(DoctorResult {
        repairs: repairs
            .into_iter()
            .map(|repair| Repair {
                at: repair.at.to_string(),
                subject: repair.subject,
                check: repair.check,
                detail: repair.detail,
                success: repair.success,
            })
            .collect(),
        checks: checks
            .into_iter()
            .map(|check| Check {
                name: check.name,
                status: match check.status {
                    CheckStatus::Ok => protocol::CheckStatus::Ok,
                    CheckStatus::Warning => protocol::CheckStatus::Warning,
                    CheckStatus::Failed => protocol::CheckStatus::Failed,
                },
                detail: check.detail,
                fix: check.fix,
            })
            .collect(),
    })
}
